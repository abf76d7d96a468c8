"""`fatwheel init`: a first matrix.yaml."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import click

from fatwheel.console.summaries import SUMMARIES
from fatwheel.vocabulary import ARCHES

_SPELLINGS = ("torch", "cmake", "flashinfer", "nvcc", "dotted")


@click.command(help=SUMMARIES["init"])
@click.option("--matrix", "-m", type=click.Path(path_type=Path), default=Path("matrix.yaml"), show_default=True)
@click.option("--name", help="Distribution name  [default: of pyproject.toml, or the folder's]")
@click.option("--version", help="The version of the first release  [default: of pyproject.toml, or 0.1.0]")
@click.option("--cuda", multiple=True, metavar="RELEASE", help="A CUDA release; repeatable  [default: 13.0]")
@click.option("--arch", multiple=True, type=click.Choice(ARCHES), help="Repeatable  [default: both]")
@click.option("--targets", help="GPU targets, in any spelling.")
@click.option("--spelling", type=click.Choice(_SPELLINGS), help="How the sources take targets.")
@click.option("--layout", type=click.Choice(["family", "provider", "fat"]), default="family", show_default=True)
@click.option("--repository", metavar="OWNER/REPO", help="Where releases go  [default: of git's origin]")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing: take the defaults.")
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
    """Asks what was not given, if somebody is there to answer; the file is checked before it is written."""
    from fatwheel.declaration import parse
    from fatwheel.declaration.schema import FILE, schema_text
    from fatwheel.declaration.template import Answers, default_targets, render_matrix
    from fatwheel.errors import DeclarationError, UsageError
    from fatwheel.plan import find_errors
    from fatwheel.records.base import write_atomically

    if matrix.exists():
        raise UsageError(f"{matrix} is there already", help="change it by hand, or give --matrix another name")
    silent = yes or not sys.stdin.isatty()
    ask = _asker(silent=silent)
    project = _project(matrix.parent)
    spelling = spelling or ask("How the sources take targets", "torch", _SPELLINGS)
    answers = Answers(
        name=name or ask("Distribution name", project.get("name") or matrix.absolute().parent.name),
        version=version or ask("Version of the first release", project.get("version") or "0.1.0"),
        toolkits=cuda or tuple(ask("CUDA releases", "13.0").split()),
        arches=arch or ARCHES,
        targets=targets or ask("GPU targets", default_targets(spelling)),
        spelling=spelling,
        layout=layout,
        repository=_origin(matrix.parent) if repository is None else repository,
    )
    text = render_matrix(answers)
    declaration = parse(text, matrix)
    wrong = find_errors(declaration)
    if wrong:
        raise DeclarationError(tuple(wrong))
    write_atomically(matrix, text.encode())
    beside = matrix.with_name(FILE)
    if not beside.exists():
        write_atomically(beside, schema_text().encode())
        click.echo(f"{beside}: written, for editors")
    guessed = [what for what, given in (("name", name), ("version", version)) if not (given or project.get(what))]
    if guessed and silent:
        click.echo(f"guessed, as no pyproject.toml says it: {' and '.join(guessed)}", err=True)
    click.echo(f"{matrix}: written; next: `fatwheel check`, then `fatwheel plan`")


class _Asker(Protocol):
    def __call__(self, question: str, default: str, choices: Sequence[str] | None = None) -> str: ...


def _asker(*, silent: bool) -> _Asker:
    def ask(question: str, default: str, choices: Sequence[str] | None = None) -> str:
        kind = click.Choice(choices) if choices else None
        return default if silent else str(click.prompt(question, default=default, type=kind, err=True)).strip()

    return ask


def _project(folder: Path) -> dict[str, str]:
    """Name and version that a pyproject.toml says outright."""
    try:
        table: Any = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return {}
    return {key: table[key] for key in ("name", "version") if isinstance(table.get(key), str)}


def _origin(folder: Path) -> str:
    """OWNER/REPO of git's origin, if it is on GitHub."""
    from fatwheel.errors import UsageError
    from fatwheel.plan.revision import git

    try:
        url = git(folder, "remote", "get-url", "origin") or ""
    except UsageError:  # no git: then there is no origin
        return ""
    found = re.search(r"github\.com[:/]([A-Za-z0-9._-]+/[A-Za-z0-9._-]+?)(\.git)?/?\s*$", url)
    return found[1] if found else ""
