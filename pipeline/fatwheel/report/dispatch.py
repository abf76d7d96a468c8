"""Which devices load which code: what a package's dispatch says, held against the machine code in a wheel.

A device loads a module's code if the package's dispatch picks that module for it, and if the module holds code that it
runs. Code that meets neither for any device that the wheel is for is dead.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel.errors import PipelineError, UsageError
from fatwheel.records.inventory import Module, TargetCode
from fatwheel.records.report import DeadCode, DispatchedModule
from fatwheel.report.accounting import short, weigh_module
from fatwheel.report.sizes import SizedWheel
from fatwheel.targets import KNOWN_CAPABILITIES, Capability, Target, jits, loads, parse_target


@dataclass(frozen=True)
class Rule:
    """Modules (a glob over their names) that dispatch loads for ``feature`` on these devices."""

    feature: str
    modules: str
    capabilities: frozenset[Capability]

    def matches(self, module: Module) -> bool:
        """By file name without its ending, or by the whole path inside the wheel."""
        return fnmatch.fnmatchcase(short(module.name), self.modules) or fnmatch.fnmatchcase(module.name, self.modules)


def read_table(path: Path) -> tuple[Rule, ...]:
    """An exported table: ``{"fused_moe_100": ["10.0", "10.3"]}``, or the feature first and then its modules.

    Raises `UsageError` for a file that is not such a table.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return tuple(_rules(table))
    except OSError as error:
        raise UsageError(f"the table cannot be read: {error.strerror}", where=str(path)) from None
    except (ValueError, TypeError, AttributeError, PipelineError) as error:
        raise UsageError(
            f"not a table of modules and capabilities: {error}", where=str(path),
            help='write {"MODULE": ["10.0", "10.3"]} or {"FEATURE": {"MODULE": ["10.0", "10.3"]}}',
        ) from None  # fmt: skip


def _rules(table: Mapping[str, object]) -> Iterable[Rule]:
    for name, value in table.items():
        inner = value if isinstance(value, dict) else {name: value}
        for modules, listed in inner.items():
            if not isinstance(listed, list):
                raise TypeError(f"{modules} has no list of capabilities")
            yield Rule(name, modules, frozenset(map(Capability.parse, listed)))


def devices(wheel: SizedWheel) -> tuple[Capability, ...]:
    """The known devices that a wheel is for: those that its cell covers; without a cell, all."""
    if wheel.cell is None or not wheel.cell.covers:
        return KNOWN_CAPABILITIES
    return tuple(map(Capability.parse, wheel.cell.covers))


def find_unused_code(wheel: SizedWheel, label: str, rules: Sequence[Rule]) -> list[DeadCode]:
    """Machine code and PTX in a wheel that no device which it is for would ever load; the most first."""
    if wheel.inventory is None:
        return []
    mine = devices(wheel)
    found = []
    for module in wheel.inventory.modules:
        asked = [rule for rule in rules if rule.matches(module)]
        picked = frozenset().union(*(rule.capabilities for rule in asked)) if asked else frozenset(mine)
        weight = weigh_module(module)
        for text, code in module.targets.items():
            target = parse_target(text)
            loading = [c for c in mine if _loads(target, code, c, wheel.toolkit)]
            if any(c in picked for c in loading):
                continue
            found.append(
                DeadCode(
                    label=label, module=short(module.name), target=text, installed=code.stored,
                    bytes=weight.targets[text], why=_why(text, loading, picked, wheel),
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: (-one.bytes, one.module, one.target))


def _why(text: str, loading: Sequence[Capability], picked: Iterable[Capability], wheel: SizedWheel) -> str:
    if loading:
        return f"{_listed(loading)} would run it, and dispatch loads the module on {_listed(sorted(picked)) or 'none'}"
    family = wheel.cell.family if wheel.cell else None
    return f"no device of {family} loads code for {text}" if family else f"no known device loads code for {text}"


def simulate(wheel: SizedWheel, label: str, rules: Sequence[Rule]) -> list[DispatchedModule]:
    """For every known device and every feature: which module serves it, with which target's code.

    Where several modules of a feature would, the first rule that has one with code wins. Features whose modules the
    wheel does not hold, and that no device of it asks for, are left out.
    """
    if wheel.inventory is None:
        return []
    promised = frozenset(devices(wheel)) if wheel.cell and wheel.cell.covers else frozenset()
    features = list(dict.fromkeys(rule.feature for rule in rules))
    found = []
    for feature in features:
        mine = [rule for rule in rules if rule.feature == feature]
        for capability in KNOWN_CAPABILITIES:
            asking = [rule for rule in mine if capability in rule.capabilities]
            if not asking:
                continue
            module, target = _server(wheel, asking, capability)
            found.append(
                DispatchedModule(
                    label=label, feature=feature, capability=str(capability), module=module, target=target,
                    promised=capability in promised,
                )
            )  # fmt: skip
    return found


def lacking(wheel: SizedWheel, label: str, served: Sequence[DispatchedModule]) -> list[str]:
    """Promises that a wheel does not keep: a device that it is for finds no code. A partial wheel promises less."""
    if wheel.inventory is None or wheel.cell is None or wheel.partial:
        return []
    problems = [
        f"{label}: {capability} is promised, and no module holds code for it"
        for capability in map(Capability.parse, wheel.cell.covers)
        if not any(_best(module, capability, wheel.toolkit) for module in wheel.inventory.modules)
    ]
    for one in served:
        if one.promised and one.target is None and one.label == label:
            what = f"{one.module} holds none for it" if one.module else "the wheel holds no module for it"
            problems.append(f"{label}: {one.capability} is promised, and {one.feature} has no code: {what}")
    return problems


def _server(wheel: SizedWheel, rules: Sequence[Rule], capability: Capability) -> tuple[str | None, str | None]:
    empty: str | None = None
    modules = wheel.inventory.modules if wheel.inventory else []
    for rule in rules:
        for module in modules:
            if rule.matches(module):
                best = _best(module, capability, wheel.toolkit)
                if best:
                    return short(module.name), best
                empty = empty or short(module.name)
    return empty, None


def _best(module: Module, capability: Capability, release: str) -> str | None:
    """The target whose code the driver takes: its own machine code first, then the family's, the nearest; then PTX."""
    found: list[tuple[tuple[int, int, int], str]] = []
    for text, code in module.targets.items():
        target = parse_target(text)
        if code.sass and loads(target, capability, release):
            found.append(((2, target.minor, _RANK[target.suffix]), text))
        elif code.ptx and jits(_virtual(target), capability, release):
            found.append(((1, target.major, target.minor), text))
    return max(found)[1] if found else None


_RANK = {"": 0, "f": 1, "a": 2}


def _loads(target: Target, code: TargetCode, capability: Capability, release: str) -> bool:
    machine = code.sass is not None and loads(target, capability, release)
    return machine or (code.ptx is not None and jits(_virtual(target), capability, release))


def _virtual(target: Target) -> Target:
    return Target(target.major, target.minor, target.suffix, "virtual")


def _listed(capabilities: Iterable[Capability]) -> str:
    return " ".join(map(str, capabilities))
