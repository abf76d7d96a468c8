"""Reconciliation: one step a name, nothing good is touched, and doing the steps brings rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.release.closing import as_wanted
from pipeline.release.reconcile import Action, State, Wanted, reconcile
from pipeline.stores.remote import STARTER, UPLOADED, RemoteAsset

NAMES = ["a.whl", "b.whl", "c.whl", "d.bin"]

wanted_sets = st.dictionaries(st.sampled_from(NAMES), st.binary(min_size=1, max_size=3)).map(
    lambda d: [as_wanted(name, data) for name, data in d.items()]
)


@st.composite
def stores(draw: st.DrawFn) -> list[RemoteAsset]:
    names = draw(st.sets(st.sampled_from([*NAMES, *(f"{n}.replacing" for n in NAMES), "foreign.txt"])))
    found = []
    for place, name in enumerate(sorted(names)):
        content = as_wanted(name, draw(st.binary(min_size=1, max_size=3)))
        state = draw(st.sampled_from([UPLOADED, STARTER]))
        digest = content.digest if state == UPLOADED else None
        found.append(RemoteAsset(str(place), name, content.size, state, digest))
    return found


@given(wanted_sets, stores(), st.booleans())
def test_every_name_gets_exactly_one_step(wanted: list[Wanted], remote: list[RemoteAsset], may: bool) -> None:
    steps = reconcile(wanted, remote, may_replace=lambda _: may)
    names = [step.name for step in steps]
    assert len(names) == len(set(names))
    assert set(names) >= {one.name for one in wanted}
    spares = {one.temporary for one in wanted}
    assert {a.name for a in remote} <= set(names) | spares


@given(wanted_sets, stores(), st.booleans())
def test_what_is_whole_is_removed_only_where_it_may_be(
    wanted: list[Wanted], remote: list[RemoteAsset], may: bool
) -> None:
    for step in reconcile(wanted, remote, may_replace=lambda _: may):
        if step.state is State.IDENTICAL:
            assert step.action is Action.KEEP
        if step.state is State.FOREIGN:
            assert step.action is Action.LEAVE
        if step.state is State.DIFFERENT and not may:
            assert step.action is Action.CONFLICT


@given(wanted_sets, stores())
def test_doing_the_steps_brings_rest(wanted: list[Wanted], remote: list[RemoteAsset]) -> None:
    after = {asset.name: asset for asset in remote}
    for step in reconcile(wanted, remote, may_replace=lambda _: True):
        if step.wanted and step.action not in {Action.KEEP, Action.CONFLICT, Action.LEAVE}:
            one = step.wanted
            after.pop(one.temporary, None)
            after[one.name] = RemoteAsset(f"new-{one.name}", one.name, one.size, UPLOADED, one.digest)
    again = reconcile(wanted, list(after.values()))
    assert all(step.action is Action.KEEP for step in again if step.wanted)
