"""Reconciliation: one step a name, nothing good is touched, and doing the steps brings rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fatwheel.release.manifest_assets import expected_asset
from fatwheel.release.reconcile import Action, ExpectedAsset, PlannedAction, State, plan_action
from fatwheel.stores.remote import STARTER, UPLOADED, RemoteAsset

NAMES = ["a.whl", "b.whl", "c.whl", "d.bin"]

wanted_sets = st.dictionaries(st.sampled_from(NAMES), st.binary(min_size=1, max_size=3)).map(
    lambda d: [expected_asset(name, data) for name, data in d.items()]
)


@st.composite
def stores(draw: st.DrawFn) -> list[RemoteAsset]:
    names = draw(st.sets(st.sampled_from([*NAMES, *(f"{n}.replacing" for n in NAMES), "foreign.txt"])))
    found = []
    for place, name in enumerate(sorted(names)):
        content = expected_asset(name, draw(st.binary(min_size=1, max_size=3)))
        state = draw(st.sampled_from([UPLOADED, STARTER]))
        digest = content.sha256 if state == UPLOADED else None
        found.append(RemoteAsset(str(place), name, content.size, state, digest))
    return found


def steps(wanted: list[ExpectedAsset], remote: list[RemoteAsset], *, may: bool) -> list[PlannedAction]:
    """What a release does with each wanted asset, as it looks at what has its name and its temporary one."""
    held = {asset.name: asset for asset in remote}
    return [plan_action(one, held.get(one.name), held.get(one.temporary), lambda _: may) for one in wanted]


@given(wanted_sets, stores(), st.booleans())
def test_a_step_follows_from_what_has_the_name(
    wanted: list[ExpectedAsset], remote: list[RemoteAsset], may: bool
) -> None:
    held = {asset.name: asset for asset in remote}
    for one, chosen in zip(wanted, steps(wanted, remote, may=may), strict=True):
        there = held.get(one.name)
        assert chosen.name == one.name
        assert (chosen.state is State.ABSENT) == (there is None)
        assert (chosen.state is State.IDENTICAL) == one.is_in(there)
        assert (chosen.state is State.HALF) == (there is not None and not there.whole)


@given(wanted_sets, stores(), st.booleans())
def test_what_is_whole_is_removed_only_where_it_may_be(
    wanted: list[ExpectedAsset], remote: list[RemoteAsset], may: bool
) -> None:
    for chosen in steps(wanted, remote, may=may):
        if chosen.state is State.IDENTICAL:
            assert chosen.action is Action.KEEP
        if chosen.state is State.DIFFERENT:
            assert (chosen.action is Action.CONFLICT) == (not may)


@given(wanted_sets, stores())
def test_doing_the_steps_brings_rest(wanted: list[ExpectedAsset], remote: list[RemoteAsset]) -> None:
    after = {asset.name: asset for asset in remote}
    for chosen, one in zip(steps(wanted, remote, may=True), wanted, strict=True):
        assert chosen.action is not Action.CONFLICT
        if chosen.action is not Action.KEEP:
            after.pop(one.temporary, None)
            after[one.name] = RemoteAsset(f"new-{one.name}", one.name, one.size, UPLOADED, one.sha256)
    again = steps(wanted, list(after.values()), may=False)
    assert [chosen.action for chosen in again] == [Action.KEEP] * len(wanted)
