"""Break the size of a wheel down by module and GPU target, in compressed bytes of the wheel file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from fatwheel.records.inventory import Inventory, Module, TargetCode
from fatwheel.targets import Target


@dataclass(frozen=True)
class ModuleBreakdown:
    """The compressed bytes of one module, split into device code by target and everything else."""

    module: str  # the member's path in the wheel
    targets: Mapping[Target, int]
    rest: int  # host code, symbols ...
    estimated: Mapping[Target, int]  # of the targets' bytes, the code that only the zip compresses

    @property
    def total(self) -> int:
        """All bytes of the module."""
        return self.rest + sum(self.targets.values())


@dataclass(frozen=True)
class WheelBreakdown:
    """The compressed bytes of a whole wheel."""

    modules: tuple[ModuleBreakdown, ...]
    rest: int  # bytes outside modules: Python files, metadata, the zip structure

    @property
    def by_target(self) -> dict[Target, int]:
        """Bytes by target, in the inventory's order."""
        total: dict[Target, int] = {}
        for module in self.modules:
            for target, count in module.targets.items():
                total[target] = total.get(target, 0) + count
        return total

    def uncertainty(self, target: Target) -> int:
        """How far a target's bytes may be off: half of the code that only the zip compresses.

        Measured: for code that nvcc compressed (``--compress-mode=size``) the estimate is within a few percent. For
        uncompressed code it can be up to half too high, because device code shrinks more in the zip than host code.
        """
        return sum(module.estimated.get(target, 0) for module in self.modules) // 2

    @property
    def total(self) -> int:
        """The size of the wheel."""
        return self.rest + sum(module.total for module in self.modules)

    def size_with(self, targets: Iterable[Target]) -> int:
        """The size of the wheel if it were compiled for these targets only.

        A module that loses all of its device code is dropped; a module that never had any stays.
        """
        kept = frozenset(targets)
        size = self.rest
        for module in self.modules:
            device_code = sum(count for target, count in module.targets.items() if target in kept)
            if device_code or not module.targets:
                size += module.rest + device_code
        return size


def break_down(inventory: Inventory, size: int) -> WheelBreakdown:
    """Break down a wheel of ``size`` bytes."""
    modules = tuple(break_down_module(module) for module in inventory.modules)
    return WheelBreakdown(modules, max(0, size - sum(module.total for module in modules)))


def break_down_module(module: Module) -> ModuleBreakdown:
    """Distribute the compressed bytes of a module over its targets and the rest.

    Code that nvcc compressed does not shrink again in the zip, so it counts with its stored size as long as the sum
    fits. Everything else shares the remaining bytes in proportion to its size on disk.
    """
    packed = {target: _precompressed(code) for target, code in module.targets.items()}
    plain = {target: code.stored - packed[target] for target, code in module.targets.items()}
    left = module.wheel_bytes - sum(packed.values())
    scale = 1.0
    if left < 0:
        scale, left = module.wheel_bytes / sum(packed.values()), 0
    others = max(module.file_bytes - sum(packed.values()), 1)
    estimated = {target: round(plain[target] * left / others) for target in module.targets}
    targets = {target: round(packed[target] * scale) + estimated[target] for target in module.targets}
    return ModuleBreakdown(module.name, targets, max(0, module.wheel_bytes - sum(targets.values())), estimated)


def module_label(member: str) -> str:
    """The display name of a module: its file name up to the first dot."""
    return PurePosixPath(member).name.split(".")[0]


def _precompressed(code: TargetCode) -> int:
    kinds = (code.sass, code.ptx, code.other)
    return sum(kind.stored for kind in kinds if kind and kind.stored < kind.raw)
