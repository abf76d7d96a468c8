"""The text of a release page, from the records: sizes, targets, GPU tests and missing files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from fatwheel.markdown import table
from fatwheel.records.build import BuildRecord
from fatwheel.records.smoke import SmokeRecord
from fatwheel.targets import dotted

BEGIN, END = "<!-- fatwheel -->", "<!-- /fatwheel -->"
"""Comments around the generated text, so that text written by hand is preserved."""

_OURS = re.compile(re.escape(BEGIN) + r".*?(?:" + re.escape(END) + r"\r?\n?|\Z)", re.DOTALL)


class ReleasedFile(Protocol):
    """A file of the release with its records, from this run or from a manifest."""

    @property
    def name(self) -> str:
        """The name of the asset."""

    @property
    def size(self) -> int:
        """The size in bytes."""

    @property
    def build(self) -> BuildRecord | None:
        """The build record."""

    @property
    def smoke(self) -> SmokeRecord | None:
        """The smoke record."""


class MissingAsset(Protocol):
    """An expected asset that is not in the release."""

    @property
    def name(self) -> str:
        """The name of the asset."""

    @property
    def outcome(self) -> str:
        """The outcome."""

    @property
    def reason(self) -> str:
        """The reason of the outcome."""


def release_notes(tag: str, described: Sequence[ReleasedFile], missing: Sequence[MissingAsset]) -> str:
    """Return the page as Markdown. Equal records give equal text."""
    gone = {one.name for one in missing}
    wheels = sorted((one for one in described if one.name.endswith(".whl")), key=lambda one: one.name)
    shown = [one for one in wheels if one.name not in gone]
    lines = [f"## {tag}", ""]
    if shown:
        lines += table(("wheel", "MiB", "targets", "runs on", "GPU-tested on"), map(_row, shown), right=(1,))
        lines.append("")
    if missing:
        lines += ["Not in this release:", ""]
        lines += [f"- `{one.name}`: {one.outcome}, {one.reason}" for one in sorted(missing, key=lambda one: one.name)]
        lines.append("")
    return "\n".join(lines)


def merge_notes(existing: str, page: str) -> str:
    """Replace the generated part of a release text with ``page``, or append it. Other text is preserved."""
    block = f"{BEGIN}\n{page.rstrip()}\n{END}\n"
    if has_page(existing):
        return _OURS.sub(lambda _: block, existing, count=1)
    return f"{existing.rstrip()}\n\n{block}" if existing.strip() else block


def has_page(existing: str) -> bool:
    """Whether a text has a part that fatwheel generated."""
    return BEGIN in existing


def _row(one: ReleasedFile) -> tuple[str, ...]:
    cell = one.build.cell if one.build else None
    targets = dotted(cell.targets) if cell else ""
    covers = dotted(cell.covers) if cell else ""
    return f"`{one.name}`", f"{one.size / (1 << 20):.1f}", targets, covers, _gpu_test(one)


def _gpu_test(one: ReleasedFile) -> str:
    smoke = one.smoke
    if smoke is None or smoke.gpu is None or smoke.gpu.outcome != "passed":
        return "untested"
    device = smoke.device.name if smoke.device else "a GPU"
    return f"{dotted(smoke.executed)} ({device})" if smoke.executed else device
