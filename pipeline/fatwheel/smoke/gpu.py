"""The GPU test: the device is one that the wheel covers, all its kernels load, and its own smoke command runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fatwheel.declaration.templates import axis_fields, fill
from fatwheel.errors import SmokeError, UsageError
from fatwheel.processes import run
from fatwheel.records.smoke import Check, Device
from fatwheel.resources import script, scripts
from fatwheel.smoke.clean_environment import CleanEnvironment
from fatwheel.smoke.subject import Subject
from fatwheel.targets import Capability, dotted, runs, toolkits
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.io.byte_sources import FileSource, open_file

_DETECT_SECONDS = 120.0
_LOAD_SECONDS = 900.0
_COMMAND_SECONDS = 1200.0
_SASS_SECTION = ".nv_fatbin"  # __nv_relfatbin is the linker's input: what came of it is in here too


@dataclass(frozen=True)
class Ran:
    """The verdict, the device, and how many fat binaries were loaded; ``without`` lists libraries with none for it."""

    check: Check
    device: Device | None = None
    executed: tuple[Capability, ...] = ()
    loaded: int | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Visible:
    device: Device
    setting: str  # CUDA_VISIBLE_DEVICES that leaves this one alone


def run_gpu_test(bare: CleanEnvironment, subject: Subject, environ: Mapping[str, str]) -> Ran:
    """Run the test in the environment that the wheel was imported in."""
    variables = bare.variables(environ, gpu=True)
    try:
        devices = _visible(bare, variables)
    except SmokeError as error:
        return Ran(Check(outcome="failed", detail=str(error)))
    if not devices:
        return Ran(Check(outcome="skipped", detail="not proven: no NVIDIA GPU was found on this machine"))
    chosen = next((one for one in devices if subject.covers is None or one.device.capability in subject.covers), None)
    if chosen is None:
        here = ", ".join(f"{one.device.name} ({one.device.capability})" for one in devices)
        covered = ", ".join(map(str, subject.covers or ())) or "no GPU"
        detail = f"this wheel is not for the GPU here: {here}; it covers {covered}"
        return Ran(Check(outcome="failed", detail=detail), devices[0].device)
    variables |= {
        "CUDA_VISIBLE_DEVICES": chosen.setting,
        "CUDA_MODULE_LOADING": "EAGER",
        "CUDA_CACHE_DISABLE": "1",
    }
    try:
        return _on(chosen.device, bare, subject, variables, environ)
    except SmokeError as error:
        return Ran(Check(outcome="failed", detail=str(error)), chosen.device)


def _on(
    device: Device, bare: CleanEnvironment, subject: Subject, variables: dict[str, str], environ: Mapping[str, str]
) -> Ran:
    """Load, then run. Raises `SmokeError` for what fails."""
    code = fitting_code(bare.site_packages(), device.capability, subject.toolkit)
    without = tuple(name for name, offsets in code.items() if not offsets)
    loaded = _load(bare, code, variables)
    if not subject.command:
        detail = f"fat binaries loaded: {loaded}; nothing was run: the declaration has no smoke command for it"
        return Ran(Check(outcome="skipped", detail=detail), device, loaded=loaded, without=without)
    values = command_fields(str(bare.python), subject)
    try:
        command = [fill(part, values) for part in subject.command]
        requires = [fill(part, values) for part in subject.requires]
        own = {name: fill(value, values) for name, value in subject.env.items()}
    except KeyError as error:
        raise UsageError(f"the smoke command has a field {error} that means nothing here") from None
    if requires:
        bare.install(requires, environ)
    answer = run(command, env=variables | own, cwd=bare.work, timeout=_COMMAND_SECONDS)
    if answer.status != 0:
        raise SmokeError(f"{' '.join(subject.command)} {answer.ended}:\n{answer.tail}")
    last = (answer.output.strip().splitlines() or ["it said nothing"])[-1]
    detail = f"fat binaries loaded: {loaded}; {last}"
    return Ran(Check(outcome="passed", detail=detail), device, (device.capability,), loaded, without)


def _visible(bare: CleanEnvironment, variables: Mapping[str, str]) -> list[_Visible]:
    """The devices, by the installer's own detection. Raises `SmokeError` if that breaks."""
    command: list[str | Path] = [sys.executable, "-I", script("install_wheel.py"), "--detect", "--json"]
    answer = run(command, env=variables, cwd=bare.work, timeout=_DETECT_SECONDS)
    if answer.status != 0:
        raise SmokeError(f"looking for GPUs {answer.ended}: {answer.tail}")
    machine = json.loads(answer.output)
    shown = variables.get("CUDA_VISIBLE_DEVICES")
    tokens = shown.split(",") if shown else []
    found = []
    for index, gpu in enumerate(machine["gpus"]):
        setting = gpu["uuid"] or (tokens[index].strip() if index < len(tokens) else str(index))
        device = Device(name=gpu["name"], capability=Capability.parse(gpu["capability"]), driver=machine["driver"])
        found.append(_Visible(device, setting))
    return found


def fitting_code(folder: Path, capability: Capability, toolkit: str | None) -> dict[str, list[int]]:
    """For each library below ``folder`` that holds device code, by path: where the fat binaries for a device start.

    A module may hold nothing for a device that its wheel covers; then its list is empty.
    """
    release = toolkit or list(toolkits())[-1]
    found: dict[str, list[int]] = {}
    for path in sorted(folder.rglob("*.so*")):
        if path.is_symlink() or not path.is_file():
            continue
        with open_file(path) as file:
            source = FileSource(file)
            if source.read(0, min(4, source.size)) != elf.MAGIC:
                continue
            containers = [
                container
                for section in elf.read_elf(source).sections
                if section.name == _SASS_SECTION
                for container in fatbin.read_containers(source, section.offset, section.size)
            ]
        if containers:
            found[str(path)] = [one.offset for one in containers if _fits(one, capability, release)]
    return found


def _fits(container: fatbin.Container, capability: Capability, release: str) -> bool:
    return any(entry.code == "sass" and runs(entry.target, capability, release) for entry in container.entries)


def _load(bare: CleanEnvironment, code: Mapping[str, Sequence[int]], variables: Mapping[str, str]) -> int:
    """Load every fitting fat binary; how many. Raises `SmokeError` naming those that do not load."""
    wanted = [{"path": path, "containers": offsets} for path, offsets in code.items() if offsets]
    command: list[str | Path] = [bare.python, "-I", script("smoke_gpu.py")]
    answer = run(command, env=variables, cwd=bare.work, timeout=_LOAD_SECONDS, stdin=json.dumps(wanted))
    if answer.status != 0:
        raise SmokeError(f"loading its kernels {answer.ended}: {answer.tail}")
    report: dict[str, Any] = json.loads(answer.output)
    if report["error"]:
        raise SmokeError(f"the driver does not start: {report['error']}")
    wrong = []
    for path, seen in report["libraries"].items():
        wrong += [f"{Path(path).name}: {said}" for said in seen["errors"]]
        if seen["without"]:
            wrong.append(f"{Path(path).name}: the driver finds no code for this device in {seen['without']} of them")
    if wrong:
        raise SmokeError(f"fat binaries that do not load: {'; '.join(wrong)}")
    return sum(seen["loaded"] for seen in report["libraries"].values())


def command_fields(python: str, subject: Subject) -> dict[str, str]:
    """The value of every field that a smoke command may use; without a cell, of those that the name tells."""
    version = subject.name.version
    values = {
        "python": python,
        "scripts": str(scripts()),
        "version": version.public,
        "full_version": str(version),
        "local": version.local or "",
    }
    cell = subject.cell
    if cell is None:
        return values
    return values | {
        **axis_fields(cell.axes),
        "targets": dotted(cell.targets),
        "covers": dotted(cell.covers),
        "family": cell.family or "",
        "cuda": cell.cuda or "",
        "toolkit": cell.toolkit or "",
        "arch": cell.arch or "",
    }
