"""Compose the requirements of a shim on its provider wheels, with markers and extras."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Machine = tuple[str, str]
"""The CPU architecture and Python version (``3.12``) that markers can distinguish; empty for any."""


@dataclass(frozen=True)
class Provider:
    """A provider wheel. ``version`` includes the local label; ``extra`` is its target: ``sm90a``."""

    extra: str
    distribution: str
    version: str
    machine: Machine


def requirements(providers: Sequence[Provider]) -> dict[str, str]:
    """The exact requirement of each extra, with a marker if not all CPU architectures and Pythons have it."""
    by_extra: dict[str, list[Provider]] = {}
    for one in providers:
        by_extra.setdefault(one.extra, []).append(one)
    every = list(dict.fromkeys(one.machine for one in providers))
    found = {}
    for extra, same in by_extra.items():
        marker = _marker(list(dict.fromkeys(one.machine for one in same)), every)
        found[extra] = f"{same[0].distribution}=={same[0].version}{f' ; {marker}' if marker else ''}"
    return found


def restrict_to_extra(extra: str, requirement: str) -> str:
    """Restrict a requirement to an extra."""
    what, _, marker = requirement.partition(" ; ")
    return f"{what} ; {marker} and extra == '{extra}'" if marker else f"{what} ; extra == '{extra}'"


def _marker(selected: list[Machine], every: list[Machine]) -> str:
    """The marker that selects the ``selected`` machines among ``every``; empty for all."""
    if _match(selected, every):
        return ""
    clauses: list[str] = []
    for arch in dict.fromkeys(arch for arch, _ in selected):
        of_arch = [machine for machine in selected if machine[0] == arch]
        whole = arch and _match(of_arch, [machine for machine in every if machine[0] == arch])
        clauses += map(_clause, [(arch, "")] if whole else of_arch)
    return clauses[0] if len(clauses) == 1 else f"({' or '.join(clauses)})"


def _match(selected: list[Machine], required: list[Machine]) -> bool:
    """Whether each required machine matches one of the selected ones."""
    return all(any(arch in ("", a) and python in ("", p) for arch, python in selected) for a, p in required)


def _clause(machine: Machine) -> str:
    pairs = zip(("platform_machine", "python_version"), machine, strict=True)
    return " and ".join(f"{name} == '{value}'" for name, value in pairs if value)
