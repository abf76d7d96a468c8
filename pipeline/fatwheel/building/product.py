"""Turn the output of a build command into the cell's wheel: pack or stamp it, verify it, then publish its name."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from fatwheel.atomic import write_atomically
from fatwheel.building.guard import guard
from fatwheel.building.naming import rename_for_cell
from fatwheel.building.postprocess import check_tools
from fatwheel.building.restamp import restamp, restamped_files
from fatwheel.declaration.model import Package
from fatwheel.digests import Digest, file_digest
from fatwheel.errors import BuildError, UsageError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.plan.requirements import fill_requirements
from fatwheel.records.base import Record
from fatwheel.records.build import BuildRecord, BuiltModule, ExcludedModule
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

_TINY = 1 << 16  # bytes of the wheel that preflight packs


class BuildReport(Record):
    """The report that a build command may write to ``{report}``."""

    modules: tuple[BuiltModule, ...] = ()
    excluded_modules: tuple[ExcludedModule, ...] = ()


def read_report(path: Path, cell: Cell) -> BuildReport:
    """Return the command's report; an empty one if it wrote none. Raises `BuildError` for an invalid one."""
    if not path.is_file():
        return BuildReport()
    try:
        return TypeAdapter(BuildReport).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise BuildError(
            f"the build command wrote an invalid report: {place}: {first['msg']}",
            where=cell.id,
            help='write to {report}: {"modules": [{"name", "targets", "seconds"}], '
            '"excluded_modules": [{"name", "reason"}]}',
        ) from None


def shim_package(package: Package) -> Package:
    """Return the package as its shims are built: with their own command, if any, and without build requirements."""
    build = {"kind": "tree", "command": package.build.shim, "requires": [], "no_deps": []}
    return package.model_copy(update={"build": package.build.model_copy(update=build), "stamp": []})


def core_metadata(cell: Cell, package: Package, source: Path | None) -> Fields:
    """Return the declared core metadata with the cell's own requirements, and the readme if ``source`` is given.

    Raises `BuildError` if the readme is missing.
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
                f"{package.name}: {declared.readme} not found",
                where=str(source),
                help="`metadata.readme` is relative to the source folder",
            )
        fields |= {"Description-Content-Type": "text/markdown", "Description": path.read_text(encoding="utf-8")}
    return {name: value for name, value in fields.items() if value}


def pack_tree(
    tree: Path,
    staging: Path,
    *,
    cell: Cell,
    package: Package,
    source: Path,
    stamp: EmbeddedMetadata,
    licenses: list[Path],
) -> Path:
    """Pack the tree that the command filled. Raises `BuildError` for an empty tree and for invalid file names."""
    bare = cell.shim and not package.build.command
    if not bare and not any(path.is_file() for path in tree.rglob("*")):
        raise BuildError(
            "the build command succeeded but produced no files",
            where=cell.id,
            help="write the wheel's contents to {out}, laid out as in site-packages",
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
            licenses=licenses,
            empty=bare,
            level=DEFAULT_LEVEL if package.pack.level is None else package.pack.level,
        )
    except UsageError as error:
        raise BuildError(error.what, where=cell.id, help=error.help) from error


def rehearse_packing(
    folder: Path, *, cell: Cell, package: Package, source: Path, stamp: EmbeddedMetadata, licenses: list[Path]
) -> None:
    """Pack and postprocess a tiny wheel, then delete it: a check before the build. Raises `PipelineError`."""
    if package.build.kind == "sdist":
        return
    check_tools(package, cell)
    with tempfile.TemporaryDirectory(dir=folder, prefix="rehearsal-") as name:
        place = Path(name)
        marked = stamp.model_copy(update={"placeholder": True})
        if package.build.kind == "tree":
            (place / "tree").mkdir()
            (place / "tree" / "rehearsal.txt").write_text("rehearsal\n", encoding="utf-8")
            pack_tree(place / "tree", place, cell=cell, package=package, source=source, stamp=marked, licenses=licenses)
        else:
            wheel = make_placeholder(place, cell=cell, package=package, stamp=marked, size=_TINY)
            embed_metadata(wheel, place / "stamped", marked)


def collect_wheel(out: Path, staging: Path, *, cell: Cell, package: Package, stamp: EmbeddedMetadata) -> Path:
    """Return the one wheel that the command made, stamped. Raises `BuildError` unless it matches the cell."""
    wheels = sorted(path for path in out.rglob("*.whl") if path.is_file())
    if len(wheels) != 1:
        made = "no wheel" if not wheels else f"{len(wheels)} wheels: {', '.join(path.name for path in wheels)}"
        raise BuildError(
            f"the build command succeeded but produced {made}",
            where=cell.id,
            help="write exactly one .whl file to {out}",
        )
    wheel = rename_for_cell(wheels[0], out, cell)
    added = guard(cell, package, set(_members(wheel)).__contains__)
    try:
        return embed_metadata(wheel, staging, stamp, replaced=_outdated_stamps(wheel, package, cell) | added)
    except UsageError as error:
        raise BuildError(error.what, where=cell.id, help=error.help) from error


def _members(wheel: Path) -> list[str]:
    """Return the names in a zip archive; none for another file, which `embed_metadata` reports."""
    if not zipfile.is_zipfile(wheel):
        return []
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def _outdated_stamps(wheel: Path, package: Package, cell: Cell) -> dict[str, bytes]:
    """Return the corrected contents of the wheel's stamp files that have another version or other targets."""
    if not package.stamp or not zipfile.is_zipfile(wheel):
        return {}
    with zipfile.ZipFile(wheel) as archive:
        return restamped_files(archive.namelist(), archive.read, package.stamp, cell)


def has_license(wheel: Path) -> bool:
    """Return whether a wheel's dist-info folder contains a license file."""
    with Archive.open(wheel) as archive:
        inside = [name for name in archive.by_name if name.startswith(f"{archive.dist_info}/")]
    return any("/licenses/" in name or "LICEN" in name.upper() for name in inside)


def make_placeholder(staging: Path, *, cell: Cell, package: Package, stamp: EmbeddedMetadata, size: int) -> Path:
    """Write a placeholder wheel of ``size`` bytes, instead of building."""
    return write_placeholder(
        staging,
        cell.wheel,
        embedded=stamp,
        size=size,
        import_name=package.import_name,
        metadata=core_metadata(cell, package, None),
    )


def with_digest(wheel: Path, draft: BuildRecord) -> BuildRecord:
    """Return the record with the size and digest of the wheel file."""
    return draft.model_copy(update={"wheel": wheel.name, "bytes": wheel.stat().st_size, "sha256": file_digest(wheel)})


def verify_built_wheel(wheel: Path, record: BuildRecord, package: Package) -> list[Finding]:
    """Verify a wheel and return the warnings. Raises `VerificationError` with all errors."""
    stamps = () if record.placeholder else tuple(package.stamp)
    seen = verify(wheel, expected_of(record.cell, build=record, stamp_files=stamps))
    if not seen.valid:
        shown = "".join(f"\n  {_describe(finding)}" for finding in seen.errors)
        raise VerificationError(
            f"the built wheel failed verification: {count_of(len(seen.errors), 'error')}{shown}",
            where=record.cell.id,
        )
    return [finding for finding in seen.findings if finding.severity == "warning"]


def _describe(finding: Finding) -> str:
    place = f"{finding.member}: " if finding.member else ""
    return f"{finding.kind}: {place}{finding.what} (help: {finding.help})"


def publish(wheel: Path, record: BuildRecord, out_dir: Path, statistics: bytes | None = None) -> None:
    """Move wheel and record into ``out_dir``, the record last: a wheel without a record is unfinished.

    ``statistics`` is the compiler cache's report as JSON, written beside them. A smoke record of another file with
    this name is removed.
    """
    final = out_dir / record.wheel
    own = beside(final, BUILD)
    statistics_file = final.with_name(f"{final.name}.cache.json")
    forget_smoke(final, record.sha256)
    own.unlink(missing_ok=True)
    statistics_file.unlink(missing_ok=True)
    wheel.replace(final)
    if statistics is not None:
        write_atomically(statistics_file, statistics)
    record.write(own)


def forget_smoke(wheel: Path, digest: Digest) -> None:
    """Remove the smoke record beside a wheel, unless it belongs to the file with this digest."""
    smoke = beside(wheel, SMOKE)
    if smoke.exists() and not _belongs_to(smoke, digest):
        smoke.unlink()


def _belongs_to(smoke: Path, digest: Digest) -> bool:
    try:
        return SmokeRecord.read(smoke).sha256 == digest
    except UsageError:
        return False
