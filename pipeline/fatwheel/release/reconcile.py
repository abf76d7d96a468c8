"""Compare expected assets with those of a store: one state and one action for each name. No side effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fatwheel.digests import Digest
from fatwheel.release.policy import TEMPORARY
from fatwheel.stores.body import Chunked
from fatwheel.stores.remote import RemoteAsset


class State(Enum):
    """The state of one name in the store."""

    ABSENT = "absent"
    IDENTICAL = "identical"
    HALF = "partially uploaded"
    DIFFERENT = "different"


class Action(Enum):
    """The action for one name."""

    SEND = "send"
    KEEP = "keep"
    CLEAR = "delete the partial upload, then send"
    REPLACE = "send under a temporary name, verify, then swap"
    FINISH = "finish an interrupted replacement"
    CONFLICT = "leave: a different file has this name"


@dataclass(frozen=True)
class ExpectedAsset:
    """An asset that the release must contain. ``size`` in bytes."""

    name: str
    size: int
    sha256: Digest
    source: Path | bytes | Chunked
    mtime_ns: int | None = None

    @property
    def temporary(self) -> str:
        """The name of the upload until it replaces the existing asset."""
        return self.name + TEMPORARY

    def is_in(self, remote: RemoteAsset | None) -> bool:
        """Whether a remote asset is complete and has exactly this content."""
        return remote is not None and remote.whole and remote.size == self.size and remote.digest == self.sha256


@dataclass(frozen=True)
class PlannedAction:
    """The state and action of one name. ``remote`` has this name in the store, ``spare`` has the temporary name."""

    name: str
    state: State
    action: Action
    wanted: ExpectedAsset | None = None
    remote: RemoteAsset | None = None
    spare: RemoteAsset | None = None


def find_state(wanted: ExpectedAsset, remote: RemoteAsset | None) -> State:
    """Return the state of an expected asset."""
    if remote is None:
        return State.ABSENT
    if not remote.whole:
        return State.HALF
    return State.IDENTICAL if wanted.is_in(remote) else State.DIFFERENT


def plan_action(
    wanted: ExpectedAsset,
    remote: RemoteAsset | None,
    spare: RemoteAsset | None,
    may_replace: Callable[[RemoteAsset], bool],
) -> PlannedAction:
    """Choose the action for one expected asset.

    A remote asset without a digest counts as different: look up its digest first.
    """
    state = find_state(wanted, remote)
    allowed = remote is not None and state is State.DIFFERENT and may_replace(remote)
    if state is State.IDENTICAL:
        action = Action.KEEP
    elif state is State.DIFFERENT and not allowed:
        action = Action.CONFLICT
    elif wanted.is_in(spare):
        action = Action.FINISH
    elif state is State.DIFFERENT:
        action = Action.REPLACE
    else:
        action = Action.CLEAR if state is State.HALF else Action.SEND
    return PlannedAction(wanted.name, state, action, wanted, remote, spare)
