"""The whole line on one machine: build, smoke, release to a folder, index, and an install from that index."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fatwheel.errors import PipelineError, UsageError
from fatwheel.records.plan import Cell, Plan
from fatwheel.records.rehearsal import Rehearsal, Rehearsed
from fatwheel.targets import Capability

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.records.release import ReleaseRecord

_MARKER = ".fatwheel-rehearsal"
_PARTS = ("wheels", "store", "index", "users")
_FAKE_BYTES = 1 << 20
_SECONDS = 3600.0  # for one install: a CUDA package may bring gigabytes

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How to rehearse. ``fake``: placeholder wheels, of ``sizes`` bytes by cell id; else real builds."""

    folder: Path
    engine: str = "host"
    toolchain: str = "auto"
    fake: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)


def rehearse(declaration: Declaration, plan: Plan, options: Options, say: Say) -> Rehearsal:
    """Run every station in order; a cell that fails does not keep the others from going on.

    Raises `UsageError` for a folder that is not a rehearsal's, and for sizes of cells that are not planned.
    """
    unknown = set(options.sizes) - {cell.id for cell in plan.cells}
    if unknown:
        from fatwheel.plan import unknown_cell_error

        raise unknown_cell_error(min(unknown), [cell.id for cell in plan.cells], plan.channel)
    _fresh(options.folder)
    rows = [_built(declaration, cell, options, say) for cell in plan.cells]
    gpus = [] if options.fake else _gpus()
    rows = [_smoked(declaration, row, options, gpus, say) for row in rows]
    release = _released(plan, rows, options, say)
    outcomes = {asset.name: asset for asset in release.assets}
    rows = [
        row.model_copy(update={"release": asset.outcome, "reason": row.reason or asset.reason})
        if (asset := outcomes.get(row.wheel))
        else row
        for row in rows
    ]
    rows = _indexed(rows, options, say)
    rows = _installed(rows, options, say)
    return Rehearsal(tag=release.tag, published=release.published, folder=str(options.folder), cells=rows)


def _fresh(folder: Path) -> None:
    """Empty the parts that an earlier rehearsal left; a folder of somebody else's is not touched."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MARKER).is_file():
        raise UsageError(f"{folder} is not empty and is no rehearsal's", help="give another folder with -o")
    for part in _PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).touch()


def _built(declaration: Declaration, cell: Cell, options: Options, say: Say) -> Rehearsed:
    from fatwheel.building.build_cell import build_cell, can_build

    row = Rehearsed(id=cell.id, wheel=cell.wheel, cell=cell)
    if not options.fake:
        reason = can_build(declaration, cell, engine=options.engine, toolchain=options.toolchain)
        if reason:
            return row.model_copy(update={"build": "not here", "reason": reason})
    say(f"build {cell.id}")
    size = options.sizes.get(cell.id, _FAKE_BYTES) if options.fake else None
    try:
        record = build_cell(
            declaration,
            cell,
            options.folder / "wheels",
            engine=options.engine,
            toolchain=options.toolchain,
            fake_size=size,
        )
    except PipelineError as error:
        say(str(error))
        return row.model_copy(
            update={"build": "failed", "reason": str(error).splitlines()[0], "status": error.exit_code}
        )
    return row.model_copy(update={"build": "done", "bytes": record.bytes, "seconds": record.seconds})


def _gpus() -> list[Capability]:
    """Capabilities of this machine's GPUs, as the installer sees them."""
    from fatwheel.processes import run
    from fatwheel.resources import script

    command = [sys.executable, "-I", str(script("install_wheel.py")), "--detect", "--json"]
    answer = run(command, env=os.environ, timeout=_SECONDS)
    gpus = json.loads(answer.output)["gpus"] if answer.status == 0 else []
    return [Capability.parse(gpu["capability"]) for gpu in gpus]


def _smoked(
    declaration: Declaration, row: Rehearsed, options: Options, gpus: Sequence[Capability], say: Say
) -> Rehearsed:
    if row.build != "done" or not row.wheel.endswith(".whl"):  # an sdist does not install as it is
        return row
    if options.fake:
        return row.model_copy(update={"smoke": "placeholder"})
    from fatwheel.smoke import smoke_wheel

    say(f"smoke {row.id}")
    try:
        record = smoke_wheel(
            options.folder / "wheels" / row.wheel,
            gpu=any(capability in row.cell.covers for capability in gpus),
            package=declaration.package(row.cell.package),
            cell=row.cell,
        )
    except PipelineError as error:
        say(str(error))
        return row.model_copy(
            update={"smoke": "failed", "reason": str(error).splitlines()[0], "status": error.exit_code}
        )
    if not record.passed:
        failed = [check for check in (record.import_, record.gpu) if check and check.outcome == "failed"]
        return row.model_copy(update={"smoke": "failed", "reason": failed[0].detail.splitlines()[0], "status": 5})
    return row.model_copy(update={"smoke": record.proven})


def _released(plan: Plan, rows: Sequence[Rehearsed], options: Options, say: Say) -> ReleaseRecord:
    """Release what was built to ``store``; cells that this machine cannot build are not wanted of it."""
    from fatwheel.release.make_release import release
    from fatwheel.release.request import ReleaseRequest
    from fatwheel.stores import open_store

    wanted = {row.id for row in rows if row.build != "not here"}
    narrowed = plan.model_copy(update={"cells": [cell for cell in plan.cells if cell.id in wanted]})
    wheels = [options.folder / "wheels" / row.wheel for row in rows if row.build == "done"]
    say(f"release {len(wheels)} wheels as {plan.tag}")
    store = open_store(f"dir:{options.folder / 'store'}")
    return release(store, ReleaseRequest(tag=plan.tag or plan.channel, files=tuple(wheels), plan=narrowed))


def _indexed(rows: Sequence[Rehearsed], options: Options, say: Say) -> list[Rehearsed]:
    from fatwheel.index import make_index
    from fatwheel.stores import open_store

    folder = options.folder / "index"
    report = make_index(open_store(f"dir:{options.folder / 'store'}"), folder)
    say(f"index: {report.wheels} wheels on {report.pages} pages")
    written = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    listed = {entry["file"] for entry in [*written["wheels"], *written.get("sdists", [])]}
    return [row.model_copy(update={"index": "listed" if row.wheel in listed else "-"}) for row in rows]


def _installed(rows: Sequence[Rehearsed], options: Options, say: Say) -> list[Rehearsed]:
    """Install wheels for this CPU as users would: all real ones, and one placeholder."""
    listed = [row for row in rows if row.index == "listed" and row.wheel.endswith(".whl")]
    here = [row for row in listed if row.cell.arch in (None, platform.machine())]
    chosen = {row.id for row in (here[:1] if options.fake else here)}
    done = []
    for row in rows:
        if row.id not in chosen:
            done.append(row)
            continue
        say(f"install {row.id} from the index")
        problem = _install(row.cell, options.folder)
        update = {"install": "failed", "reason": problem, "status": 5} if problem else {"install": "done"}
        done.append(row.model_copy(update=update))
    return done


def _install(cell: Cell, folder: Path) -> str | None:
    """Install one wheel into an environment of its own; what went wrong, or None."""
    from fatwheel.processes import run
    from fatwheel.pythons import clean_python, interpreter, make_venv
    from fatwheel.resources import script

    user = folder / "users" / cell.id
    user.parent.mkdir(exist_ok=True)
    failed = make_venv(sys.executable, user, pip=True, environ=os.environ)
    if failed:
        return failed.cause
    python = interpreter(user)
    command = [
        str(python), "-I", str(script("install_wheel.py")), f"{cell.package}=={cell.version}",
        "--index-url", str(folder / "index"), "--python", str(python), "--json",
    ]  # fmt: skip
    command += ["--cuda-version", cell.cuda] if cell.cuda else []
    command += ["--sm-family", cell.family] if cell.family else []
    clean = clean_python(os.environ)
    answer = run(command, env=clean, timeout=_SECONDS)
    if answer.status != 0:
        try:
            return str(json.loads(answer.output)["error"])
        except (ValueError, KeyError):  # the installer itself crashed
            return answer.errors.strip().splitlines()[-1] if answer.errors.strip() else f"the installer {answer.ended}"
    asked = f"import importlib.metadata as m; print(m.version({cell.package!r}))"
    got = run([str(python), "-I", "-c", asked], env=clean, timeout=_SECONDS).output.strip()
    return None if got == cell.full_version else f"{got or 'nothing'} was installed, not {cell.full_version}"
