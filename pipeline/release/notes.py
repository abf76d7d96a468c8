"""The text of a release's page, from the records: sizes, targets, what was proven on which GPU, what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pipeline.records.build import BuildRecord
from pipeline.records.release import AssetRecord
from pipeline.records.smoke import SmokeRecord


class Described(Protocol):
    """A file of the release with its records: one that is given, or one that a manifest tells of."""

    @property
    def name(self) -> str:
        """The asset's."""

    @property
    def size(self) -> int:
        """In bytes."""

    @property
    def build(self) -> BuildRecord | None:
        """How it was built."""

    @property
    def smoke(self) -> SmokeRecord | None:
        """What its test saw."""


def release_notes(tag: str, given: Sequence[Described], records: Sequence[AssetRecord]) -> str:
    """Markdown. Equal records give equal text."""
    settled = {record.name: record for record in records}
    wheels = sorted((one for one in given if one.name.endswith(".whl")), key=lambda one: one.name)
    shown = [one for one in wheels if one.name not in settled or settled[one.name].live]
    lines = [f"## {tag}", ""]
    if shown:
        lines += ["| wheel | MiB | targets | runs on | proven on a GPU |", "|---|---:|---|---|---|"]
        lines += [_row(one) for one in shown]
        lines.append("")
    lacking = [record for record in sorted(records, key=lambda r: r.name) if not record.live]
    if lacking:
        lines += ["Not in this release:", ""]
        lines += [f"- `{record.name}`: {record.outcome}, {record.reason}" for record in lacking]
        lines.append("")
    return "\n".join(lines)


def _row(one: Described) -> str:
    cell = one.build.cell if one.build else None
    targets = " ".join(cell.targets) if cell else ""
    covers = " ".join(cell.covers) if cell else ""
    return f"| `{one.name}` | {one.size / (1 << 20):.1f} | {targets} | {covers} | {_proof(one)} |"


def _proof(one: Described) -> str:
    smoke = one.smoke
    if smoke is None or smoke.gpu is None or smoke.gpu.outcome != "passed":
        return "not proven"
    device = smoke.device.name if smoke.device else "a GPU"
    return f"{' '.join(smoke.executed)} ({device})" if smoke.executed else device
