"""Size limits: levels, the largest parts of a wheel, and suggestions with predicted sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fatwheel.records.report import Kind, WheelBudget
from fatwheel.report.breakdown import break_down, break_down_module
from fatwheel.report.budget import Allowance, check_budget
from fatwheel.report.snapshots import SizedWheel, Snapshot, choose_labels
from fatwheel.report.suggestions import Group
from fatwheel.report.target_sizes import list_target_sizes
from fatwheel.report.values import format_growth
from fatwheel.targets import Target, dotted
from tests.unit.report.samples import GIB, MIB, cell, module, wheel

ALLOWED = Allowance(limit=2 * GIB, warn=0.95, growth=0.10)


def check(
    now: Sequence[SizedWheel], before: Sequence[SizedWheel] = (), allowed: Allowance = ALLOWED
) -> list[WheelBudget]:
    new, old = Snapshot("new", None, tuple(now)), Snapshot("old", None, tuple(before))
    names = choose_labels([*now, *before])
    return check_budget(new, old if before else None, allowed, names, target_sizes=list_target_sizes([new], names))


def fat() -> SizedWheel:
    """3 GiB: 12.0f and 12.1a a GiB each, 8.0 and 9.0a half of that."""
    half = {"8.0": 128 * MIB, "9.0a": 128 * MIB, "12.0f": 256 * MIB, "12.1a": 256 * MIB}
    return wheel(cell("cu130", "x86_64", " ".join(half)), [module(f"m{n}", half, host=MIB) for n in range(4)])


def test_a_wheel_over_the_limit_names_its_largest_modules_and_targets() -> None:
    (row,) = check([fat()])
    assert row.level == "over"
    assert [(part.name, part.bytes) for part in row.by_target[:2]] == [("12.0f", GIB), ("12.1a", GIB)]
    assert [part.name for part in row.by_module] == ["m0", "m1", "m2", "m3"]


def test_dropping_targets_that_lose_the_fewest_devices_comes_first() -> None:
    (row,) = check([fat()])
    drops = [help for help in row.suggestions if help.what.startswith("drop")]
    assert [(one.what, dotted(one.loses)) for one in drops[:2]] == [
        ("drop 9.0a 12.1a", "9.0"),
        ("drop 12.0f 12.1a", "12.0 12.1"),
    ]
    assert drops[0].predicted == {"cu130-x86_64-all": 3 * GIB - GIB - GIB // 2 + 4 * MIB}


def test_splits_list_the_size_of_every_wheel() -> None:
    (row,) = check([fat()])
    sizes = {help.what: help.predicted for help in row.suggestions}
    host = 4 * MIB
    assert sizes["split by family"] == {
        "cu130-x86_64-all sm9x": GIB + host, "cu130-x86_64-all sm12x": 2 * GIB + host,
    }  # fmt: skip
    assert sizes["split by target"]["cu130-x86_64-all sm90a"] == GIB // 2 + host
    enough = {help.what: help.enough for help in row.suggestions}
    assert (enough["split by family"], enough["split by target"]) == (False, True)


def test_splits_use_declared_families_and_their_base_targets() -> None:
    families = {"old": Group((8, 9)), "new": Group((12,), base=(Target(8, 0),))}
    (row,) = check([fat()], allowed=Allowance(2 * GIB, 0.95, 0.10, families))
    split = next(help for help in row.suggestions if help.what == "split by family")
    assert split.predicted["cu130-x86_64-all new"] == 2 * GIB + GIB // 2 + 4 * MIB


@pytest.mark.parametrize(
    ("size", "before", "level"),
    [
        (2 * GIB - 1, 2 * GIB - 1, "warn"),
        (2 * GIB, 2 * GIB - 1, "over"),
        (1100 * MIB, 1000 * MIB, "ok"),
        (1101 * MIB, 1000 * MIB, "grown"),
        (1101 * MIB, None, "ok"),
        (900 * MIB, 1000 * MIB, "ok"),
    ],
)
def test_levels(size: int, before: int | None, level: str) -> None:
    made = cell("cu130", "x86_64", "9.0a")
    old = [wheel(cell("cu130", "x86_64", "9.0a", "0.6.12"), [], before)] if before else []
    (row,) = check([wheel(made, [], size)], old)
    assert row.level == level
    assert bool(row.why) == (level != "ok")


def test_a_wheel_whose_tags_changed_is_compared() -> None:
    made = cell("cu130", "x86_64", "9.0a")
    old = made.model_copy(update={"wheel": made.wheel.replace("cp39-abi3-manylinux_2_28", "py3-none-manylinux_2_17")})
    (row,) = check([wheel(made, [], 1050 * MIB)], [wheel(old, [], 1000 * MIB)])
    assert row.growth == 50 * MIB


def test_wheels_for_several_pythons_are_told_apart() -> None:
    made = cell("cu130", "x86_64", "9.0a")
    olds = [
        wheel(made.model_copy(update={"wheel": made.wheel.replace("cp39-abi3", tag)}), [], MIB)
        for tag in ("cp311-cp311", "cp312-cp312")
    ]
    new = made.model_copy(update={"wheel": made.wheel.replace("cp39-abi3", "cp313-cp313")})
    (row,) = check([wheel(new, [], 3 * MIB)], olds)
    assert row.growth is None


def test_a_partial_wheel_is_not_compared_with_a_whole_one() -> None:
    old = replace(wheel(cell("cu130", "x86_64", "9.0a"), [], MIB), kind="slice")
    (row,) = check([wheel(cell("cu130", "x86_64", "9.0a"), [], 900 * MIB)], [old])
    assert (row.growth, row.level) == (None, "ok")


def test_compressed_code_counts_as_stored_and_the_rest_shares_the_remainder() -> None:
    one = module("m", {"8.0": 300, "9.0a": 100}, host=600)
    weight = break_down_module(replace(one, wheel_bytes=700))
    assert weight.targets == {Target(8, 0): 300, Target(9, 0, "a"): 100}
    assert weight.rest == 300


def test_uncompressed_code_is_estimated_with_an_uncertainty() -> None:
    held = wheel(cell("cu130", "x86_64", "8.0"), [module("m", {"8.0": 400}, host=600, packed=False)])
    assert held.inventory
    weights = break_down(held.inventory, held.bytes)
    assert weights.by_target == {Target(8, 0): 200}
    assert weights.uncertainty(Target(8, 0)) == 100


def test_a_module_without_remaining_targets_is_dropped() -> None:
    only = module("only_120", {"12.0f": 100}, host=50)
    held = wheel(cell("cu130", "x86_64", "8.0 12.0f"), [module("all", {"8.0": 10, "12.0f": 10}, host=5), only])
    assert held.inventory
    assert break_down(held.inventory, held.bytes).size_with([Target(8, 0)]) == 15


def test_labels_are_short_and_unique() -> None:
    pythons = [cell("cu130", "x86_64", "9.0a").model_copy(update={"wheel": f"m-1.0+cu130-{tag}-linux_x86_64.whl"})
               for tag in ("cp311-cp311", "cp312-cp312")]  # fmt: skip
    held = [SizedWheel(one.wheel, wheel(one, []).series, 1) for one in pythons]
    assert sorted(choose_labels(held).values()) == [
        "m cu130 cp311-cp311-linux_x86_64", "m cu130 cp312-cp312-linux_x86_64",
    ]  # fmt: skip
    assert list(choose_labels(held[:1]).values()) == ["cu130-x86_64"]


@pytest.mark.parametrize(("kind", "shown"), [("slice", "partial"), ("placeholder", "placeholder")])
def test_other_kinds_of_wheels_are_marked(kind: Kind, shown: str) -> None:
    old, new = (wheel(cell("cu130", "x86_64", "9.0a"), [], size) for size in (MIB, 2 * MIB))
    (row,) = check([replace(new, kind=kind)], [old])
    assert (row.kind, row.growth, row.level) == (kind, None, "ok")
    assert format_growth(row) == shown
