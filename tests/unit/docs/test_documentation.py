"""The documentation is correct: its quick examples, links, YAML, and a complete reference."""

from __future__ import annotations

import re
import shlex
from itertools import groupby
from pathlib import Path

import click
import pytest
import yaml

from fatwheel.__main__ import fatwheel
from fatwheel.console.summaries import SUMMARIES
from tests.unit.docs import examples

QUICK = [step for step in examples.steps() if not step.slow]
GROUPS = [(key, list(group)) for key, group in groupby(QUICK, key=lambda step: (step.page, step.place))]


@pytest.mark.parametrize(
    "steps", [group for _, group in GROUPS], ids=[f"{page}-{place}" for (page, place), _ in GROUPS]
)
def test_an_example_prints_what_the_page_shows(steps: list[examples.Step], tmp_path: Path) -> None:
    folder = examples.workplace(steps[0].place, tmp_path / "here")
    for step in steps:
        printed = examples.run(step, folder)
        assert examples.matches(step.shown, printed), f"$ {step.command}\n{printed}"


def test_an_ellipsis_matches_any_lines_and_any_text() -> None:
    assert examples.matches(("a", "...", "b"), "a\nx\ny\n\nb\n")
    assert examples.matches(("...", "b ... c"), "b 1 2 c\n")
    assert not examples.matches(("a", "b"), "a\nx\nb\n")
    assert not examples.matches(("a",), "a\nb\n")


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: str(page.relative_to(examples.DOCS)))
def test_pages_are_in_the_index_and_link_to_existing_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(examples.DOCS)).removesuffix(".md")
    listed = (examples.DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    assert name == "index" or name in listed
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        place = (page.parent / target).resolve()
        assert place.is_file() or place.parent.name == "reference", target


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: str(page.relative_to(examples.DOCS)))
def test_yaml_blocks_parse(page: Path) -> None:
    for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        yaml.safe_load(block)


def test_the_reference_lists_every_command_key_record_and_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(examples.DOCS))
    import generate

    written = {path.name: path.read_text(encoding="utf-8") for path in generate.write(tmp_path / "reference")}
    for verb in SUMMARIES:
        assert f"\n## {verb}\n" in written["commands.md"]
    assert "## `packages[].build`" in written["matrix.md"]
    assert "| `dispatch` | a list of: a mapping, below |" in written["matrix.md"]
    assert "## BuildRecord" in written["records.md"]
    for text in written.values():
        anchors = {re.sub(r"[^\w-]", "", heading.lower()) for heading in re.findall(r"(?m)^#+ (.+)$", text)}
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors
    assert "| 6 | `ReleaseIncomplete` |" in written["exit-codes.md"]
    assert "| 12.0f | 12.0 12.1 |" in written["targets.md"]


def _command_lines() -> list[tuple[str, str]]:
    """Return the `fatwheel` command lines of all pages, with their page."""
    return [
        (page.name, line)
        for page in examples.pages()
        for line in re.findall(r"^\$ (fatwheel .+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]


@pytest.mark.parametrize("line", [line for _, line in _command_lines()], ids=[page for page, _ in _command_lines()])
def test_a_command_line_is_valid(line: str) -> None:
    verb, *arguments = shlex.split(line, comments=True)[1:]
    command = fatwheel.get_command(click.Context(fatwheel), verb)
    assert command is not None
    with command.make_context(verb, arguments):
        pass
