"""What an index offers: ``index.json`` at its root, and what writing it did."""

from __future__ import annotations

from pydantic import Field

from pipeline.records.base import Record
from pipeline.records.smoke import Outcome


class Proof(Record):
    """What the smoke test of a wheel saw. ``gpu`` is null where none was asked for; ``device`` is the GPU's name."""

    import_: Outcome = Field(alias="import")
    gpu: Outcome | None = None
    device: str | None = None
    executed: list[str] = []
    not_executed: list[str] = []


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
    targets: list[str] | None = None
    covers: list[str] | None = None  # capabilities, dotted, ascending
    bytes: int
    sha256: str
    url: str
    tag: str
    requires_python: str | None = None
    metadata_sha256: str | None = None  # of the file's .metadata in the store; null where there is none
    placeholder: bool = False  # made by a fake build: no code in it
    slice: list[str] | None = None  # modules of a partial build
    proof: Proof | None = None


class NotPublished(Record):
    """A file that a release wanted and did not get."""

    file: str
    tag: str
    outcome: str
    reason: str


class Index(Record):
    """All that the index offers; ``absent`` is what releases wanted and do not hold."""

    version: int = 1
    wheels: list[IndexedFile]
    sdists: list[IndexedFile] = []
    absent: list[NotPublished] = []


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
