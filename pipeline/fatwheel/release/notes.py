"""The text of a release's page, from the records: sizes, targets, GPU tests, withheld files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from fatwheel.markdown import table
from fatwheel.records.build import BuildRecord
from fatwheel.records.smoke import SmokeRecord
from fatwheel.targets import dotted

BEGIN, END = "<!-- fatwheel -->", "<!-- /fatwheel -->"
"""Markers around the generated text; text outside them is not changed."""

_OURS = re.compile(re.escape(BEGIN) + r".*?(?:" + re.escape(END) + r"\r?\n?|\Z)", re.DOTALL)


class ReleasedFile(Protocol):
    """A file of the release with its records: a given file, or an entry of a manifest."""

    @property
    def name(self) -> str:
        """The asset's."""

    @property
    def size(self) -> int:
        """In bytes."""

    @property
    def build(self) -> BuildRecord | None:
        """Its build record."""

    @property
    def smoke(self) -> SmokeRecord | None:
        """Its smoke record."""


class MissingAsset(Protocol):
    """An expected asset that is not in the release."""

    @property
    def name(self) -> str:
        """The asset's."""

    @property
    def outcome(self) -> str:
        """Its release outcome."""

    @property
    def reason(self) -> str:
        """Why."""


def release_notes(tag: str, described: Sequence[ReleasedFile], lacking: Sequence[MissingAsset]) -> str:
    """Markdown. Equal records give equal text."""
    gone = {one.name for one in lacking}
    wheels = sorted((one for one in described if one.name.endswith(".whl")), key=lambda one: one.name)
    shown = [one for one in wheels if one.name not in gone]
    lines = [f"## {tag}", ""]
    if shown:
        lines += table(("wheel", "MiB", "targets", "runs on", "GPU test"), map(_row, shown), right=(1,))
        lines.append("")
    if lacking:
        lines += ["Not in this release:", ""]
        lines += [f"- `{one.name}`: {one.outcome}, {one.reason}" for one in sorted(lacking, key=lambda one: one.name)]
        lines.append("")
    return "\n".join(lines)


def merged(existing: str, page: str) -> str:
    """The notes of a release with ``page`` replacing the generated text, or appended; other text is not changed."""
    block = f"{BEGIN}\n{page.rstrip()}\n{END}\n"
    if has_page(existing):
        return _OURS.sub(lambda _: block, existing, count=1)
    return f"{existing.rstrip()}\n\n{block}" if existing.strip() else block


def has_page(existing: str) -> bool:
    """Whether a text contains generated notes."""
    return BEGIN in existing


def _row(one: ReleasedFile) -> tuple[str, ...]:
    cell = one.build.cell if one.build else None
    targets = dotted(cell.targets) if cell else ""
    covers = dotted(cell.covers) if cell else ""
    return f"`{one.name}`", f"{one.size / (1 << 20):.1f}", targets, covers, _proof(one)


def _proof(one: ReleasedFile) -> str:
    smoke = one.smoke
    if smoke is None or smoke.gpu is None or smoke.gpu.outcome != "passed":
        return "untested"
    device = smoke.device.name if smoke.device else "a GPU"
    return f"{dotted(smoke.executed)} ({device})" if smoke.executed else device
