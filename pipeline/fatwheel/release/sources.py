"""The input of a release: files, and folders of wheels with their records."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fatwheel.errors import UsageError
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD, SMOKE, beside
from fatwheel.records.smoke import SmokeRecord
from fatwheel.release.zip_members import UNREADABLE, ZipMember


@dataclass(frozen=True)
class InputFile:
    """One file to release, with the records beside it. ``metadata`` is the METADATA of a wheel that has one."""

    path: Path
    size: int  # bytes
    mtime_ns: int
    build: BuildRecord | None = None
    smoke: SmokeRecord | None = None
    metadata: bytes | None = None
    member: ZipMember | None = None  # of a workflow artifact

    @property
    def name(self) -> str:
        """The name of the asset."""
        return self.path.name

    @property
    def is_wheel(self) -> bool:
        """Whether the file name is that of a wheel."""
        return self.path.suffix == ".whl"


def collect_files(files: Sequence[Path]) -> tuple[tuple[InputFile, ...], tuple[str, ...]]:
    """Collect the files to release. Returns them, and the errors of the others.

    A folder stands for the wheels and sdists in it. Records beside a file belong to it and are not assets.
    """
    problems: list[str] = []
    paths: list[Path] = []
    for file in files:
        try:
            found = _inside(file) if file.is_dir() else [file]
        except OSError as error:
            problems.append(f"{file}: {error.strerror}")
            continue
        if not found:
            problems.append(f"{file}: no wheel or sdist in this folder")
        paths += found
    odd = [path for path in paths if not path.is_file()]
    problems += [f"{path}: {'not a regular file' if path.exists() else 'not found'}" for path in odd]
    paths = [path for path in paths if path.is_file()]
    places = {path.resolve() for path in paths}
    seen: dict[str, Path] = {}
    given: list[InputFile] = []
    for path in dict.fromkeys(paths):
        if _owner(path).resolve() in places and _owner(path) != path:
            continue
        if path.name in seen:
            if path.resolve() != seen[path.name].resolve():
                problems.append(f"{path}: same name as {seen[path.name]}; names in a release are unique")
            continue
        seen[path.name] = path
        try:
            given.append(read_input(path))
        except UsageError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{error.filename or path}: {error.strerror}")
    return tuple(given), tuple(problems)


def _inside(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.name.endswith((".whl", ".tar.gz")) and p.is_file())


def read_input(path: Path) -> InputFile:
    """Read the records beside a file. Raises `UsageError` for an invalid record."""
    about = path.stat()
    build, smoke = beside(path, BUILD), beside(path, SMOKE)
    return InputFile(
        path,
        about.st_size,
        about.st_mtime_ns,
        BuildRecord.read(build) if build.is_file() else None,
        SmokeRecord.read(smoke) if smoke.is_file() else None,
        read_metadata(path) if path.suffix == ".whl" else None,
    )


def read_metadata(wheel: Path | BinaryIO) -> bytes | None:
    """Return the METADATA of a wheel, or None if the file is not a readable wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                folder, _, file = name.partition("/")
                if folder.endswith(".dist-info") and file == "METADATA":
                    return archive.read(name)
    except UNREADABLE:
        return None
    return None


def _owner(path: Path) -> Path:
    for suffix in (BUILD, SMOKE):
        if path.name.endswith(suffix):
            return path.with_name(path.name.removesuffix(suffix))
    return path
