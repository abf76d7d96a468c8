#!/usr/bin/env python3
"""Install the wheel that fits the GPUs of this machine, from an index written by fatwheel.

    python install_wheel.py PROJECT[==VERSION] --index-url URL_OR_FOLDER
    uv run install_wheel.py PROJECT[==VERSION] --index-url URL_OR_FOLDER

The script requires only the standard library of Python 3.9 or later; torch is not required. It reads ``index.json`` of
the index, detects the driver, all visible GPUs and the target Python, and selects one wheel that covers all the GPUs
(for a shim, the provider wheels that they need), or explains why none fits. It never relies on the order of local
versions: pip and uv resolve a plain ``PROJECT==1.0`` to the label that sorts highest, whatever the GPU.

Without a version, it installs the version of the installed packages that are released together with PROJECT, or of the
package given with --match (for a source checkout whose metadata has version 0.0.0, the version in its version.txt);
otherwise the newest. --upgrade always installs the newest.

pip (or uv, if the target Python has no pip) receives the exact wheel with its hash, ``PROJECT @ URL#sha256=...``. So
dependencies come from the index that pip is configured for, and the wheel itself cannot be replaced by a wheel of the
same name on another index. ``--dry-run`` prints the command, and also the pin ``PROJECT==VERSION+LABEL`` with its index
page for a requirements file.

Environment: FATWHEEL_INDEX_URL and FATWHEEL_CUDA set the defaults of --index-url and --cuda-version. FATWHEEL_GPU, for
example "9.0,12.0", overrides GPU detection (empty: no GPU). CUDA_VISIBLE_DEVICES is respected.

Exit codes: 0 success; 1 pip or uv failed; 2 usage error or unreadable index; 5 no wheel fits, or the installed wheel
does not fit; 130 interrupted.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

Wheel = dict[str, Any]  # one entry of index.json
Pair = tuple[int, int]

USAGE, UNFIT = 2, 5


class InstallError(Exception):
    """An error that the user can fix. ``code`` is the exit code of the process."""

    def __init__(self, what: str, help: str = "", code: int = UNFIT) -> None:
        super().__init__(what)
        self.what, self.help, self.code = what, help, code


# --- versions ---------------------------------------------------------------------------------------------------------

_VERSION = re.compile(
    r"""v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_number>\d*))?
    (?P<post>-(?P<post_short>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>\d*))?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_number>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Version:
    """A PEP 440 version: ``key`` orders public versions, ``local`` is the label or empty."""

    key: tuple[Any, ...]
    local: str
    dev: bool
    pre: bool
    text: str

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse a version. Raises `InstallError`."""
        match = _VERSION.fullmatch(text.strip())
        if not match:
            raise InstallError(f"invalid version '{text}'", "use a version such as 0.6.13", USAGE)
        release = [int(part) for part in match["release"].split(".")]
        while len(release) > 1 and not release[-1]:
            release.pop()
        post = -1 if match["post"] is None else int(match["post_short"] or match["post_number"] or 0)
        dev = float("inf") if match["dev"] is None else int(match["dev_number"] or 0)
        if match["pre"]:
            letter = {"alpha": "a", "beta": "b", "a": "a", "b": "b"}.get(match["pre"].lower(), "rc")
            pre: tuple[Any, ...] = (0, letter, int(match["pre_number"] or 0))
        else:  # 1.0.dev1 comes before 1.0a1, and 1.0 after 1.0rc1
            pre = (-1,) if post < 0 and match["dev"] is not None else (1,)
        key = (int(match["epoch"] or 0), tuple(release), pre, post, dev)
        local = re.sub(r"[-_]", ".", match["local"] or "").lower()
        return cls(key, local, match["dev"] is not None, bool(match["pre"]), text.strip())


def parse_cuda_label(text: str) -> str:
    """Return ``cu130`` for ``cu130``, ``130`` or ``13.0``. Raises `InstallError`."""
    match = re.fullmatch(r"(?:cu)?(\d{1,2})\.(\d{1,2})(?:\.\d+)?|(?:cu)?([1-9]\d{2,3}|[89]\d)", text.strip().lower())
    if not match:
        raise InstallError(f"invalid CUDA version '{text}'", "use a form such as 13.0, 130 or cu130", USAGE)
    return f"cu{match[1]}{match[2]}" if match[1] else f"cu{match[3]}"


def parse_cuda_release(label: str) -> Pair:
    """Return (13, 0) for ``cu130``. Two digits stand for CUDA 9 and earlier."""
    digits = label[2:]
    major = digits[:1] if len(digits) == 2 else digits[:2]
    return int(major), int(digits[len(major) :])


def normalize_name(name: str) -> str:
    """Normalize a project name as package indexes do (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_capability(text: str) -> Pair:
    """Return (9, 0) for ``9.0``. Raises `InstallError`."""
    match = re.fullmatch(r"(\d{1,2})\.(\d)", text.strip())
    if not match:
        raise InstallError(f"invalid compute capability '{text}'", "use a form such as 9.0 or 12.1", USAGE)
    return int(match[1]), int(match[2])


# --- the machine ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gpu:
    """A GPU visible to CUDA."""

    capability: str
    name: str = ""
    uuid: str = ""


@dataclass(frozen=True)
class Machine:
    """The visible GPUs, the newest CUDA release that the driver supports, the driver version, and their source."""

    gpus: tuple[Gpu, ...] = ()
    cuda: Pair | None = None
    driver: str | None = None
    source: str = "NVML, libcuda, nvidia-smi"

    @property
    def capabilities(self) -> list[str]:
        """The distinct capabilities of all GPUs, ascending."""
        return sorted({gpu.capability for gpu in self.gpus}, key=parse_capability)

    def describe_gpus(self) -> str:
        """Format the GPUs for messages: ``9.0 (NVIDIA H200)``."""
        names = {gpu.capability: gpu.name for gpu in self.gpus}
        return ", ".join(f"{c} ({names[c]})" if names[c] else c for c in self.capabilities) or "none"

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serializable data."""
        gpus = [{"capability": gpu.capability, "name": gpu.name, "uuid": gpu.uuid} for gpu in self.gpus]
        cuda = None if self.cuda is None else f"{self.cuda[0]}.{self.cuda[1]}"
        return {"gpus": gpus, "cuda": cuda, "driver": self.driver, "source": self.source}


def _decode_cuda_version(number: int) -> Pair:
    return number // 1000, number % 1000 // 10


def filter_visible(gpus: Sequence[Gpu], setting: str | None) -> tuple[Gpu, ...]:
    """Apply CUDA_VISIBLE_DEVICES: indices or UUIDs, up to the first invalid one."""
    if setting is None:
        return tuple(gpus)
    chosen: list[Gpu] = []
    for word in setting.split(","):
        token = word.strip()
        if token.isdigit() and int(token) < len(gpus):
            chosen.append(gpus[int(token)])
            continue
        named = [gpu for gpu in gpus if token.startswith("GPU-") and gpu.uuid.startswith(token)]
        if len(named) != 1:
            break
        chosen.append(named[0])
    return tuple(chosen)


def query_nvml() -> Machine | None:
    """Query NVML, which creates no CUDA context and lists all GPUs (16 ms on an H200); None if unavailable."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return None
    except OSError:
        return None
    count, number, text = ctypes.c_uint(), ctypes.c_int(), ctypes.create_string_buffer(96)
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    found: list[Gpu] = []
    for index in range(count.value):
        device, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
        if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device)):
            continue
        if nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)):
            continue
        name = "" if nvml.nvmlDeviceGetName(device, text, 96) else text.value.decode(errors="replace")
        uuid = "" if nvml.nvmlDeviceGetUUID(device, text, 96) else text.value.decode(errors="replace")
        found.append(Gpu(f"{major.value}.{minor.value}", name, uuid))
    driver = None if nvml.nvmlSystemGetDriverVersion(text, 96) else text.value.decode(errors="replace")
    cuda = None if nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)) else _decode_cuda_version(number.value)
    nvml.nvmlShutdown()
    return Machine(filter_visible(found, os.environ.get("CUDA_VISIBLE_DEVICES")), cuda, driver, "NVML")


def _query_driver_version() -> str | None:
    try:
        machine = query_nvml()
    except AttributeError:
        return None
    return machine.driver if machine else None


def query_libcuda() -> Machine | None:
    """Query the CUDA driver, which applies CUDA_VISIBLE_DEVICES itself, including MIG and device order."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number, count, text = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(96)
    release = None if cuda.cuDriverGetVersion(ctypes.byref(number)) else _decode_cuda_version(number.value)
    found: list[Gpu] = []
    started = cuda.cuInit(0)
    if started not in (0, 100):  # 100: CUDA_ERROR_NO_DEVICE
        return None
    if not started:
        cuda.cuDeviceGetCount(ctypes.byref(count))
    for index in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # COMPUTE_CAPABILITY_MAJOR, then _MINOR
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        name = "" if cuda.cuDeviceGetName(text, 96, device) else text.value.decode(errors="replace")
        found.append(Gpu(f"{major.value}.{minor.value}", name))
    return Machine(tuple(found), release, None, "libcuda")


def query_nvidia_smi() -> Machine | None:
    """Query nvidia-smi, the last resort: old versions do not support the field compute_cap."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=compute_cap,driver_version,uuid,name", "--format=csv,noheader"]
    try:
        table = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True).stdout
        header = subprocess.run([tool], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    fields = [[cell.strip() for cell in line.split(",", 3)] for line in table.splitlines() if line.count(",") >= 3]
    found = [Gpu(f[0], f[3], f[2]) for f in fields if re.fullmatch(r"\d+\.\d", f[0])]
    release = re.search(r"CUDA Version:\s*(\d+)\.(\d+)", header)
    return Machine(
        filter_visible(found, os.environ.get("CUDA_VISIBLE_DEVICES")),
        (int(release[1]), int(release[2])) if release else None,
        fields[0][1] if fields else None,
        "nvidia-smi",
    )


def detect() -> Machine:
    """Detect the machine with the first source that works: FATWHEEL_GPU, NVML, libcuda, nvidia-smi.

    If CUDA_VISIBLE_DEVICES is set, libcuda comes first: on machines with different GPUs, NVML orders them differently.
    """
    sources = [query_nvml, query_libcuda, query_nvidia_smi]
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        sources[:2] = [query_libcuda, query_nvml]
    best = Machine()
    for query in sources:
        try:
            answer = query()
        except AttributeError:  # the library is too old to have the function
            continue
        if answer is not None and (answer.gpus or best.cuda is None):
            best = answer
        if best.gpus:
            break
    if best.gpus and best.driver is None:  # libcuda does not report it
        best = replace(best, driver=_query_driver_version())
    override = os.environ.get("FATWHEEL_GPU")
    if override is None:
        return best
    named = [Gpu("{}.{}".format(*parse_capability(text))) for text in re.split(r"[\s,;]+", override.strip()) if text]
    return Machine(tuple(named), best.cuda, best.driver, "FATWHEEL_GPU")


# --- the target Python ------------------------------------------------------------------------------------------------

_PROBE = r"""
import json, os, platform, re, sys, urllib.request
sys.path[:] = [entry for entry in sys.path if entry]
from importlib import metadata

def look(name):
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    cuda = re.search(r"\+(cu\d{2,4})", found.version)
    if name == "torch" and not cuda:
        try:
            with open(found.locate_file("torch/version.py")) as file:
                cuda = re.search(r"cuda[^=\n]*=\s*['\"]([0-9.]+)['\"]", file.read())
        except OSError:
            pass
    return {
        "version": checkout(found) or found.version, "cuda": cuda[1] if cuda else None,
        "embedded": found.read_text("fatwheel.json"), "requires": found.requires or [],
    }

def checkout(found):
    if not found.version.startswith("0.0.0"):
        return None
    origin = json.loads(found.read_text("direct_url.json") or "{}").get("url", "")
    start = urllib.request.url2pathname(origin[7:]) if origin.startswith("file://") else str(found.locate_file(""))
    for folder in (start, os.path.dirname(start), os.getcwd()):
        try:
            with open(os.path.join(folder, "version.txt")) as file:
                return file.read().split()[0]
        except (OSError, IndexError):
            pass

try:
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
except (AttributeError, ValueError, OSError):
    libc = ""
print(json.dumps({
    "version": list(sys.version_info[:2]), "implementation": sys.implementation.name, "system": platform.system(),
    "threads": "t" in getattr(sys, "abiflags", ""), "machine": platform.machine(),
    "glibc": [int(n) for n in re.findall(r"\d+", libc)[:2]], "installed": {name: look(name) for name in sys.argv[1:]},
}))
"""


@dataclass(frozen=True)
class Python:
    """The target interpreter: its platform, and the distributions installed in it."""

    path: str
    version: Pair
    implementation: str = "cpython"
    threads: bool = False  # free-threaded
    system: str = "Linux"
    machine: str = "x86_64"
    glibc: Pair = (0, 0)  # (0, 0): not glibc
    installed: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def probe(cls, path: str, names: Sequence[str]) -> Python:
        """Run the interpreter to query its platform and these distributions. Raises `InstallError`."""
        try:
            answer = subprocess.run(
                [path, "-c", _PROBE, *names], capture_output=True, text=True, timeout=120, check=True
            )
            facts = json.loads(answer.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            tail = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
            raise InstallError(
                f"cannot run Python '{path}': {' '.join(tail)}", "give a working interpreter with --python", USAGE
            ) from None
        facts["version"] = tuple(facts["version"])
        facts["glibc"] = tuple(facts["glibc"]) or (0, 0)
        return cls(path=path, **facts)

    def rate_file(self, wheel: str) -> int:
        """Rate the compatibility tags of a wheel's file name: 0 incompatible, otherwise higher is better."""
        pythons, abis, platforms = wheel[: -len(".whl")].split("-")[-3:]
        one = max((self._rate_python_tag(p, a) for p in pythons.split(".") for a in abis.split(".")), default=0)
        other = max(map(self._rate_platform_tag, platforms.split(".")), default=0)
        return one * 1000 + other if one and other else 0

    def _rate_python_tag(self, python: str, abi: str) -> int:
        match = re.fullmatch(r"(cp|py)(\d)(\d*)", python)
        if not match or int(match[2]) != self.version[0]:
            return 0
        minor = int(match[3] or 0)
        if match[1] == "py":
            return 1 if abi == "none" and minor <= self.version[1] else 0
        if self.implementation != "cpython":
            return 0
        if abi == "abi3":
            return 2 if minor <= self.version[1] and not self.threads else 0
        exact = python + ("t" if self.threads else "")
        return 3 if minor == self.version[1] and match[3] and abi in (exact, "none") else 0

    def _rate_platform_tag(self, platform: str) -> int:
        if platform == "any":
            return 1
        if self.system != "Linux" or not platform.endswith("_" + self.machine):
            return 0
        floor = platform[: -len(self.machine) - 1]
        named = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17), "linux": (0, 0)}
        match = re.fullmatch(r"manylinux_(\d+)_(\d+)", floor)
        needs = (int(match[1]), int(match[2])) if match else named.get(floor)
        return 0 if needs is None or needs > self.glibc else 2 + needs[1]


# --- the index --------------------------------------------------------------------------------------------------------


def read_index(location: str) -> tuple[str, list[Wheel]]:
    """Return the index's base URL and the wheel entries of its index.json. Raises `InstallError`."""
    base = location.rstrip("/") + "/" if "://" in location else Path(location).expanduser().resolve().as_uri() + "/"
    if urllib.parse.urlsplit(base).scheme not in ("http", "https", "file"):
        raise InstallError(f"invalid index '{location}'", "give an http(s):// or file:// URL, or a folder", USAGE)
    address = base + "index.json"
    shown = address if "://" in location else str(Path(location).expanduser() / "index.json")
    help = "give the root of an index written by fatwheel: the URL or folder that contains index.json"
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "fatwheel-install"})  # noqa: S310  checked above
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            document = json.loads(answer.read().decode("utf-8"))
        return base, [entry for entry in document["wheels"] if entry["file"].endswith(".whl")]
    except urllib.error.HTTPError as error:
        raise InstallError(f"cannot read {shown}: {error.code} {error.reason}", help, USAGE) from None
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", error)
        raise InstallError(f"cannot read {shown}: {getattr(reason, 'strerror', None) or reason}", help, USAGE) from None
    except (ValueError, KeyError, TypeError):
        raise InstallError(f"{shown} was not written by fatwheel", help, USAGE) from None


# --- the choice -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """The options of the user; None means: decide from the machine."""

    project: str
    version: Version | None = None
    cuda: str | None = None
    family: str | None = None
    nightly: bool = False


def _join(words: Sequence[str], none: str = "none") -> str:
    shown = list(dict.fromkeys(words))
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "") if shown else none


def select_version(wheels: Sequence[Wheel], request: Request) -> list[Wheel]:
    """Return the project's entries of the requested version, or of the newest one. Raises `InstallError`."""
    entries = [entry for entry in wheels if normalize_name(entry["project"]) == normalize_name(request.project)]
    if not entries:
        names = _join(sorted({entry["project"] for entry in wheels}))
        raise InstallError(f"project '{request.project}' is not in this index", f"available projects: {names}", USAGE)
    parsed = sorted(
        ((Version.parse(entry["version"]), entry) for entry in entries), key=lambda pair: pair[0].key, reverse=True
    )
    if request.version is not None:
        if request.nightly and not request.version.dev:
            raise InstallError(
                f"--nightly conflicts with {request.project}=={request.version.text}: nightlies have .dev versions",
                "omit --nightly to install this version, or omit the version to install the newest nightly",
                USAGE,
            )
        wanted = request.version
        chosen = [r for v, r in parsed if v.key == wanted.key and (not wanted.local or v.local == wanted.local)]
        chosen = [entry for entry in chosen if entry.get("yanked") is None] or chosen
    else:
        kind = [(v, r) for v, r in parsed if v.dev == request.nightly and r.get("yanked") is None]
        final = [(v, r) for v, r in kind if v.dev or not v.pre] or kind
        chosen = [entry for version, entry in final if version.key == final[0][0].key]
    if not chosen:
        if request.version is not None:
            what = f"version {request.version.text} of {request.project} is not in this index"
        else:
            what = f"this index has no {'nightly' if request.nightly else 'release'} of {request.project}"
        known = _join(
            [entry["version"] + (" (yanked)" if entry.get("yanked") is not None else "") for _, entry in parsed]
        )
        raise InstallError(what, f"available versions: {known}", USAGE)
    return chosen


def rank_cuda_labels(labels: Sequence[str], around: Pair, *, older: bool) -> list[str]:
    """Rank CUDA labels, best first, for the CUDA release of a driver (``older``) or of torch.

    First labels of the same major release that are not newer, newest first; then newer ones of the same major (CUDA
    minor version compatibility); then, for a driver, older majors. Newer majors are excluded.
    """
    same = [label for label in labels if parse_cuda_release(label)[0] == around[0]]
    native = sorted(
        (label for label in same if parse_cuda_release(label) <= around), key=parse_cuda_release, reverse=True
    )
    newer = sorted((label for label in same if parse_cuda_release(label) > around), key=parse_cuda_release)
    old = sorted(
        (label for label in labels if parse_cuda_release(label)[0] < around[0]), key=parse_cuda_release, reverse=True
    )
    return native + newer + (old if older else [])


def choose_cuda_labels(
    entries: Sequence[Wheel], request: Request, machine: Machine, python: Python
) -> tuple[list[str], str]:
    """Return the usable CUDA labels, best first, and the reason. Raises `InstallError`."""
    labels = sorted({entry["cuda"] for entry in entries if entry["cuda"]}, key=parse_cuda_release)
    available = f"this version has wheels for {_join(labels)}"
    torch = python.installed.get("torch")
    if request.cuda is not None:
        order, why = [label for label in labels if label == request.cuda], f"{request.cuda} was requested"
    elif request.version is not None and request.version.local:
        order, why = labels, f"+{request.version.local} was requested"
    elif torch and torch["cuda"]:
        label = parse_cuda_label(torch["cuda"])
        order, why = (
            rank_cuda_labels(labels, parse_cuda_release(label), older=False),
            f"the installed torch {torch['version']} uses {label}",
        )
    elif machine.cuda is not None:
        order = rank_cuda_labels(labels, machine.cuda, older=True)
        why = "the driver supports CUDA {}.{}".format(*machine.cuda)
        available += "; a newer CUDA major requires a newer driver (CUDA 12: 525 or later, CUDA 13: 580 or later)"
    else:
        raise InstallError(
            "cannot determine the CUDA version: no NVIDIA driver or torch found", f"use --cuda-version; {available}"
        )
    if not order:
        raise InstallError(f"no wheel for a matching CUDA version: {why}", available)
    return order, why


def find_uncovered(entry: Wheel, machine: Machine) -> list[str]:
    """Return the capabilities of this machine that a wheel does not cover; none if its coverage is unknown."""
    return [] if entry["covers"] is None else [c for c in machine.capabilities if c not in entry["covers"]]


def choose_wheel(
    wheels: Sequence[Wheel], request: Request, machine: Machine, python: Python
) -> tuple[Wheel, list[str]]:
    """Choose one wheel; also returns notes for the user. Raises `InstallError` if none fits."""
    entries = select_version(wheels, request)
    try:
        return _choose_of_version(entries, request, machine, python)
    except InstallError as error:
        older = _find_older_version(wheels, entries, request, machine, python)
        if older is None:
            raise
        raise InstallError(
            error.what, f"{error.help}; or install {request.project}=={older}, which has a matching wheel", error.code
        ) from None


def _find_older_version(
    wheels: Sequence[Wheel], entries: Sequence[Wheel], request: Request, machine: Machine, python: Python
) -> str | None:
    """Return the newest older version with a wheel that fits; None if the user requested a version."""
    if request.version is not None:
        return None
    newest = Version.parse(entries[0]["version"]).key
    own = [entry for entry in wheels if normalize_name(entry["project"]) == normalize_name(request.project)]
    known: set[str] = {entry["version"].partition("+")[0] for entry in own}
    versions = [(Version.parse(text), text) for text in known]
    before = [pair for pair in versions if pair[0].key < newest and pair[0].dev == request.nightly]
    for version, text in sorted(before, key=lambda pair: pair[0].key, reverse=True):
        try:
            _choose_of_version(select_version(wheels, replace(request, version=version)), request, machine, python)
        except InstallError:
            continue
        return text
    return None


def _choose_of_version(
    entries: Sequence[Wheel], request: Request, machine: Machine, python: Python
) -> tuple[Wheel, list[str]]:
    """Choose among the entries of one version. Raises `InstallError`."""
    fitting = sorted(
        (entry for entry in entries if python.rate_file(entry["file"])),
        key=lambda entry: python.rate_file(entry["file"]),
    )
    if not fitting:
        here = "Python {}.{} on {} {}".format(*python.version, python.system, python.machine)
        tags = _join(sorted({entry["file"].split("-", 2)[2] for entry in entries}))
        version = entries[0]["version"].partition("+")[0]
        raise InstallError(f"no wheel of {request.project} {version} supports {here}", f"available tags: {tags}")
    if not any(entry["cuda"] for entry in fitting):
        return fitting[-1], ["this wheel contains no CUDA code"]
    order, why = choose_cuda_labels(fitting, request, machine, python)
    notes = [why]
    if request.family:
        held = [entry for entry in fitting if entry["family"] == request.family]
        by_label = ([entry for entry in held if entry["cuda"] == label] for label in order)
        chosen = next(filter(None, by_label), [])
        if not chosen:
            families = _join(
                sorted({entry["family"] for entry in fitting if entry["cuda"] in order and entry["family"]})
            )
            raise InstallError(
                f"no wheel of family {request.family} for {_join(order)}", f"available families: {families}"
            )
    elif request.version is not None and request.version.local:
        chosen = fitting
    elif not machine.gpus:
        raise InstallError(
            f"no GPU found (checked {machine.source})",
            "run this on the machine with the GPU, or choose a family with --sm-family: "
            + _join(sorted({entry["family"] for entry in fitting if entry["family"]})),
        )
    else:
        chosen = _choose_covering(fitting, order, machine)
    best = min(chosen, key=lambda entry: (-python.rate_file(entry["file"]), entry["bytes"] or 0, entry["file"]))
    missing = find_uncovered(best, machine)
    if missing:
        notes.append(f"warning: this wheel does not cover this machine's compute capability {', '.join(missing)}")
    if best["covers"] is None:
        notes.append("the GPUs that this wheel covers are unknown")
    return best, notes + describe_driver(best, machine) + describe_yank(best)


# The minimum driver of each CUDA major release under minor version compatibility (CUDA Toolkit release notes).
_DRIVERS = {11: 450, 12: 525, 13: 580}


def describe_driver(entry: Wheel, machine: Machine) -> list[str]:
    """Report whether the driver is new enough for a wheel; nothing if either is unknown."""
    if entry["cuda"] is None or machine.cuda is None:
        return []
    need = parse_cuda_release(entry["cuda"])
    minimum = f", which requires {_DRIVERS[need[0]]} or later" if need[0] in _DRIVERS else ""
    driver = f"driver {machine.driver or 'of unknown version'} (CUDA {{}}.{{}})".format(*machine.cuda)
    if need[0] > machine.cuda[0]:
        return [f"warning: {driver} is too old for {entry['cuda']}{minimum}"]
    notes = [f"{driver} supports {entry['cuda']}{minimum}"]
    if need > machine.cuda:
        notes.append(
            "CUDA minor version compatibility lets its machine code run here, but not features of a newer driver"
        )
    numbers = [int(part) for part in re.findall(r"\d+", machine.driver or "")]
    if (12, 8) <= need < (13, 0) and numbers and numbers < [550, 54, 14]:
        notes.append("warning: if its device code is compressed, it requires driver 550.54.14 or later")
    return notes


def describe_yank(entry: Wheel) -> list[str]:
    """Report that a wheel is yanked, with the reason."""
    reason = entry.get("yanked")
    return [] if reason is None else [f"warning: this wheel is yanked: {reason or 'no reason given'}"]


# --- shims with their provider wheels, and packages released together -------------------------------------------------


@dataclass(frozen=True)
class PinnedWheel:
    """A wheel to install, with extras if it is a shim."""

    entry: Wheel
    extras: tuple[str, ...] = ()

    def direct(self, base: str) -> str:
        """Return the requirement of exactly this file (PEP 508 direct reference)."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        url = urllib.parse.urljoin(base, self.entry["url"])
        return f"{normalize_name(self.entry['project'])}{extras} @ {url}#sha256={self.entry['sha256']}"


_NEED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;]+)\s*(?:;(.*))?")


def find_providers(shim: Wheel, wheels: Sequence[Wheel]) -> dict[str, tuple[str, list[Wheel]]]:
    """Find the provider wheels that a shim pins in this index: by project, its extra (or empty) and its wheels."""
    found: dict[str, tuple[str, list[Wheel]]] = {}
    for text in shim.get("requires_dist") or []:
        match = _NEED.match(text)
        if not match or match[2] != shim["version"]:
            continue
        name = normalize_name(match[1])
        held = [
            entry for entry in wheels if entry["project"] == name and entry["version"] == match[2] and entry["covers"]
        ]
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", match[3] or "")
        if held:
            found[name] = (extra[1] if extra else "", held)
    return found


def pick_wheels(
    wheels: Sequence[Wheel], request: Request, machine: Machine, python: Python
) -> tuple[list[PinnedWheel], list[str]]:
    """Choose the wheels to install, the project's own first; also returns notes for the user. Raises `InstallError`."""
    entries = select_version(wheels, request)
    shims = [entry for entry in entries if python.rate_file(entry["file"]) and find_providers(entry, wheels)]
    if not shims:
        entry, notes = choose_wheel(wheels, request, machine, python)
        return [PinnedWheel(entry)], notes
    order, why = choose_cuda_labels(shims, request, machine, python)
    found: list[str] = []
    for label in order:
        for shim in (entry for entry in shims if entry["cuda"] == label):
            held = {
                name: (extra, max(fit, key=lambda entry: python.rate_file(entry["file"])))
                for name, (extra, some) in find_providers(shim, wheels).items()
                if (fit := [entry for entry in some if python.rate_file(entry["file"])])
            }
            parts, lack = _pick_providers(shim, held, request, machine)
            if not lack:
                notes = [why, *describe_driver(shim, machine)]
                return parts, notes + [note for part in parts for note in describe_yank(part.entry)]
            covered = sorted({c for _, entry in held.values() for c in entry["covers"]}, key=parse_capability)
            found.append(f"the {label} provider wheels cover {_join(covered)}, not {_join(lack)}")
    wanted = f"family {request.family}" if request.family else machine.describe_gpus()
    version = entries[0]["version"].partition("+")[0]
    raise InstallError(f"no provider wheel of {request.project} {version} for {wanted}", "; ".join(found))


def _pick_providers(
    shim: Wheel, held: dict[str, tuple[str, Wheel]], request: Request, machine: Machine
) -> tuple[list[PinnedWheel], list[str]]:
    """Return the shim with the providers it needs here, and what no provider covers. Raises `InstallError`."""
    always = [entry for extra, entry in held.values() if not extra]
    wanted = [request.family] if request.family else machine.capabilities
    if not wanted and not always:
        available = _join(sorted(extra for extra, _ in held.values()))
        raise InstallError(
            f"no GPU found (checked {machine.source})",
            f"run this on the machine with the GPU, or choose a provider wheel with --sm-family: {available}",
        )
    chosen: dict[str, Wheel] = {entry["project"]: entry for entry in always}
    extras, lack = [], []
    for one in wanted:
        fits = [
            (len(entry["covers"]), entry["bytes"], name)
            for name, (extra, entry) in held.items()
            if one in (extra, entry["family"]) or one in entry["covers"]
        ]
        if not fits:
            lack.append(one)
        elif not any(name in chosen for _, _, name in fits):
            name = min(fits)[2]
            chosen[name] = held[name][1]
            extras.append(held[name][0])
    return [PinnedWheel(shim, tuple(extras)), *(PinnedWheel(entry) for entry in chosen.values())], lack


def follow_installed(
    wheels: Sequence[Wheel],
    request: Request,
    python: Python,
    match: str | None,
    probe: Callable[[list[str]], dict[str, Any]],
) -> tuple[Request, list[str]]:
    """Return the request with the version of the installed packages, and a note for the user. Raises `InstallError`."""
    name = normalize_name(request.project)
    tags = {entry.get("tag") for entry in wheels if entry["project"] == name}
    family = {entry["project"] for entry in wheels if entry.get("tag") in tags} - {name}
    others = [normalize_name(match)] if match else sorted(family)
    installed = probe(others) if others else {}
    for other in others:
        found = installed.get(other)
        if found is None:
            continue
        version = Version.parse(found["version"].partition("+")[0])
        if request.nightly and not version.dev:
            raise InstallError(
                f"--nightly conflicts with the installed release {other} {found['version']}: packages "
                "released together must have the same version",
                f"omit --nightly, install a nightly of {other} first, or use --upgrade",
                USAGE,
            )
        return replace(request, version=version), [f"using the version of the installed {other} {found['version']}"]
    if match:
        raise InstallError(
            f"{match}, given with --match, is not installed for {python.path}",
            "install it first, or give a version",
            USAGE,
        )
    own = python.installed.get(name)
    if own is None or request.nightly:
        return request, []
    version = Version.parse(own["version"].partition("+")[0])
    if any(entry["project"] == name and Version.parse(entry["version"]).key == version.key for entry in wheels):
        return replace(request, version=version), [
            f"{name} {own['version']} is installed; use --upgrade for the newest version"
        ]
    return request, [f"{name} {own['version']} is installed, but this index does not have that version"]


def _choose_covering(entries: Sequence[Wheel], order: Sequence[str], machine: Machine) -> list[Wheel]:
    for known in (True, False):
        for label in order:
            of_label = [entry for entry in entries if entry["cuda"] == label and (entry["covers"] is not None) == known]
            chosen = [entry for entry in of_label if not find_uncovered(entry, machine)]
            if chosen:
                return [
                    entry for entry in chosen if entry["version"] == min(chosen, key=lambda r: r["bytes"])["version"]
                ]
    known_entries = [entry for entry in entries if entry["cuda"] in order]
    ranked = sorted(known_entries, key=lambda entry: order.index(entry["cuda"]))
    held = {c: [entry["version"] for entry in ranked if c in entry["covers"]] for c in machine.capabilities}
    nowhere = [c for c, versions in held.items() if not versions]
    if nowhere:
        covered = sorted({c for entry in known_entries for c in entry["covers"]}, key=parse_capability)
        elsewhere = sorted(
            {entry["cuda"] for entry in entries if set(nowhere) <= set(entry["covers"] or ())} - set(order)
        )
        hint = f"; a wheel for {_join(elsewhere)} covers it: use --cuda-version" if elsewhere else ""
        raise InstallError(
            f"no wheel of this version covers compute capability {', '.join(nowhere)}; GPUs found: "
            + machine.describe_gpus(),
            f"wheels for {_join(order)} cover {_join(covered)}{hint}",
        )
    parts = "; ".join(f"{c} is covered by {versions[0]}" for c, versions in held.items())
    raise InstallError(
        f"no single wheel covers all GPUs found: {machine.describe_gpus()}; {parts}",
        "create one environment per kind of GPU: install with --sm-family, and run with CUDA_VISIBLE_DEVICES",
    )


# --- pip and uv -------------------------------------------------------------------------------------------------------


def current_python() -> str:
    """Return the running Python. Raises `InstallError` if uv deletes its environment afterwards."""
    if os.environ.get("UV") and re.search(r"[/\\](builds|environments|archive)-v\d+[/\\]", sys.prefix):
        raise InstallError(
            "uv runs this script in a temporary environment and deletes it afterwards",
            "give --python PATH, or use plain `uv run install_wheel.py`, which uses your environment",
            USAGE,
        )
    return sys.executable


def find_installer(python: str) -> list[str]:
    """Return the start of the install command: pip of that Python, or uv. Raises `InstallError`."""
    has_pip = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    if has_pip:
        return [python, "-m", "pip", "install"]
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", python]
    raise InstallError(
        f"{python} has no pip, and uv is not on PATH", f"run {python} -m ensurepip, or install uv", USAGE
    )


def check_installed(project: str, machine: Machine, python: Python) -> dict[str, Any]:
    """Check that the installed wheel covers all GPUs. Raises `InstallError` if it does not or if that is unknown."""
    found = python.installed.get(normalize_name(project))
    if found is None:
        raise InstallError(
            f"{project} is not installed for {python.path}", "install it, or choose another Python with --python"
        )
    shown = f"{project} {found['version']}"
    if not found["embedded"]:
        raise InstallError(
            f"{shown} does not declare the GPUs it covers: it contains no fatwheel.json",
            "only wheels that fatwheel built can be checked",
        )
    embedded = json.loads(found["embedded"])
    covers = set(embedded["covers"])
    if embedded["cuda"] is not None and not covers:  # the provider wheels of a shim contain its code
        names = [
            match[1] for text in found["requires"] if (match := _NEED.match(text)) and match[2] == found["version"]
        ]
        held = Python.probe(python.path, list(map(normalize_name, names))).installed if names else {}
        for one in held.values():
            if one and one["embedded"] and one["version"] == found["version"]:
                covers |= set(json.loads(one["embedded"])["covers"])
    known = sorted(covers, key=parse_capability)
    if embedded["cuda"] is None:
        return {"installed": found["version"], "covers": known, "machine": machine.to_json()}
    if not machine.gpus:
        raise InstallError(
            f"cannot check {shown}: no GPU found (checked {machine.source})", "run this on the machine with the GPU"
        )
    missing = [c for c in machine.capabilities if c not in covers]
    if missing:
        raise InstallError(
            f"{shown} does not cover {', '.join(missing)}; it covers {_join(known)}",
            "run again without --check to install the wheel for these GPUs",
        )
    if machine.cuda is not None and parse_cuda_release(embedded["cuda"])[0] > machine.cuda[0]:
        raise InstallError(
            f"{shown} requires CUDA {embedded['toolkit']}, but the driver supports only CUDA {machine.cuda[0]}.x",
            "update the NVIDIA driver, or run again without --check to install a wheel for this driver",
        )
    return {"installed": found["version"], "covers": known, "machine": machine.to_json()}


# --- the command ------------------------------------------------------------------------------------------------------


def make_parser() -> argparse.ArgumentParser:
    """Return the command-line parser."""
    own = globals().get("__file__")  # undefined if the script is read from a pipe
    folder = Path(own).resolve().parent if own else None
    beside = str(folder) if folder and (folder / "index.json").is_file() else None
    parser = _Parser(
        description="Install the wheel that fits the GPUs of this machine, from an index written by fatwheel."
    )
    parser.add_argument("project", nargs="?", help="PROJECT or PROJECT==VERSION")
    parser.add_argument(
        "--index-url",
        default=os.environ.get("FATWHEEL_INDEX_URL") or beside,
        help="root of the index: an http(s):// or file:// URL, or a folder [env: FATWHEEL_INDEX_URL]",
    )
    parser.add_argument(
        "--cuda-version",
        default=os.environ.get("FATWHEEL_CUDA") or None,
        help="use this CUDA version, e.g. 13.0, 130 or cu130 [env: FATWHEEL_CUDA]",
    )
    parser.add_argument(
        "--sm-family", help="install this GPU family (sm9x) or provider (sm90a), whatever GPUs are found"
    )
    parser.add_argument("--python", help="install into the environment of this Python [default: the running one]")
    parser.add_argument("--match", metavar="PACKAGE", help="install the same version as this installed package")
    parser.add_argument("--upgrade", action="store_true", help="install the newest version")
    parser.add_argument("--nightly", action="store_true", help="install a nightly (.dev) version")
    parser.add_argument("--dry-run", action="store_true", help="print the install command without running it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--check", action="store_true", help="check that the installed wheel covers the GPUs; install nothing"
    )
    parser.add_argument("--detect", action="store_true", help="print the driver and the GPUs; install nothing")
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors as the rest of the script does."""

    def error(self, message: str) -> NoReturn:
        """Raise `InstallError`."""
        raise InstallError(message, f"run {self.prog} --help", USAGE)


def _format_size(count: float) -> str:
    unit = "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.2f} {unit}"


def _log(text: str) -> None:
    print(text, file=sys.stderr)


def _parse_request(options: argparse.Namespace) -> Request:
    match = re.fullmatch(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\s*===?\s*(\S+))?", options.project or "")
    if not match:
        what = f"invalid requirement '{options.project}'" if options.project else "no project given"
        raise InstallError(what, "give PROJECT or PROJECT==VERSION", USAGE)
    return Request(
        match[1],
        Version.parse(match[2]) if match[2] else None,
        parse_cuda_label(options.cuda_version) if options.cuda_version else None,
        options.sm_family.lower() if options.sm_family else None,
        options.nightly,
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the command; returns its result as JSON-serializable data. Raises `InstallError`."""
    machine = detect()
    if options.detect:
        return machine.to_json()
    request = _parse_request(options)
    name = normalize_name(request.project)
    python = Python.probe(options.python or current_python(), [name, "torch"])
    if options.check:
        return check_installed(request.project, machine, python)
    if not options.index_url:
        raise InstallError("no index URL given", "use --index-url, or set FATWHEEL_INDEX_URL", USAGE)
    base, wheels = read_index(options.index_url)
    sources: list[str] = []
    if request.version is None and not options.upgrade:
        request, sources = follow_installed(
            wheels, request, python, options.match, lambda names: Python.probe(python.path, names).installed
        )
    parts, notes = pick_wheels(wheels, request, machine, python)
    notes = sources + notes
    entry = parts[0].entry
    url = urllib.parse.urljoin(base, entry["url"])
    folder = entry["page"].rstrip("/").rpartition("/")[0]  # cu130/sm9x, without the project
    direct = [part.direct(base) for part in parts]
    command = [*find_installer(python.path), *direct]
    extras = f"[{','.join(parts[0].extras)}]" if parts[0].extras else ""
    answer = {
        "project": entry["project"],
        "version": entry["version"],
        "pin": f"{name}{extras}=={entry['version']}",
        "page": base + (folder + "/" if folder else ""),
        "wheel": entry["file"],
        "wheels": [part.entry["file"] for part in parts],
        "url": url,
        "sha256": entry["sha256"],
        "bytes": sum(part.entry["bytes"] for part in parts),
        "direct": direct,
        "command": command,
        "notes": notes,
        "machine": machine.to_json(),
        "installed": False,
    }
    covered = sorted({c for part in parts for c in part.entry["covers"] or []}, key=parse_capability)
    for part in parts:
        _log(f"{part.entry['file']} ({_format_size(part.entry['bytes'])})")
    _log(
        f"  GPUs found: {machine.describe_gpus()}; "
        f"covered: {_join(covered, 'unknown' if entry['covers'] is None else 'any')}"
    )
    for note in notes:
        _log(f"  {note}")
    if options.dry_run:
        return answer
    output = sys.stderr if options.json else None
    code = subprocess.run(command, stdout=output, check=False).returncode
    if code:
        tool = "uv" if command[1:3] == ["pip", "install"] else "pip"
        raise InstallError(f"{tool} exited with code {code}: {shlex.join(command)}", code=1)
    after = Python.probe(python.path, [name]).installed[name]
    if after is None or after["version"] != entry["version"]:
        raise InstallError(
            f"{name} {entry['version']} was installed, but {python.path} finds "
            + (after["version"] if after else "no version"),
            "check for another installation on PYTHONPATH",
            code=1,
        )
    return {**answer, "installed": True}


def _format_answer(options: argparse.Namespace, answer: dict[str, Any]) -> str:
    if options.json:
        return json.dumps(answer, indent=2)
    if options.detect:
        gpus = [f"GPU {gpu['capability']}  {gpu['name']}" for gpu in answer["gpus"]]
        driver = "no NVIDIA driver found"
        if answer["driver"] or answer["cuda"]:
            driver = f"driver {answer['driver'] or 'of unknown version'}, CUDA {answer['cuda'] or 'unknown'}"
        return "\n".join([f"{driver} (checked {answer['source']})", *(gpus or ["no GPU found"])])
    if options.check:
        return f"{options.project} {answer['installed']} covers all GPUs of this machine"
    if answer["installed"]:
        return f"installed {answer['pin']}"
    plain = " ".join(map(shlex.quote, answer["command"]))
    return "\n".join(
        [
            f"would run:             {plain}",
            f"without dependencies:  {plain} --no-deps",
            *(f"direct URL:            {one.partition(' @ ')[2]}" for one in answer["direct"]),
            f"pin and index page:    {answer['pin']}  {answer['page']}",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = make_parser().parse_args(words)
        print(_format_answer(options, run(options)))
    except InstallError as error:
        _log(f"error: {error.what}")
        if error.help:
            _log(f"  help: {error.help}")
        if "--json" in words:
            print(json.dumps({"error": error.what, "help": error.help, "status": error.code}, indent=2))
        return error.code
    except KeyboardInterrupt:
        _log("interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
