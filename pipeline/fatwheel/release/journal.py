"""The local record of a release, written as it goes on, from which a killed run resumes."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from fatwheel.records.release import AssetRecord, HashedFile, ReleaseJournal

FOLDER = Path(".fatwheel")


def default_place(tag: str) -> Path:
    """Where the record of a tag's release lies if nobody says otherwise."""
    return FOLDER / f"release-{re.sub(r'[^A-Za-z0-9._+-]', '_', tag)}.json"


class Journal:
    """Keeps the record of one run on disk, whole after every event.

    A disk that is full ends no upload: ``problem`` says why the record is behind, until it can be written again.
    """

    def __init__(self, place: Path, start: ReleaseJournal) -> None:
        self.place = place
        self.problem: str | None = None
        self.record = start.model_copy(update={"assets": [], "finished": False})
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Write it for the first time."""
        with self._lock:
            self._write()

    def say(self, text: str) -> None:
        """Pass over."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Pass over."""

    def hashed(self, file: HashedFile) -> None:
        """Keep a digest; it takes the place of an older one of the same file."""
        with self._lock:
            others = [f for f in self.record.hashed if f.path != file.path]
            self._write(hashed=[*others, file])

    def opened(self, release_id: str) -> None:
        """Keep which release is written to."""
        with self._lock:
            self._write(release_id=release_id)

    def settled(self, record: AssetRecord) -> None:
        """Keep an outcome."""
        with self._lock:
            others = [a for a in self.record.assets if a.name != record.name]
            self._write(assets=[*others, record])

    def finish(self) -> None:
        """The run came to its end."""
        with self._lock:
            self._write(finished=True)

    def _write(self, **changes: object) -> None:
        self.record = self.record.model_copy(update=changes)
        try:
            self.record.write(self.place)
        except OSError as error:
            self.problem = f"the record {self.place} could not be written: {error.strerror or error}"
        else:
            self.problem = None
