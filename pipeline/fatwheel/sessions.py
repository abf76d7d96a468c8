"""Nox sessions: one for each cell of the plan and one for each usual command, added to a noxfile by `register`."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nox

from fatwheel import __version__
from fatwheel.console.summaries import SUMMARIES
from fatwheel.declaration import load
from fatwheel.errors import PipelineError
from fatwheel.plan import iter_cells
from fatwheel.plan.sessions import session_id, session_ids
from fatwheel.pythons import own_command
from fatwheel.records.plan import Cell

__all__ = ["cells", "fatwheel", "register", "session_id", "session_ids"]


def _tags(cell: Cell) -> list[str]:
    axes = [f"{name}{value.replace('.', '')}" for name, value in cell.axes.items()]
    return [tag for tag in (cell.cuda, cell.arch, cell.family, *axes) if tag]


def cells(matrix: Path) -> list[Cell]:
    """Return the cells of all channels without duplicates, in the order of the channels."""
    return list(iter_cells(load(matrix)))


def fatwheel(session: nox.Session, *arguments: str, matrix: Path | None = None) -> None:
    """Run one `fatwheel` command in the environment that nox itself runs in."""
    command, env = own_command(*arguments)
    given = matrix is not None and (matrix.is_file() or matrix != Path("matrix.yaml"))  # else the command's default
    if given and "--matrix" not in arguments and "-m" not in arguments:
        env["FATWHEEL_MATRIX"] = str(matrix)
    session.run(*command, env=env, external=True)


def register(matrix: str | Path = "matrix.yaml", *, rehearse: str | Path | None = None) -> None:
    """Define sessions in the calling noxfile: ``build(...)`` for every cell, and one for each usual command.

    Arguments after ``--`` go to the command. ``rehearse`` is the matrix.yaml of the session of that name, if it
    differs. The environment variable FATWHEEL_MATRIX overrides ``matrix``.
    """
    path = Path(os.environ.get("FATWHEEL_MATRIX") or matrix)
    _register_build(path)
    for verb in _USUAL:
        other = Path(rehearse) if verb == "rehearse" and rehearse else path
        nox.session(name=verb, venv_backend="none", default=False)(_verb(verb, other))
    _register_report(path)


# Usual arguments of each command, shown by `nox -l` after its summary.
_USUAL: dict[str, str] = {
    "check": "",
    "plan": "",
    "inventory": "WHEEL",
    "verify": "WHEEL --cell CELL",
    "smoke": "WHEEL --gpu",
    "release": "--store STORE --tag TAG FILE...",
    "index": "--store STORE -o DIR",
    "rehearse": "",
    "generate": "--check",
    "pick": "--plan PLAN --from run:ID -o DIR",
    "deliver": "--store STORE --to OWNER/REPO",
    "prune": "--channel nightly --store STORE",
}


def _verb(verb: str, matrix: Path) -> Callable[[nox.Session], None]:
    def run(session: nox.Session) -> None:
        # Commands that do not read matrix.yaml ignore FATWHEEL_MATRIX.
        fatwheel(session, verb, *session.posargs, matrix=matrix)

    arguments, summary = _USUAL[verb], SUMMARIES[verb]
    run.__name__ = verb
    run.__doc__ = f"{summary.removesuffix('.')}: nox -s {verb} -- {arguments}" if arguments else summary
    return run


def _register_build(matrix: Path) -> None:
    try:
        found = cells(matrix)
    except PipelineError as error:
        _register_broken(matrix, str(error))
        return

    def build(session: nox.Session, cell: str) -> None:
        fatwheel(session, "build", cell, *session.posargs, matrix=matrix)

    build.__doc__ = "Build the wheel of one cell. Arguments after -- go to `fatwheel build`."
    named = zip(found, session_ids(found), strict=True)
    parametrized = nox.parametrize("cell", [nox.param(c.id, id=text, tags=_tags(c)) for c, text in named])(build)
    # Newer versions of nox build cells in parallel with -j; a failed cell does not stop the others.
    able = "allow_parallel" in inspect.signature(nox.session).parameters
    more: dict[str, Any] = {"allow_parallel": True} if able else {}
    nox.session(name="build", venv_backend="none", default=False, **more)(parametrized)


def _register_report(matrix: Path) -> None:
    def report(session: nox.Session) -> None:
        arguments = list(session.posargs)
        if not {"--matrix", "-m"} & set(arguments) and matrix.is_file():
            arguments += ["--matrix", str(matrix)]
        if not {"--output", "-o", "--json"} & set(arguments):
            arguments += ["-o", "report"]
        # `python -m pip` must not run a pip.py of the project.
        session.install(_requirement("report"), env={"PYTHONSAFEPATH": "1"})
        session.run("fatwheel", "report", *arguments)

    report.__doc__ = "Report wheel sizes, with an HTML report: nox -s report -- --store STORE -o DIR"
    nox.session(name="report", default=False)(report)


def _requirement(extra: str) -> str:
    """Return the requirement that installs this fatwheel with an extra, from wherever it was installed."""
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file():  # a checkout
        return f"{root}[{extra}]"
    origin = json.loads(importlib.metadata.distribution("fatwheel").read_text("direct_url.json") or "{}")  # PEP 610
    if not origin:
        return f"fatwheel[{extra}]=={__version__}"
    vcs = origin.get("vcs_info")
    url = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin["url"]
    return f"fatwheel[{extra}] @ {url}"


def _register_broken(matrix: Path, message: str) -> None:
    """Keep the other sessions usable if matrix.yaml is invalid: `nox -s check` shows the errors."""

    def build(session: nox.Session) -> None:
        session.error(message)

    build.__doc__ = f"No cells: {matrix} has errors; `nox -s check` shows them."
    nox.session(name="build", venv_backend="none", default=False)(build)
