"""Rehearse the whole pipeline on one machine: build, smoke test, release to a folder, index, and install from it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fatwheel.building.build_cell import build_cell, can_build
from fatwheel.building.cache import output_folder
from fatwheel.declaration import Declaration
from fatwheel.errors import PipelineError, UsageError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.index import make_index
from fatwheel.plan import unknown_cell_error
from fatwheel.processes import run
from fatwheel.pythons import clean_python, interpreter, make_venv
from fatwheel.records.plan import Cell, Plan
from fatwheel.records.rehearsal import Rehearsal, Rehearsed
from fatwheel.records.release import ReleaseRecord
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.resources import script
from fatwheel.retry import Notify
from fatwheel.smoke import smoke_wheel
from fatwheel.stores import open_store
from fatwheel.targets import Capability

_MARKER = ".fatwheel-rehearsal"
_PARTS = ("wheels", "store", "index", "users")
_PLACEHOLDER_BYTES = 1 << 20
_SECONDS = 3600.0  # for one installation: the dependencies of a CUDA package may be several GiB


@dataclass(frozen=True)
class Options:
    """How to rehearse. ``fake``: placeholder wheels, with ``sizes`` in bytes by cell ID, instead of real builds."""

    folder: Path
    engine: str = "host"
    toolchain: str = "auto"
    fake: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)


def rehearse(declaration: Declaration, plan: Plan, options: Options, notify: Notify) -> Rehearsal:
    """Run every stage in order; after a failed cell, continue with the others.

    Raises `UsageError` for a folder that is not empty and not from a rehearsal, and for sizes of unplanned cells.
    """
    unknown = set(options.sizes) - {cell.id for cell in plan.cells}
    if unknown:
        raise unknown_cell_error(min(unknown), [cell.id for cell in plan.cells], plan.channel)
    with output_folder(options.folder):
        _clear(options.folder)
        rows = [_build(declaration, cell, options, notify) for cell in plan.cells]
        gpus = [] if options.fake else _detect_gpus(options.folder)
        rows = [_smoke(declaration, row, options, gpus, notify) for row in rows]
        released = _release(plan, rows, options, notify)
        outcomes = {asset.name: asset for asset in released.assets}
        rows = [
            row.model_copy(update={"release": asset.outcome, "reason": row.reason or asset.reason})
            if (asset := outcomes.get(row.wheel))
            else row
            for row in rows
        ]
        rows = _index(rows, options, notify)
        rows = _install_all(rows, options, notify)
    return Rehearsal(tag=released.tag, published=released.published, folder=str(options.folder), cells=rows)


def _clear(folder: Path) -> None:
    """Remove the output of an earlier rehearsal. Raises `UsageError` for a folder with other files."""
    if any(folder.iterdir()) and not (folder / _MARKER).is_file():
        help = "choose another output folder"
        raise UsageError("the folder is not empty and not from a rehearsal", where=str(folder), help=help)
    for part in _PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / _MARKER).touch()


def _build(declaration: Declaration, cell: Cell, options: Options, notify: Notify) -> Rehearsed:
    row = Rehearsed(id=cell.id, wheel=cell.wheel, cell=cell)
    if not options.fake:
        reason = can_build(declaration, cell, engine=options.engine, toolchain=options.toolchain)
        if reason:
            return row.model_copy(update={"build": "skipped", "reason": reason})
    notify(f"build {cell.id}")
    size = options.sizes.get(cell.id, _PLACEHOLDER_BYTES) if options.fake else None
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
        notify(str(error))
        return row.model_copy(
            update={"build": "failed", "reason": str(error).splitlines()[0], "status": error.exit_code}
        )
    return row.model_copy(update={"build": "done", "bytes": record.bytes, "seconds": record.seconds})


def _detect_gpus(folder: Path) -> list[Capability]:
    """Return the compute capabilities of this machine's GPUs, detected by the installer."""
    command = [sys.executable, "-I", str(script("install_wheel.py")), "--detect", "--json"]
    answer = run(command, env=os.environ, cwd=folder, timeout=_SECONDS)
    gpus = json.loads(answer.output)["gpus"] if answer.status == 0 else []
    return [Capability.parse(gpu["capability"]) for gpu in gpus]


def _smoke(
    declaration: Declaration, row: Rehearsed, options: Options, gpus: Sequence[Capability], notify: Notify
) -> Rehearsed:
    if row.build != "done" or not row.wheel.endswith(".whl"):  # an sdist has to be built first
        return row
    if options.fake:
        return row.model_copy(update={"smoke": "placeholder"})

    notify(f"smoke {row.id}")
    try:
        record = smoke_wheel(
            options.folder / "wheels" / row.wheel,
            gpu=any(capability in row.cell.covers for capability in gpus),
            package=declaration.package(row.cell.package),
            cell=row.cell,
        )
    except PipelineError as error:
        notify(str(error))
        return row.model_copy(
            update={"smoke": "failed", "reason": str(error).splitlines()[0], "status": error.exit_code}
        )
    if not record.passed:
        failed = [check for check in (record.import_, record.gpu) if check and check.outcome == "failed"]
        return row.model_copy(
            update={
                "smoke": "failed",
                "reason": failed[0].detail.splitlines()[0],
                "status": VerificationError.exit_code,
            }
        )
    return row.model_copy(update={"smoke": record.proven})


def _release(plan: Plan, rows: Sequence[Rehearsed], options: Options, notify: Notify) -> ReleaseRecord:
    """Release the built wheels to the folder ``store``; cells that this machine cannot build are not expected."""
    expected = {row.id for row in rows if row.build != "skipped"}
    narrowed = plan.model_copy(update={"cells": [cell for cell in plan.cells if cell.id in expected]})
    wheels = [options.folder / "wheels" / row.wheel for row in rows if row.build == "done"]
    notify(f"release {count_of(len(wheels), 'wheel')} as {plan.tag}")
    store = open_store(f"dir:{options.folder / 'store'}")
    return release(store, ReleaseRequest(tag=plan.tag or plan.channel, files=tuple(wheels), plan=narrowed))


def _index(rows: Sequence[Rehearsed], options: Options, notify: Notify) -> list[Rehearsed]:
    folder = options.folder / "index"
    report = make_index(open_store(f"dir:{options.folder / 'store'}"), folder)
    notify(f"index: {count_of(report.wheels, 'wheel')} on {count_of(report.pages, 'page')}")
    written = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    listed = {entry["file"] for entry in [*written["wheels"], *written.get("sdists", [])]}
    return [row.model_copy(update={"index": "listed" if row.wheel in listed else "-"}) for row in rows]


def _install_all(rows: Sequence[Rehearsed], options: Options, notify: Notify) -> list[Rehearsed]:
    """Install the wheels for this CPU from the index, as users do: all real ones, or one placeholder."""
    listed = [row for row in rows if row.index == "listed" and row.wheel.endswith(".whl")]
    here = [row for row in listed if row.cell.arch in (None, platform.machine())]
    chosen = {row.id for row in (here[:1] if options.fake else here)}
    done = []
    for row in rows:
        if row.id not in chosen:
            done.append(row)
            continue
        notify(f"install {row.id} from the index")
        failure = _install(row.cell, options.folder)
        update = (
            {"install": "failed", "reason": failure, "status": VerificationError.exit_code}
            if failure
            else {"install": "done"}
        )
        done.append(row.model_copy(update=update))
    return done


def _install(cell: Cell, folder: Path) -> str | None:
    """Install one wheel into a new virtual environment. Return why that failed, or None.

    The installer runs outside the working folder: it runs pip of any Python version, which imports modules from there.
    """
    folder = folder.resolve()
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
    answer = run(command, env=clean, cwd=user, timeout=_SECONDS)
    if answer.status != 0:
        try:
            return str(json.loads(answer.output)["error"])
        except (ValueError, KeyError):  # the installer itself crashed
            return answer.errors.strip().splitlines()[-1] if answer.errors.strip() else f"the installer {answer.ended}"
    query = f"import importlib.metadata as m; print(m.version({cell.package!r}))"
    found = run([str(python), "-I", "-c", query], env=clean, cwd=user, timeout=_SECONDS).output.strip()
    return None if found == cell.full_version else f"installed {found or 'nothing'} instead of {cell.full_version}"
