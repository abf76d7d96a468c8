"""Whether this wheel holds code for the GPUs that are here: a module that fatwheel puts into wheels, as ``guard`` says.

    from mykernels._fits import fits

    answer = fits()          # answer.ok is True, False, or None where that cannot be known
    if answer.ok is False:
        raise ImportError(answer.why)

Nothing is loaded or asked when it is imported. `fits` asks the driver's management library, which makes no CUDA
context, so that the process may fork afterwards; what that cannot tell, a process of its own asks CUDA. Standard
library only, Python 3.9 or later. FATWHEEL_GPU="9.0,12.0" stands for the GPUs, CUDA_VISIBLE_DEVICES is respected.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from typing import NamedTuple

DISTRIBUTION = ""  # fatwheel writes the name in


class Fit(NamedTuple):
    """The answer. ``ok`` is None where it cannot be known; capabilities are dotted, as 9.0."""

    ok: bool | None
    covers: tuple[str, ...]
    gpus: tuple[str, ...]
    why: str


def fits() -> Fit:
    """Hold what this wheel covers against every visible GPU."""
    covers = covered(DISTRIBUTION)
    gpus = capabilities()
    if covers is None:
        return Fit(None, (), gpus or (), f"{DISTRIBUTION or 'this file'} says nowhere what GPUs it covers")
    if not gpus:
        why = "no driver answers" if gpus is None else "no GPU is visible"
        return Fit(None, covers, (), f"{DISTRIBUTION} covers {', '.join(covers)}; {why}")
    missing = [one for one in gpus if one not in covers]
    if missing:
        why = f"{DISTRIBUTION} {version(DISTRIBUTION)} holds no code for compute capability {', '.join(missing)}"
        return Fit(False, covers, gpus, f"{why}, only for {', '.join(covers)}: install the wheel for this GPU")
    return Fit(True, covers, gpus, f"{DISTRIBUTION} covers {', '.join(gpus)}")


def version(distribution: str) -> str:
    """The installed version, with its label."""
    return metadata.version(distribution)


def covered(distribution: str) -> tuple[str, ...] | None:
    """What a wheel covers; of one that holds no code itself, what those of its version cover that it requires."""
    try:
        found = metadata.distribution(distribution)
        covers = set(json.loads(found.read_text("fatwheel.json") or "")["covers"])
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError):
        return None
    for text in [] if covers else found.requires or []:
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", text)
        if name and f"=={found.version}" in text.replace(" ", ""):
            covers |= set(covered(name[0]) or ())
    return tuple(sorted(covers, key=_pair))


def capabilities() -> tuple[str, ...] | None:
    """Those of all visible GPUs, ascending, each once; None where nobody can be asked."""
    override = os.environ.get("FATWHEEL_GPU")
    if override is not None:
        return _once(re.findall(r"\d+\.\d", override))
    try:
        found = _ask_nvml()
    except (OSError, AttributeError):  # no such library, or one too old for what is asked
        found = None
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if found is not None and (setting is None or len(set(found)) == 1 == len(found)) and setting not in ("", "-1"):
        return _once(found)
    return _ask_cuda()


def _ask_nvml() -> list[str] | None:
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    if nvml.nvmlInit_v2():
        return None
    count, major, minor = ctypes.c_uint(), ctypes.c_int(), ctypes.c_int()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device = ctypes.c_void_p()
        if not nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device)):
            nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor))
            found.append(f"{major.value}.{minor.value}")
    nvml.nvmlShutdown()
    return found


def _ask_cuda() -> tuple[str, ...] | None:
    """Ask in a process of its own: after cuInit this one could not fork any more."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", __file__], capture_output=True, text=True, timeout=60, check=True
        )
        return _once(answer.stdout.split())
    except (OSError, subprocess.SubprocessError):
        return None


def _devices() -> list[str]:
    cuda = ctypes.CDLL("libcuda.so.1")
    count, device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    started = cuda.cuInit(0)
    if started == 100:  # CUDA_ERROR_NO_DEVICE
        return []
    if started or cuda.cuDeviceGetCount(ctypes.byref(count)):
        sys.exit(1)
    found = []
    for index in range(count.value):
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # COMPUTE_CAPABILITY_MAJOR, then _MINOR
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        found.append(f"{major.value}.{minor.value}")
    return found


def _pair(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _once(found: list[str]) -> tuple[str, ...]:
    return tuple(sorted(set(found), key=_pair))


if __name__ == "__main__":
    print(*_devices())
