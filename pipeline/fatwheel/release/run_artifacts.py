"""Wheels of a workflow run: download, upload and delete one artifact after the other, to save disk space."""

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
from fatwheel.release.asset_selection import get_size_limit, make_file_task
from fatwheel.release.execute import Deliver
from fatwheel.release.policy import GENERATED, find_digest_mismatch, find_name_error, find_withhold_reason
from fatwheel.release.request import ReleaseRequest
from fatwheel.release.sources import InputFile, read_metadata
from fatwheel.release.zip_members import UNREADABLE, ZipMember, list_members
from fatwheel.stores.artifacts import RunArtifact, WorkflowRun
from fatwheel.stores.remote import Rules
from fatwheel.stores.store_errors import StoreFailure

SMALL = 8 << 20
"""Bytes. Artifacts up to this size are searched for records before the first wheel is downloaded."""

Settled = dict[str, BuildRecord | SmokeRecord]
SendToFallback = Callable[[Sequence[Path], Sequence[AssetRecord]], list[AssetRecord]]


@dataclass
class ArtifactContext:
    """The state that all artifacts of one run share: rules, records that are not beside their wheels, and names.

    ``seen`` maps each asset to its source and digest. ``send_to_fallback`` uploads files that are too large.
    """

    run: WorkflowRun
    request: ReleaseRequest
    rules: Rules
    call: Callable[..., Any]  # with retries
    send_to_fallback: SendToFallback
    records: Settled = field(default_factory=dict)
    given: list[InputFile] = field(default_factory=list)
    seen: dict[str, tuple[str, Digest | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> tuple[ArtifactTask, ...]:
        """List the artifacts, read the records in small ones, and make a task of each that may contain assets.

        With a plan, these are the artifacts of its cells; otherwise all that contain more than records.
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
                wanted = self._scan_small_artifact(artifact, wanted=wanted)
            if wanted:
                jobs.append(ArtifactTask(artifact, self))
        missing = sorted((planned or set()) - {artifact.name for artifact in listed})
        others = sorted({artifact.name for artifact in listed} - (planned or set()))
        if missing and others:
            self.notes.append(
                f"the run has no artifact {', '.join(missing)}; unplanned artifacts: {', '.join(others[:10])}"
            )
        return tuple(jobs)

    def _scan_small_artifact(self, artifact: RunArtifact, *, wanted: bool) -> bool:
        """Store the records of a small artifact. Returns whether it is expected to contain assets too.

        A planned artifact that cannot be downloaded fails later, without stopping the others. Raises `StoreFailure`
        for any other: without its records, a wheel whose test failed could be uploaded.
        """
        try:
            with self.fetched(artifact) as files:
                found = [file for file in files if not self.keep(file)]
        except UNREADABLE as error:
            if not wanted:
                self.notes.append(f"cannot read the artifact {artifact.name}: {error}")
            return wanted
        except StoreFailure:
            if not wanted:
                raise
            return True
        return wanted and bool(found)

    def fetched(self, artifact: RunArtifact) -> DownloadedArtifact:
        """Return a context manager that downloads an artifact and deletes it afterwards."""
        return DownloadedArtifact(self, artifact)

    def keep(self, file: ZipMember | Path) -> bool:
        """Store the file if it is a record. Returns whether it is one."""
        if isinstance(file, Path) or not file.name.endswith((BUILD, SMOKE)):
            return False
        if file.size > MAX_RECORD_BYTES:
            self.notes.append(f"{file.name}: too large for a record ({file.size:,} bytes)")
            return True
        model = BuildRecord if file.name.endswith(BUILD) else SmokeRecord
        try:
            record = model.model_validate_json(file.read())
        except ValidationError as error:
            self.notes.append(f"{file.name}: not a {model.__name__}: {error.errors()[0]['msg']}")
        else:
            with self.lock:
                self.records[file.name] = _select_record(self.records.get(file.name), record)
        return True


class DownloadedArtifact:
    """An artifact on disk: downloaded on entry, deleted on exit."""

    def __init__(self, artifacts: ArtifactContext, artifact: RunArtifact) -> None:
        self._open_run = artifacts
        self._artifact = artifact
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the artifact. Everything in it is deleted on exit."""
        if self._folder is None:
            raise RuntimeError("the artifact is not downloaded")
        return self._folder

    def __enter__(self) -> tuple[ZipMember | Path, ...]:
        artifact = self._artifact
        self._folder = Path(tempfile.mkdtemp(prefix="fatwheel-artifact-"))
        raw = artifact.name.endswith((".whl", ".tar.gz"))
        place = self._folder / (artifact.name if raw else "artifact.zip")
        try:
            self._open_run.call(self._open_run.run.download, artifact, place)
            inside = list_members(place) if not raw or zipfile.is_zipfile(place) else ()
        except BaseException:
            self.__exit__()
            raise
        # An artifact uploaded without an archive is the wheel itself, which is also a zip archive.
        if raw and not any(member.member == artifact.name for member in inside):
            return (place,)
        return inside

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True)
class ArtifactTask:
    """The upload of the assets in one artifact."""

    artifact: RunArtifact
    artifacts: ArtifactContext

    @property
    def name(self) -> str:
        """The name of the artifact."""
        return self.artifact.name

    @property
    def size(self) -> int:
        """The size of the artifact in bytes."""
        return self.artifact.size

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Download the artifact, upload its assets, and delete it."""
        records: list[AssetRecord] = []
        fetched = self.artifacts.fetched(self.artifact)
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
        """Return records of assets that were not sent."""
        return [AssetRecord(name=name, outcome="not-sent", reason=reason) for name in self._expected()]

    def _expected(self) -> list[str]:
        plan = self.artifacts.request.plan
        cells = [cell.wheel for cell in plan.cells if cell.artifact == self.name] if plan else []
        return cells or [self.name]

    def _given(self, files: tuple[ZipMember | Path, ...]) -> Iterator[InputFile]:
        records = self.artifacts.records
        rest = [file for file in files if not self.artifacts.keep(file)]
        for file in rest:
            build, smoke = records.get(file.name + BUILD), records.get(file.name + SMOKE)
            one = InputFile(
                file if isinstance(file, Path) else Path(file.name),
                file.stat().st_size if isinstance(file, Path) else file.size,
                file.stat().st_mtime_ns if isinstance(file, Path) else 0,
                build if isinstance(build, BuildRecord) else None,
                smoke if isinstance(smoke, SmokeRecord) else None,
                member=None if isinstance(file, Path) else file,
            )
            yield one

    def _deliver(self, one: InputFile, deliver: Deliver, folder: Path) -> list[AssetRecord]:
        artifacts = self.artifacts
        limit = get_size_limit(artifacts.request, artifacts.rules)
        refused = (
            ("fatwheel writes this asset itself" if one.name in GENERATED else None)
            or find_name_error(one.name)
            or find_withhold_reason(one, limit, artifacts.rules, artifacts.request.plan)
        )
        sha256 = None
        if refused is None:
            try:
                sha256 = file_digest(one.path) if one.member is None else stream_digest(one.member.chunks())
            except UNREADABLE as error:
                reason = f"cannot read it from the artifact {self.name}: {error}"
                return [AssetRecord(name=one.name, outcome="failed", size=one.size, reason=reason)]
            refused = find_digest_mismatch(one, sha256)
        if (twice := self._check_duplicate(one, sha256)) is not None:
            return twice
        if refused is not None or sha256 is None:  # a withheld file is not hashed
            record = AssetRecord(name=one.name, outcome="withheld", size=one.size, reason=refused or "")
            return self._send_to_fallback(one, record, folder) if one.size >= limit else [record]
        if one.is_wheel and artifacts.request.metadata:
            one = replace(one, metadata=self._metadata(one))
            if one.metadata is None:
                artifacts.notes.append(f"cannot read METADATA of {one.name}: uploaded without a .metadata asset")
        return make_file_task(one, sha256, metadata=artifacts.request.metadata).run(deliver)

    def _check_duplicate(self, one: InputFile, sha256: Digest | None) -> list[AssetRecord] | None:
        """Return the records for a name that was seen before, or None. The same content twice is not an error."""
        artifacts = self.artifacts
        with artifacts.lock:
            if one.name not in artifacts.seen:
                artifacts.seen[one.name] = (f"the artifact {self.name}", sha256)
                artifacts.given.append(one)
                return None
            place, other = artifacts.seen[one.name]
        if other == sha256:
            artifacts.notes.append(f"{one.name} is also in the artifact {self.name}, with the same content")
            return []
        reason = f"{place} has a different asset with this name"
        name = f"{self.name}/{one.name}"
        return [AssetRecord(name=name, outcome="conflict", size=one.size, sha256=sha256, reason=reason)]

    def _send_to_fallback(self, one: InputFile, record: AssetRecord, folder: Path) -> list[AssetRecord]:
        """Upload a file that is too large, with its records, to the fallback store."""
        if self.artifacts.request.elsewhere is None:
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
        return self.artifacts.send_to_fallback([path], [record])

    def _metadata(self, one: InputFile) -> bytes | None:
        if one.member is None:
            return read_metadata(one.path)
        with one.member.open() as file:
            return read_metadata(file)


def _select_record(held: BuildRecord | SmokeRecord | None, new: BuildRecord | SmokeRecord) -> BuildRecord | SmokeRecord:
    """Select one of two records of a wheel: a failed test first, then a GPU test, then an import."""
    if isinstance(held, SmokeRecord) and isinstance(new, SmokeRecord) and held.sha256 == new.sha256:
        return max(new, held, key=lambda record: (not record.passed, record.gpu is not None))
    return new


def list_planned_names(request: ReleaseRequest) -> tuple[str, ...]:
    """Return the names of all planned wheels and their metadata, to count the assets in advance."""
    wheels = [cell.wheel for cell in request.plan.cells] if request.plan else []
    return tuple(wheels + [name + METADATA for name in wheels if request.metadata])
