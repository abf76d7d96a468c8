"""Find out which devices load which code, from a package's dispatch rules and the device code in a wheel.

A device loads code from a module if the package's dispatch selects the module for it and the module has code that runs
on it. Code that no device covered by the wheel loads is unused.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel.errors import PipelineError, UsageError
from fatwheel.records.inventory import Module, TargetCode
from fatwheel.records.report import DispatchedModule, UnusedCode
from fatwheel.report.breakdown import break_down_module, module_label
from fatwheel.report.snapshots import SizedWheel
from fatwheel.targets import KNOWN_CAPABILITIES, Capability, Target, jits, loads


@dataclass(frozen=True)
class Rule:
    """The modules (a glob) that the package's dispatch loads for a feature on devices of these capabilities."""

    feature: str
    modules: str
    capabilities: frozenset[Capability]

    def matches(self, module: Module) -> bool:
        """Whether the glob matches the module's display name or its whole path in the wheel."""
        name = module_label(module.name)
        return fnmatch.fnmatchcase(name, self.modules) or fnmatch.fnmatchcase(module.name, self.modules)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Read a dispatch table: ``{"fused_moe_100": ["10.0", "10.3"]}``, optionally grouped by feature.

    Raises `UsageError` for a file in any other format.
    """
    try:
        return tuple(_rules(json.loads(path.read_text(encoding="utf-8"))))
    except OSError as error:
        raise UsageError(f"cannot read the dispatch table: {error.strerror}", where=str(path)) from None
    except (ValueError, PipelineError) as error:
        reason = error.what if isinstance(error, PipelineError) else str(error)
        raise UsageError(
            f"invalid dispatch table: {reason}", where=str(path),
            help='write {"MODULE": ["10.0", "10.3"]} or {"FEATURE": {"MODULE": ["10.0", "10.3"]}}',
        ) from None  # fmt: skip


def _rules(table: object) -> Iterable[Rule]:
    if not isinstance(table, dict):
        raise ValueError("expected an object")  # noqa: TRY004  (all errors of the file are of one kind)
    for name, value in table.items():
        modules_by_glob = value if isinstance(value, dict) else {name: value}
        for modules, capabilities in modules_by_glob.items():
            if not isinstance(capabilities, list) or not all(isinstance(one, str) for one in capabilities):
                raise ValueError(f"expected a list of capabilities for {modules}")
            yield Rule(name, modules, frozenset(map(Capability.parse, capabilities)))


def covered_capabilities(wheel: SizedWheel) -> tuple[Capability, ...]:
    """The capabilities that a wheel covers according to its cell; all known ones if its cell is unknown."""
    if wheel.cell is None or not wheel.cell.covers:
        return KNOWN_CAPABILITIES
    return tuple(wheel.cell.covers)


def find_unused_code(wheel: SizedWheel, label: str, rules: Sequence[Rule]) -> list[UnusedCode]:
    """Find SASS and PTX that no device covered by the wheel loads, the largest first."""
    if wheel.inventory is None:
        return []
    covered = covered_capabilities(wheel)
    found = []
    for module in wheel.inventory.modules:
        matching = [rule for rule in rules if rule.matches(module)]
        dispatched = frozenset().union(*(rule.capabilities for rule in matching)) if matching else frozenset(covered)
        breakdown = break_down_module(module)
        for target, code in module.targets.items():
            running = [c for c in covered if _loads(target, code, c, wheel.toolkit)]
            if any(c in dispatched for c in running):
                continue
            found.append(
                UnusedCode(
                    label=label, module=module_label(module.name), target=target, installed=code.stored,
                    bytes=breakdown.targets[target], why=_why_unused(target, running, dispatched, wheel),
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: (-one.bytes, one.module, one.target))


def _why_unused(
    target: Target, running: Sequence[Capability], dispatched: Iterable[Capability], wheel: SizedWheel
) -> str:
    if running:
        return f"runs on {_join(running)}, but dispatch loads the module on {_join(sorted(dispatched)) or 'no device'}"
    family = wheel.cell.family if wheel.cell else None
    return f"no device of {family} loads code for {target}" if family else f"no known device loads code for {target}"


def simulate_dispatch(wheel: SizedWheel, label: str, rules: Sequence[Rule]) -> list[DispatchedModule]:
    """For every known capability and every feature, find the module and the target that a device loads.

    If several modules of a feature match, the first rule with a module that has code wins. Combinations
    without a rule are omitted.
    """
    if wheel.inventory is None:
        return []
    covered = frozenset(covered_capabilities(wheel)) if wheel.cell and wheel.cell.covers else frozenset()
    features = list(dict.fromkeys(rule.feature for rule in rules))
    found = []
    for feature in features:
        of_feature = [rule for rule in rules if rule.feature == feature]
        for capability in KNOWN_CAPABILITIES:
            matching = [rule for rule in of_feature if capability in rule.capabilities]
            if not matching:
                continue
            module, target = _dispatch(wheel, matching, capability)
            found.append(
                DispatchedModule(
                    label=label, feature=feature, capability=capability, module=module, target=target,
                    covered=capability in covered,
                )
            )  # fmt: skip
    return found


def find_missing_code(wheel: SizedWheel, label: str, dispatched: Sequence[DispatchedModule]) -> list[str]:
    """Describe capabilities that a wheel covers without having code for them. A partial wheel is never reported."""
    if wheel.inventory is None or wheel.cell is None or wheel.partial:
        return []
    errors = [
        f"{label}: covers {capability}, but no module has code for it"
        for capability in wheel.cell.covers
        if not any(_best_target(module, capability, wheel.toolkit) for module in wheel.inventory.modules)
    ]
    for one in dispatched:
        if one.covered and one.target is None and one.label == label:
            reason = f"{one.module} has none" if one.module else "no module matches"
            errors.append(f"{label}: covers {one.capability}, but {one.feature} has no code for it: {reason}")
    return errors


def _dispatch(wheel: SizedWheel, rules: Sequence[Rule], capability: Capability) -> tuple[str | None, Target | None]:
    """The module and target that a device loads; a module without a target if none of the modules has code."""
    without_code: str | None = None
    modules = wheel.inventory.modules if wheel.inventory else []
    for rule in rules:
        for module in modules:
            if rule.matches(module):
                target = _best_target(module, capability, wheel.toolkit)
                if target:
                    return module_label(module.name), target
                without_code = without_code or module_label(module.name)
    return without_code, None


def _best_target(module: Module, capability: Capability, release: str) -> Target | None:
    """The target whose code the driver loads: exact SASS first, then the closest of the same major, then PTX."""
    found: list[tuple[tuple[int, int, int], Target]] = []
    for target, code in module.targets.items():
        if code.sass and loads(target, capability, release):
            found.append(((2, target.minor, target.specificity), target))
        elif code.ptx and jits(_virtual(target), capability, release):
            found.append(((1, target.major, target.minor), target))
    return max(found)[1] if found else None


def _loads(target: Target, code: TargetCode, capability: Capability, release: str) -> bool:
    has_sass = code.sass is not None and loads(target, capability, release)
    return has_sass or (code.ptx is not None and jits(_virtual(target), capability, release))


def _virtual(target: Target) -> Target:
    return Target(target.major, target.minor, target.suffix, "virtual")


def _join(capabilities: Iterable[Capability]) -> str:
    return " ".join(map(str, capabilities))
