"""README says nothing that is not so: its links lead somewhere, and its command lines are ones."""

import re
import shlex
from pathlib import Path

import click
import pytest

from fatwheel.__main__ import fatwheel
from fatwheel.console.summaries import SUMMARIES

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = sorted({link for link in re.findall(r"\]\(([^)#]+)", README) if "://" not in link})
LINES = [line.split("  #")[0].strip() for line in re.findall(r"(?m)^\$ (.+)$", README)]


def calls(program):
    """The arguments of every call of a program in README's blocks, parts of `a && b` by themselves."""
    parts = [shlex.split(part, comments=True) for line in LINES for part in line.split("&&")]
    return [part[1:] for part in parts if part[0] == program]


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_a_file(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("arguments", calls("fatwheel"), ids=" ".join)
def test_a_command_line_is_one(arguments):
    verb, *rest = arguments
    command = fatwheel.get_command(click.Context(fatwheel), verb)
    with command.make_context(verb, list(rest)):
        pass


@pytest.mark.parametrize("arguments", calls("nox"), ids=" ".join)
def test_a_session_is_one(arguments):
    import noxfile
    from fatwheel.sessions import cells, session_ids

    flag, name = arguments
    planned = cells(ROOT / "matrix.yaml")
    if flag == "-t":
        assert name in {cell.family for cell in planned}
    else:
        known = {f"build({text})" for text in session_ids(planned)} | set(SUMMARIES) | set(vars(noxfile))
        assert (flag, name in known) == ("-s", True)


def test_the_table_of_commands_names_verbs_and_nothing_else():
    rows = re.findall(r"(?m)^\| (`.+?) \|", README.split("## Commands")[1])
    named = {text.split()[0] for row in rows for text in re.findall(r"`([^`]+)`", row)}
    assert named == set(SUMMARIES)
