"""The nox sessions, from the plan: one for each cell and one for each verb. A noxfile gets them by `register(...)`."""

from __future__ import annotations

import inspect
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
    named = [f"{name}{value.replace('.', '')}" for name, value in cell.axes.items()]
    return [tag for tag in (cell.cuda, cell.arch, cell.family, *named) if tag]


def cells(matrix: Path) -> list[Cell]:
    """The cells of every channel, each once, those of the first channels first."""
    return list(iter_cells(load(matrix)))


def fatwheel(session: nox.Session, *arguments: str, matrix: Path | None = None) -> None:
    """Run one `fatwheel` command in the environment that nox itself runs in."""
    command, env = own_command(*arguments)
    if matrix is not None and "--matrix" not in arguments and "-m" not in arguments:
        env["FATWHEEL_MATRIX"] = str(matrix)
    session.run(*command, env=env, external=True)


def register(matrix: str | Path = "matrix.yaml", *, rehearse: str | Path | None = None) -> None:
    """Define the sessions of a declaration in the noxfile that calls this.

    ``build(...)`` for every cell; and one for each of the usual commands, with the command's own arguments after
    ``--``. ``rehearse`` names another declaration for the session of that name. The environment variable
    FATWHEEL_MATRIX takes the place of ``matrix``.
    """
    path = Path(os.environ.get("FATWHEEL_MATRIX") or matrix)
    _register_build(path)
    for verb in _USUAL:
        other = Path(rehearse) if verb == "rehearse" and rehearse else path
        nox.session(name=verb, venv_backend="none", default=False)(_verb(verb, other))
    _register_report(path)


# What is written after `nox -s VERB --`; the verb's own summary stands before it.
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
        # Verbs that read no declaration do not look at the variable.
        fatwheel(session, verb, *session.posargs, matrix=matrix)

    usual, summary = _USUAL[verb], SUMMARIES[verb]
    run.__name__ = verb
    run.__doc__ = f"{summary.removesuffix('.')}: nox -s {verb} -- {usual}" if usual else summary
    return run


def _register_build(matrix: Path) -> None:
    try:
        found = cells(matrix)
    except PipelineError as error:
        _register_broken(matrix, str(error))
        return

    def build(session: nox.Session, cell: str) -> None:
        fatwheel(session, "build", cell, *session.posargs, matrix=matrix)

    build.__doc__ = "Build one cell into a wheel; what follows -- goes to `fatwheel build`."
    named = zip(found, session_ids(found), strict=True)
    parametrized = nox.parametrize("cell", [nox.param(c.id, id=text, tags=_tags(c)) for c, text in named])(build)
    # nox -j builds cells side by side, where nox can; a cell that fails does not stop the next.
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
        root = Path(__file__).resolve().parents[2]
        checkout = (root / "pyproject.toml").is_file()
        session.install(f"{root}[report]" if checkout else f"fatwheel[report]=={__version__}")
        session.run("fatwheel", "report", *arguments)

    report.__doc__ = "Sizes against the limit, with a page: nox -s report -- --store STORE -o DIR"
    nox.session(name="report", default=False)(report)


def _register_broken(matrix: Path, message: str) -> None:
    """Keep the other sessions usable where the declaration is not: `check` says what is wrong with it."""

    def build(session: nox.Session) -> None:
        session.error(message)

    build.__doc__ = f"No cells: {matrix} has mistakes; `nox -s check` shows them."
    nox.session(name="build", venv_backend="none", default=False)(build)
