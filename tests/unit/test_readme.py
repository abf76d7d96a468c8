"""The README's links lead to files of this repository, and its commands exist."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from fatwheel.__main__ import fatwheel
from fatwheel.console.summaries import GROUPS, LESS_USED, SUMMARIES

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
URL = PROJECT["urls"]["Homepage"]
RAW = URL.replace("https://github.com/", "https://raw.githubusercontent.com/")
LINKS = sorted(set(re.findall(r"\]\(([^)#\s]+)", README)))
LINES = [line.split("  #")[0].strip() for line in re.findall(r"(?m)^\$ (.+)$", README)]


def calls(program):
    """Return the arguments of every call of a program in README's blocks; `a && b` counts as two calls."""
    parts = [shlex.split(part, comments=True) for line in LINES for part in line.split("&&")]
    return [part[1:] for part in parts if part[0] == program]


@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_absolute_and_leads_to_a_file(link):
    """A package index shows the README too, where relative links lead nowhere."""
    match = re.fullmatch(rf"(?:{re.escape(URL)}/(?:blob|tree)|{re.escape(RAW)})/main/(.+)", link)
    assert match
    assert (ROOT / match[1]).exists()


def test_every_url_of_the_project_is_below_one_address():
    assert all(url == URL or url.startswith(f"{URL}/") for url in PROJECT["urls"].values())
    assert set(re.findall(r"git\+(https://[^\s`]+)", README)) == {URL}


def test_nothing_is_installed_from_a_package_index_yet():
    installed = {word for arguments in calls("pip") for word in arguments[1:]}
    assert installed == {"nox", f"git+{URL}"}


@pytest.mark.parametrize("arguments", calls("fatwheel"), ids=" ".join)
def test_a_command_line_is_valid(arguments):
    verb, *rest = arguments
    command = fatwheel.get_command(click.Context(fatwheel), verb)
    with command.make_context(verb, list(rest)):
        pass


@pytest.mark.parametrize("arguments", calls("nox"), ids=" ".join)
def test_a_session_exists(arguments):
    import noxfile
    from fatwheel.sessions import cells, session_ids

    flag, name = arguments
    planned = cells(ROOT / "matrix.yaml")
    if flag == "-t":
        assert name in {cell.family for cell in planned}
    else:
        known = {f"build({text})" for text in session_ids(planned)} | set(SUMMARIES) | set(vars(noxfile))
        assert (flag, name in known) == ("-s", True)


def test_the_table_of_commands_has_the_groups_of_the_help():
    rows = re.findall(r"(?m)^\| ([A-Z][^|]+) \| (.+) \|$", README.split("## Commands")[1])
    named = {group: [name for name in re.findall(r"`(\w+)`", text) if name in SUMMARIES] for group, text in rows}
    assert named == {group: list(commands) for group, commands in {**GROUPS, "Less used": LESS_USED}.items()}
