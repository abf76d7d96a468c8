"""What runs where: the rules by which devices load machine code and drivers compile PTX."""

from __future__ import annotations

from collections.abc import Iterable

from fatwheel.targets.table import toolkit
from fatwheel.targets.target import KNOWN_CAPABILITIES, TEGRA, Capability, Suffix, Target

# The same chip, renamed in CUDA 13.0.
_RENAMED: dict[Capability, Capability] = {
    Capability(11, 0): Capability(10, 1),
    Capability(10, 1): Capability(11, 0),
}


def nearest(target: Target, release: str) -> Target | None:
    """The target of this toolkit that would do in the place of one that it cannot compile, if there is one.

    The same chip under its other name first, then the same capability with another suffix, then the highest target
    whose machine code the device runs as well.
    """
    table = toolkit(release).targets
    every: tuple[Suffix, ...] = ("a", "f", "")
    suffixes = [target.suffix, *(s for s in every if s != target.suffix)]
    named = [target.capability]
    if target.capability in _RENAMED:
        named.insert(0, _RENAMED[target.capability])
    wishes = [Target(c.major, c.minor, s) for c in named for s in suffixes]
    wishes += [t for t in sorted(table, reverse=True) if loads(t, target.capability, release)]
    return next((Target(w.major, w.minor, w.suffix, target.kind) for w in wishes if w in table), None)


def family_members(target: Target, release: str) -> frozenset[Capability]:
    """Capabilities that run an ``f`` target compiled by this toolkit.

    Same major, minor not lower, on the same side of Tegra, and known to the toolkit: 100f gained 10.7 with CUDA 13.4.
    """
    return frozenset(
        t.capability
        for t in toolkit(release).targets
        if t.major == target.major
        and t.minor >= target.minor
        and (t.capability in TEGRA) == (target.capability in TEGRA)
    ) | {target.capability}


def loads(target: Target, capability: Capability, release: str) -> bool:
    """Whether machine code for ``target``, compiled by toolkit ``release``, loads on a device.

    It never crosses majors. A plain target serves its own minor and higher ones, ``f`` its family, ``a`` one
    capability. Tegra devices take code for exactly themselves, and nobody else takes theirs.
    """
    if target.major != capability.major or not target.has_sass:
        return False
    if target.suffix == "a" or capability in TEGRA or target.capability in TEGRA:
        return target.capability == capability
    if target.suffix == "f":
        return capability in family_members(target, release)
    return target.minor <= capability.minor


def jits(target: Target, capability: Capability, release: str) -> bool:
    """Whether a driver compiles the PTX of ``target`` for a device.

    PTX of a plain target goes to every later device, across majors; that of ``a`` and ``f`` no further than its
    machine code.
    """
    if not target.has_ptx:
        return False
    if target.suffix:
        return loads(target.code, capability, release)
    return capability >= target.capability


def runs(target: Target, capability: Capability, release: str) -> bool:
    """Whether a device runs code for ``target``, compiled by toolkit ``release``, as machine code or from its PTX."""
    return loads(target, capability, release) or jits(target, capability, release)


def covers(targets: Iterable[Target], majors: Iterable[int] | None, release: str) -> tuple[Capability, ...]:
    """The known capabilities that load these targets' machine code and whose major is in ``majors`` (any, if None).

    PTX promises nothing here: it needs a driver at least as new as the toolkit, and time at the first start.
    """
    wanted, held = list(targets), None if majors is None else set(majors)
    return tuple(
        c for c in KNOWN_CAPABILITIES if (held is None or c.major in held) and any(loads(t, c, release) for t in wanted)
    )
