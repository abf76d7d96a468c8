"""Plain lines, workflow commands and the step summary."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from fatwheel.commands.release import command
from fatwheel.records.release import AssetRecord, ReleaseRecord
from fatwheel.release.progress import Bars, CompositeProgress, Lines, escape, workflow_commands
from fatwheel.release.show import markdown, shorten, table
from tests.fake_github.clock import VirtualClock
from tests.unit.release.wheels import make_wheel, sparse

LONG = "flashinfer_jit_cache-0.6.13.dev20260617+cu129.sm12x-cp39-abi3-manylinux_2_28_x86_64.whl"
RECORD = ReleaseRecord(
    tag="v1",
    store="dir:x",
    published=True,
    assets=[
        AssetRecord(name=LONG, outcome="uploaded", size=1 << 30, attempts=2),
        AssetRecord(name="b.whl", outcome="failed", size=5, reason="50% | of <it>\nwas lost"),
    ],
    notes=["a note"],
)


def test_a_long_name_keeps_both_its_ends() -> None:
    assert len(shorten(LONG, 40)) == 40
    assert shorten(LONG, 40).startswith("flashinfer_jit_cach")
    assert shorten(LONG, 40).endswith("2_28_x86_64.whl")
    assert shorten("short", 40) == "short"


def test_the_table_fits_and_says_all_reasons() -> None:
    lines = table(RECORD).splitlines()
    assert max(map(len, lines[:2])) <= 80
    assert "    failed: 50% | of <it>" in lines


def test_workflow_commands_are_escaped() -> None:
    (line,) = workflow_commands(RECORD)
    assert line == "::error title=failed%3A b.whl::50%25 | of <it>%0Awas lost"
    assert escape("a:b,c", value=True) == "a%3Ab%2Cc"


def test_the_summary_is_a_table_that_nothing_breaks() -> None:
    text = markdown(RECORD)
    assert "| `b.whl` | failed: 50% \\| of &lt;it> was lost |" in text
    assert text.endswith("- a note\n")


def test_lines_are_few() -> None:
    said: list[str] = []
    clock = VirtualClock()
    lines = Lines(said.append, clock)
    for second in range(100):
        clock.sleep(1)
        lines.sent("a.whl", second << 20, 1 << 30)
    lines.settled(RECORD.assets[0])
    assert len(said) == 4
    assert said[-1] == f"uploaded {LONG} (1.000 GiB, 2 attempts)"


def test_bars_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    with Bars() as bars:
        both = CompositeProgress(bars, Lines(lambda _: None))
        both.sent("a.whl", 1, 2)
        both.settled(RECORD.assets[0])
        both.say("done [bold]")
    assert "uploaded" in screen.getvalue()
    assert "done [bold]" in screen.getvalue()


def test_actions_get_annotations_and_a_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    wheel, fat = make_wheel(tmp_path / "dist", "sm9x"), sparse(tmp_path / "fat.whl", 2147483648)
    result = CliRunner().invoke(command, ["--store", "dir:store", "--tag", "v1", str(wheel), str(fat), "--json"])
    assert "::error title=withheld%3A fat.whl::" in result.stderr
    assert "::error" not in result.stdout
    assert "| `fat.whl` | withheld:" in (tmp_path / "summary.md").read_text()
