"""What can be made to go wrong, aimed at a route, an asset and an attempt."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Iterable
from dataclasses import dataclass

UPLOAD_FAULTS = (
    "502-before", "502-middle", "502-after", "502-committed", "500-starter", "rst", "fin", "fin-committed",
    "fin-settling",
    "stall-reading", "stall-reply", "stall-committed", "403-seconds", "403-silent", "403-date", "429", "primary",
    "ghost", "404", "wrong-digest", "null-digest", "truncated", "html-201", "cut-201", "late-committed",
    "starter-201", "unicorn", "redirect", "409", "500", "503-wait", "504", "redirect-junk",
)  # fmt: skip
"""Faults after which another try must bring the asset into the release (or it had landed)."""
ASSET_FAULTS = ("413", "422-size", "422-odd", "renamed", "400", "redirect-nowhere")
"""Faults that no retry helps, and that are one asset's own."""
RELEASE_FAULTS = ("422-immutable", "422-count", "401", "403-permission", "redirect-away")
"""Faults that are the whole release's."""
JSON_FAULTS = (
    "502-before", "502-committed", "rst", "403-seconds", "403-date", "429", "cut-201", "404", "409", "503-wait",
    "odd-200",
)  # fmt: skip
"""Faults of requests without a body of their own."""


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong. ``attempt`` counts the uploads of one name from 1; 0 is every one."""

    kind: str
    asset: str = "*"
    route: str = "upload"  # upload, create, publish, list, delete, rename, find, repository
    attempt: int = 0
    times: int = 1  # how often at most; 0 is always
    at: float = 0.5  # share of the body after which the connection breaks
    seconds: float = 3.0  # what is asked to wait, or how many listings a late asset is hidden from


class Faults:
    """The faults that are still to come."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._left: list[tuple[Fault, list[int]]] = [(fault, [fault.times or -1]) for fault in faults]
        self._lock = threading.Lock()
        self.seen: list[str] = []

    def add(self, faults: Iterable[Fault]) -> None:
        with self._lock:
            self._left += [(fault, [fault.times or -1]) for fault in faults]

    def stalls(self) -> bool:
        """Whether any of them keeps a client waiting."""
        return any(fault.kind.startswith("stall") for fault, _ in self._left)

    def take(self, route: str, name: str, attempt: int) -> Fault | None:
        with self._lock:
            for fault, left in self._left:
                aimed = fault.route == route and fnmatch.fnmatchcase(name, fault.asset)
                if left[0] and aimed and fault.attempt in {0, attempt}:
                    left[0] -= 1
                    self.seen.append(fault.kind)
                    return fault
        return None
