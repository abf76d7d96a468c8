"""The result of `fatwheel doctor`: what a machine can build, test and release. Suitable for bug reports."""

from __future__ import annotations

from typing import Literal

from fatwheel.records.base import Record

State = Literal["ok", "missing", "note"]


class MachineFinding(Record):
    """One thing: whether it is there, what it is, and what to install or set where it is not."""

    area: str  # machine, build, smoke, release
    name: str
    state: State
    detail: str
    help: str | None = None


class Readiness(Record):
    """A cell. ``reason``: why this machine cannot build it; null if it can."""

    id: str
    reason: str | None


class Diagnosis(Record):
    """All checks, and the cells of matrix.yaml if there is one. Contains no values of variables."""

    fatwheel: str
    python: str
    system: str
    findings: list[MachineFinding]
    cells: list[Readiness] = []
