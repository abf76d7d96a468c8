"""Generate workflow files from matrix.yaml, and compare them with the files in the repository."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel.atomic import write_atomically
from fatwheel.declaration import Declaration
from fatwheel.errors import DeclarationError, UsageError
from fatwheel.workflows.context import FOLDER, MARK, WorkflowContext, read_context
from fatwheel.workflows.files import make_files
from fatwheel.workflows.workflow_validation import check_declaration, check_workflow

ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True)
class Difference:
    """A file that differs from what is generated.

    ``found`` is None for a missing file; ``generated`` is None for a stale one, which is no longer generated.
    """

    path: Path
    name: str  # the path from the repository's root
    found: str | None
    generated: str | None

    def __str__(self) -> str:
        if self.generated is None:
            return f"{self.name}: stale: generated earlier, no longer needed"
        if self.found is None:
            return f"{self.name}: missing"
        lines = difflib.unified_diff(
            self.found.splitlines(), self.generated.splitlines(), fromfile=self.name,
            tofile=f"{self.name} (generated)", lineterm="", n=2,
        )  # fmt: skip
        return "\n".join(lines) or f"{self.name}: its line endings are not LF, or the last one is missing"


def generate_files(context: WorkflowContext) -> Mapping[str, str]:
    """Generate all files, by name.

    Raises `DeclarationError`, or `UsageError` for hooks that make a workflow invalid or unsafe.
    """
    errors = list(check_declaration(context))
    if errors:
        raise DeclarationError(tuple(dict.fromkeys(errors)))
    files = make_files(context)
    invalid = [problem for name, text in files.items() for problem in check_workflow(context, name, text)]
    if invalid:
        raise UsageError("\n".join(invalid), help="fix the steps in .github/fatwheel/")
    return files


def find_differences(declaration: Declaration, folder: Path | None = None) -> list[Difference]:
    """Find files that are out of date, missing or stale.

    ``folder`` contains the workflows. By default it is the repository's, and .gitattributes is compared as well.
    """
    context = read_context(declaration)
    place = folder or context.root / FOLDER
    files = generate_files(context)
    found = [_compare(place / name, text, context) for name, text in files.items()]
    for path in sorted([*place.glob("*.yml"), *place.glob("*.yaml")]):
        text = _read(path) or ""
        if path.name not in files and _is_generated(text, context.matrix):
            found.append(Difference(path, _name(path, context), text, None))
    if folder is None:
        found.append(_compare_attributes(context, list(files)))
    return [difference for difference in found if difference.found != difference.generated]


def find_drift(declaration: Declaration) -> list[Difference]:
    """Find differences if the repository has workflows generated from this matrix.yaml; otherwise return none."""
    context = read_context(declaration)
    place = context.root / FOLDER
    has_generated = any(_is_generated(_read(path) or "", context.matrix) for path in place.glob("*.y*ml"))
    return find_differences(declaration) if has_generated else []


def apply_differences(found: list[Difference]) -> None:
    """Write missing and outdated files, and delete stale ones."""
    for difference in found:
        if difference.generated is None:
            difference.path.unlink()
        else:
            write_atomically(difference.path, difference.generated.encode())


def _compare(path: Path, generated: str, context: WorkflowContext) -> Difference:
    return Difference(path, _name(path, context), _read(path), generated)


def _read(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _is_generated(text: str, matrix: str) -> bool:
    """Whether a file was generated from this matrix.yaml, according to its header."""
    first = text.partition("\n")[0]
    return first.startswith(f"# {MARK} ") and f" from {matrix} (" in first


def _name(path: Path, context: WorkflowContext) -> str:
    absolute = path.absolute()
    return str(absolute.relative_to(context.root) if absolute.is_relative_to(context.root) else path)


def _compare_attributes(context: WorkflowContext, names: list[str]) -> Difference:
    """Compare .gitattributes, which needs a line for each generated file; its other lines stay."""
    path = context.root / ATTRIBUTES
    found = _read(path)
    lines = (found or "").splitlines()
    needed = [f"{FOLDER.as_posix()}/{name} linguist-generated=true text eol=lf" for name in sorted(names)]
    lines += [line for line in needed if line not in lines]
    return Difference(path, ATTRIBUTES, found, "".join(f"{line}\n" for line in lines))
