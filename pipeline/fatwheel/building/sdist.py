"""Collect and verify the sdist that a build command made, or write a placeholder sdist."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from email.parser import BytesHeaderParser
from pathlib import Path

from packaging.utils import canonicalize_name

from fatwheel.errors import BuildError, UsageError, VerificationError
from fatwheel.records.plan import Cell
from fatwheel.wheels.formats.metadata import Fields, write_metadata
from fatwheel.wheels.formats.wheel_name import WheelName, parse_version

_ENDING = ".tar.gz"
_INFO = "PKG-INFO"


def collect_sdist(out: Path, staging: Path, cell: Cell) -> Path:
    """Return the one sdist that the command made. Raises `BuildError` unless it has the file name of the cell."""
    found = sorted(path for path in out.rglob(f"*{_ENDING}") if path.is_file())
    if len(found) != 1:
        made = "no sdist" if not found else f"{len(found)} sdists: {', '.join(path.name for path in found)}"
        raise BuildError(
            f"the build command succeeded but produced {made}",
            where=cell.id,
            help=f"write exactly one {_ENDING} file to {{out}}",
        )
    if found[0].name != cell.wheel:
        raise BuildError(
            f"the build command made {found[0].name}, but the sdist of this cell is {cell.wheel}",
            where=cell.id,
            help="build it with the version {version} and the name of the package",
        )
    place = staging / cell.wheel
    shutil.copyfile(found[0], place)
    return place


def make_placeholder_sdist(staging: Path, cell: Cell, metadata: Fields, size: int) -> Path:
    """Write a placeholder of exactly ``size`` bytes: PKG-INFO, then zeros after the archive, which gzip ignores.

    Raises `UsageError` when ``size`` is too small.
    """
    name = WheelName.of(cell.package, cell.full_version, "py3-none-any")
    text = write_metadata(name, cell.package, {**metadata, "Description": "A placeholder without content.\n"})
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        member = tarfile.TarInfo(f"{_folder(cell)}/{_INFO}")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    least = len(packed.getvalue())
    if size < least:
        raise UsageError(
            f"{size} bytes are too few for a placeholder", where=cell.wheel, help=f"use at least {least} bytes"
        )
    place = staging / cell.wheel
    with place.open("wb") as file:
        file.write(packed.getvalue())
        file.truncate(size)
    return place


def verify_sdist(sdist: Path, cell: Cell) -> None:
    """Raise `VerificationError` unless it has the cell's name and version, and one top-level folder."""
    folder = _folder(cell)
    try:
        with tarfile.open(sdist, "r:gz") as archive:
            names = archive.getnames()
            member = archive.extractfile(f"{folder}/{_INFO}") if f"{folder}/{_INFO}" in names else None
            text = member.read() if member else None
    except (tarfile.TarError, EOFError, OSError) as error:
        raise _failed(
            cell, f"cannot read it as {_ENDING}: {error}", "make the build command write a complete file"
        ) from error
    outside = [name for name in names if name.split("/")[0] != folder]
    if outside:
        raise _failed(cell, f"'{outside[0]}' is outside {folder}/", f"put all files into {folder}/")
    if text is None:
        raise _failed(cell, f"{folder}/{_INFO} not found", "use a build backend, e.g. `python -m build --sdist`")
    headers = BytesHeaderParser().parsebytes(text)
    name, version = str(headers["Name"]), str(headers["Version"])
    if canonicalize_name(name) != canonicalize_name(cell.package) or not _same(version, cell.full_version):
        what = f"{_INFO} has {name} {version}, but the cell is {cell.package} {cell.full_version}"
        raise _failed(cell, what, "build it with the name and version of the cell")


def _folder(cell: Cell) -> str:
    return cell.wheel.removesuffix(_ENDING)


def _same(one: str, other: str) -> bool:
    version = parse_version(one)
    return version is not None and version == parse_version(other)


def _failed(cell: Cell, what: str, help: str) -> VerificationError:
    return VerificationError(f"the built sdist failed verification: {what}", where=cell.id, help=help)
