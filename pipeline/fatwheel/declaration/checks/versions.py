"""The version of the set, and what its nightlies lead to."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from fatwheel.declaration.model import Document
from fatwheel.declaration.source import Source
from fatwheel.declaration.tree import Tree
from fatwheel.errors import Diagnostic


def check_version_keys(document: Document, source: Source, tree: Tree) -> Iterator[Diagnostic]:
    """Exactly one of version and version_file, and the file is there."""
    has_version, has_file = document.version is not None, document.version_file is not None
    if has_version and has_file:
        yield source.diagnostic(
            ("version_file",), "version and version_file say the same thing twice", "keep one of them"
        )
    elif not has_version and not has_file and not source.written("version") and not source.written("version_file"):
        yield source.diagnostic((), "'version' is missing", 'add version: "1.0", or version_file: version.txt')
    if document.version_file and not tree.is_file(document.version_file):
        help = "its path starts from the folder of this file"
        yield source.diagnostic(("version_file",), f"there is no file {document.version_file}", help)


def check_versions(document: Document, version: str, source: Source) -> Iterator[Diagnostic]:
    """Nightlies (NEXT.devDATE) must come after the last release, so NEXT must too, and be no .dev itself."""
    if document.next_version is None:
        return
    following, path = Version(document.next_version), ("next_version",)
    if following <= Version(version):
        yield source.diagnostic(path, f"{following} does not come after {version}", "name a later version")
    elif following.is_devrelease:
        yield source.diagnostic(path, f"{following} is a .dev release itself", f"write {following.base_version}")
    elif Version(f"{following}.dev1") <= Version(version):
        what = f"nightlies of {following} ({following}.dev...) come before {version} to pip and uv"
        yield source.diagnostic(path, what, "name the next pre-release, or a version after the final one")
