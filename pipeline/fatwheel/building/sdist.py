"""Sdists: the one that a command left is held against its cell, or a placeholder takes its place."""

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


def collected(out: Path, staging: Path, cell: Cell) -> Path:
    """The one sdist that a project's own command left. Raises `BuildError` unless it has the name of the cell's."""
    found = sorted(path for path in out.rglob(f"*{_ENDING}") if path.is_file())
    if len(found) != 1:
        left = "no sdist" if not found else f"{len(found)} sdists: {', '.join(path.name for path in found)}"
        raise BuildError(
            f"the build command ended well and left {left}",
            where=cell.id,
            help=f"have it leave exactly one {_ENDING} in {{out}}",
        )
    if found[0].name != cell.wheel:
        raise BuildError(
            f"the build command left {found[0].name}, and the cell's sdist is {cell.wheel}",
            where=cell.id,
            help="make name and version agree: {version}, and the package's name",
        )
    place = staging / cell.wheel
    shutil.copyfile(found[0], place)
    return place


def faked(staging: Path, cell: Cell, metadata: Fields, size: int) -> Path:
    """A placeholder of exactly ``size`` bytes: PKG-INFO, and behind the archive zeros, which gzip's readers pass over.

    Raises `UsageError` when ``size`` is too small.
    """
    name = WheelName.of(cell.package, cell.full_version, "py3-none-any")
    text = write_metadata(name, cell.package, {**metadata, "Description": "A placeholder: there is nothing in it.\n"})
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
            f"a placeholder of {size} bytes cannot be made", where=cell.wheel, help=f"ask for at least {least} bytes"
        )
    place = staging / cell.wheel
    with place.open("wb") as file:
        file.write(packed.getvalue())
        file.truncate(size)
    return place


def judge(sdist: Path, cell: Cell) -> None:
    """Raise `VerificationError` unless it is an sdist of the cell's name and version, all in one folder."""
    folder = _folder(cell)
    try:
        with tarfile.open(sdist, "r:gz") as archive:
            names = archive.getnames()
            held = archive.extractfile(f"{folder}/{_INFO}") if f"{folder}/{_INFO}" in names else None
            text = held.read() if held else None
    except (tarfile.TarError, EOFError, OSError) as error:
        raise _wrong(cell, f"it cannot be read as {_ENDING}: {error}", "have the command leave a whole file") from error
    outside = [name for name in names if name.split("/")[0] != folder]
    if outside:
        raise _wrong(cell, f"'{outside[0]}' lies outside of {folder}/", f"put everything into {folder}/")
    if text is None:
        raise _wrong(cell, f"there is no {folder}/{_INFO}", "let a build backend make it, as `python -m build --sdist`")
    said = BytesHeaderParser().parsebytes(text)
    name, version = str(said["Name"]), str(said["Version"])
    if canonicalize_name(name) != canonicalize_name(cell.package) or not _same(version, cell.full_version):
        what = f"{_INFO} says {name} {version}, and the cell is {cell.package} {cell.full_version}"
        raise _wrong(cell, what, "make name and version agree")


def _folder(cell: Cell) -> str:
    return cell.wheel.removesuffix(_ENDING)


def _same(said: str, wanted: str) -> bool:
    version = parse_version(said)
    return version is not None and version == parse_version(wanted)


def _wrong(cell: Cell, what: str, help: str) -> VerificationError:
    return VerificationError(f"the sdist that was built is not right: {what}", where=cell.id, help=help)
