"""What the parts of a wheel weigh in it: bytes of the zip, by module and target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from fatwheel.records.inventory import Inventory, Module, TargetCode


@dataclass(frozen=True)
class Weight:
    """One module: the bytes of its targets' code and of all else, as the wheel holds them."""

    module: str  # as the wheel's member is called
    targets: Mapping[str, int]
    rest: int  # host code, symbols ...
    plain: Mapping[str, int]  # of the targets' bytes, those of code that only the zip compresses: an estimate

    @property
    def total(self) -> int:
        """All of it."""
        return self.rest + sum(self.targets.values())


@dataclass(frozen=True)
class Weights:
    """A whole wheel."""

    modules: tuple[Weight, ...]
    rest: int  # what is in no module: Python files, metadata, the zip itself

    @property
    def by_target(self) -> dict[str, int]:
        """Bytes by target, in the inventory's order."""
        total: dict[str, int] = {}
        for module in self.modules:
            for target, count in module.targets.items():
                total[target] = total.get(target, 0) + count
        return total

    def doubt(self, target: str) -> int:
        """By how much a target's bytes may be wrong: half of what only the zip compresses.

        Measured: code that nvcc compressed (``--compress-mode=size``) is priced to a few percent; raw code by as much
        as half too high, since it shrinks more in the zip than host code does.
        """
        return sum(module.plain.get(target, 0) for module in self.modules) // 2

    @property
    def total(self) -> int:
        """The wheel."""
        return self.rest + sum(module.total for module in self.modules)

    def holding(self, targets: Iterable[str]) -> int:
        """The wheel's size if only these targets were compiled.

        A module of which no code is left is not built at all; one that never held any stays.
        """
        kept = frozenset(targets)
        size = self.rest
        for module in self.modules:
            held = sum(count for target, count in module.targets.items() if target in kept)
            if held or not module.targets:
                size += module.rest + held
        return size


def weigh(inventory: Inventory, size: int) -> Weights:
    """The weights in a wheel of ``size`` bytes."""
    modules = tuple(weigh_module(module) for module in inventory.modules)
    return Weights(modules, max(0, size - sum(module.total for module in modules)))


def weigh_module(module: Module) -> Weight:
    """Share the bytes that a module takes in the wheel among its targets and the rest.

    Compressed code does not shrink again when the wheel is made, so it counts as it is stored, as far as there is room;
    all else shares what is left in proportion to its bytes on disk.
    """
    packed = {target: _packed(code) for target, code in module.targets.items()}
    plain = {target: code.stored - packed[target] for target, code in module.targets.items()}
    left = module.wheel_bytes - sum(packed.values())
    squeeze = 1.0
    if left < 0:
        squeeze, left = module.wheel_bytes / sum(packed.values()), 0
    others = max(module.file_bytes - sum(packed.values()), 1)
    estimated = {target: round(plain[target] * left / others) for target in module.targets}
    targets = {target: round(packed[target] * squeeze) + estimated[target] for target in module.targets}
    return Weight(module.name, targets, max(0, module.wheel_bytes - sum(targets.values())), estimated)


def short(member: str) -> str:
    """A module's name for people: its file's, without the ending."""
    return PurePosixPath(member).name.split(".")[0]


def _packed(code: TargetCode) -> int:
    held = (code.sass, code.ptx, code.other)
    return sum(kind.stored for kind in held if kind and kind.stored < kind.raw)
