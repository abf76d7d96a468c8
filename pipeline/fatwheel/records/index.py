"""What an index offers: ``index.json`` at its root, and what writing it did."""

from __future__ import annotations

from pydantic import Field

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.records.smoke import Outcome
from fatwheel.targets import Capability, Target


class Proof(Record):
    """What the smoke test of a wheel saw. ``gpu`` is null where none was asked for; ``device`` is the GPU's name."""

    import_: Outcome = Field(alias="import")
    gpu: Outcome | None = None
    device: str | None = None
    executed: list[Capability] = []
    not_executed: list[Capability] = []


class IndexedFile(Record):
    """One wheel or sdist. What is not known is null; ``url`` may be relative to the folder that holds index.json."""

    file: str
    project: str  # normalised
    version: str  # with the local label
    nightly: bool
    page: str  # the page that lists it under the fewest other labels, as cu130/sm12x/mylib/
    cuda: str | None = None  # cu130
    toolkit: str | None = None  # 13.0
    arch: str | None = None  # x86_64, aarch64; null for any
    family: str | None = None  # sm12x; null for a wheel of all families
    targets: list[Target] | None = None
    covers: list[Capability] | None = None  # capabilities, dotted, ascending
    bytes: int
    sha256: Digest
    url: str
    tag: str
    requires_python: str | None = None
    requires_dist: list[str] = []  # what it requires, as METADATA says; a shim's providers are among it
    metadata_sha256: Digest | None = None  # of the file's .metadata in the store; null where there is none
    placeholder: bool = False  # made by a fake build: no code in it
    slice: list[str] | None = None  # modules of a partial build
    proof: Proof | None = None
    variant: str | None = None  # of a wheel variant, its label; empty for the file that describes some
    yanked: str | None = None  # the reason, which may be empty; null for a file that is not yanked


class NotPublished(Record):
    """A file that a release wanted and did not get."""

    file: str
    tag: str
    outcome: str
    reason: str


class Missing(Record):
    """A CPU architecture that a version has wheels for, though not in this CUDA label and family.

    With ``file`` it is what the release's plan names; without, what the other wheels of the version suggest.
    """

    project: str
    version: str  # public, without the label
    cuda: str | None
    family: str | None
    arch: str | None
    file: str | None = None

    def __str__(self) -> str:
        """``demo 1.0: no aarch64 wheel for cu130 sm12x``."""
        which = " ".join(filter(None, (self.cuda, self.family))) or "any GPU"
        return f"{self.project} {self.version}: no {self.arch or 'such'} wheel for {which}"


class Index(Record):
    """All that the index offers; ``absent`` is what releases wanted and do not hold."""

    version: int = 1
    wheels: list[IndexedFile]
    sdists: list[IndexedFile] = []
    variants: list[IndexedFile] = []  # wheel variants (PEP 825, a draft) and what describes them
    absent: list[NotPublished] = []
    missing: list[Missing] = []


class IndexState(Record):
    """What a store does not know, kept beside the index as ``index-state.json``.

    ``yanked``: reasons by file name. ``digests``: sha256 by file name, where a name had two: the bytes that it stands
    for. A file of that name with other bytes is left out.
    """

    version: int = 1
    yanked: dict[str, str] = {}
    digests: dict[str, Digest] = {}


class IndexReport(Record):
    """What writing an index did. ``changed``: the trees and root files whose bytes are new or gone."""

    output: str
    store: str
    wheels: int
    sdists: int
    pages: int
    changed: list[str]
    problems: list[str] = []
    notes: list[str] = []
    missing: list[Missing] = []


class YankReport(Record):
    """What yanking, or taking that back, did. ``files``: the names whose state is new."""

    index: str
    yanked: bool
    reason: str
    files: list[str]
    changed: list[str]
