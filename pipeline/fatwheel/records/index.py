"""The package index: ``index.json`` at its root, its state, and the results of writing it."""

from __future__ import annotations

from pydantic import Field

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.records.smoke import Outcome
from fatwheel.targets import Capability, Target


class Proof(Record):
    """The smoke test of a wheel. ``gpu``: null if not requested; ``device``: the name of the GPU."""

    import_: Outcome = Field(alias="import")
    gpu: Outcome | None = None
    device: str | None = None
    executed: list[Capability] = []
    not_executed: list[Capability] = []


class IndexedFile(Record):
    """An entry: a wheel or sdist. Unknown values are null; ``url`` may be relative to the folder of index.json."""

    file: str
    project: str  # normalized
    version: str  # with the local label
    nightly: bool
    page: str  # its most specific project page, e.g. cu130/sm12x/mylib/
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
    requires_dist: list[str] = []  # Requires-Dist of its METADATA, including the provider wheels of a shim
    metadata_sha256: Digest | None = None  # of the .metadata file in the store; null without one
    placeholder: bool = False  # a placeholder wheel without code
    slice: list[str] | None = None  # modules of a partial wheel
    proof: Proof | None = None
    variant: str | None = None  # label of a wheel variant; empty for the file that describes variants
    yanked: str | None = None  # reason, possibly empty; null if not yanked


class NotPublished(Record):
    """An expected file of a release that was not uploaded."""

    file: str
    tag: str
    outcome: str
    reason: str


class Missing(Record):
    """A CPU architecture without a wheel for a CUDA label and family, although the version has other wheels for it.

    ``file``: the planned wheel; null if the gap is inferred from the other wheels of the version.
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
    """The contents of the index. ``absent``: expected files that were not uploaded."""

    version: int = 1
    wheels: list[IndexedFile]
    sdists: list[IndexedFile] = []
    variants: list[IndexedFile] = []  # wheel variants (draft PEP 825) and the files that describe them
    absent: list[NotPublished] = []
    missing: list[Missing] = []


class IndexState(Record):
    """State that stores do not have, kept next to the index as ``index-state.json``.

    ``yanked``: reasons by file name. ``digests``: the published digest of file names that had different contents. Files
    with another digest are excluded.
    """

    version: int = 1
    yanked: dict[str, str] = {}
    digests: dict[str, Digest] = {}


class IndexReport(Record):
    """The result of writing an index. ``changed``: folders and files at the root that were changed or removed."""

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
    """The result of yanking or unyanking. ``files``: names of the files whose state changed."""

    index: str
    yanked: bool
    reason: str
    files: list[str]
    changed: list[str]
