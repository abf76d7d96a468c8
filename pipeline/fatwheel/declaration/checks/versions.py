"""Check the version, and the version that nightlies lead up to."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from fatwheel.declaration.model import Document
from fatwheel.declaration.source import Source
from fatwheel.declaration.tree import Tree
from fatwheel.errors import Diagnostic


def check_version_keys(document: Document, source: Source, tree: Tree) -> Iterator[Diagnostic]:
    """Require exactly one of version and version_file, and that the file exists."""
    has_version, has_file = document.version is not None, document.version_file is not None
    if has_version and has_file:
        yield source.diagnostic(("version_file",), "both version and version_file are set", "keep one of them")
    elif not has_version and not has_file and not source.written("version") and not source.written("version_file"):
        yield source.diagnostic((), "missing key 'version'", 'add version: "1.0" or version_file: version.txt')
    if document.version_file and not tree.is_file(document.version_file):
        help = "write its path relative to matrix.yaml"
        yield source.diagnostic(("version_file",), f"file not found: {document.version_file}", help)


def check_versions(document: Document, version: str, source: Source) -> Iterator[Diagnostic]:
    """Check that nightlies (NEXT.devDATE) sort after the last release, and that NEXT is not a .dev version itself."""
    if document.next_version is None:
        return
    following, path = Version(document.next_version), ("next_version",)
    if following <= Version(version):
        yield source.diagnostic(path, f"next_version {following} is not later than {version}", "write a later version")
    elif following.is_devrelease:
        yield source.diagnostic(path, f"next_version {following} is a .dev version", f"write {following.base_version}")
    elif Version(f"{following}.dev1") <= Version(version):
        what = f"nightlies of {following} ({following}.dev...) sort before {version}"
        yield source.diagnostic(path, what, "write the next pre-release, or a version later than the final release")
