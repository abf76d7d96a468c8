"""The nox sessions, from the plan: one for each cell and one for each verb. A noxfile gets them by `register(...)`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import nox

from pipeline.declaration import load
from pipeline.errors import PipelineError
from pipeline.plan import channels, make_plan
from pipeline.records.plan import Cell


def session_id(cell: Cell) -> str:
    """What stands in a session's brackets: ``cuda=130,arch=aarch64,family=sm12x``."""
    parts: list[str] = []
    if cell.cuda:
        parts.append(f"cuda={cell.cuda.removeprefix('cu')}")
    if cell.arch:
        parts.append(f"arch={cell.arch}")
    if cell.family or cell.shim:
        parts.append(f"family={cell.family or 'shim'}")
    parts += [f"{name}={value}" for name, value in cell.axes.items()]
    return ",".join(parts) or f"package={cell.package}"


def session_ids(found: list[Cell]) -> list[str]:
    """The same for all cells; with the package before them where two packages share their axes."""
    short = [session_id(cell) for cell in found]
    return [
        f"package={cell.package},{text}" if short.count(text) > 1 else text
        for cell, text in zip(found, short, strict=True)
    ]


def _tags(cell: Cell) -> list[str]:
    named = [f"{name}{value.replace('.', '')}" for name, value in cell.axes.items()]
    return [tag for tag in (cell.cuda, cell.arch, cell.family, *named) if tag]


def cells(matrix: Path) -> list[Cell]:
    """The cells of every channel, each once, those of the first channels first."""
    declaration = load(matrix)
    found: dict[str, Cell] = {}
    for channel in channels(declaration):
        for cell in make_plan(declaration, channel).cells:
            found.setdefault(cell.id, cell)
    return list(found.values())


def fatwheel(session: nox.Session, *arguments: str, matrix: Path | None = None) -> None:
    """Run one `fatwheel` command in the environment that nox itself runs in."""
    env = {"PYTHONPATH": os.pathsep.join(filter(None, [str(_package_root()), os.environ.get("PYTHONPATH")]))}
    if matrix is not None and "--matrix" not in arguments and "-m" not in arguments:
        env["FATWHEEL_MATRIX"] = str(matrix)
    session.run(sys.executable, "-m", "pipeline", *arguments, env=env, external=True)


def _package_root() -> Path:
    return Path(__file__).resolve().parent.parent


def register(matrix: str | Path = "matrix.yaml", *, rehearse: str | Path | None = None) -> None:
    """Define the sessions of a declaration in the noxfile that calls this.

    ``build(...)`` for every cell; check, plan, inventory, verify, smoke, release, index and rehearse with the command's
    own arguments after ``--``. ``rehearse`` names another declaration for the session of that name. The environment
    variable FATWHEEL_MATRIX takes the place of ``matrix``.
    """
    path = Path(os.environ.get("FATWHEEL_MATRIX") or matrix)
    _register_build(path)
    for verb, summary in _VERBS.items():
        other = Path(rehearse) if verb == "rehearse" and rehearse else path
        nox.session(name=verb, venv_backend="none", default=False)(_verb(verb, other, summary))


_VERBS: dict[str, str] = {
    "check": "Check the declaration, and what was generated from it.",
    "plan": "Show what a channel builds, what it leaves out, and why.",
    "inventory": "List the machine code in a wheel: nox -s inventory -- WHEEL",
    "verify": "Check a wheel: nox -s verify -- WHEEL --cell CELL",
    "smoke": "Import a wheel in a bare environment: nox -s smoke -- WHEEL --gpu",
    "release": "Bring assets into a release: nox -s release -- --store STORE --tag TAG FILE...",
    "index": "Write the package index of a store: nox -s index -- --store STORE -o DIR",
    "rehearse": "Run the whole line on this machine.",
}


def _verb(verb: str, matrix: Path, summary: str) -> Callable[[nox.Session], None]:
    takes_matrix = verb in {"check", "plan", "rehearse"}

    def run(session: nox.Session) -> None:
        fatwheel(session, verb, *session.posargs, matrix=matrix if takes_matrix else None)

    run.__name__ = verb
    run.__doc__ = summary
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
    nox.session(name="build", venv_backend="none", default=False)(parametrized)


def _register_broken(matrix: Path, message: str) -> None:
    """Keep the other sessions usable where the declaration is not: `check` says what is wrong with it."""

    def build(session: nox.Session) -> None:
        session.error(message)

    build.__doc__ = f"No cells: {matrix} has mistakes; `nox -s check` shows them."
    nox.session(name="build", venv_backend="none", default=False)(build)
