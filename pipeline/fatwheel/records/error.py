"""Error record: why a command failed, as JSON for the process that started it."""

from __future__ import annotations

import re

from fatwheel.errors import DeclarationError, PipelineError
from fatwheel.records.base import Record


class ErrorPosition(Record):
    """One error in a matrix.yaml. ``line`` and ``column`` count from 1."""

    file: str
    line: int
    column: int
    message: str
    help: str | None = None


class ErrorRecord(Record):
    """A failed command. ``fatwheel`` writes it to the file that FATWHEEL_ERROR_RECORD names; ``--json`` prints it."""

    kind: str  # the error's class in kebab-case, e.g. build-error; interrupted for Ctrl-C
    message: str
    where: str | None = None  # a file, URL or cell, optionally with :line or :line:column
    help: str | None = None
    exit_code: int
    errors: list[ErrorPosition] = []  # every error of an invalid matrix.yaml

    @classmethod
    def of(cls, error: PipelineError) -> ErrorRecord:
        """Return the record of an error."""
        found = error.errors if isinstance(error, DeclarationError) else ()
        return cls(
            kind=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(error).__name__).lower(),
            message=error.what,
            where=error.where,
            help=error.help,
            exit_code=error.exit_code,
            errors=[
                ErrorPosition(file=one.file, line=one.line, column=one.column, message=one.what, help=one.help)
                for one in found
            ],
        )
