"""Check whether the installed wheel covers the GPUs of this machine; fatwheel adds this module to wheels (``guard``).

    from mykernels._fits import fits

    answer = fits()          # answer.ok is True, False, or None if unknown
    if answer.ok is False:
        raise ImportError(answer.why)

Importing the module detects nothing. `fits` queries NVML, which creates no CUDA context, so that the process can still
fork afterwards; if NVML does not suffice, a child process queries CUDA. The module requires only the standard library
of Python 3.9 or later. FATWHEEL_GPU="9.0,12.0" overrides GPU detection; CUDA_VISIBLE_DEVICES is respected.
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

DISTRIBUTION = ""  # fatwheel fills in the name


class Fit(NamedTuple):
    """The result. ``ok`` is None if unknown; ``covers`` and ``gpus`` are capabilities; ``why`` is a message."""

    ok: bool | None
    covers: tuple[str, ...]
    gpus: tuple[str, ...]
    why: str


def fits() -> Fit:
    """Compare the coverage of this wheel with all visible GPUs."""
    covers = read_coverage(DISTRIBUTION)
    gpus = detect_capabilities()
    if covers is None:
        return Fit(None, (), gpus or (), f"{DISTRIBUTION or 'this module'} does not declare the GPUs it covers")
    if not gpus:
        why = "no NVIDIA driver found" if gpus is None else "no GPU is visible"
        return Fit(None, covers, (), f"{DISTRIBUTION} covers {', '.join(covers)}; {why}")
    missing = [one for one in gpus if one not in covers]
    if missing:
        why = f"{DISTRIBUTION} {version(DISTRIBUTION)} does not cover compute capability {', '.join(missing)}"
        return Fit(False, covers, gpus, f"{why}, only {', '.join(covers)}; install the wheel for this GPU")
    return Fit(True, covers, gpus, f"{DISTRIBUTION} covers {', '.join(gpus)}")


def version(distribution: str) -> str:
    """Return the installed version, with its label."""
    return metadata.version(distribution)


def read_coverage(distribution: str) -> tuple[str, ...] | None:
    """Return the coverage of a wheel, for a shim that of its installed provider wheels; None if it declares none."""
    try:
        found = metadata.distribution(distribution)
        covers = set(json.loads(found.read_text("fatwheel.json") or "")["covers"])
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError):
        return None
    for text in [] if covers else found.requires or []:
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", text)
        if name and f"=={found.version}" in text.replace(" ", ""):
            covers |= set(read_coverage(name[0]) or ())
    return tuple(sorted(covers, key=_parse_pair))


def detect_capabilities() -> tuple[str, ...] | None:
    """Return the distinct capabilities of all visible GPUs, ascending; None without a driver."""
    override = os.environ.get("FATWHEEL_GPU")
    if override is not None:
        return _sort_unique(re.findall(r"\d+\.\d", override))
    try:
        found = _query_nvml()
    except (OSError, AttributeError):  # the library is missing, or too old
        found = None
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if found is not None and (setting is None or len(set(found)) == 1 == len(found)) and setting not in ("", "-1"):
        return _sort_unique(found)
    return _query_cuda()


def _query_nvml() -> list[str] | None:
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


def _query_cuda() -> tuple[str, ...] | None:
    """Query CUDA in a child process: after cuInit, this process could not fork."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", __file__], capture_output=True, text=True, timeout=60, check=True
        )
        return _sort_unique(answer.stdout.split())
    except (OSError, subprocess.SubprocessError):
        return None


def _list_devices() -> list[str]:
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


def _parse_pair(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _sort_unique(found: list[str]) -> tuple[str, ...]:
    return tuple(sorted(set(found), key=_parse_pair))


if __name__ == "__main__":
    print(*_list_devices())
