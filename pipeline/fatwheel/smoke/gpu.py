"""The GPU test: find a covered device, load every kernel of the wheel, and run the package's smoke command."""

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
_SASS_SECTION = ".nv_fatbin"  # __nv_relfatbin is input of the device linker, whose output is in here too


@dataclass(frozen=True)
class GpuResult:
    """The result of the GPU test. ``loaded``: number of fat binaries; ``without``: libraries without code."""

    check: Check
    device: Device | None = None
    executed: tuple[Capability, ...] = ()
    loaded: int | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class _VisibleDevice:
    device: Device
    setting: str  # the value of CUDA_VISIBLE_DEVICES that selects only this device


def run_gpu_test(bare: CleanEnvironment, subject: Subject, environ: Mapping[str, str]) -> GpuResult:
    """Run the GPU test in the environment of the import test."""
    variables = bare.variables(environ, gpu=True)
    try:
        devices = _detect_devices(bare, variables)
    except SmokeError as error:
        return GpuResult(Check(outcome="failed", detail=str(error)))
    if not devices:
        return GpuResult(Check(outcome="skipped", detail="no NVIDIA GPU found on this machine"))
    chosen = next((one for one in devices if subject.covers is None or one.device.capability in subject.covers), None)
    if chosen is None:
        found = ", ".join(f"{one.device.name} ({one.device.capability})" for one in devices)
        covered = ", ".join(map(str, subject.covers or ())) or "none"
        detail = f"the wheel does not cover the GPU of this machine: {found}; it covers {covered}"
        return GpuResult(Check(outcome="failed", detail=detail), devices[0].device)
    variables |= {
        "CUDA_VISIBLE_DEVICES": chosen.setting,
        "CUDA_MODULE_LOADING": "EAGER",
        "CUDA_CACHE_DISABLE": "1",
    }
    try:
        return _test_device(chosen.device, bare, subject, variables, environ)
    except SmokeError as error:
        return GpuResult(Check(outcome="failed", detail=str(error)), chosen.device)


def _test_device(
    device: Device, bare: CleanEnvironment, subject: Subject, variables: dict[str, str], environ: Mapping[str, str]
) -> GpuResult:
    """Load the kernels, then run the smoke command. Raises `SmokeError`."""
    code = find_device_code(bare.site_packages(), device.capability, subject.toolkit)
    without = tuple(name for name, offsets in code.items() if not offsets)
    loaded = _load_kernels(bare, code, variables)
    if not subject.command:
        detail = f"fat binaries loaded: {loaded}; no kernel was run: the package declares no smoke command"
        return GpuResult(Check(outcome="skipped", detail=detail), device, loaded=loaded, without=without)
    values = smoke_fields(str(bare.python), subject)
    try:
        command = [fill(part, values) for part in subject.command]
        requires = [fill(part, values) for part in subject.requires]
        own = {name: fill(value, values) for name, value in subject.env.items()}
    except KeyError as error:
        raise UsageError(
            f"the smoke command uses the field {error}, which needs a cell",
            help="use the wheel of a cell, with --matrix",
        ) from None
    if requires:
        bare.install(requires, environ)
    answer = run(command, env=variables | own, cwd=bare.work, timeout=_COMMAND_SECONDS)
    if answer.status != 0:
        raise SmokeError(f"{' '.join(subject.command)} {answer.ended}:\n{answer.tail}")
    last = (answer.output.strip().splitlines() or ["no output"])[-1]
    detail = f"fat binaries loaded: {loaded}; {last}"
    return GpuResult(Check(outcome="passed", detail=detail), device, (device.capability,), loaded, without)


def _detect_devices(bare: CleanEnvironment, variables: Mapping[str, str]) -> list[_VisibleDevice]:
    """Return the devices that the installer's detection finds. Raises `SmokeError` if it fails."""
    command: list[str | Path] = [sys.executable, "-I", script("install_wheel.py"), "--detect", "--json"]
    answer = run(command, env=variables, cwd=bare.work, timeout=_DETECT_SECONDS)
    if answer.status != 0:
        raise SmokeError(f"GPU detection {answer.ended}: {answer.tail}")
    machine = json.loads(answer.output)
    shown = variables.get("CUDA_VISIBLE_DEVICES")
    tokens = shown.split(",") if shown else []
    found = []
    for index, gpu in enumerate(machine["gpus"]):
        setting = gpu["uuid"] or (tokens[index].strip() if index < len(tokens) else str(index))
        device = Device(name=gpu["name"], capability=Capability.parse(gpu["capability"]), driver=machine["driver"])
        found.append(_VisibleDevice(device, setting))
    return found


def find_device_code(folder: Path, capability: Capability, toolkit: str | None) -> dict[str, list[int]]:
    """Return the file offsets of the fat binaries for a device, by library path, for libraries with device code.

    The list is empty for a library without machine code (SASS) for the device.
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
            found[str(path)] = [one.offset for one in containers if _runs_on(one, capability, release)]
    return found


def _runs_on(container: fatbin.Container, capability: Capability, release: str) -> bool:
    return any(entry.code == "sass" and runs(entry.target, capability, release) for entry in container.entries)


def _load_kernels(bare: CleanEnvironment, code: Mapping[str, Sequence[int]], variables: Mapping[str, str]) -> int:
    """Load every fat binary for the device and return their number. Raises `SmokeError` with all that fail."""
    libraries = [{"path": path, "containers": offsets} for path, offsets in code.items() if offsets]
    command: list[str | Path] = [bare.python, "-I", script("smoke_gpu.py")]
    answer = run(command, env=variables, cwd=bare.work, timeout=_LOAD_SECONDS, stdin=json.dumps(libraries))
    if answer.status != 0:
        raise SmokeError(f"loading the kernels {answer.ended}: {answer.tail}")
    report: dict[str, Any] = json.loads(answer.output)
    if report["error"]:
        raise SmokeError(f"cannot initialize the CUDA driver: {report['error']}")
    wrong = []
    for path, seen in report["libraries"].items():
        wrong += [f"{Path(path).name}: {error}" for error in seen["errors"]]
        if seen["without"]:
            wrong.append(f"{Path(path).name}: {seen['without']} fat binaries without code for this device")
    if wrong:
        raise SmokeError(f"cannot load all fat binaries: {'; '.join(wrong)}")
    return sum(seen["loaded"] for seen in report["libraries"].values())


def smoke_fields(python: str, subject: Subject) -> dict[str, str]:
    """Return the value of every field of a smoke command; without a cell, only those in the wheel's name."""
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
