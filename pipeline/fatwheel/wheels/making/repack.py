"""Repack wheels: rewrite one reproducibly and, if asked, make it smaller or give it another version."""

from __future__ import annotations

import fnmatch
import re
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from fatwheel.digests import file_digest
from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.repack import RepackRecord, StrippedLibrary
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.texts import set_version
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io import compression
from fatwheel.wheels.making import sbom
from fatwheel.wheels.making.edition import Edition
from fatwheel.wheels.making.intact import inspect_archive, require_intact
from fatwheel.wheels.making.renaming import with_platform, with_version
from fatwheel.wheels.making.stripping import Stripped, find_strip, has_debug_info, strip_debug
from fatwheel.wheels.making.writer import LARGE, item_from_file
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import Contents, examine
from fatwheel.wheels.reading.device_code import expand_targets, sum_code_bytes

_TEXT = 64 << 10  # bytes; files that repeat the version as text are smaller
_NOT_TEXT = (".so", ".a", ".o", ".cubin", ".fatbin", ".pyc")


@dataclass(frozen=True)
class Changes:
    """What to change, besides the compressed bytes.

    ``version`` and ``label`` as for `renaming.with_version`, ``platform`` as for `renaming.with_platform` (`verify`
    checks whether the libraries load there); ``stamps`` are globs of files that repeat the version; ``exclude`` are
    globs (or folders) of members to remove; ``sbom`` adds a bill of materials. One that fatwheel made is always
    updated.
    """

    version: str | None = None
    label: str | None = None
    platform: str | None = None
    stamps: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    strip_debug: bool = False
    sbom: bool = False


def repack(
    wheel: Path,
    out_dir: Path,
    changes: Changes | None = None,
    *,
    level: int | None = compression.DEFAULT_LEVEL,
    large: int = LARGE,
) -> RepackRecord:
    """Write the wheel to ``out_dir``, which may be its own folder, and report what changed.

    ``level`` is 0 (store) to 12, or None to keep the compressed bytes of unchanged members; members of ``large`` bytes
    or more are streamed through zlib, so that they need not fit into memory. Equal contents give equal bytes, whatever
    tool packed them before: members are sorted, dated ``SOURCE_DATE_EPOCH`` (else 1980-01-01), and keep only their
    executable bit. Raises `VerificationError` for a wheel that does not match its RECORD or is not safe to unpack,
    `UsageError` for changes that are not possible.
    """
    requested = changes or Changes()
    with Archive.open(wheel) as archive, tempfile.TemporaryDirectory(prefix="fatwheel-repack-") as temporary:
        inspected = inspect_archive(archive, digests=level is None)
        require_intact(inspected, "cannot be repacked")
        name = rename(archive.name, requested)
        excluded = _find_excluded(archive, requested.exclude)
        contents = [one for member, one in inspected.contents.items() if member not in excluded]
        edition = Edition.of(archive, contents, name)
        edition.with_bill |= requested.sbom
        if requested.strip_debug or edition.with_bill or excluded:
            _read_code(edition)
        if excluded:
            _check_targets(edition, excluded)
        stripped = _strip(edition, Path(temporary)) if requested.strip_debug else {}
        edition.libraries = {member: item_from_file(member, one.path) for member, one in stripped.items()}
        _rewrite_stamps(edition, requested.stamps)
        path = edition.write(
            out_dir / name.text,
            level=compression.DEFAULT_LEVEL if level is None else level,
            large=large,
            recompress=level is not None,
        )
        return RepackRecord(
            wheel=name.text, bytes=path.stat().st_size, sha256=file_digest(path), from_wheel=wheel.name,
            from_bytes=archive.source.size, level=level, tool=compression.describe_tool(), excluded=excluded,
            stripped=[StrippedLibrary(name=n, before=s.before, after=s.size) for n, s in sorted(stripped.items())],
            rewritten=sorted(edition.texts), outdated_texts=_find_old_version(edition),
            sbom=f"{edition.renaming.after}/{sbom.FILE}" if edition.with_bill else None,
        )  # fmt: skip


def rename(wheel: str, changes: Changes) -> WheelName:
    """The name of the repacked wheel, from a wheel's file name. Raises `UsageError`."""
    name = with_version(WheelName.parse(wheel), changes.version, changes.label)
    return name if changes.platform is None else with_platform(name, changes.platform)


def find_matches(names: Iterable[str], glob: str) -> set[str]:
    """The names that a glob matches, and those in a folder of that name."""
    folder = glob.rstrip("/") + "/*"
    return {name for name in names if fnmatch.fnmatchcase(name, glob) or fnmatch.fnmatchcase(name, folder)}


def _find_excluded(archive: Archive, globs: Iterable[str]) -> list[str]:
    """Members to remove, sorted. Raises `UsageError` for a glob without matches, or for members every wheel needs."""
    found: set[str] = set()
    errors: list[str] = []
    info = {name for name in archive.by_name if name.startswith(f"{archive.dist_info}/")}
    for glob in globs:
        names = find_matches(archive.by_name, glob)
        names -= info if "*" in glob else set()
        if not names:
            errors.append(f"no file in the wheel matches '{glob}'")
        elif names & info:
            errors.append(f"'{glob}' is in {archive.dist_info}, whose files cannot be removed")
        found |= names
    if found and len(found | info) == len(archive.by_name):
        errors.append("nothing but metadata would remain")
    if errors:
        raise UsageError(
            "\n  ".join(errors), where=archive.name, help="`fatwheel inventory` or `unzip -l` lists the files"
        )
    return sorted(found)


def _read_code(edition: Edition) -> None:
    """Read the ELF headers and device code of all members. Raises `VerificationError` for unreadable ones."""
    if not all(one.sha256 for one in edition.kept.values()):
        members = [one.member for one in edition.kept.values()]
        edition.kept = {one.member.name: one for one in examine(edition.archive, members, digests=False)}
    broken = [f"{one.member.name}: {one.fault.what}" for one in edition.kept.values() if one.fault]
    if broken:
        raise VerificationError("\n  ".join(broken), where=edition.archive.name, help="build or download it again")


def _check_targets(edition: Edition, excluded: list[str]) -> None:
    """Raise `UsageError` if no code remains for a target in the embedded metadata."""
    embedded = edition.embedded
    if embedded is None or embedded.slice is not None or embedded.placeholder:
        return
    lost = expand_targets(embedded.targets) - set(sum_code_bytes(edition.kept.values()))
    if lost:
        missing = ", ".join(f"{kind} for {target}" for target, kind in sorted(lost))
        raise UsageError(
            f"excluding {', '.join(excluded)} removes all {missing}, which its fatwheel.json declares",
            where=edition.archive.name,
            help="keep one of these files, or split the wheel by family or target",
        )


def _strip(edition: Edition, folder: Path) -> dict[str, Stripped]:
    """Libraries without their debug information, written to ``folder``, by member name."""
    libraries: list[tuple[Contents, str]] = [
        (one, one.elf.architecture) for one in edition.kept.values() if one.elf and has_debug_info(one)
    ]
    programs = {architecture: find_strip(architecture) for _, architecture in libraries}
    with ThreadPoolExecutor(compression.count_workers()) as pool:
        jobs = {
            one.member.name: pool.submit(strip_debug, edition.archive, one, folder, programs[architecture])
            for one, architecture in libraries
        }
        try:
            return {name: job.result() for name, job in jobs.items()}
        finally:
            pool.shutdown(cancel_futures=True)


def _rewrite_stamps(edition: Edition, globs: Iterable[str]) -> None:
    """Replace the version in text files that a glob matches, outside the dist-info folder. Raises `UsageError`."""
    archive, version = edition.archive, str(edition.name.version)
    changed: dict[str, bytes] = {}
    for glob in globs:
        members = [
            one.member
            for name, one in edition.kept.items()
            if fnmatch.fnmatchcase(name, glob)
            and not name.startswith(edition.own(""))
            and b"\0" not in archive.head(one.member, 256)
        ]
        if not members:
            raise UsageError(f"no text file in the wheel matches '{glob}'", where=archive.name, help="correct --stamp")
        for member in members:
            old = archive.read(member)
            new = set_version(old.decode("utf-8", "surrogateescape"), version).encode("utf-8", "surrogateescape")
            if new != old:
                changed[member.name] = new
    edition.rewrite(changed)


def _find_old_version(edition: Edition) -> list[str]:
    """Files that still name the version the wheel had: texts of the package, other bills of materials, METADATA.

    METADATA is one of them if the wheel requires itself in its old version. Only the project can correct these files.
    """
    before = WheelName.parse(edition.archive.name)
    if edition.name.version == before.version:
        return []
    old = re.compile(rf"(?<![\w.+]){re.escape(str(before.version))}(?![\w+]|\.\d)".encode())
    metadata = edition.own("METADATA")
    found = (
        [metadata] if any(old.search(text) for text in _find_own_requirements(edition.read(metadata), before)) else []
    )
    for name, one in edition.kept.items():
        in_package = not name.startswith(edition.own("")) and not name.endswith(_NOT_TEXT)
        may_name_it = in_package or name.startswith(edition.own("sboms/"))
        if may_name_it and one.member.size <= _TEXT and old.search(edition.read(name)):
            found.append(name)
    return sorted(found)


def _find_own_requirements(metadata: bytes, name: WheelName) -> list[bytes]:
    """Requirements of a wheel on its own distribution, such as ``demo[cuda]==1.0`` of an extra."""
    found = []
    for text in map(str, read_headers(metadata).get_all("Requires-Dist", [])):
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if canonicalize_name(requirement.name) == name.distribution:
            found.append(str(requirement.specifier).encode())
    return found
