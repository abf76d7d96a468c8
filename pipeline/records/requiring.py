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
    if len(held) == len(every):
        return ""
    clauses: list[str] = []
    for arch in dict.fromkeys(arch for arch, _ in held):
        pythons = [python for a, python in held if a == arch]
        if len(pythons) == sum(a == arch for a, _ in every):
            clauses.append(f"platform_machine == '{arch}'")
        else:
            clauses += [f"platform_machine == '{arch}' and python_version == '{python}'" for python in pythons]
    return clauses[0] if len(clauses) == 1 else f"({' or '.join(clauses)})"
