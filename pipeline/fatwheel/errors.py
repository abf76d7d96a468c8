"""The errors that fatwheel reports, and the exit code of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

Severity = Literal["error", "warning", "note"]

_POSITION = re.compile(r":\d+(:\d+)?$")  # of a `where` such as matrix.yaml:12 or matrix.yaml:12:3


class PipelineError(Exception):
    """An error for the user: what happened, where, and how to fix it.

    ``where`` names a file, URL or cell, optionally with ``:line`` or ``:line:column``. ``exit_code`` is that of
    the ``fatwheel`` command.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str | None = None, help: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.help = help

    def __str__(self) -> str:
        """Return ``WHERE: WHAT``, then the help on its own line; without ``error:``, for use in other messages."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  help: {self.help}" if self.help else text

    def shown(self) -> str:
        """Return ``error: WHERE: WHAT``, or ``FILE:LINE: error: WHAT``, which editors parse; then the help."""
        if not (self.where and _POSITION.search(self.where)):
            return f"error: {self}"
        text = f"{self.where}: error: {self.what}"
        return f"{text}\n  help: {self.help}" if self.help else text


class UsageError(PipelineError):
    """An invalid argument."""

    exit_code = 2


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
        """Return ``FILE:LINE:COLUMN: SEVERITY: WHAT``, then the help on its own line."""
        heading = f"{self.file}:{self.line}:{self.column}: {severity}: {self.what}"
        return f"{heading}\n  help: {self.help}" if self.help else heading

    def __str__(self) -> str:
        return self.shown()


class DeclarationError(PipelineError):
    """An invalid matrix.yaml; ``errors`` holds every error in it."""

    exit_code = 2

    def __init__(self, errors: tuple[Diagnostic, ...]) -> None:
        # An alias repeats one error in several places: report it once.
        self.errors = tuple(sorted(dict.fromkeys(errors), key=lambda p: (p.file, p.line, p.column, p.what)))
        count = len(self.errors)
        super().__init__(f"Found {count} error{'s' if count != 1 else ''}.")

    def __str__(self) -> str:
        return "\n".join([*map(str, self.errors), self.what])

    def shown(self) -> str:
        """Return every error with its position, then their number."""
        return str(self)


class DriftError(PipelineError):
    """A generated file is out of date."""

    exit_code = 3


class BuildError(PipelineError):
    """A wheel could not be built."""

    exit_code = 4


class VerificationError(PipelineError):
    """A wheel is invalid or does not match its cell."""

    exit_code = 5


class SmokeError(PipelineError):
    """A wheel cannot be imported or fails on a GPU."""

    exit_code = 5


class ReleaseIncomplete(PipelineError):
    """An expected asset was not uploaded, or the release is not published."""

    exit_code = 6


class ReleaseRefused(PipelineError):
    """Nothing was uploaded: the store would reject it, or the release is immutable."""

    exit_code = 7


class BuildTimeout(PipelineError):
    """A build was killed: it printed nothing, or ran, for longer than its limit."""

    exit_code = 124


class Interrupted(PipelineError):
    """The user interrupted the command. Finished work is kept."""

    exit_code = 130

    def shown(self) -> str:
        """Return the message alone: an interrupt is not an error."""
        return self.what
