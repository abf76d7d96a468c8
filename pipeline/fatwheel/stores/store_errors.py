"""Why a store did not do what it was asked, told apart by what may be done about it."""

from __future__ import annotations

from enum import Enum

from fatwheel.errors import PipelineError


class FailureKind(Enum):
    """What a failure means for the asset and for the release."""

    ASSET = "permanent for this asset"
    RELEASE = "permanent for the whole release"
    TRANSIENT = "nothing happened; may pass"
    LIMITED = "too many requests; wait and ask again"
    AMBIGUOUS = "it may have happened; look"
    TAKEN = "the name is taken; look"
    GONE = "not found; look"


_ADVICE = {
    FailureKind.TRANSIENT: "look at the network and at the server's own status, then run it again",
    FailureKind.LIMITED: "wait for as long as the server asks, then run it again; a token has a limit of its own",
    FailureKind.AMBIGUOUS: "run it again: what is there already is found, and not sent twice",
    FailureKind.TAKEN: "look at what has the name",
    FailureKind.GONE: "look at the store's name, and whether GITHUB_TOKEN may read it",
}


class StoreFailure(PipelineError):
    """A request to a store that failed. ``wait`` is what the store asked for, in seconds.

    ``sent_all`` says that all bytes of the asset had been handed over before it failed; ``answered``, that the store
    has said so itself and is done with it. Without a ``help`` it is that of its kind.
    """

    exit_code = 7

    def __init__(
        self,
        what: str,
        kind: FailureKind,
        *,
        wait: float | None = None,
        sent_all: bool = False,
        answered: bool = True,
        where: str | None = None,
        help: str | None = None,
    ) -> None:
        super().__init__(what, where=where, help=help or _ADVICE.get(kind))
        self.kind = kind
        self.wait = wait
        self.sent_all = sent_all
        self.answered = answered
