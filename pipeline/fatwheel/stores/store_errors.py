"""Failed requests to a store, classified by what can be done about them."""

from __future__ import annotations

from enum import Enum

from fatwheel.errors import PipelineError


class FailureKind(Enum):
    """What a failure means for the asset and for the release."""

    ASSET = "permanent for this asset"
    RELEASE = "permanent for the whole release"
    TRANSIENT = "not executed; may pass"
    LIMITED = "rate-limited; wait and retry"
    AMBIGUOUS = "may have been executed; check"
    TAKEN = "the name exists; check"
    GONE = "not found; check"


_ADVICE = {
    FailureKind.TRANSIENT: "check the network and the status of the server, then run the command again",
    FailureKind.LIMITED: "wait as long as the server asks, then run the command again; a token has a higher limit",
    FailureKind.AMBIGUOUS: "run the command again; assets that arrived are not uploaded twice",
    FailureKind.TAKEN: "check which asset or release has this name",
    FailureKind.GONE: "check the name of the store, and that GITHUB_TOKEN can read it",
}


class StoreFailure(PipelineError):
    """A failed request to a store.

    ``wait``: seconds that the store asks to wait. ``sent_all``: all bytes of the asset were sent before the failure.
    ``answered``: the store itself reported the failure, so it no longer works on the request. The default ``help`` is
    that of the kind.
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
