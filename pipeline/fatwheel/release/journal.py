"""The release journal: a local file, updated during a release, from which an interrupted release resumes."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from fatwheel.records.release import AssetRecord, HashedFile, ReleaseJournal

FOLDER = Path(".fatwheel")


def default_place(tag: str) -> Path:
    """The default path of the journal of a tag's release."""
    return FOLDER / f"release-{re.sub(r'[^A-Za-z0-9._+-]', '_', tag)}.json"


class Journal:
    """Writes the journal of one release; the file is complete after every event.

    A full disk stops no upload: ``problem`` is the reason the file is out of date, or None once it could be written.
    """

    def __init__(self, place: Path, start: ReleaseJournal) -> None:
        self.place = place
        self.problem: str | None = None
        self.record = start.model_copy(update={"assets": [], "finished": False})
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Write the file for the first time."""
        with self._lock:
            self._write()

    def say(self, text: str) -> None:
        """Do nothing."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Do nothing."""

    def hashed(self, file: HashedFile) -> None:
        """Store a digest, replacing an older one of the same file."""
        with self._lock:
            others = [f for f in self.record.hashed if f.path != file.path]
            self._write(hashed=[*others, file])

    def opened(self, release_id: str) -> None:
        """Store the ID of the release."""
        with self._lock:
            self._write(release_id=release_id)

    def settled(self, record: AssetRecord) -> None:
        """Store the outcome of an asset."""
        with self._lock:
            others = [a for a in self.record.assets if a.name != record.name]
            self._write(assets=[*others, record])

    def finish(self) -> None:
        """Mark the release as finished."""
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
