"""Wheels from a workflow run: each artifact is taken, released and dropped, so that few are on the disk at a time."""

from __future__ import annotations

import shutil
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fatwheel.digests import Digest, file_digest, stream_digest
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD, MAX_RECORD_BYTES, METADATA, SMOKE
from fatwheel.records.release import AssetRecord
from fatwheel.records.smoke import SmokeRecord
from fatwheel.release.asset_selection import file_job, limit_of
from fatwheel.release.execute import Deliver
from fatwheel.release.policy import GENERATED, contradicted, name_problem, withheld
from fatwheel.release.request import ReleaseRequest
from fatwheel.release.sources import Given, read_metadata
from fatwheel.release.zip_members import UNREADABLE, ZipMember, members
from fatwheel.stores.artifacts import RunArtifact, WorkflowRun
from fatwheel.stores.remote import Rules
from fatwheel.stores.store_errors import StoreFailure

SMALL = 8 << 20
"""Bytes. Artifacts up to this size are looked through for records before the first wheel is taken."""

Settled = dict[str, BuildRecord | SmokeRecord]
Divert = Callable[[Sequence[Path], Sequence[AssetRecord]], list[AssetRecord]]


@dataclass
class ArtifactContext:
    """What all artifacts of one run share: the rules, the records that came apart from wheels, and the names seen.

    ``seen``: where each asset was taken from, and its sha256. ``divert`` takes what is too large to another store.
    """

    run: WorkflowRun
    request: ReleaseRequest
    rules: Rules
    call: Callable[..., Any]  # with retries
    divert: Divert
    records: Settled = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    seen: dict[str, tuple[str, Digest | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> tuple[RunJob, ...]:
        """List the artifacts, read the records in the small ones, and make a job of each that may hold assets.

        With a plan these are the artifacts of its cells; else all that hold more than records.
        """
        listed = self.call(self.run.artifacts)
        planned = {cell.artifact for cell in self.request.plan.cells} if self.request.plan else None
        jobs = []
        for artifact in listed:
            wanted = planned is None or artifact.name in planned
            if artifact.expired:
                self.notes.append(f"the artifact {artifact.name} has expired")
                continue
            if artifact.size <= SMALL:
                wanted = self._looked_through(artifact, wanted=wanted)
            if wanted:
                jobs.append(RunJob(artifact, self))
        lacking = sorted((planned or set()) - {artifact.name for artifact in listed})
        others = sorted({artifact.name for artifact in listed} - (planned or set()))
        if lacking and others:
            self.notes.append(
                f"the run has no artifact {', '.join(lacking)}; it has, not planned: {', '.join(others[:10])}"
            )
        return tuple(jobs)

    def _looked_through(self, artifact: RunArtifact, *, wanted: bool) -> bool:
        """Store the records of a small artifact, and return whether it contains anything else to release.

        A planned artifact that cannot be downloaded fails later, on its own. Raises `StoreFailure` for another:
        without its records, a wheel whose smoke test failed might be uploaded.
        """
        try:
            with self.fetched(artifact) as files:
                found = [file for file in files if not self.keep(file)]
        except UNREADABLE as error:
            if not wanted:
                self.notes.append(f"the artifact {artifact.name} cannot be read: {error}")
            return wanted
        except StoreFailure:
            if not wanted:
                raise
            return True
        return wanted and bool(found)

    def fetched(self, artifact: RunArtifact) -> DownloadedArtifact:
        """A context manager that downloads an artifact and deletes it afterward."""
        return DownloadedArtifact(self, artifact)

    def keep(self, file: ZipMember | Path) -> bool:
        """Whether a file is a record; then it is kept in mind."""
        if isinstance(file, Path) or not file.name.endswith((BUILD, SMOKE)):
            return False
        if file.size > MAX_RECORD_BYTES:
            self.notes.append(f"{file.name}: {file.size:,} bytes is too large for a record")
            return True
        model = BuildRecord if file.name.endswith(BUILD) else SmokeRecord
        try:
            record = model.model_validate_json(file.read())
        except ValidationError as error:
            self.notes.append(f"{file.name}: not a {model.__name__}: {error.errors()[0]['msg']}")
        else:
            with self.lock:
                self.records[file.name] = _weightier(self.records.get(file.name), record)
        return True


class DownloadedArtifact:
    """Downloads on entering, and gives the disk back on leaving."""

    def __init__(self, intake: ArtifactContext, artifact: RunArtifact) -> None:
        self._intake = intake
        self._artifact = artifact
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The temporary folder of the artifact; its content is deleted with it."""
        if self._folder is None:
            raise RuntimeError("it is not on the disk")
        return self._folder

    def __enter__(self) -> tuple[ZipMember | Path, ...]:
        artifact = self._artifact
        self._folder = Path(tempfile.mkdtemp(prefix="fatwheel-artifact-"))
        raw = artifact.name.endswith((".whl", ".tar.gz"))
        place = self._folder / (artifact.name if raw else "artifact.zip")
        try:
            self._intake.call(self._intake.run.download, artifact, place)
            inside = members(place) if not raw or zipfile.is_zipfile(place) else ()
        except BaseException:
            self.__exit__()
            raise
        # One that was uploaded without an archive around it is the wheel itself, which is a zip too.
        if raw and not any(member.member == artifact.name for member in inside):
            return (place,)
        return inside

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True)
class RunJob:
    """One artifact on its way to being assets."""

    artifact: RunArtifact
    intake: ArtifactContext

    @property
    def name(self) -> str:
        """The artifact's."""
        return self.artifact.name

    @property
    def size(self) -> int:
        """The artifact's, in bytes."""
        return self.artifact.size

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Take it, deliver what is in it, drop it."""
        records: list[AssetRecord] = []
        fetched = self.intake.fetched(self.artifact)
        try:
            with fetched as files:
                for one in self._given(files):
                    records += self._deliver(one, deliver, fetched.folder)
        except (StoreFailure, *UNREADABLE) as error:
            reason = f"from the artifact {self.name}: {error.what if isinstance(error, StoreFailure) else error}"
            known = {record.name for record in records}
            lost = [name for name in self._expected() if name not in known]
            records += [AssetRecord(name=name, outcome="failed", reason=reason) for name in lost]
        return records

    def skipped(self, reason: str) -> list[AssetRecord]:
        """It was not even taken."""
        return [AssetRecord(name=name, outcome="not-sent", reason=reason) for name in self._expected()]

    def _expected(self) -> list[str]:
        plan = self.intake.request.plan
        cells = [cell.wheel for cell in plan.cells if cell.artifact == self.name] if plan else []
        return cells or [self.name]

    def _given(self, files: tuple[ZipMember | Path, ...]) -> Iterator[Given]:
        records = self.intake.records
        rest = [file for file in files if not self.intake.keep(file)]
        for file in rest:
            build, smoke = records.get(file.name + BUILD), records.get(file.name + SMOKE)
            one = Given(
                file if isinstance(file, Path) else Path(file.name),
                file.stat().st_size if isinstance(file, Path) else file.size,
                file.stat().st_mtime_ns if isinstance(file, Path) else 0,
                build if isinstance(build, BuildRecord) else None,
                smoke if isinstance(smoke, SmokeRecord) else None,
                member=None if isinstance(file, Path) else file,
            )
            yield one

    def _deliver(self, one: Given, deliver: Deliver, folder: Path) -> list[AssetRecord]:
        intake = self.intake
        limit = limit_of(intake.request, intake.rules)
        refused = (
            ("fatwheel writes this asset itself" if one.name in GENERATED else None)
            or name_problem(one.name)
            or withheld(one, limit, intake.rules, intake.request.plan)
        )
        sha256 = None
        if refused is None:
            try:
                sha256 = file_digest(one.path) if one.member is None else stream_digest(one.member.chunks())
            except UNREADABLE as error:
                reason = f"it cannot be read from the artifact {self.name}: {error}"
                return [AssetRecord(name=one.name, outcome="failed", size=one.size, reason=reason)]
            refused = contradicted(one, sha256)
        if (twice := self._twice(one, sha256)) is not None:
            return twice
        if refused is not None or sha256 is None:  # what is refused anyway is not hashed
            record = AssetRecord(name=one.name, outcome="withheld", size=one.size, reason=refused or "")
            return self._diverted(one, record, folder) if one.size >= limit else [record]
        if one.is_wheel and intake.request.metadata:
            one = replace(one, metadata=self._metadata(one))
            if one.metadata is None:
                intake.notes.append(f"no METADATA could be read from {one.name}: sent without .metadata beside it")
        return file_job(one, sha256, metadata=intake.request.metadata).run(deliver)

    def _twice(self, one: Given, sha256: Digest | None) -> list[AssetRecord] | None:
        """The outcome of a file whose name another has taken already: no matter, if it has the same bytes."""
        intake = self.intake
        with intake.lock:
            if one.name not in intake.seen:
                intake.seen[one.name] = (f"the artifact {self.name}", sha256)
                intake.given.append(one)
                return None
            place, other = intake.seen[one.name]
        if other == sha256:
            intake.notes.append(f"{one.name} is in the artifact {self.name} too, with the same bytes")
            return []
        reason = f"{place} has an asset of this name"
        name = f"{self.name}/{one.name}"
        return [AssetRecord(name=name, outcome="conflict", size=one.size, sha256=sha256, reason=reason)]

    def _diverted(self, one: Given, record: AssetRecord, folder: Path) -> list[AssetRecord]:
        """On its way to the store for what is too large, as a file with its records."""
        if self.intake.request.elsewhere is None:
            return [record]
        path = one.path
        if one.member is not None:
            path = folder / one.name
            with path.open("wb") as file:
                for chunk in one.member.chunks():
                    file.write(chunk)
        if one.build:
            one.build.write(path.with_name(path.name + BUILD))
        if one.smoke:
            one.smoke.write(path.with_name(path.name + SMOKE))
        return self.intake.divert([path], [record])

    def _metadata(self, one: Given) -> bytes | None:
        if one.member is None:
            return read_metadata(one.path)
        with one.member.open() as file:
            return read_metadata(file)


def _weightier(held: BuildRecord | SmokeRecord | None, new: BuildRecord | SmokeRecord) -> BuildRecord | SmokeRecord:
    """Which of two records of one wheel counts: one that failed, then one on a GPU; the import is the least."""
    if isinstance(held, SmokeRecord) and isinstance(new, SmokeRecord) and held.sha256 == new.sha256:
        return max(new, held, key=lambda record: (not record.passed, record.gpu is not None))
    return new


def planned_names(request: ReleaseRequest) -> tuple[str, ...]:
    """The names that a plan's wheels will have, with those of their metadata; to be counted beforehand."""
    wheels = [cell.wheel for cell in request.plan.cells] if request.plan else []
    return tuple(wheels + [name + METADATA for name in wheels if request.metadata])
