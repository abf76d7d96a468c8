"""Unused device code and missing code, with FlashInfer's published case."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fatwheel.errors import UsageError
from fatwheel.report.dispatch import Rule, find_missing_code, find_unused_code, read_rules, simulate_dispatch
from fatwheel.targets import KNOWN_CAPABILITIES, Capability, Target
from tests.unit.report.samples import cell, module, wheel

MB = 10**6

# Machine code for SM12x in modules that serve SM10x, as measured in flashinfer-jit-cache 0.6.9, cu130, aarch64
# (flashinfer #3947): 1,046 MB installed, 52% of all code for SM12x. The single figures are rounded there.
UNUSED = {
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
    return read_rules(table)


def flashinfer():
    modules = [module(name, {"10.0a": 20 * MB, "10.3a": 20 * MB, "12.0f": size * MB}) for name, size in UNUSED.items()]
    modules += [module(name, {"12.0f": size * MB}) for name, size in USED.items()]
    modules[-1] = module("selective_state_update_sm100", {"10.0a": MB, "10.3a": MB, "11.0a": MB, "12.0f": 186 * MB})
    return wheel(cell("cu130", "aarch64", "10.0a 10.3a 11.0a 12.0f", "0.6.9"), modules)


def test_sm12x_code_in_modules_for_sm10x_is_unused(rules: tuple[Rule, ...]) -> None:
    found = [one for one in find_unused_code(flashinfer(), "cu130-aarch64-all", rules) if str(one.target) == "12.0f"]
    assert {one.module: one.installed // MB for one in found} == UNUSED
    total = sum(one.installed for one in found)
    assert total == 1046 * MB
    assert total / ((sum(UNUSED.values()) + sum(USED.values())) * MB) == pytest.approx(0.52, abs=0.005)
    assert found[0].why == "runs on 12.0 12.1, but dispatch loads the module on 10.3"


def test_the_simulation_finds_the_module_for_each_device(rules: tuple[Rule, ...]) -> None:
    dispatched = {
        (one.feature, str(one.capability)): (one.module, str(one.target))
        for one in simulate_dispatch(flashinfer(), "w", rules)
    }
    assert dispatched["fused_moe", "10.0"] == ("fused_moe_100", "10.0a")
    assert dispatched["fused_moe", "10.3"] == ("fused_moe_103", "10.3a")
    assert dispatched["fused_moe", "12.1"] == ("fused_moe_120", "12.0f")
    assert dispatched["selective_state_update", "12.0"] == ("selective_state_update_sm100", "12.0f")
    assert ("gemm", "9.0") not in dispatched


def test_the_simulation_includes_every_known_device() -> None:
    everywhere = (Rule("any", "*", frozenset(KNOWN_CAPABILITIES)),)
    found = simulate_dispatch(flashinfer(), "w", everywhere)
    assert [one.capability for one in found] == list(KNOWN_CAPABILITIES)


def test_without_a_dispatch_table_only_code_that_no_device_runs_is_unused() -> None:
    found = find_unused_code(flashinfer(), "w", ())
    assert found == []


def test_a_base_target_that_no_device_of_its_family_loads_is_unused() -> None:
    base = wheel(cell("cu130", "x86_64", "8.0 12.0f", family="sm12x"), [module("rope", {"8.0": 3 * MB, "12.0f": MB})])
    found = find_unused_code(base, "cu130-x86_64-sm12x", ())
    assert [(str(one.target), one.installed, one.why) for one in found] == [
        ("8.0", 3 * MB, "no device of sm12x loads code for 8.0")
    ]


def test_a_base_target_with_ptx_is_used_since_drivers_compile_it_for_later_devices() -> None:
    base = wheel(cell("cu130", "x86_64", "8.0 12.0f", family="sm12x"), [module("rope", {"8.0": 3 * MB, "12.0f": MB})])
    assert base.inventory
    code = base.inventory.modules[0].targets[Target(8, 0)]
    base.inventory.modules[0].targets[Target(8, 0)] = replace(code, ptx=code.sass)
    assert find_unused_code(base, "w", ()) == []


def test_a_covered_capability_without_code_is_an_error() -> None:
    made = cell("cu134", "aarch64", "8.0 9.0a 10.0a 10.7a")
    held = wheel(made, [module("rope", {"8.0": MB, "9.0a": MB, "10.0a": MB})])
    assert find_missing_code(held, "cu134-aarch64-all", []) == [
        "cu134-aarch64-all: covers 10.7, but no module has code for it"
    ]


def test_a_feature_without_code_for_a_covered_capability_is_an_error() -> None:
    made = cell("cu134", "aarch64", "10.0a 10.7a", family="sm10x")
    held = wheel(made, [module("rope", {"10.0a": MB, "10.7a": MB}), module("moe_100", {"10.0a": MB})])
    rule = Rule("moe", "moe_100", frozenset({Capability(10, 0), Capability(10, 7)}))
    other = Rule("norm", "norm", frozenset({Capability(10, 0)}))
    found = find_missing_code(held, "w", simulate_dispatch(held, "w", (rule, other)))
    assert found == [
        "w: covers 10.7, but moe has no code for it: moe_100 has none",
        "w: covers 10.0, but norm has no code for it: no module matches",
    ]


def test_exact_code_is_preferred_to_family_code() -> None:
    both = wheel(cell("cu130", "aarch64", "12.0f 12.1a", family="sm12x"), [module("m", {"12.0f": MB, "12.1a": MB})])
    rule = Rule("m", "m", frozenset({Capability(12, 0), Capability(12, 1)}))
    assert [str(one.target) for one in simulate_dispatch(both, "w", (rule,))] == ["12.0f", "12.1a"]


@pytest.mark.parametrize("text", ["[]", "{", '{"m": "10.0"}', '{"m": ["10"]}', '{"m": [10.0]}'])
def test_an_invalid_dispatch_table_is_an_error(tmp_path: Path, text: str) -> None:
    table = tmp_path / "dispatch.json"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="invalid dispatch table: "):
        read_rules(table)
