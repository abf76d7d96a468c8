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
LINKS = sorted(set(re.findall(r"\]\(([^)#\s]+)", README)))
LINES = [line.split("  #")[0].strip() for line in re.findall(r"(?m)^\$ (.+)$", README)]


def calls(program):
    """Return the arguments of every call of a program in README's blocks; `a && b` counts as two calls."""
    parts = [shlex.split(part, comments=True) for line in LINES for part in line.split("&&")]
    return [part[1:] for part in parts if part[0] == program]


@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_absolute_and_leads_to_a_file(link):
    """A package index shows the README too, where relative links lead nowhere."""
    match = re.fullmatch(rf"{re.escape(URL)}/(blob|tree|raw)/main/(.+)", link)
    assert match
    kind, path = match.groups()
    assert (ROOT / path).is_dir() if kind == "tree" else (ROOT / path).is_file()


def test_every_url_of_the_project_is_below_one_address():
    assert all(url == URL or url.startswith(f"{URL}/") for url in PROJECT["urls"].values())


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_fatwheel_is_installed_from_a_local_checkout_only(document):
    """It is not on a package index, and its URL is a placeholder."""
    text = document.read_text(encoding="utf-8")
    installed = re.findall(r"(?:pip install|uvx --from) '?([^\s'`]*fatwheel[^\s'`]*)", text)
    assert [source for source in installed if not re.match(r"(git\+file://)?/path/to/fatwheel(\[|$)", source)] == []


def test_the_readme_installs_a_checkout():
    installed = {word for arguments in calls("pip") for word in arguments[1:]}
    assert installed == {"nox", "/path/to/fatwheel"}


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
