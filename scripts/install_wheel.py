#!/usr/bin/env python3
"""Install the one wheel that fits this machine's GPUs, from an index that fatwheel wrote.

    python install_wheel.py PROJECT[==VERSION] --index-url URL_OR_FOLDER
    uv run install_wheel.py PROJECT[==VERSION] --index-url URL_OR_FOLDER

Standard library only, Python 3.9 or later; torch need not be there. It reads ``index.json`` of the index, looks at the
driver, at every visible GPU and at the Python that is installed into, and takes one wheel that covers all of them (of a
project with a provider for each target: the providers needed), or says why there is none. It never leaves the choice to
the order of local versions: with pip and uv alike, a plain ``PROJECT==1.0`` always ends in the label that sorts
highest, whatever the GPU.

Without a version it takes that of the packages of the same set that are installed, or of the one named with --match
(of a source checkout whose metadata says 0.0.0, what its version.txt says), and else the newest; --upgrade takes the
newest in any case.

What is handed to pip (or to uv, where that Python has no pip) is the exact wheel with its hash,
``PROJECT @ URL#sha256=...``. So dependencies come from the index that pip is set up for, the wheel can come from
nowhere else, and no other index can offer a wheel of the same name. ``--dry-run`` shows the command, and beside it the
pin ``PROJECT==VERSION+LABEL`` and the index page for a requirements file.

Environment: FATWHEEL_INDEX_URL and FATWHEEL_CUDA stand for --index-url and --cuda-version. FATWHEEL_GPU="9.0,12.0"
stands for the GPUs (empty: none). CUDA_VISIBLE_DEVICES is respected.

Exit status: 0 done; 1 pip or uv failed; 2 an argument or an index that cannot be used; 5 no wheel fits, or what is
installed does not.
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
from typing import Any

Wheel = dict[str, Any]  # one row of index.json
Pair = tuple[int, int]

USAGE, UNFIT = 2, 5


class Stop(Exception):
    """A failure that the user can act on."""

    def __init__(self, what: str, help: str = "", status: int = UNFIT) -> None:
        super().__init__(what)
        self.what, self.help, self.status = what, help, status


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
    """A version as in PEP 440: ``key`` orders public versions, ``local`` is the label or empty."""

    key: tuple[Any, ...]
    local: str
    dev: bool
    pre: bool

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read one. Raises `Stop`."""
        match = _VERSION.fullmatch(text.strip())
        if not match:
            raise Stop(f"'{text}' is not a version", "write it like 0.6.13", USAGE)
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
        return cls(key, local, match["dev"] is not None, bool(match["pre"]))


def cuda_label(text: str) -> str:
    """``cu130`` from ``cu130``, ``130`` or ``13.0``. Raises `Stop`."""
    match = re.fullmatch(r"(?:cu)?(\d{1,2})\.(\d{1,2})(?:\.\d+)?|(?:cu)?([1-9]\d{2,3}|[89]\d)", text.strip().lower())
    if not match:
        raise Stop(f"'{text}' is not a CUDA version", "write it like 13.0, 130 or cu130", USAGE)
    return f"cu{match[1]}{match[2]}" if match[1] else f"cu{match[3]}"


def cuda_release(label: str) -> Pair:
    """(13, 0) from ``cu130``; two digits are CUDA 9 and before."""
    digits = label[2:]
    major = digits[:1] if len(digits) == 2 else digits[:2]
    return int(major), int(digits[len(major) :])


def normalized(name: str) -> str:
    """A project's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def capability(text: str) -> Pair:
    """(9, 0) from ``9.0``. Raises `Stop`."""
    match = re.fullmatch(r"(\d{1,2})\.(\d)", text.strip())
    if not match:
        raise Stop(f"'{text}' is not a compute capability", "write it like 9.0 or 12.1", USAGE)
    return int(match[1]), int(match[2])


# --- the machine ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gpu:
    """A device that CUDA would see."""

    capability: str
    name: str = ""
    uuid: str = ""


@dataclass(frozen=True)
class Machine:
    """The GPUs, the newest CUDA that the driver supports, the driver's version, and who said so."""

    gpus: tuple[Gpu, ...] = ()
    cuda: Pair | None = None
    driver: str | None = None
    source: str = "NVML, libcuda and nvidia-smi; none is here"

    @property
    def capabilities(self) -> list[str]:
        """Those of all GPUs, ascending, each once."""
        return sorted({gpu.capability for gpu in self.gpus}, key=capability)

    def shown(self) -> str:
        """The GPUs for a person: ``9.0 (NVIDIA H200)``."""
        names = {gpu.capability: gpu.name for gpu in self.gpus}
        return ", ".join(f"{c} ({names[c]})" if names[c] else c for c in self.capabilities) or "none"

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        gpus = [{"capability": gpu.capability, "name": gpu.name, "uuid": gpu.uuid} for gpu in self.gpus]
        cuda = None if self.cuda is None else f"{self.cuda[0]}.{self.cuda[1]}"
        return {"gpus": gpus, "cuda": cuda, "driver": self.driver, "source": self.source}


def _cuda_number(number: int) -> Pair:
    return number // 1000, number % 1000 // 10


def visible(gpus: Sequence[Gpu], setting: str | None) -> tuple[Gpu, ...]:
    """What CUDA_VISIBLE_DEVICES leaves of all GPUs: indexes or UUIDs, up to the first that names none."""
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


def ask_nvml() -> Machine | None:
    """Ask the driver's management library; it needs no context and knows all GPUs (16 ms on an H200)."""
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
    cuda = None if nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)) else _cuda_number(number.value)
    nvml.nvmlShutdown()
    return Machine(visible(found, os.environ.get("CUDA_VISIBLE_DEVICES")), cuda, driver, "NVML")


def _driver_version() -> str | None:
    try:
        told = ask_nvml()
    except AttributeError:
        return None
    return told.driver if told else None


def ask_libcuda() -> Machine | None:
    """Ask the CUDA driver; it heeds CUDA_VISIBLE_DEVICES itself, MIG and device order included."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number, count, text = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(96)
    release = None if cuda.cuDriverGetVersion(ctypes.byref(number)) else _cuda_number(number.value)
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


def ask_nvidia_smi() -> Machine | None:
    """Ask the tool; the last resort, since the field compute_cap is not in old ones."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=compute_cap,driver_version,uuid,name", "--format=csv,noheader"]
    try:
        rows = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True).stdout
        header = subprocess.run([tool], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    fields = [[cell.strip() for cell in line.split(",", 3)] for line in rows.splitlines() if line.count(",") >= 3]
    found = [Gpu(f[0], f[3], f[2]) for f in fields if re.fullmatch(r"\d+\.\d", f[0])]
    release = re.search(r"CUDA Version:\s*(\d+)\.(\d+)", header)
    return Machine(
        visible(found, os.environ.get("CUDA_VISIBLE_DEVICES")),
        (int(release[1]), int(release[2])) if release else None,
        fields[0][1] if fields else None,
        "nvidia-smi",
    )


def detect() -> Machine:
    """The machine, by the first of: FATWHEEL_GPU, NVML, libcuda, nvidia-smi.

    Where CUDA_VISIBLE_DEVICES is set, libcuda comes first: NVML counts in another order where GPUs differ.
    """
    ways = [ask_nvml, ask_libcuda, ask_nvidia_smi]
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        ways[:2] = [ask_libcuda, ask_nvml]
    best = Machine()
    for way in ways:
        try:
            answer = way()
        except AttributeError:  # a library too old to have a function that is asked for
            continue
        if answer is not None and (answer.gpus or best.cuda is None):
            best = answer
        if best.gpus:
            break
    if best.gpus and best.driver is None:  # libcuda does not say
        best = replace(best, driver=_driver_version())
    override = os.environ.get("FATWHEEL_GPU")
    if override is None:
        return best
    named = [Gpu("{}.{}".format(*capability(text))) for text in re.split(r"[\s,;]+", override.strip()) if text]
    return Machine(tuple(named), best.cuda, best.driver, "FATWHEEL_GPU")


# --- the Python that is installed into --------------------------------------------------------------------------------

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
        "stamp": found.read_text("fatwheel.json"), "requires": found.requires or [],
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
    "glibc": [int(n) for n in re.findall(r"\d+", libc)[:2]], "found": {name: look(name) for name in sys.argv[1:]},
}))
"""


@dataclass(frozen=True)
class Python:
    """An interpreter: what wheels it takes and what is installed for it."""

    path: str
    version: Pair
    implementation: str = "cpython"
    threads: bool = False  # free-threaded
    system: str = "Linux"
    machine: str = "x86_64"
    glibc: Pair = (0, 0)  # (0, 0): not glibc
    found: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def probe(cls, path: str, names: Sequence[str]) -> Python:
        """Ask the interpreter itself, and for these distributions. Raises `Stop`."""
        try:
            answer = subprocess.run(
                [path, "-c", _PROBE, *names], capture_output=True, text=True, timeout=120, check=True
            )
            facts = json.loads(answer.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            tail = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
            raise Stop(f"'{path}' is not a Python that runs here: {' '.join(tail)}", "see --python", USAGE) from None
        facts["version"] = tuple(facts["version"])
        facts["glibc"] = tuple(facts["glibc"]) or (0, 0)
        return cls(path=path, **facts)

    def takes(self, wheel: str) -> int:
        """How well a wheel's file name suits this Python: 0 not at all, else the more the better."""
        pythons, abis, platforms = wheel[: -len(".whl")].split("-")[-3:]
        one = max((self._python(p, a) for p in pythons.split(".") for a in abis.split(".")), default=0)
        other = max(map(self._platform, platforms.split(".")), default=0)
        return one * 1000 + other if one and other else 0

    def _python(self, python: str, abi: str) -> int:
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

    def _platform(self, platform: str) -> int:
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
    """The index's base URL and the rows of its index.json. Raises `Stop`."""
    base = location.rstrip("/") + "/" if "://" in location else Path(location).expanduser().resolve().as_uri() + "/"
    if urllib.parse.urlsplit(base).scheme not in ("http", "https", "file"):
        raise Stop(f"'{location}' is neither http(s)://, file:// nor a folder", status=USAGE)
    address = base + "index.json"
    help = "give the root of an index that fatwheel wrote: the page that lists the CUDA versions"
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "fatwheel-install"})  # noqa: S310  checked above
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            document = json.loads(answer.read().decode("utf-8"))
        return base, [row for row in document["wheels"] if row["file"].endswith(".whl")]
    except urllib.error.HTTPError as error:
        raise Stop(f"{address} answers {error.code} {error.reason}", help, USAGE) from None
    except (OSError, urllib.error.URLError) as error:
        raise Stop(f"{address} cannot be read: {getattr(error, 'reason', error)}", help, USAGE) from None
    except (ValueError, KeyError, TypeError):
        raise Stop(f"{address} is not an index.json of fatwheel's", help, USAGE) from None


# --- the choice -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """What the user asked for; None where the machine decides."""

    project: str
    version: Version | None = None
    cuda: str | None = None
    family: str | None = None
    nightly: bool = False


def _listed(words: Sequence[str], none: str = "none") -> str:
    shown = list(dict.fromkeys(words))
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "") if shown else none


def of_version(wheels: Sequence[Wheel], wish: Wish) -> list[Wheel]:
    """The project's rows of the one version that is meant: the given one, else the newest. Raises `Stop`."""
    rows = [row for row in wheels if normalized(row["project"]) == normalized(wish.project)]
    if not rows:
        there = sorted({row["project"] for row in wheels})
        raise Stop(f"this index has no project '{wish.project}'", f"there are: {_listed(there)}", USAGE)
    parsed = sorted(((Version.parse(row["version"]), row) for row in rows), key=lambda pair: pair[0].key, reverse=True)
    if wish.version is not None:
        if wish.nightly and not wish.version.dev:
            raise Stop(
                "--nightly was given with a release version: nightlies are .dev versions of the next one",
                "leave out --nightly for this release, or leave out the version for the newest nightly",
                USAGE,
            )
        wanted = wish.version
        chosen = [r for v, r in parsed if v.key == wanted.key and (not wanted.local or v.local == wanted.local)]
        chosen = [row for row in chosen if row.get("yanked") is None] or chosen
    else:
        kind = [(v, r) for v, r in parsed if v.dev == wish.nightly and r.get("yanked") is None]
        final = [(v, r) for v, r in kind if v.dev or not v.pre] or kind
        chosen = [row for version, row in final if version.key == final[0][0].key]
    if not chosen:
        asked = "nightly" if wish.version is None and wish.nightly else "release" if wish.version is None else "version"
        known = _listed([row["version"] + (" (yanked)" if row.get("yanked") is not None else "") for _, row in parsed])
        raise Stop(f"this index has no such {asked} of {wish.project}", f"there are: {known}", USAGE)
    return chosen


def cuda_order(labels: Sequence[str], around: Pair, *, older: bool) -> list[str]:
    """Labels from the best down for a driver or a torch of one CUDA release.

    Native first (same major, not newer, the newest of them), then newer ones of the same major (minor version
    compatibility), then, for a driver, older majors. Never a newer major.
    """
    same = [label for label in labels if cuda_release(label)[0] == around[0]]
    native = sorted((label for label in same if cuda_release(label) <= around), key=cuda_release, reverse=True)
    newer = sorted((label for label in same if cuda_release(label) > around), key=cuda_release)
    old = sorted((label for label in labels if cuda_release(label)[0] < around[0]), key=cuda_release, reverse=True)
    return native + newer + (old if older else [])


def cuda_labels(rows: Sequence[Wheel], wish: Wish, machine: Machine, python: Python) -> tuple[list[str], str]:
    """CUDA labels to look at, the best first, and why. Raises `Stop`."""
    labels = sorted({row["cuda"] for row in rows if row["cuda"]}, key=cuda_release)
    there = f"this version has: {_listed(labels)}"
    torch = python.found.get("torch")
    if wish.cuda is not None:
        order, why = [label for label in labels if label == wish.cuda], f"{wish.cuda} was asked for"
    elif wish.version is not None and wish.version.local:
        order, why = labels, f"+{wish.version.local} was asked for"
    elif torch and torch["cuda"]:
        label = cuda_label(torch["cuda"])
        order, why = cuda_order(labels, cuda_release(label), older=False), f"torch {torch['version']} is for {label}"
    elif machine.cuda is not None:
        order = cuda_order(labels, machine.cuda, older=True)
        why = "the driver supports CUDA {}.{}".format(*machine.cuda)
        there += "; a newer driver is needed for a newer major (CUDA 12: 525, CUDA 13: 580)"
    else:
        raise Stop("the CUDA version is not known: there is no driver and no torch here", f"--cuda-version; {there}")
    if not order:
        raise Stop(f"no wheel for this CUDA version: {why}", there)
    return order, why


def uncovered(row: Wheel, machine: Machine) -> list[str]:
    """The capabilities of this machine's GPUs that a wheel holds no code for; none where that is not known."""
    return [] if row["covers"] is None else [c for c in machine.capabilities if c not in row["covers"]]


def choose(wheels: Sequence[Wheel], wish: Wish, machine: Machine, python: Python) -> tuple[Wheel, list[str]]:
    """The one wheel, and what to say about the choice. Raises `Stop` with what was looked for and what there is."""
    rows = of_version(wheels, wish)
    try:
        return _among(rows, wish, machine, python)
    except Stop as stop:
        older = _older(wheels, rows, wish, machine, python)
        if older is None:
            raise
        raise Stop(stop.what, f"{stop.help}; or take {wish.project}=={older}, which has one", stop.status) from None


def _older(wheels: Sequence[Wheel], rows: Sequence[Wheel], wish: Wish, machine: Machine, python: Python) -> str | None:
    """Where the newest version holds no wheel that fits and none was asked for: the newest older one that does."""
    if wish.version is not None:
        return None
    newest = Version.parse(rows[0]["version"]).key
    own = [row for row in wheels if normalized(row["project"]) == normalized(wish.project)]
    known: set[str] = {row["version"].partition("+")[0] for row in own}
    versions = [(Version.parse(text), text) for text in known]
    before = [pair for pair in versions if pair[0].key < newest and pair[0].dev == wish.nightly]
    for version, text in sorted(before, key=lambda pair: pair[0].key, reverse=True):
        try:
            _among(of_version(wheels, replace(wish, version=version)), wish, machine, python)
        except Stop:
            continue
        return text
    return None


def _among(rows: Sequence[Wheel], wish: Wish, machine: Machine, python: Python) -> tuple[Wheel, list[str]]:
    """The one of these, all of one version."""
    fitting = sorted((row for row in rows if python.takes(row["file"])), key=lambda row: python.takes(row["file"]))
    if not fitting:
        here = "Python {}.{} on {} {}".format(*python.version, python.system, python.machine)
        tags = _listed(sorted({row["file"].split("-", 2)[2] for row in rows}))
        raise Stop(f"no wheel of {wish.project} {rows[0]['version']} is for {here}", f"there are: {tags}")
    if not any(row["cuda"] for row in fitting):
        return fitting[-1], ["it holds no CUDA code"]
    order, why = cuda_labels(fitting, wish, machine, python)
    notes = [why]
    if wish.family:
        held = [row for row in fitting if row["family"] == wish.family]
        by_label = ([row for row in held if row["cuda"] == label] for label in order)
        chosen = next(filter(None, by_label), [])
        if not chosen:
            families = _listed(sorted({row["family"] for row in fitting if row["cuda"] in order and row["family"]}))
            raise Stop(f"no wheel of family {wish.family} for {_listed(order)}", f"families there: {families}")
    elif wish.version is not None and wish.version.local:
        chosen = fitting
    elif not machine.gpus:
        raise Stop(
            f"no GPU was found (asked {machine.source}), so no wheel was chosen",
            f"--sm-family; families there: {_listed(sorted({row['family'] for row in fitting if row['family']}))}",
        )
    else:
        chosen = _covering(fitting, order, machine)
    best = min(chosen, key=lambda row: (-python.takes(row["file"]), row["bytes"] or 0, row["file"]))
    missing = uncovered(best, machine)
    if missing:
        notes.append(f"WARNING: it holds no code for this machine's {', '.join(missing)}")
    if best["covers"] is None:
        notes.append("what GPUs it covers is not known")
    return best, notes + about_driver(best, machine) + about_yanking(best)


# NVIDIA: the oldest driver that runs programs of each CUDA major, whatever its minor version.
_DRIVERS = {11: 450, 12: 525, 13: 580}


def about_driver(row: Wheel, machine: Machine) -> list[str]:
    """Whether the driver is new enough for a wheel, in words; nothing where neither says."""
    if row["cuda"] is None or machine.cuda is None:
        return []
    need = cuda_release(row["cuda"])
    asked = f" (it takes {_DRIVERS[need[0]]} or later)" if need[0] in _DRIVERS else ""
    driver = f"the driver{f' {machine.driver}' if machine.driver else ''}, for CUDA " + "{}.{},".format(*machine.cuda)
    if need[0] > machine.cuda[0]:
        return [f"WARNING: {driver} is too old for {row['cuda']}{asked}"]
    notes = [f"{driver} is new enough for {row['cuda']}{asked}"]
    if need > machine.cuda:
        notes.append("CUDA promises that machine code of a newer minor version runs on it; new features may not")
    numbers = [int(part) for part in re.findall(r"\d+", machine.driver or "")]
    if (12, 8) <= need < (13, 0) and numbers and numbers < [550, 54, 14]:
        notes.append("WARNING: if its code is compressed, it needs a driver of 550.54.14 or later")
    return notes


def about_yanking(row: Wheel) -> list[str]:
    """That a wheel is yanked, and why."""
    reason = row.get("yanked")
    return [] if reason is None else [f"WARNING: it is yanked: {reason or 'no reason is given'}"]


# --- sets of packages: shims with their providers, and one version for all --------------------------------------------


@dataclass(frozen=True)
class Part:
    """A wheel to install, with extras if it is a shim."""

    row: Wheel
    extras: tuple[str, ...] = ()

    def direct(self, base: str) -> str:
        """As a requirement that names the very file."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        url = urllib.parse.urljoin(base, self.row["url"])
        return f"{normalized(self.row['project'])}{extras} @ {url}#sha256={self.row['sha256']}"


_NEED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;]+)\s*(?:;(.*))?")


def providers(shim: Wheel, wheels: Sequence[Wheel]) -> dict[str, tuple[str, list[Wheel]]]:
    """What a shim requires of its own version in this index: by project, its extra (or empty) and its wheels."""
    found: dict[str, tuple[str, list[Wheel]]] = {}
    for text in shim.get("requires_dist") or []:
        match = _NEED.match(text)
        if not match or match[2] != shim["version"]:
            continue
        name = normalized(match[1])
        held = [row for row in wheels if row["project"] == name and row["version"] == match[2] and row["covers"]]
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", match[3] or "")
        if held:
            found[name] = (extra[1] if extra else "", held)
    return found


def pick(wheels: Sequence[Wheel], wish: Wish, machine: Machine, python: Python) -> tuple[list[Part], list[str]]:
    """The wheels to install, the project's own first, and what to say about the choice. Raises `Stop`."""
    rows = of_version(wheels, wish)
    shims = [row for row in rows if python.takes(row["file"]) and providers(row, wheels)]
    if not shims:
        row, notes = choose(wheels, wish, machine, python)
        return [Part(row)], notes
    order, why = cuda_labels(shims, wish, machine, python)
    found: list[str] = []
    for label in order:
        for shim in (row for row in shims if row["cuda"] == label):
            held = {
                name: (extra, max(fit, key=lambda row: python.takes(row["file"])))
                for name, (extra, some) in providers(shim, wheels).items()
                if (fit := [row for row in some if python.takes(row["file"])])
            }
            parts, lack = _provided(shim, held, wish, machine)
            if not lack:
                notes = [why, *about_driver(shim, machine)]
                return parts, notes + [note for part in parts for note in about_yanking(part.row)]
            covered = sorted({c for _, row in held.values() for c in row["covers"]}, key=capability)
            found.append(f"{label} has no provider for {_listed(lack)}; it has them for {_listed(covered)}")
    raise Stop(f"no wheel of {wish.project} {rows[0]['version']} for {machine.shown()}", "; ".join(found))


def _provided(
    shim: Wheel, held: dict[str, tuple[str, Wheel]], wish: Wish, machine: Machine
) -> tuple[list[Part], list[str]]:
    """The shim and what it needs here, and what no provider covers. Raises `Stop` where nobody says for which GPU."""
    always = [row for extra, row in held.values() if not extra]
    wanted = [wish.family] if wish.family else machine.capabilities
    if not wanted and not always:
        extras = _listed(sorted(extra for extra, _ in held.values()))
        raise Stop(
            f"no GPU was found (asked {machine.source}), so no provider was chosen", f"--sm-family; there: {extras}"
        )
    chosen: dict[str, Wheel] = {row["project"]: row for row in always}
    extras, lack = [], []
    for one in wanted:
        fits = [
            (len(row["covers"]), row["bytes"], name)
            for name, (extra, row) in held.items()
            if one in (extra, row["family"]) or one in row["covers"]
        ]
        if not fits:
            lack.append(one)
        elif not any(name in chosen for _, _, name in fits):
            name = min(fits)[2]
            chosen[name] = held[name][1]
            extras.append(held[name][0])
    return [Part(shim, tuple(extras)), *(Part(row) for row in chosen.values())], lack


def discovered(
    wheels: Sequence[Wheel], wish: Wish, python: Python, match: str | None, probe: Callable[[list[str]], dict[str, Any]]
) -> tuple[Wish, list[str]]:
    """The wish with the version that what is installed asks for, and where it is from. Raises `Stop`."""
    name = normalized(wish.project)
    tags = {row.get("tag") for row in wheels if row["project"] == name}
    family = {row["project"] for row in wheels if row.get("tag") in tags} - {name}
    others = [normalized(match)] if match else sorted(family)
    there = probe(others) if others else {}
    for other in others:
        found = there.get(other)
        if found is None:
            continue
        version = Version.parse(found["version"].partition("+")[0])
        if wish.nightly and not version.dev:
            raise Stop(
                f"--nightly was given, and {other} {found['version']} is installed, which is a release: "
                "packages of one set have exactly one version",
                f"leave out --nightly, or install a nightly of {other} first, or take --upgrade",
                USAGE,
            )
        return replace(wish, version=version), [f"{other} {found['version']} is installed, which sets the version"]
    if match:
        raise Stop(f"--match: {match} is not installed for {python.path}", "install it first, or give a version", USAGE)
    own = python.found.get(name)
    if own is None or wish.nightly:
        return wish, []
    version = Version.parse(own["version"].partition("+")[0])
    if any(row["project"] == name and Version.parse(row["version"]).key == version.key for row in wheels):
        return replace(wish, version=version), [f"{name} {own['version']} is installed; --upgrade takes the newest"]
    return wish, [f"{name} {own['version']} is installed, which this index does not have"]


def _covering(rows: Sequence[Wheel], order: Sequence[str], machine: Machine) -> list[Wheel]:
    for known in (True, False):
        for label in order:
            of_label = [row for row in rows if row["cuda"] == label and (row["covers"] is not None) == known]
            chosen = [row for row in of_label if not uncovered(row, machine)]
            if chosen:
                return [row for row in chosen if row["version"] == min(chosen, key=lambda r: r["bytes"])["version"]]
    known_rows = [row for row in rows if row["cuda"] in order]
    ranked = sorted(known_rows, key=lambda row: order.index(row["cuda"]))
    held = {c: [row["version"] for row in ranked if c in row["covers"]] for c in machine.capabilities}
    nowhere = [c for c, versions in held.items() if not versions]
    if nowhere:
        covered = sorted({c for row in known_rows for c in row["covers"]}, key=capability)
        elsewhere = sorted({row["cuda"] for row in rows if set(nowhere) <= set(row["covers"] or ())} - set(order))
        hint = f"; for {_listed(elsewhere)} there is one: see --cuda-version" if elsewhere else ""
        raise Stop(
            f"no wheel of this version holds code for {', '.join(nowhere)}; GPUs here: {machine.shown()}",
            f"covered for {_listed(order)}: {_listed(covered)}{hint}",
        )
    parts = "; ".join(f"{c} is covered by {versions[0]}" for c, versions in held.items())
    raise Stop(
        f"no single wheel covers all GPUs here: {machine.shown()}; {parts}",
        "make one environment for each kind of GPU, with --sm-family there and CUDA_VISIBLE_DEVICES at run time",
    )


# --- pip and uv -------------------------------------------------------------------------------------------------------


def own_python() -> str:
    """The Python that runs. Raises `Stop` for one that uv throws away afterwards."""
    if os.environ.get("UV") and re.search(r"[/\\](builds|environments|archive)-v\d+[/\\]", sys.prefix):
        raise Stop(
            "uv runs this with a Python of its own, which is thrown away afterwards",
            "--python PATH; or start it by `uv run install_wheel.py` alone, which takes your environment",
            USAGE,
        )
    return sys.executable


def installer(python: str) -> list[str]:
    """The start of an install command: that Python's pip, else uv. Raises `Stop`."""
    has_pip = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    if has_pip:
        return [python, "-m", "pip", "install"]
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", python]
    raise Stop(f"'{python}' has no pip, and there is no uv on PATH", f"{python} -m ensurepip, or install uv", USAGE)


def check(project: str, machine: Machine, python: Python) -> dict[str, Any]:
    """Whether the installed wheel covers every GPU here. Raises `Stop` if it does not, or if that cannot be known."""
    found = python.found.get(normalized(project))
    if found is None:
        raise Stop(f"{project} is not installed for {python.path}", "install it, or see --python")
    shown = f"{project} {found['version']}"
    if not found["stamp"]:
        raise Stop(
            f"{shown} does not say what GPUs it covers: it has no fatwheel.json", "it was not packed by fatwheel"
        )
    stamp = json.loads(found["stamp"])
    covers = set(stamp["covers"])
    if stamp["cuda"] is not None and not covers:  # a shim: its providers hold the code
        names = [
            match[1] for text in found["requires"] if (match := _NEED.match(text)) and match[2] == found["version"]
        ]
        there = Python.probe(python.path, list(map(normalized, names))).found if names else {}
        for one in there.values():
            if one and one["stamp"] and one["version"] == found["version"]:
                covers |= set(json.loads(one["stamp"])["covers"])
    known = sorted(covers, key=capability)
    if stamp["cuda"] is None:
        return {"installed": found["version"], "covers": known, "machine": machine.to_json()}
    if not machine.gpus:
        raise Stop(f"{shown} cannot be checked: no GPU was found ({machine.source})", "run it where the GPU is")
    missing = [c for c in machine.capabilities if c not in covers]
    if missing:
        raise Stop(
            f"{shown} holds no code for {', '.join(missing)}; it covers {_listed(known)}",
            "install again without --check: the wheel for these GPUs is taken",
        )
    if machine.cuda is not None and cuda_release(stamp["cuda"])[0] > machine.cuda[0]:
        raise Stop(f"{shown} needs a driver for CUDA {stamp['toolkit']}; this one is for {machine.cuda[0]}.x")
    return {"installed": found["version"], "covers": known, "machine": machine.to_json()}


# --- the command ------------------------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The options."""
    own = globals().get("__file__")  # not where the script comes through a pipe
    folder = Path(own).resolve().parent if own else None
    beside = str(folder) if folder and (folder / "index.json").is_file() else None
    made = argparse.ArgumentParser(
        description="Install the one wheel that fits this machine's GPUs, from an index that fatwheel wrote."
    )
    made.add_argument("project", nargs="?", help="PROJECT or PROJECT==VERSION")
    made.add_argument(
        "--index-url",
        default=os.environ.get("FATWHEEL_INDEX_URL") or beside,
        help="root of the index: http(s)://, file:// or a folder",
    )
    made.add_argument("--cuda-version", default=os.environ.get("FATWHEEL_CUDA") or None, help="13.0, 130 or cu130")
    made.add_argument("--sm-family", help="take this family, whatever GPUs are here (sm9x; of providers, sm90a)")
    made.add_argument("--python", help="install for this Python (default: the one that runs)")
    made.add_argument("--match", metavar="PACKAGE", help="take the version of this package, which is installed")
    made.add_argument("--upgrade", action="store_true", help="take the newest version, whatever is installed")
    made.add_argument("--nightly", action="store_true", help="a nightly (.dev) version")
    made.add_argument("--dry-run", action="store_true", help="show what would be run, and stop")
    made.add_argument("--json", action="store_true", help="one JSON document on standard output")
    made.add_argument("--check", action="store_true", help="install nothing: does what is installed fit the GPUs?")
    made.add_argument("--detect", action="store_true", help="install nothing: show the driver and the GPUs")
    return made


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _wish(options: argparse.Namespace) -> Wish:
    match = re.fullmatch(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\s*===?\s*(\S+))?", options.project or "")
    if not match:
        raise Stop(f"'{options.project or ''}' is not PROJECT or PROJECT==VERSION", "see --help", USAGE)
    return Wish(
        match[1],
        Version.parse(match[2]) if match[2] else None,
        cuda_label(options.cuda_version) if options.cuda_version else None,
        options.sm_family.lower() if options.sm_family else None,
        options.nightly,
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Do what was asked; the answer as plain data. Raises `Stop`."""
    machine = detect()
    if options.detect:
        return machine.to_json()
    wish = _wish(options)
    name = normalized(wish.project)
    python = Python.probe(options.python or own_python(), [name, "torch"])
    if options.check:
        return check(wish.project, machine, python)
    if not options.index_url:
        raise Stop("no index is named", "--index-url, or FATWHEEL_INDEX_URL", USAGE)
    base, wheels = read_index(options.index_url)
    told: list[str] = []
    if wish.version is None and not options.upgrade:
        wish, told = discovered(
            wheels, wish, python, options.match, lambda names: Python.probe(python.path, names).found
        )
    parts, notes = pick(wheels, wish, machine, python)
    notes = told + notes
    row = parts[0].row
    url = urllib.parse.urljoin(base, row["url"])
    folder = row["page"].rstrip("/").rpartition("/")[0]  # cu130/sm9x, without the project
    direct = [part.direct(base) for part in parts]
    command = [*installer(python.path), *direct]
    extras = f"[{','.join(parts[0].extras)}]" if parts[0].extras else ""
    answer = {
        "project": row["project"],
        "version": row["version"],
        "pin": f"{name}{extras}=={row['version']}",
        "page": base + (folder + "/" if folder else ""),
        "wheel": row["file"],
        "wheels": [part.row["file"] for part in parts],
        "url": url,
        "sha256": row["sha256"],
        "bytes": sum(part.row["bytes"] for part in parts),
        "direct": direct,
        "command": command,
        "notes": notes,
        "machine": machine.to_json(),
        "installed": False,
    }
    covered = sorted({c for part in parts for c in part.row["covers"] or []}, key=capability)
    for part in parts:
        _say(f"{part.row['file']} ({part.row['bytes'] / 1e6:.1f} MB)")
    _say(
        f"  GPUs here: {machine.shown()}; covered: {_listed(covered, 'not known' if row['covers'] is None else 'any')}"
    )
    for note in notes:
        _say(f"  {note}")
    if options.dry_run:
        return answer
    output = sys.stderr if options.json else None
    status = subprocess.run(command, stdout=output, check=False).returncode
    if status:
        raise Stop(f"the install ended with status {status}: {shlex.join(command)}", status=1)
    after = Python.probe(python.path, [name]).found[name]
    if after is None or after["version"] != row["version"]:
        raise Stop(f"{row['version']} was installed, but Python finds {after and after['version']}", status=1)
    return {**answer, "installed": True}


def _shown(options: argparse.Namespace, answer: dict[str, Any]) -> str:
    if options.json:
        return json.dumps(answer, indent=2)
    if options.detect:
        gpus = [f"GPU {gpu['capability']}  {gpu['name']}" for gpu in answer["gpus"]] or ["no GPU"]
        driver = f"driver {answer['driver'] or 'of unknown version'}, for CUDA {answer['cuda'] or 'not known'}"
        return "\n".join([f"{driver} (asked {answer['source']})", *gpus])
    if options.check:
        return f"{options.project} {answer['installed']} covers every GPU here"
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
    """Run; the exit status."""
    options = parser().parse_args(arguments)
    try:
        print(_shown(options, run(options)))
    except Stop as stop:
        _say(f"error: {stop.what}")
        if stop.help:
            _say(f"  help: {stop.help}")
        if options.json:
            print(json.dumps({"error": stop.what, "help": stop.help, "status": stop.status}, indent=2))
        return stop.status
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
