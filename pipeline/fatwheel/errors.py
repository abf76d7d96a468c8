"""The kinds of errors that fatwheel exits with, and the exit code of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

Severity = Literal["error", "warning", "note"]

_POSITION = re.compile(r":\d+(:\d+)?$")  # of a `where` such as matrix.yaml:12 or matrix.yaml:12:3


class PipelineError(Exception):
    """An error that a person can act on: what happened, where, and how to fix it.

    ``where`` names a file, URL or cell, optionally with ``:line`` or ``:line:column``. ``status`` is the exit code of
    the ``fatwheel`` command.
    """

    status: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str | None = None, help: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.help = help

    def __str__(self) -> str:
        """One line, and the help on a line of its own; without a prefix, for use inside other messages."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  help: {self.help}" if self.help else text

    def shown(self) -> str:
        """As printed to people: ``error: WHERE: WHAT``, or ``FILE:LINE: error: WHAT`` for editors; then the help."""
        if not (self.where and _POSITION.search(self.where)):
            return f"error: {self}"
        text = f"{self.where}: error: {self.what}"
        return f"{text}\n  help: {self.help}" if self.help else text


class UsageError(PipelineError):
    """An invalid argument."""

    status = 2


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One error, warning or note in matrix.yaml. ``line`` and ``column`` count from 1."""

    file: str
    line: int
    column: int
    what: str
    text: str | None = None
    help: str | None = None

    def shown(self, severity: Severity = "error") -> str:
        """``FILE:LINE:COLUMN: SEVERITY: WHAT`` and, on a line of its own, the help."""
        heading = f"{self.file}:{self.line}:{self.column}: {severity}: {self.what}"
        return f"{heading}\n  help: {self.help}" if self.help else heading

    def __str__(self) -> str:
        return self.shown()


class DeclarationError(PipelineError):
    """An invalid matrix.yaml; ``problems`` holds every error in it."""

    status = 2

    def __init__(self, problems: tuple[Diagnostic, ...]) -> None:
        # An alias repeats one error in several places: report it once.
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda p: (p.file, p.line, p.column, p.what)))
        count = len(self.problems)
        super().__init__(f"Found {count} error{'s' if count != 1 else ''}.")

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), self.what])

    def shown(self) -> str:
        """Every error with its position, and their number."""
        return str(self)


class DriftError(PipelineError):
    """A generated file that differs from what would be generated now."""

    status = 3


class BuildError(PipelineError):
    """A wheel could not be built."""

    status = 4


class VerificationError(PipelineError):
    """A wheel is not what its cell says, or not sound."""

    status = 5


class SmokeError(PipelineError):
    """A wheel does not import or does not compute."""

    status = 5


class ReleaseIncomplete(PipelineError):
    """At least one wanted asset is not live in the release."""

    status = 6


class ReleaseRefused(PipelineError):
    """Nothing was sent, since the store would refuse it or the release must not change."""

    status = 7


class BuildTimeout(PipelineError):
    """A build was ended since it printed nothing, or ran, for longer than its limit."""

    status = 124
