"""The release journal: a local file, written during a release, that an interrupted run resumes from."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from fatwheel.records.release import AssetRecord, HashedFile, ReleaseJournal

FOLDER = Path(".fatwheel")


def default_path(tag: str) -> Path:
    """Return the default path of the journal of a tag."""
    return FOLDER / f"release-{re.sub(r'[^A-Za-z0-9._+-]', '_', tag)}.json"


class Journal:
    """The journal of one run on disk, complete after every event.

    A full disk does not stop uploads: ``problem`` explains why the journal is out of date until a write succeeds.
    """

    def __init__(self, place: Path, start: ReleaseJournal) -> None:
        self.place = place
        self.problem: str | None = None
        self.record = start.model_copy(update={"assets": [], "finished": False})
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Write the journal for the first time."""
        with self._lock:
            self._write()

    def say(self, text: str) -> None:
        """Ignore."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Ignore."""

    def hashed(self, file: HashedFile) -> None:
        """Store a digest, replacing an older one of the same file."""
        with self._lock:
            others = [f for f in self.record.hashed if f.path != file.path]
            self._write(hashed=[*others, file])

    def opened(self, release_id: str) -> None:
        """Store the ID of the release that is written to."""
        with self._lock:
            self._write(release_id=release_id)

    def settled(self, record: AssetRecord) -> None:
        """Store the outcome of an asset."""
        with self._lock:
            others = [a for a in self.record.assets if a.name != record.name]
            self._write(assets=[*others, record])

    def finish(self) -> None:
        """Mark the run as finished."""
        with self._lock:
            self._write(finished=True)

    def _write(self, **changes: object) -> None:
        self.record = self.record.model_copy(update=changes)
        try:
            self.record.write(self.place)
        except OSError as error:
            self.problem = f"cannot write the journal {self.place}: {error.strerror or error}"
        else:
            self.problem = None
