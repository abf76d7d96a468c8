"""What a build command left becomes the cell's wheel: packed or stamped, verified, and only then given its name."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from fatwheel.building.guard import guard
from fatwheel.building.naming import named
from fatwheel.building.postprocess import check_tools
from fatwheel.building.restamp import restamp, restamped
from fatwheel.declaration.model import Package
from fatwheel.digests import Digest, file_digest
from fatwheel.errors import BuildError, UsageError, VerificationError
from fatwheel.plan.requirements import fill_requirements
from fatwheel.records.base import Record, write_atomically
from fatwheel.records.build import BuildRecord, BuiltModule, LeftOut
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import BUILD, SMOKE, beside
from fatwheel.records.plan import Cell
from fatwheel.records.smoke import SmokeRecord
from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.expected import expected_of
from fatwheel.wheels.formats.metadata import Fields
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from fatwheel.wheels.making.pack import embed_metadata, pack
from fatwheel.wheels.making.placeholder import write_placeholder
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.verify import verify

_TINY = 1 << 16  # bytes of a rehearsal's wheel


class Report(Record):
    """What a build command may leave in ``{report}``."""

    modules: tuple[BuiltModule, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def read_report(path: Path, cell: Cell) -> Report:
    """The command's report; an empty one if it left none. Raises `BuildError` for one that cannot be read."""
    if not path.is_file():
        return Report()
    try:
        return TypeAdapter(Report).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise BuildError(
            f"the build command left a report that cannot be read: {place}: {first['msg']}",
            where=cell.id,
            help='write {"modules": [{"name", "targets", "seconds"}], "left_out": [{"name", "reason"}]} to {report}',
        ) from None


def shim_package(package: Package) -> Package:
    """What a package's shims are made by: their own command, in a bare environment; none leaves metadata alone."""
    build = {"kind": "tree", "command": package.build.shim, "requires": [], "no_deps": []}
    return package.model_copy(update={"build": package.build.model_copy(update=build), "stamp": []})


def core_metadata(cell: Cell, package: Package, source: Path | None) -> Fields:
    """Core metadata as the package declares it, with what the cell requires of its set; the readme if it has sources.

    Raises `BuildError` if the readme is not there.
    """
    declared = package.metadata
    fields: dict[str, str | list[str]] = {
        "Summary": declared.summary or "",
        "License-Expression": declared.license or "",
        "Requires-Python": declared.requires_python or "",
        "Requires-Dist": [*fill_requirements(declared.dependencies, cell), *cell.requires_dist],
        "Provides-Extra": list(cell.extras),
        "Project-URL": [f"{name}, {url}" for name, url in declared.urls.items()],
    }
    if declared.readme and source is not None:
        path = source / declared.readme
        if not path.is_file():
            raise BuildError(
                f"{package.name}: there is no {declared.readme}",
                where=str(source),
                help="metadata.readme starts at the sources",
            )
        fields |= {"Description-Content-Type": "text/markdown", "Description": path.read_text(encoding="utf-8")}
    return {name: value for name, value in fields.items() if value}


def packed(
    tree: Path,
    staging: Path,
    *,
    cell: Cell,
    package: Package,
    source: Path,
    stamp: EmbeddedMetadata,
    licences: list[Path],
) -> Path:
    """The wheel of a tree that the command filled. Raises `BuildError` for an empty tree and what no wheel can hold."""
    bare = cell.shim and not package.build.command
    if not bare and not any(path.is_file() for path in tree.rglob("*")):
        raise BuildError(
            "the build command ended well and left nothing",
            where=cell.id,
            help="have it fill {out} with the wheel's contents, laid out as in site-packages",
        )
    restamp(tree, package.stamp if not stamp.placeholder else (), cell)
    for member, data in guard(cell, package, lambda name: (tree / name).exists()).items():
        write_atomically(tree / member, data)
    try:
        return pack(
            tree,
            staging,
            distribution=cell.package,
            version=cell.full_version,
            tags=WheelName.parse(cell.wheel).tag_text,
            metadata=core_metadata(cell, package, source),
            embedded=stamp,
            licenses=licences,
            empty=bare,
            level=DEFAULT_LEVEL if package.pack.level is None else package.pack.level,
        )
    except UsageError as error:
        raise BuildError(error.what, where=cell.id, help=error.help) from error


def rehearse_packing(
    folder: Path, *, cell: Cell, package: Package, source: Path, stamp: EmbeddedMetadata, licences: list[Path]
) -> None:
    """Do with a tiny tree what a finished build goes through, and throw it away. Raises `PipelineError`."""
    if package.build.kind == "sdist":
        return
    check_tools(package, cell)
    with tempfile.TemporaryDirectory(dir=folder, prefix="rehearsal-") as name:
        place = Path(name)
        marked = stamp.model_copy(update={"placeholder": True})
        if package.build.kind == "tree":
            (place / "tree").mkdir()
            (place / "tree" / "rehearsal.txt").write_text("rehearsal\n", encoding="utf-8")
            packed(place / "tree", place, cell=cell, package=package, source=source, stamp=marked, licences=licences)
        else:
            wheel = make_placeholder(place, cell=cell, package=package, stamp=marked, size=_TINY)
            embed_metadata(wheel, place / "stamped", marked)


def collected(out: Path, staging: Path, *, cell: Cell, package: Package, stamp: EmbeddedMetadata) -> Path:
    """The one wheel that a project's own command left, stamped. Raises `BuildError` unless it is the cell's."""
    wheels = sorted(path for path in out.rglob("*.whl") if path.is_file())
    if len(wheels) != 1:
        left = "no wheel" if not wheels else f"{len(wheels)} wheels: {', '.join(path.name for path in wheels)}"
        raise BuildError(
            f"the build command ended well and left {left}",
            where=cell.id,
            help="have it leave exactly one .whl in {out}",
        )
    wheel = named(wheels[0], out, cell)
    added = guard(cell, package, set(_members(wheel)).__contains__)
    try:
        return embed_metadata(wheel, staging, stamp, replaced=_disagreeing(wheel, package, cell) | added)
    except UsageError as error:
        raise BuildError(error.what, where=cell.id, help=error.help) from error


def _members(wheel: Path) -> list[str]:
    """Names in a zip archive; none where it is no archive, which `embed_metadata` says."""
    if not zipfile.is_zipfile(wheel):
        return []
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def _disagreeing(wheel: Path, package: Package, cell: Cell) -> dict[str, bytes]:
    """The stamp files of a project's own wheel that say something else, as they should be."""
    if not package.stamp or not zipfile.is_zipfile(wheel):
        return {}
    with zipfile.ZipFile(wheel) as archive:
        return restamped(archive.namelist(), archive.read, package.stamp, cell)


def has_licence(wheel: Path) -> bool:
    """Whether a wheel's dist-info folder holds the text of a licence."""
    with Archive.open(wheel) as archive:
        inside = [name for name in archive.by_name if name.startswith(f"{archive.dist_info}/")]
    return any("/licenses/" in name or "LICEN" in name.upper() for name in inside)


def make_placeholder(staging: Path, *, cell: Cell, package: Package, stamp: EmbeddedMetadata, size: int) -> Path:
    """A placeholder of ``size`` bytes in the place of a build."""
    return write_placeholder(
        staging,
        cell.wheel,
        embedded=stamp,
        size=size,
        import_name=package.import_name,
        metadata=core_metadata(cell, package, None),
    )


def with_digest(wheel: Path, draft: BuildRecord) -> BuildRecord:
    """The record with the size and digest of the wheel as it is."""
    return draft.model_copy(update={"wheel": wheel.name, "bytes": wheel.stat().st_size, "sha256": file_digest(wheel)})


def verify_built_wheel(wheel: Path, record: BuildRecord, package: Package) -> list[Finding]:
    """Warnings of verification. Raises `VerificationError` with every finding if the wheel is not its cell's."""
    stamps = () if record.placeholder else tuple(package.stamp)
    seen = verify(wheel, expected_of(record.cell, build=record, stamp_files=stamps))
    if not seen.sound:
        shown = "".join(f"\n  {_shown(finding)}" for finding in seen.errors)
        count = len(seen.errors)
        raise VerificationError(
            f"the wheel that was built is not right: {count} finding{'s' if count != 1 else ''}{shown}",
            where=record.cell.id,
        )
    return [finding for finding in seen.findings if finding.severity == "warning"]


def _shown(finding: Finding) -> str:
    place = f"{finding.member}: " if finding.member else ""
    return f"{finding.kind}: {place}{finding.what} (do: {finding.help})"


def publish(wheel: Path, record: BuildRecord, out_dir: Path, statistics: bytes | None = None) -> None:
    """Give wheel and record their names in ``out_dir``, the record last: a wheel without one is unfinished.

    ``statistics`` are the compiler cache's own figures, which go beside. A smoke record of other bytes goes: it says
    nothing of this wheel.
    """
    final = out_dir / record.wheel
    own = beside(final, BUILD)
    figures = final.with_name(f"{final.name}.cache.json")
    forget_smoke(final, record.sha256)
    own.unlink(missing_ok=True)
    figures.unlink(missing_ok=True)
    wheel.replace(final)
    if statistics is not None:
        write_atomically(figures, statistics)
    record.write(own)


def forget_smoke(wheel: Path, digest: Digest) -> None:
    """Remove the smoke record beside a wheel, unless it is of the bytes with this digest."""
    smoke = beside(wheel, SMOKE)
    if smoke.exists() and not _is_of(smoke, digest):
        smoke.unlink()


def _is_of(smoke: Path, digest: Digest) -> bool:
    try:
        return SmokeRecord.read(smoke).sha256 == digest
    except UsageError:
        return False
