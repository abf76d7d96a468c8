"""What is generated from a declaration, written or compared with what lies there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel.declaration import Declaration
from fatwheel.errors import DeclarationError, UsageError
from fatwheel.records.base import write_atomically
from fatwheel.workflows.context import FOLDER, MARK, WorkflowContext, context_of
from fatwheel.workflows.files import workflow_files
from fatwheel.workflows.workflow_validation import declared_badly, generated_badly

ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True)
class Difference:
    """One file that is not as it would be generated. ``wanted`` is None for an orphan, which nothing asks for."""

    path: Path
    shown: str
    held: str | None
    wanted: str | None

    def __str__(self) -> str:
        if self.wanted is None:
            return f"{self.shown}: an orphan: it says that it was generated, and nothing asks for it any more"
        if self.held is None:
            return f"{self.shown}: missing"
        lines = difflib.unified_diff(
            self.held.splitlines(), self.wanted.splitlines(), fromfile=self.shown,
            tofile=f"{self.shown} (generated)", lineterm="", n=2,
        )  # fmt: skip
        shown = "\n".join(lines)
        return shown or f"{self.shown}: other line ends than LF, or none at its end"


def generated(setting: WorkflowContext) -> Mapping[str, str]:
    """File name -> text. Raises `DeclarationError`, or `UsageError` for steps that GitHub would refuse or break."""
    wrong = list(declared_badly(setting))
    if wrong:
        raise DeclarationError(tuple(dict.fromkeys(wrong)))
    files = workflow_files(setting)
    broken = [problem for name, text in files.items() for problem in generated_badly(setting, name, text)]
    if broken:
        raise UsageError("\n".join(broken), help="mend the steps in .github/fatwheel/")
    return files


def differences(declaration: Declaration, folder: Path | None = None) -> list[Difference]:
    """What differs from what would be generated now: files changed, missing or orphaned.

    ``folder`` is where workflows lie; by default the repository's, and with it .gitattributes is looked at.
    """
    setting = context_of(declaration)
    place = folder or setting.root / FOLDER
    files = generated(setting)
    found = [_compared(place / name, text, setting) for name, text in files.items()]
    for path in sorted([*place.glob("*.yml"), *place.glob("*.yaml")]):
        held = _read(path) or ""
        if path.name not in files and _is_of(held, setting.matrix):
            found.append(Difference(path, _shown(path, setting), held, None))
    if folder is None:
        found.append(_attributes(setting, list(files)))
    return [difference for difference in found if difference.held != difference.wanted]


def drift(declaration: Declaration) -> list[Difference]:
    """The same for a repository that has generated workflows; empty for one that has none of this declaration."""
    setting = context_of(declaration)
    place = setting.root / FOLDER
    has = any(_is_of(_read(path) or "", setting.matrix) for path in place.glob("*.y*ml"))
    return differences(declaration) if has else []


def apply(found: list[Difference]) -> None:
    """Write what differs, and remove orphans."""
    for difference in found:
        if difference.wanted is None:
            difference.path.unlink()
        else:
            write_atomically(difference.path, difference.wanted.encode())


def _compared(path: Path, wanted: str, setting: WorkflowContext) -> Difference:
    held = _read(path)
    return Difference(path, _shown(path, setting), held, wanted)


def _read(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _is_of(text: str, matrix: str) -> bool:
    """Whether a file says that it was generated from this declaration."""
    first = text.partition("\n")[0]
    return first.startswith(f"# {MARK} ") and f" from {matrix} (" in first


def _shown(path: Path, setting: WorkflowContext) -> str:
    absolute = path.absolute()
    return str(absolute.relative_to(setting.root) if absolute.is_relative_to(setting.root) else path)


def _attributes(setting: WorkflowContext, names: list[str]) -> Difference:
    """The repository's .gitattributes, with a line for each generated file; its other lines stay."""
    path = setting.root / ATTRIBUTES
    held = _read(path)
    lines = (held or "").splitlines()
    mine = [f"{FOLDER.as_posix()}/{name} linguist-generated=true text eol=lf" for name in sorted(names)]
    lines += [line for line in mine if line not in lines]
    wanted = "".join(f"{line}\n" for line in lines)
    return Difference(path, ATTRIBUTES, held, wanted)
