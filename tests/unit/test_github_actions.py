"""The files that GitHub Actions reads after a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from fatwheel.console.github_actions import append_outputs, append_step_summary


def test_summary_and_outputs_are_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    for text in ("a\n", "é\n"):
        append_step_summary(text)
        append_outputs(text)
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == "a\né\n"
    assert (tmp_path / "output").read_text(encoding="utf-8") == "a\né\n"


def test_outside_actions_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    append_step_summary("a")
    append_outputs("a")
    assert capsys.readouterr() == ("", "")


def test_only_the_summary_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "no" / "folder")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", missing)
    monkeypatch.setenv("GITHUB_OUTPUT", missing)
    append_step_summary("a")
    assert capsys.readouterr().err == "warning: cannot write the step summary: No such file or directory\n"
    with pytest.raises(FileNotFoundError):
        append_outputs("a")
