"""LoadResult a matrix.yaml: form first, then what must agree, all problems together."""

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

_UNKNOWN = "0"  # stands for a version that is missing or wrong, which is a problem then


def load(path: Path) -> Declaration:
    """A checked declaration. Raises `DeclarationError` with all that is wrong, `UsageError` without such a file."""
    return read(path).checked()


def parse(text: str, path: Path, tree: Tree | None = None) -> Declaration:
    """The same from text that stands, or stood, in ``path``, with ``tree`` around it (the disk, if None)."""
    return read_text(text, path, tree).checked()


@dataclass(frozen=True)
class LoadResult:
    """What a file holds as far as it can be made out (None if it cannot), and what is wrong with it."""

    declaration: Declaration | None
    errors: tuple[Diagnostic, ...]

    def checked(self) -> Declaration:
        """The declaration. Raises `DeclarationError` if anything is wrong with it."""
        if self.errors or self.declaration is None:
            raise DeclarationError(self.errors)
        return self.declaration


def read(path: Path) -> LoadResult:
    """A file, right or wrong. Raises `UsageError` if it is not there."""
    try:
        text = decode(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise UsageError(f"there is no {path}", help=_where_else(path)) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder", help="give --matrix FILE") from None
    except (OSError, ValueError) as error:  # a file on the way to it, a name that is none, no permission
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path} cannot be read: {why}", help="give --matrix FILE") from None
    return LoadResult(None, (text,)) if isinstance(text, Diagnostic) else read_text(text, path)


def _where_else(path: Path) -> str:
    """What to do about a declaration that is not there; one above is found, and not taken unasked."""
    folder = path.absolute().parent
    above = next((up / path.name for up in folder.parents if (up / path.name).is_file()), None)
    if above:
        return f"there is one above: give --matrix {Path(os.path.relpath(above))}"
    return "give --matrix FILE, or begin with `fatwheel init`"


def read_text(text: str, path: Path, tree: Tree | None = None) -> LoadResult:
    """Text, right or wrong, with ``tree`` around it."""
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
    """Both, without what a later pass says of a place that an earlier one has found wrong already."""
    known = list(earlier)
    seen = {(p.line, p.column) for p in known} - {(root.line, root.column)}
    return [*known, *(p for p in later if (p.line, p.column) not in seen)]


def read_version(tree: Tree, file: str) -> str:
    """The version that a file holds and nothing else, in normal form. Raises `UsageError`."""
    try:
        text = tree.read(file).removeprefix("\ufeff").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{file} cannot be read as UTF-8 text", help="let it hold 0.6.13 and no more") from None
    try:
        version = Version(text)
    except ValueError:  # InvalidVersion is one, and so is what Python says of a number without end
        shown = printable(text if len(text) < 40 else f"{text[:40]}...")
        raise UsageError(f"{file} holds '{shown}', which is no version", help="write 0.6.13 and no more") from None
    if version.local:
        raise UsageError(f"{file} holds '{text}', with a local label", help="leave the label out")
    return str(version)
