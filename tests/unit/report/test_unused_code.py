"""Code that nothing loads, and promises without code; FlashInfer's published case among them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fatwheel.errors import UsageError
from fatwheel.report.dispatch import Rule, find_unused_code, lacking, read_table, simulate
from fatwheel.targets import KNOWN_CAPABILITIES, Capability
from tests.unit.report.samples import cell, module, wheel

MB = 10**6

# Machine code for SM12x in modules that serve SM10x, as measured in flashinfer-jit-cache 0.6.9, cu130, aarch64
# (flashinfer #3947): 1,046 MB installed, 52 % of all code for SM12x. The single figures are rounded there.
DEAD = {
    "fused_moe_103": 430,
    "fused_moe_100": 409,
    "gemm_sm100": 48,
    "fp8_gemm_cutlass": 8,
    "fp4_gemm_cutlass": 5,
    "selective_state_update_sm90": 146,
}
USED = {"fused_moe_120": 590, "gemm_sm120": 130, "fp4_gemm_cutlass_sm120": 60, "selective_state_update_sm100": 186}

DISPATCH = {
    "fused_moe": {"fused_moe_100": ["10.0"], "fused_moe_103": ["10.3"], "fused_moe_120": ["12.0", "12.1"]},
    "gemm": {"gemm_sm100": ["10.0", "10.3"], "gemm_sm120": ["12.0", "12.1"]},
    "fp8_gemm": {"fp8_gemm_cutlass": ["10.0", "10.3"]},
    "fp4_gemm": {"fp4_gemm_cutlass": ["10.0", "10.3"], "fp4_gemm_cutlass_sm120": ["12.0", "12.1"]},
    "selective_state_update": {
        "selective_state_update_sm90": ["9.0"],
        "selective_state_update_sm100": ["10.0", "10.3", "11.0", "12.0", "12.1"],
    },
}


@pytest.fixture
def rules(tmp_path: Path) -> tuple[Rule, ...]:
    table = tmp_path / "dispatch.json"
    table.write_text(json.dumps(DISPATCH), encoding="utf-8")
    return read_table(table)


def flashinfer():
    modules = [module(name, {"10.0a": 20 * MB, "10.3a": 20 * MB, "12.0f": size * MB}) for name, size in DEAD.items()]
    modules += [module(name, {"12.0f": size * MB}) for name, size in USED.items()]
    modules[-1] = module("selective_state_update_sm100", {"10.0a": MB, "10.3a": MB, "11.0a": MB, "12.0f": 186 * MB})
    return wheel(cell("cu130", "aarch64", "10.0a 10.3a 11.0a 12.0f", "0.6.9"), modules)


def test_sm12x_code_in_modules_for_sm10x_is_dead_and_is_half_of_all_of_it(rules: tuple[Rule, ...]) -> None:
    found = [one for one in find_unused_code(flashinfer(), "cu130-aarch64-all", rules) if one.target == "12.0f"]
    assert {one.module: one.installed // MB for one in found} == DEAD
    total = sum(one.installed for one in found)
    assert total == 1046 * MB
    assert total / ((sum(DEAD.values()) + sum(USED.values())) * MB) == pytest.approx(0.52, abs=0.005)
    assert found[0].why == "12.0 12.1 would run it, and dispatch loads the module on 10.3"


def test_the_simulation_names_the_module_that_serves_each_device(rules: tuple[Rule, ...]) -> None:
    served = {(one.feature, one.capability): (one.module, one.target) for one in simulate(flashinfer(), "w", rules)}
    assert served["fused_moe", "10.0"] == ("fused_moe_100", "10.0a")
    assert served["fused_moe", "10.3"] == ("fused_moe_103", "10.3a")
    assert served["fused_moe", "12.1"] == ("fused_moe_120", "12.0f")
    assert served["selective_state_update", "12.0"] == ("selective_state_update_sm100", "12.0f")
    assert ("gemm", "9.0") not in served


def test_the_simulation_asks_for_every_known_device() -> None:
    everywhere = (Rule("any", "*", frozenset(KNOWN_CAPABILITIES)),)
    found = simulate(flashinfer(), "w", everywhere)
    assert [one.capability for one in found] == [str(one) for one in KNOWN_CAPABILITIES]


def test_without_a_table_only_what_no_device_of_the_wheel_runs_is_dead() -> None:
    found = find_unused_code(flashinfer(), "w", ())
    assert found == []


def test_a_base_target_that_no_device_of_its_family_loads_is_dead() -> None:
    base = wheel(cell("cu130", "x86_64", "8.0 12.0f", family="sm12x"), [module("rope", {"8.0": 3 * MB, "12.0f": MB})])
    found = find_unused_code(base, "cu130-x86_64-sm12x", ())
    assert [(one.target, one.installed, one.why) for one in found] == [
        ("8.0", 3 * MB, "no device of sm12x loads code for 8.0")
    ]


def test_a_base_target_with_ptx_is_alive_since_drivers_compile_it_for_later_devices() -> None:
    base = wheel(cell("cu130", "x86_64", "8.0 12.0f", family="sm12x"), [module("rope", {"8.0": 3 * MB, "12.0f": MB})])
    assert base.inventory
    code = base.inventory.modules[0].targets["8.0"]
    base.inventory.modules[0].targets["8.0"] = replace(code, ptx=code.sass)
    assert find_unused_code(base, "w", ()) == []


def test_a_promised_device_without_code_is_a_problem() -> None:
    made = cell("cu134", "aarch64", "8.0 9.0a 10.0a 10.7a")
    held = wheel(made, [module("rope", {"8.0": MB, "9.0a": MB, "10.0a": MB})])
    assert lacking(held, "cu134-aarch64-all", []) == [
        "cu134-aarch64-all: 10.7 is promised, and no module holds code for it"
    ]


def test_a_feature_that_a_promised_device_loads_no_code_for_is_a_problem() -> None:
    made = cell("cu134", "aarch64", "10.0a 10.7a", family="sm10x")
    held = wheel(made, [module("rope", {"10.0a": MB, "10.7a": MB}), module("moe_100", {"10.0a": MB})])
    rule = Rule("moe", "moe_100", frozenset({Capability(10, 0), Capability(10, 7)}))
    other = Rule("norm", "norm", frozenset({Capability(10, 0)}))
    found = lacking(held, "w", simulate(held, "w", (rule, other)))
    assert found == [
        "w: 10.7 is promised, and moe has no code: moe_100 holds none for it",
        "w: 10.0 is promised, and norm has no code: the wheel holds no module for it",
    ]


def test_the_devices_own_code_is_taken_before_the_familys() -> None:
    both = wheel(cell("cu130", "aarch64", "12.0f 12.1a", family="sm12x"), [module("m", {"12.0f": MB, "12.1a": MB})])
    rule = Rule("m", "m", frozenset({Capability(12, 0), Capability(12, 1)}))
    assert [one.target for one in simulate(both, "w", (rule,))] == ["12.0f", "12.1a"]


@pytest.mark.parametrize("text", ["[]", "{", '{"m": "10.0"}', '{"m": ["10"]}', '{"m": [10.0]}'])
def test_a_table_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    table = tmp_path / "dispatch.json"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="not a table of modules and capabilities"):
        read_table(table)
