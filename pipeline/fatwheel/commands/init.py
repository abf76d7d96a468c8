"""`fatwheel init`: create a matrix.yaml for this project."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import click

from fatwheel.atomic import write_atomically
from fatwheel.console.options import PATH, named_command
from fatwheel.console.output import echo_warning
from fatwheel.declaration import parse
from fatwheel.declaration.schema import FILE, schema_text
from fatwheel.declaration.template import VARIABLES, Answers, default_targets, render_matrix
from fatwheel.errors import DeclarationError, UsageError
from fatwheel.plan import find_errors
from fatwheel.plan.revision import git
from fatwheel.vocabulary import ARCHES

_FORMATS = tuple(VARIABLES)


@named_command("init")
@click.option("--matrix", "-m", type=PATH, default=Path("matrix.yaml"), show_default=True, help="Path of the new file.")
@click.option("--name", help="Distribution name.  [default: from pyproject.toml, else the folder's name]")
@click.option("--version", help="Version of the first release.  [default: from pyproject.toml, else 0.1.0]")
@click.option("--cuda", multiple=True, metavar="RELEASE", help="CUDA release; repeatable.  [default: 13.0]")
@click.option("--arch", multiple=True, type=click.Choice(ARCHES), help="CPU architecture; repeatable.  [default: both]")
@click.option("--targets", help="GPU targets, in any format.")
@click.option("--spelling", type=click.Choice(_FORMATS), help="Target format that the build expects.")
@click.option(
    "--layout", type=click.Choice(["family", "provider", "fat"]), default="family", show_default=True,
    help="How GPU targets are split across wheels.",
)  # fmt: skip
@click.option("--repository", metavar="OWNER/REPO", help="Repository of the releases.  [default: Git's origin]")
@click.option("--yes", "-y", is_flag=True, help="Accept all defaults without prompting.")
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path,
    name: str | None,
    version: str | None,
    cuda: tuple[str, ...],
    arch: tuple[str, ...],
    targets: str | None,
    spelling: str | None,
    layout: str,
    repository: str | None,
    yes: bool,
) -> None:
    """Prompts for what is not given if standard input is a terminal. Also creates matrix.schema.json for editors."""
    if matrix.exists():
        raise UsageError(f"{matrix} already exists", help="edit it, or give --matrix another path")
    quiet = yes or not sys.stdin.isatty()
    ask = _make_asker(quiet=quiet)
    project = _read_project(matrix.parent)
    spelling = spelling or ask("Target format that the build expects", "torch", _FORMATS)
    answers = Answers(
        name=name or ask("Distribution name", project.get("name") or matrix.absolute().parent.name),
        version=version or ask("Version of the first release", project.get("version") or "0.1.0"),
        toolkits=cuda or tuple(ask("CUDA releases", "13.0").split()),
        arches=arch or ARCHES,
        targets=targets or ask("GPU targets", default_targets(spelling)),
        spelling=spelling,
        layout=layout,
        repository=_find_origin(matrix.parent) if repository is None else repository,
    )
    text = render_matrix(answers)
    if errors := find_errors(parse(text, matrix)):
        raise DeclarationError(tuple(errors))
    write_atomically(matrix, text.encode())
    schema = matrix.with_name(FILE)
    if not schema.exists():
        write_atomically(schema, schema_text().encode())
        click.echo(f"{schema}: written (schema for editors)")
    guessed = [what for what, given in (("name", name), ("version", version)) if not (given or project.get(what))]
    if guessed and quiet:
        echo_warning(f"not in pyproject.toml, so guessed: {' and '.join(guessed)}")
    click.echo(f"{matrix}: written; next: `fatwheel check`, then `fatwheel plan`")


class _Asker(Protocol):
    def __call__(self, question: str, default: str, choices: Sequence[str] | None = None) -> str: ...


def _make_asker(*, quiet: bool) -> _Asker:
    def ask(question: str, default: str, choices: Sequence[str] | None = None) -> str:
        kind = click.Choice(choices) if choices else None
        return default if quiet else str(click.prompt(question, default=default, type=kind, err=True)).strip()

    return ask


def _read_project(folder: Path) -> dict[str, str]:
    """Return the static name and version in pyproject.toml, if any."""
    try:
        table: Any = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return {}
    return {key: table[key] for key in ("name", "version") if isinstance(table.get(key), str)}


def _find_origin(folder: Path) -> str:
    """Return OWNER/REPO of the Git remote origin if it is on GitHub, else an empty text."""
    try:
        url = git(folder, "remote", "get-url", "origin") or ""
    except UsageError:  # Git is not installed
        return ""
    found = re.search(r"github\.com[:/]([A-Za-z0-9._-]+/[A-Za-z0-9._-]+?)(\.git)?/?\s*$", url)
    return found[1] if found else ""
