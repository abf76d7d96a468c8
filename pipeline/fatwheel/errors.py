"""Every kind of failure that fatwheel ends with, each with its exit status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class PipelineError(Exception):
    """A failure that a person can act on: what happened, where, and what to do.

    ``status`` is the exit status of the ``fatwheel`` command.
    """

    status: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.remedy:
            lines.append(f"  do: {self.remedy}")
        return "\n".join(lines)


class UsageError(PipelineError):
    """An argument that cannot be used as given."""

    status = 2


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a declaration. ``line`` and ``column`` count from 1."""

    file: str
    line: int
    column: int
    what: str
    text: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        shown = f"{self.file}:{self.line}:{self.column}: {self.what}"
        if self.remedy:
            shown += f"\n  do: {self.remedy}"
        return shown


class DeclarationError(PipelineError):
    """A matrix.yaml that cannot be used; ``problems`` holds all that is wrong with it."""

    status = 2

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        # an alias brings the same mistake to several places: it is said once
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda p: (p.file, p.line, p.column, p.what)))
        count = len(self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in the declaration")

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), f"{self.what}."])


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
