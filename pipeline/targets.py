"""GPU targets: how they are spelt, what compiles them, and which devices run them.

A *capability* is a device's compute capability (9.0). A *target* is what code was compiled for (9.0a):
machine code (SASS), PTX, or both. Everything that asks "does it fit?" asks `runs` or `covers`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from pipeline.errors import UsageError

Suffix = Literal["", "a", "f"]
Kind = Literal["real", "virtual", "both"]

# A plain target is forward compatible within its major, `f` within its family, `a` is exact; ascending in that order.
_SUFFIX_ORDER: dict[str, int] = {"": 0, "f": 1, "a": 2}
_KIND_ORDER: dict[str, int] = {"real": 0, "both": 1, "virtual": 2}


class Capability(NamedTuple):
    """A device's compute capability."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Capability:
        """Read ``9.0``. Raises `UsageError` for anything else, a suffix included."""
        match = re.fullmatch(r"(\d{1,2})\.(\d)", text)
        if not match:
            raise UsageError(f"'{text}' is not a compute capability", remedy="write it like 9.0 or 12.1")
        return cls(int(match[1]), int(match[2]))


# Devices with a product that somebody can own. 8.8 is left out: CUDA 13.0 compiles it, but no product is known.
KNOWN_CAPABILITIES: tuple[Capability, ...] = tuple(
    Capability.parse(text)
    for text in (
        "5.0",
        "5.2",
        "5.3",
        "6.0",
        "6.1",
        "6.2",
        "7.0",
        "7.2",
        "7.5",
        "8.0",
        "8.6",
        "8.7",
        "8.9",
        "9.0",
        "10.0",
        "10.3",
        "10.7",
        "11.0",
        "12.0",
        "12.1",
    )
)

# Integrated (Tegra, Jetson) devices: their machine code and that of desktop devices are not interchangeable.
# 10.1 is the name that CUDA 12.8 and 12.9 give to 11.0.
TEGRA: frozenset[Capability] = frozenset(Capability.parse(t) for t in ("5.3", "6.2", "7.2", "8.7", "10.1", "11.0"))


@dataclass(frozen=True)
class Target:
    """What code is compiled for. ``kind`` says whether machine code, PTX or both are kept."""

    major: int
    minor: int
    suffix: Suffix = ""
    kind: Kind = "real"

    def __str__(self) -> str:
        tail = {"real": "", "both": "+PTX", "virtual": "-virtual"}[self.kind]
        return f"{self.major}.{self.minor}{self.suffix}{tail}"

    def __lt__(self, other: Target) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[int, int, int, int]:
        return (self.major, self.minor, _SUFFIX_ORDER[self.suffix], _KIND_ORDER[self.kind])

    @property
    def capability(self) -> Capability:
        """The capability it is named after."""
        return Capability(self.major, self.minor)

    @property
    def undotted(self) -> str:
        """``90a``, as in ``sm_90a``."""
        return f"{self.major}{self.minor}{self.suffix}"

    @property
    def has_sass(self) -> bool:
        """Whether machine code is kept."""
        return self.kind != "virtual"

    @property
    def has_ptx(self) -> bool:
        """Whether PTX is kept."""
        return self.kind != "real"


_SPELLING = re.compile(
    r"""(?P<prefix>sm_|compute_|sm|)
        (?:(?P<major>[1-9]\d?)\.(?P<minor>\d)|(?P<undotted>[1-9]\d{1,2}))
        (?P<suffix>[af]?)
        (?P<tail>|-real|-virtual|\+PTX)""",
    re.VERBOSE,
)


def parse_target(text: str) -> Target:
    """Read one target in any spelling: ``9.0a``, ``90a``, ``sm_90a``, ``sm90a``, ``compute_90``, ``9.0+PTX`` ...

    Undotted, the last digit is the minor (``121`` is 12.1). Raises `UsageError`.
    """
    match = _SPELLING.fullmatch(text)
    if not match:
        lowered = text.strip().lower().replace("+ptx", "+PTX")
        near = lowered != text and _SPELLING.fullmatch(lowered)
        raise UsageError(
            f"'{text}' is not a GPU target",
            remedy=f"write '{lowered}'" if near else "write it like 9.0a, 90a, sm_90a, 12.0f or 9.0+PTX",
        )
    digits = match["undotted"]
    major, minor = (int(digits[:-1]), int(digits[-1])) if digits else (int(match["major"]), int(match["minor"]))
    kind: Kind = "real"
    if match["tail"] == "+PTX":
        kind = "both"
    elif match["tail"] == "-virtual" or (match["prefix"] == "compute_" and not match["tail"]):
        kind = "virtual"
    if match["prefix"] == "compute_" and match["tail"] in ("-real", "+PTX"):
        raise UsageError(f"'{text}' says PTX (compute_) and machine code at once", remedy=f"write sm_{match[0][8:]}")
    if match["prefix"] in ("sm_", "sm") and match["tail"] == "-virtual":
        raise UsageError(f"'{text}' says machine code (sm_) and PTX at once", remedy="write compute_ for PTX")
    return Target(major, minor, match["suffix"] or "", kind)  # type: ignore[arg-type]


def parse_targets(text: str) -> tuple[Target, ...]:
    """Read a list separated by spaces, commas or semicolons; ascending, without repeats.

    Raises `UsageError` for an empty list and for an empty place in one (``9.0,,10.0``).
    """
    parts = re.split(r"\s*[,;]\s*|\s+", text.strip())
    if "" in parts:
        raise UsageError(
            f"'{text}' has an empty place where a target should be" if text.strip() else "the list of targets is empty",
            remedy="separate targets by one space, comma or semicolon",
        )
    return tuple(sorted(set(map(parse_target, parts))))


@dataclass(frozen=True)
class Toolkit:
    """One CUDA toolkit release (``13.0``) and the real targets that its ptxas accepts."""

    release: str
    ptxas: str
    targets: frozenset[Target]

    @property
    def version(self) -> tuple[int, int]:
        """(major, minor)."""
        major, minor = self.release.split(".")
        return int(major), int(minor)

    def compiles(self, target: Target) -> bool:
        """Whether this toolkit knows the target, as machine code or as PTX."""
        return Target(target.major, target.minor, target.suffix) in self.targets


@cache
def toolkits() -> dict[str, Toolkit]:
    """The one toolkit table, by release, from ``data/toolkits.json``."""
    table = json.loads((files("pipeline") / "data" / "toolkits.json").read_text(encoding="utf-8"))
    return {
        release: Toolkit(release, row["ptxas"], frozenset(parse_targets(row["targets"])))
        for release, row in table.items()
        if release != "//"
    }


def toolkit(release: str) -> Toolkit:
    """The row of one release. Raises `UsageError` naming those that are known."""
    try:
        return toolkits()[release]
    except KeyError:
        known = ", ".join(toolkits())
        raise UsageError(f"CUDA toolkit '{release}' is not in the table", remedy=f"known: {known}") from None


def nearest(target: Target, release: str) -> Target | None:
    """The target of this toolkit that would do in the place of one that it cannot compile, if there is one."""
    table = toolkit(release).targets
    renamed = {(11, 0): (10, 1), (10, 1): (11, 0)}.get((target.major, target.minor))  # Thor, renamed in CUDA 13.0
    wishes: list[Target] = []
    if renamed:
        wishes.append(Target(*renamed, target.suffix))
    others: tuple[Suffix, ...] = ("a", "f", "")
    wishes += [Target(target.major, target.minor, s) for s in others if s != target.suffix]
    wishes += sorted(
        (t for t in table if t.major == target.major and t.minor <= target.minor and t.suffix != "a"), reverse=True
    )
    return next((Target(w.major, w.minor, w.suffix, target.kind) for w in wishes if w in table), None)


# Members of a family beyond its own capability, by ptxas: 100f gained 10.7 when CUDA 13.4 learnt it.
def family_members(target: Target, release: str) -> frozenset[Capability]:
    """Capabilities that run an ``f`` target compiled by this toolkit: same major, minor not lower, known to it."""
    return frozenset(
        t.capability for t in toolkit(release).targets if t.major == target.major and t.minor >= target.minor
    ) | {target.capability}


def runs(target: Target, capability: Capability, release: str) -> bool:
    """Whether code for ``target``, compiled by toolkit ``release``, loads on a device.

    Machine code never crosses majors nor between Tegra and desktop devices. PTX of a plain target is compiled by the
    driver for any later device; PTX of an ``a`` or ``f`` target reaches no further than its machine code.
    """
    if target.suffix == "a":
        return target.capability == capability
    if target.suffix == "f":
        same_kind = (target.capability in TEGRA) == (capability in TEGRA)
        return same_kind and capability in family_members(target, release)
    if target.has_ptx and capability >= target.capability:
        return True
    if not target.has_sass or target.major != capability.major or target.minor > capability.minor:
        return False
    return (target.capability in TEGRA) == (capability in TEGRA) and (
        capability not in TEGRA or target.capability == capability
    )


def covers(targets: Iterable[Target], majors: Iterable[int] | None, release: str) -> tuple[Capability, ...]:
    """The known capabilities that run these targets and whose major is in ``majors`` (any, if None), ascending."""
    wanted, held = list(targets), None if majors is None else set(majors)
    return tuple(
        c for c in KNOWN_CAPABILITIES if (held is None or c.major in held) and any(runs(t, c, release) for t in wanted)
    )


def _gencode(target: Target) -> str:
    code = {
        "real": f"sm_{target.undotted}",
        "virtual": f"compute_{target.undotted}",
        "both": f"[compute_{target.undotted},sm_{target.undotted}]",
    }[target.kind]
    return f"-gencode=arch=compute_{target.undotted},code={code}"


def _flashinfer(target: Target) -> str:
    if target.kind != "real":
        raise UsageError(
            f"FLASHINFER_CUDA_ARCH_LIST cannot express PTX ({target})",
            remedy=f"declare {Target(target.major, target.minor, target.suffix)}",
        )
    if not target.suffix and target.major >= 9:
        raise UsageError(
            f"FlashInfer reads a bare {target} as {target}{'f' if target.major == 12 else 'a'}",
            remedy="declare the suffix that is meant",
        )
    return str(target)


def _torch(target: Target) -> str:
    if target.suffix == "f":
        raise UsageError(
            f"TORCH_CUDA_ARCH_LIST cannot express a family target ({target})",
            remedy="declare its a form or the plain one",
        )
    if target.kind == "virtual":
        raise UsageError(f"TORCH_CUDA_ARCH_LIST cannot express PTX alone ({target})", remedy="declare it with +PTX")
    if target.capability in {(8, 8), (10, 1)}:
        raise UsageError(f"PyTorch does not know {target}", remedy="leave it out of this package's targets")
    return str(target)


def _cmake(target: Target) -> str:
    return target.undotted + {"real": "-real", "virtual": "-virtual", "both": ""}[target.kind]


def _provider(target: Target) -> str:
    if target.kind != "real":
        raise UsageError(
            f"a provider holds machine code only, not PTX ({target})",
            remedy=f"declare {target.capability}{target.suffix}",
        )
    return f"sm{target.undotted}"


# Spelling -> (separator, how one target is written).
_SPELLINGS: dict[str, tuple[str, Callable[[Target], str]]] = {
    "dotted": (" ", str),
    "flashinfer": (" ", _flashinfer),
    "torch": (";", _torch),
    "cmake": (";", _cmake),
    "nvcc": (" ", _gencode),
    "provider": (" ", _provider),
}
SPELLINGS: tuple[str, ...] = tuple(_SPELLINGS)


def render(targets: Iterable[Target], spelling: str) -> str:
    """Targets, ascending, as one consumer (of `SPELLINGS`) wants them. Raises `UsageError` where it cannot say one."""
    separator, write = _SPELLINGS[spelling]
    return separator.join(write(t) for t in sorted(set(targets)))
