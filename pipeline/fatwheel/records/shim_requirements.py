"""What a shim requires of its providers, as requirements with markers and extras."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Machine = tuple[str, str]
"""What pip can tell apart: the CPU architecture and the Python (``3.12``), each empty where any will do."""


@dataclass(frozen=True)
class Provider:
    """One wheel that a shim may require. ``version`` is with the local label; ``extra`` is its target: ``sm90a``."""

    extra: str
    distribution: str
    version: str
    machine: Machine


def requirements(providers: Sequence[Provider]) -> dict[str, str]:
    """For each extra what it requires, exactly; with a marker where not every CPU and Python has it."""
    by_extra: dict[str, list[Provider]] = {}
    for one in providers:
        by_extra.setdefault(one.extra, []).append(one)
    every = list(dict.fromkeys(one.machine for one in providers))
    found = {}
    for extra, same in by_extra.items():
        marker = _marker(list(dict.fromkeys(one.machine for one in same)), every)
        found[extra] = f"{same[0].distribution}=={same[0].version}{f' ; {marker}' if marker else ''}"
    return found


def behind(extra: str, requirement: str) -> str:
    """A requirement that counts only where an extra is asked for."""
    what, _, marker = requirement.partition(" ; ")
    return f"{what} ; {marker} and extra == '{extra}'" if marker else f"{what} ; extra == '{extra}'"


def _marker(held: list[Machine], every: list[Machine]) -> str:
    """The machines among ``every`` that are ``held``, as a marker; empty for all."""
    if _serve(held, every):
        return ""
    clauses: list[str] = []
    for arch in dict.fromkeys(arch for arch, _ in held):
        here = [machine for machine in held if machine[0] == arch]
        whole = arch and _serve(here, [machine for machine in every if machine[0] == arch])
        clauses += map(_clause, [(arch, "")] if whole else here)
    return clauses[0] if len(clauses) == 1 else f"({' or '.join(clauses)})"


def _serve(held: list[Machine], wanted: list[Machine]) -> bool:
    """Whether each wanted machine is among the held ones, or fits one of which a part is any."""
    return all(any(arch in ("", a) and python in ("", p) for arch, python in held) for a, p in wanted)


def _clause(machine: Machine) -> str:
    told = zip(("platform_machine", "python_version"), machine, strict=True)
    return " and ".join(f"{name} == '{value}'" for name, value in told if value)
