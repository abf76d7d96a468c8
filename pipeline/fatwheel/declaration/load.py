"""Load matrix.yaml: parse it, validate each value, then check that its parts agree. Collects all errors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from fatwheel.declaration.checks import check, check_versions
from fatwheel.declaration.declaration import Declaration
from fatwheel.declaration.source import Mark, read_yaml
from fatwheel.declaration.structure import validate
from fatwheel.declaration.text import decode, printable
from fatwheel.declaration.tree import Disk, Tree
from fatwheel.errors import DeclarationError, Diagnostic, UsageError

_UNKNOWN = "0"  # in place of a missing or invalid version, which is reported as an error
_VERSION_HELP = "write only the version to it, e.g. 0.6.13"


def load(path: Path) -> Declaration:
    """Load a valid matrix.yaml. Raises `DeclarationError` with all errors, `UsageError` for a missing file."""
    return read(path).checked()


def parse(text: str, path: Path, tree: Tree | None = None) -> Declaration:
    """Load from the text of ``path``. ``tree``: the files around it; None for the disk."""
    return read_text(text, path, tree).checked()


@dataclass(frozen=True)
class LoadResult:
    """A `Declaration`, None if the file could not be parsed, and all errors."""

    declaration: Declaration | None
    errors: tuple[Diagnostic, ...]

    def checked(self) -> Declaration:
        """Return the `Declaration`. Raises `DeclarationError` if there are errors."""
        if self.errors or self.declaration is None:
            raise DeclarationError(self.errors)
        return self.declaration


def read(path: Path) -> LoadResult:
    """Load a file with any errors. Raises `UsageError` if it cannot be read."""
    try:
        text = decode(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise UsageError(f"{path} not found", help=_missing_help(path)) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder", help="pass a file with --matrix") from None
    except (OSError, ValueError) as error:  # e.g. a parent that is a file, an invalid name, no permission
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {path}: {why}", help="pass a file with --matrix") from None
    return LoadResult(None, (text,)) if isinstance(text, Diagnostic) else read_text(text, path)


def _missing_help(path: Path) -> str:
    """Help for a missing file: name one in a parent folder, which is never used by itself."""
    folder = path.absolute().parent
    above = next((up / path.name for up in folder.parents if (up / path.name).is_file()), None)
    if above:
        return f"to use the one in a parent folder, pass --matrix {Path(os.path.relpath(above))}"
    return "create one with `fatwheel init`, or pass --matrix FILE"


def read_text(text: str, path: Path, tree: Tree | None = None) -> LoadResult:
    """Load from text with any errors. ``tree``: the files around it; None for the disk."""
    tree = tree or Disk(path.parent)
    source = read_yaml(text, str(path))
    if source.value is None:
        return LoadResult(None, tuple(source.errors) or (Diagnostic(str(path), 1, 1, "the file is empty"),))
    document, rest, found, broken = validate(source)
    root = source.mark(())
    problems = merge_errors(source.errors, found, root)
    if document is None:
        return LoadResult(None, tuple(problems))
    problems = merge_errors(problems, check(document, rest, tree, broken), root)
    version = document.version
    if document.version_file and tree.is_file(document.version_file):
        try:
            version = read_version(tree, document.version_file)
        except UsageError as error:
            problems.append(source.diagnostic(("version_file",), error.what, error.help))
    if version:
        problems += check_versions(document, version, rest)
    return LoadResult(Declaration(path, document, rest, version or _UNKNOWN), tuple(problems))


def merge_errors(earlier: Iterable[Diagnostic], later: Iterable[Diagnostic], root: Mark) -> list[Diagnostic]:
    """Add the errors of a later pass, except at positions where an earlier pass found an error."""
    known = list(earlier)
    seen = {(p.line, p.column) for p in known} - {(root.line, root.column)}
    return [*known, *(p for p in later if (p.line, p.column) not in seen)]


def read_version(tree: Tree, file: str) -> str:
    """Read a file that contains only a version, and normalize it. Raises `UsageError`."""
    try:
        text = tree.read(file).removeprefix("\ufeff").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            f"cannot read {file} as UTF-8 text", help="write only the version to it, e.g. 0.6.13"
        ) from None
    try:
        version = Version(text)
    except ValueError:  # InvalidVersion, or Python's limit on digits
        shown = printable(text if len(text) < 40 else f"{text[:40]}...")
        raise UsageError(f"invalid version '{shown}' in {file}", help=_VERSION_HELP) from None
    if version.local:
        raise UsageError(f"the version '{text}' in {file} has a local label", help="remove the label")
    return str(version)
