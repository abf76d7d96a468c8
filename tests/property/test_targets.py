"""Targets: what holds for all of them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fatwheel.errors import UsageError
from fatwheel.targets import (
    KNOWN_CAPABILITIES,
    TEGRA,
    Capability,
    Target,
    covers,
    jits,
    loads,
    nearest,
    parse_target,
    parse_targets,
    render,
    runs,
    toolkit,
    toolkits,
)

KINDS = ("real", "virtual", "both")
RELEASES = st.sampled_from(sorted(toolkits()))
# Every token of the table, in every kind: what some toolkit compiles.
EVERY = sorted({t for row in toolkits().values() for t in row.targets})
TARGETS = st.builds(
    lambda t, kind: Target(t.major, t.minor, t.suffix, kind), st.sampled_from(EVERY), st.sampled_from(KINDS)
)
LISTS = st.lists(TARGETS, min_size=1, max_size=12)
DEVICES = st.sampled_from(KNOWN_CAPABILITIES)


def test_every_token_of_every_toolkit_is_read_and_written_back():
    for row in toolkits().values():
        for target in row.targets:
            assert parse_target(target.undotted) == parse_target(f"sm_{target.undotted}") == target
            assert parse_target(str(target)) == target


@given(TARGETS)
def test_a_target_is_read_as_it_is_written(target):
    assert parse_target(str(target)) == target
    assert parse_target(target.undotted).code == target.code


@given(LISTS, st.sampled_from(["dotted", "torch", "flashinfer", "cmake", "nvcc", "provider"]))
def test_a_list_in_any_spelling_is_read_back_or_refused(targets, spelling):
    try:
        written = render(targets, spelling)
    except UsageError:
        return
    assert parse_targets(written, spelling) == tuple(sorted(set(targets)))


@given(st.text(max_size=12))
def test_any_text_is_a_target_or_a_usage_error(text):
    try:
        target = parse_target(text)
    except UsageError:
        return
    assert parse_target(str(target)) == target


@given(LISTS)
def test_order_is_total_and_says_nothing_twice(targets):
    ordered = sorted(set(targets))
    assert all(a < b for a, b in pairwise(ordered))
    assert render(targets, "dotted") == render(list(reversed(targets)), "dotted")


@given(LISTS, TARGETS, RELEASES)
def test_another_target_never_takes_a_capability_away(targets, other, release):
    assert set(covers(targets, None, release)) <= set(covers([*targets, other], None, release))


@given(TARGETS, DEVICES, RELEASES)
def test_keeping_ptx_as_well_never_takes_a_device_away(target, device, release):
    both = Target(target.major, target.minor, target.suffix, "both")
    assert runs(target, device, release) <= runs(both, device, release)


@given(TARGETS, DEVICES, DEVICES, RELEASES)
def test_machine_code_of_a_plain_target_runs_on_higher_minors_too(target, one, other, release):
    plain = Target(target.major, target.minor)
    if one.major == other.major and one < other and not {one, other} & TEGRA and loads(plain, one, release):
        assert loads(plain, other, release)


@given(TARGETS, DEVICES, DEVICES, RELEASES)
def test_ptx_of_a_plain_target_runs_on_everything_later(target, one, other, release):
    plain = Target(target.major, target.minor, "", "virtual")
    if one < other and jits(plain, one, release):
        assert jits(plain, other, release)


@given(TARGETS, DEVICES, RELEASES)
def test_machine_code_never_crosses_majors_nor_reaches_lower_minors(target, device, release):
    if loads(target, device, release):
        assert target.major == device.major
        assert target.minor <= device.minor


@given(TARGETS, DEVICES, RELEASES)
def test_an_exact_target_runs_less_than_its_family_and_a_family_less_than_the_plain_one(target, device, release):
    exact, family, plain = (Target(target.major, target.minor, suffix) for suffix in ("a", "f", ""))
    assert loads(exact, device, release) <= loads(family, device, release) <= loads(plain, device, release)


@given(TARGETS, DEVICES)
def test_a_later_toolkit_never_shrinks_a_family(target, device):
    family = Target(target.major, target.minor, "f")
    rows = sorted((row for row in toolkits().values() if row.compiles(family)), key=lambda row: row.version)
    answers = [loads(family, device, row.release) for row in rows]
    assert answers == sorted(answers)


@given(TARGETS)
def test_code_runs_on_the_device_that_it_is_named_after(target):
    assert runs(target, Capability(target.major, target.minor), "13.0")


@given(TARGETS, RELEASES)
def test_the_nearest_target_is_one_that_the_toolkit_compiles_and_keeps_what_is_kept(target, release):
    near = nearest(target, release)
    if near is not None:
        assert toolkit(release).compiles(near)
        assert near.kind == target.kind
    if toolkit(release).compiles(target) and target.capability not in {(10, 1), (11, 0)}:
        assert near == target
