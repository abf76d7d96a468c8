"""Which devices run which code: the rules by which devices load machine code and drivers compile PTX."""

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
    """The closest target that a toolkit compiles instead of one that it does not; None without one.

    First the same chip under its other name, then the same capability with another suffix, then the highest target
    whose machine code the device runs.
    """
    table = toolkit(release).targets
    every: tuple[Suffix, ...] = ("a", "f", "")
    suffixes = [target.suffix, *(s for s in every if s != target.suffix)]
    names = [target.capability]
    if target.capability in _RENAMED:
        names.insert(0, _RENAMED[target.capability])
    candidates = [Target(c.major, c.minor, s) for c in names for s in suffixes]
    candidates += [t for t in sorted(table, reverse=True) if loads(t, target.capability, release)]
    return next((Target(w.major, w.minor, w.suffix, target.kind) for w in candidates if w in table), None)


def family_members(target: Target, release: str) -> frozenset[Capability]:
    """The capabilities that run an ``f`` target compiled by this toolkit.

    They have the same major, the same or a higher minor, are both Tegra or both not, and are known to the toolkit:
    10.0f gained 10.7 with CUDA 13.4.
    """
    return frozenset(
        t.capability
        for t in toolkit(release).targets
        if t.major == target.major
        and t.minor >= target.minor
        and (t.capability in TEGRA) == (target.capability in TEGRA)
    ) | {target.capability}


def loads(target: Target, capability: Capability, release: str) -> bool:
    """Whether a device loads machine code for ``target``, compiled by toolkit ``release``.

    Never across majors. Code for a plain target loads on the same and higher minors, for ``f`` on its family, for
    ``a`` on one capability. Tegra devices load only code for exactly their capability, and no other device loads it.
    """
    if target.major != capability.major or not target.has_sass:
        return False
    if target.suffix == "a" or capability in TEGRA or target.capability in TEGRA:
        return target.capability == capability
    if target.suffix == "f":
        return capability in family_members(target, release)
    return target.minor <= capability.minor


def jits(target: Target, capability: Capability, release: str) -> bool:
    """Whether the driver compiles the PTX of ``target`` for a device.

    PTX of a plain target runs on every later device, across majors. PTX of ``a`` and ``f`` runs only where their
    machine code does.
    """
    if not target.has_ptx:
        return False
    if target.suffix:
        return loads(target.code, capability, release)
    return capability >= target.capability


def runs(target: Target, capability: Capability, release: str) -> bool:
    """Whether a device runs code for ``target``, compiled by toolkit ``release``, from machine code or from PTX."""
    return loads(target, capability, release) or jits(target, capability, release)


def covers(targets: Iterable[Target], majors: Iterable[int] | None, release: str) -> tuple[Capability, ...]:
    """The known capabilities that load machine code of these targets, with a major in ``majors`` (any if None).

    PTX does not count as coverage: it requires a driver as new as the toolkit, and is compiled at the first start.
    """
    compiled, allowed = list(targets), None if majors is None else set(majors)
    return tuple(
        c
        for c in KNOWN_CAPABILITIES
        if (allowed is None or c.major in allowed) and any(loads(t, c, release) for t in compiled)
    )
