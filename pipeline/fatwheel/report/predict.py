"""What a wheel will weigh before it is built: from the newest wheels and the prices of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fatwheel.records.plan import Cell, CellChange, PlanDiff
from fatwheel.records.report import CellPrice, TargetPrice
from fatwheel.report.accounting import weigh
from fatwheel.report.sizes import SizedWheel, Snapshot, series_of
from fatwheel.targets import parse_target


@dataclass(frozen=True)
class Estimate:
    """Bytes, their bounds, and where they come from."""

    bytes: int
    low: int
    high: int
    basis: str

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.bytes + other.bytes, self.low + other.low, self.high + other.high, f"{self.basis}; {other.basis}"
        )

    def __neg__(self) -> Estimate:
        return Estimate(-self.bytes, -self.high, -self.low, self.basis)


def price_diff(diff: PlanDiff, now: Snapshot | None, prices: Sequence[TargetPrice], limit: int) -> list[CellPrice]:
    """What a change of plans does to each of its wheels. ``now`` is the newest release; None where there is none."""
    found = [
        _changed(change, now, prices, limit) for change in diff.changed if change.targets_came or change.targets_went
    ]
    for cell in diff.came:
        if cell.targets:
            new = _new(cell, now, prices)
            found.append(_price(cell.id, None, new, limit))
    for cell in diff.went:
        held = _held(cell.id, cell.wheel, now)
        if held or cell.targets:
            size = held.bytes if held else None
            found.append(CellPrice(id=cell.id, before=size, after=None, limit=limit, basis="it is not built any more"))
    return found


def target_price(
    target: str, prices: Sequence[TargetPrice], *, cuda: str | None, arch: str | None, label: str | None = None
) -> Estimate | None:
    """The price of one target for a wheel: that wheel's own, else of the nearest wheel that holds it.

    Where nobody ever built it, the price of the nearest target with the same major, with bounds that say how little is
    known: from nothing (none of the sources is compiled for it) to twice as much.
    """
    plain = _plain(target)
    exact = [price for price in prices if len(price.targets) == 1 and _plain(price.targets[0]) == plain]
    if exact:
        best = min(exact, key=lambda p: (p.label != label, p.cuda != cuda, p.arch != arch))
        whose = "" if best.label == label else f" in {best.label}"
        return Estimate(best.bytes, best.low, best.high, f"{target} as measured{whose}")
    wanted = parse_target(plain)
    like = [p for p in prices if len(p.targets) == 1 and parse_target(_plain(p.targets[0])).major == wanted.major]
    if not like:
        return None
    best = min(
        like,
        key=lambda p: (
            p.label != label, p.cuda != cuda, p.arch != arch,
            abs(parse_target(_plain(p.targets[0])).minor - wanted.minor),
        ),
    )  # fmt: skip
    return Estimate(best.bytes, 0, 2 * best.bytes, f"{target} was never built: taken as {best.targets[0]}")


def _changed(change: CellChange, now: Snapshot | None, prices: Sequence[TargetPrice], limit: int) -> CellPrice:
    held = _held(change.id, None, now)
    if held is None:
        return CellPrice(id=change.id, before=None, after=None, limit=limit, basis="no release holds it yet")
    total: Estimate | None = Estimate(held.bytes, held.bytes, held.bytes, f"{now.tag if now else ''}")
    unknown = []
    for sign, targets in ((1, change.targets_came), (-1, change.targets_went)):
        for target in targets:
            one = target_price(target, prices, cuda=held.cuda, arch=held.arch, label=change.id)
            if one is None:
                unknown.append(target)
            elif total is not None:
                total = total + (one if sign > 0 else -one)
    if unknown:
        return CellPrice(
            id=change.id, before=held.bytes, after=None, limit=limit,
            basis=f"nothing like {' '.join(unknown)} was ever built",
        )  # fmt: skip
    return _price(change.id, held.bytes, total, limit)


def _new(cell: Cell, now: Snapshot | None, prices: Sequence[TargetPrice]) -> Estimate | None:
    """A wheel that nobody built: what is no machine code in its nearest relative, and its targets' prices."""
    relatives = [w for w in now.wheels if w.inventory is not None and w.cell is not None] if now else []
    if not relatives:
        return None
    near = min(
        relatives,
        key=lambda w: (w.cell is None or w.cell.family != cell.family, w.arch != cell.arch, w.cuda != cell.cuda),
    )
    if near.inventory is None:
        return None
    weights = weigh(near.inventory, near.bytes)
    rest = weights.total - sum(weights.by_target.values())
    total = Estimate(rest, rest, rest, f"host code as in {near.cell.id if near.cell else near.file}")
    for target in cell.targets:
        one = target_price(target, prices, cuda=cell.cuda, arch=cell.arch, label=cell.id)
        if one is None:
            return None
        total = total + one
    return total


def _price(name: str, before: int | None, new: Estimate | None, limit: int) -> CellPrice:
    if new is None:
        return CellPrice(id=name, before=before, after=None, limit=limit, basis="nothing like it was ever built")
    return CellPrice(
        id=name, before=before, after=max(0, new.bytes), low=max(0, new.low), high=max(0, new.high), limit=limit,
        basis=new.basis,
    )  # fmt: skip


def _held(cell_id: str, file: str | None, now: Snapshot | None) -> SizedWheel | None:
    if now is None:
        return None
    named = next((wheel for wheel in now.wheels if wheel.cell and wheel.cell.id == cell_id), None)
    return named or (now.find(series_of(file)) if file else None)


def _plain(target: str) -> str:
    return target.removesuffix("+PTX").removesuffix("-virtual")
