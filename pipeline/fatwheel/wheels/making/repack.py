"""Repacking: the same wheel compressed anew and the same every time; smaller, or under another version, if asked."""

from __future__ import annotations

import fnmatch
import re
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from fatwheel.digests import file_digest
from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.files import STAMP
from fatwheel.records.repack import RepackRecord, StrippedLibrary
from fatwheel.wheels.checks.code import held_code, wanted_code
from fatwheel.wheels.checks.expected import Expected
from fatwheel.wheels.checks.members import check_members
from fatwheel.wheels.checks.record import check_record
from fatwheel.wheels.checks.subject import Subject, subject_of
from fatwheel.wheels.formats.names import WheelName
from fatwheel.wheels.formats.record import read_record
from fatwheel.wheels.io import compression
from fatwheel.wheels.making import sbom
from fatwheel.wheels.making.pack import SIGNATURES
from fatwheel.wheels.making.renaming import Renaming, metadata_as, saying, wheel_file_as, with_platform, with_version
from fatwheel.wheels.making.stripping import Stripped, find_strip, has_debug, strip_debug
from fatwheel.wheels.making.writer import LARGE, Copied, Item, of_bytes, of_file, of_member, write_wheel
from fatwheel.wheels.reading.archive import Archive, Member
from fatwheel.wheels.reading.contents import Contents, examine

_TEXT = 64 << 10  # bytes; a file that repeats the version as text is smaller
_NO_TEXT = (".so", ".a", ".o", ".cubin", ".fatbin", ".pyc")


@dataclass(frozen=True)
class Changes:
    """What becomes different, besides the compressed bytes.

    ``version`` and ``label`` as for `renaming.with_version`, ``platform`` as for `renaming.with_platform` (whether the
    wheel loads there, `verify` tells); ``stamps`` are globs of files that repeat the version;
    ``exclude`` globs (or folders) of members to leave out; ``sbom`` asks for a bill of materials, and one that fatwheel
    made before is made anew in any case.
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
    """Write the wheel to ``out_dir``, which may be the folder it is in, and say what became different.

    ``level`` is 0 (store) to 12, or None to take members as they are compressed; members of ``large`` bytes and more
    are streamed through zlib, so that they need not fit into memory. Equal contents give equal bytes, whoever packed
    them before: members are sorted, dated ``SOURCE_DATE_EPOCH`` (else 1980-01-01), keep only their executable bit, and
    RECORD is made anew. Raises `VerificationError` for a wheel that is not what its RECORD says, or not safe to unpack;
    `UsageError` for changes that cannot be.
    """
    wanted = changes or Changes()
    with Archive.open(wheel) as archive, tempfile.TemporaryDirectory(prefix="fatwheel-repack-") as temporary:
        before = _Before(archive, _sound(archive, digests=level is None))
        new = name_of(archive.name, wanted)
        same = new.version == before.name.version
        renaming = Renaming.none(before.folder) if same else Renaming.to(before.folder, new)
        left_out = _left_out(before, wanted.exclude)
        kept = [member for name, member in archive.by_name.items() if name not in {*left_out, *before.made_anew}]
        billed = wanted.sbom or before.own(sbom.FILE) in archive.by_name
        known = _modules(before, kept) if wanted.strip_debug or billed or left_out else []
        _keep_promised_code(before, known, left_out)
        stripped = _stripped(archive, known, Path(temporary)) if wanted.strip_debug else {}
        texts = _rewritten(before, kept, new, wanted.stamps)
        says_old = [] if same else _says_old(before, kept, texts)
        late = None
        if billed:
            kept = [member for member in kept if member.name != before.own(sbom.FILE)]
            metadata = texts.get(before.own("METADATA")) or before.subject.info("METADATA") or b""
            late = sbom.bill_item(
                new,
                renaming.after,
                metadata,
                {renaming.moved(one.member.name): one for one in known},
                before.subject.stamp,
            )
        items = [
            _item(before, member, renaming=renaming, texts=texts, stripped=stripped, level=level) for member in kept
        ]
        info = f"{renaming.after}/"
        items.sort(key=lambda item: (item.name.startswith(info), item.name))
        path = write_wheel(
            out_dir / new.text, items, record=f"{info}RECORD",
            level=compression.DEFAULT_LEVEL if level is None else level, large=large,
            late=late,
        )  # fmt: skip
        return RepackRecord(
            wheel=new.text, bytes=path.stat().st_size, sha256=file_digest(path), from_wheel=wheel.name,
            from_bytes=archive.source.size, level=level, tool=compression.tool(), excluded=left_out,
            stripped=[StrippedLibrary(name=n, before=s.before, after=s.size) for n, s in sorted(stripped.items())],
            rewritten=sorted(texts), says_old=says_old, sbom=f"{info}{sbom.FILE}" if billed else None,
        )  # fmt: skip


def name_of(wheel: str, changes: Changes) -> WheelName:
    """What a wheel of this file name is called afterwards. Raises `UsageError`."""
    new = with_version(WheelName.parse(wheel), changes.version, changes.label)
    return new if changes.platform is None else with_platform(new, changes.platform)


class _Before:
    """The wheel as it comes, found sound."""

    def __init__(self, archive: Archive, subject: Subject) -> None:
        self.archive = archive
        self.subject = subject
        self.name = WheelName.parse(archive.name)
        self.folder = archive.dist_info
        self.made_anew = {self.own(file) for file in ("RECORD", *SIGNATURES)}
        lines = read_record(archive.read(archive.by_name[self.own("RECORD")]))
        self.promised = {
            line.name: line.digest.rstrip("=") for line in lines if line.digest.startswith("sha256=")
        }  # by member name; what RECORD has other digests of was looked at before

    def own(self, file: str) -> str:
        """A file of the dist-info folder."""
        return f"{self.folder}/{file}"


def _sound(archive: Archive, *, digests: bool) -> Subject:
    """Raises `VerificationError` with all that forbids a new RECORD. Without ``digests`` the writer compares."""
    members = archive.by_name.values()
    contents = examine(archive, members, digests=True) if digests else [Contents(member) for member in members]
    subject = subject_of(archive, WheelName.parse(archive.name), contents, Expected())
    wrong = [
        f"{found.member}: {found.what}" if found.member else found.what
        for check in (check_members, check_record)
        for found in check(subject)
        if found.severity == "error" and found.kind not in ("elf-unreadable", "fat-binary-unreadable")
    ]
    if subject.folder is None:
        wrong.append(f"{len(archive.dist_infos)} dist-info folders, where one is expected")
    else:
        needed = ("METADATA", "WHEEL")
        wrong += [f"it has no {file}" for file in needed if f"{subject.folder}/{file}" not in archive.by_name]
    if wrong:
        raise VerificationError(
            "cannot be repacked:\n  " + "\n  ".join(wrong), where=archive.name, help="build or fetch it again"
        )
    return subject


def matching(names: Iterable[str], glob: str) -> set[str]:
    """The names that a glob, or the name of a folder, fits."""
    folder = glob.rstrip("/") + "/*"
    return {name for name in names if fnmatch.fnmatchcase(name, glob) or fnmatch.fnmatchcase(name, folder)}


def _left_out(before: _Before, globs: Iterable[str]) -> list[str]:
    """Members to leave out, sorted. Raises `UsageError` for a glob that fits none, or one that every wheel needs."""
    found: set[str] = set()
    wrong: list[str] = []
    for glob in globs:
        names = matching(before.archive.by_name, glob)
        names -= {name for name in names if "*" in glob and name.startswith(f"{before.folder}/")}
        if not names:
            wrong.append(f"nothing in the wheel fits '{glob}'")
        elif any(name.startswith(f"{before.folder}/") for name in names):
            wrong.append(f"'{glob}' takes from {before.folder}, which makes the wheel what it is")
        found |= names
    info = [name for name in before.archive.by_name if name.startswith(f"{before.folder}/")]
    if found and len(found) + len(info) == len(before.archive.by_name):
        wrong.append("nothing but its metadata would be left")
    if wrong:
        raise UsageError(
            "\n  ".join(wrong), where=before.archive.name, help="`fatwheel inventory` or unzip -l shows names"
        )
    return sorted(found)


def _modules(before: _Before, kept: list[Member]) -> list[Contents]:
    """Libraries, programs and device code among what stays. Raises `VerificationError` for what cannot be read."""
    contents = examine(before.archive, kept, digests=False)
    broken = [f"{one.member.name}: {one.fault.what}" for one in contents if one.fault]
    if broken:
        raise VerificationError("\n  ".join(broken), where=before.archive.name, help="build or fetch it again")
    return [one for one in contents if one.is_module]


def _keep_promised_code(before: _Before, known: list[Contents], left_out: list[str]) -> None:
    """Raises `UsageError` where the last code for a target leaves that the wheel is stamped with."""
    stamp = before.subject.stamp
    if not left_out or stamp is None or stamp.slice is not None or stamp.placeholder:
        return
    lost = wanted_code(stamp.targets) - set(held_code(known))
    if lost:
        shown = ", ".join(f"{kind} for {target}" for target, kind in sorted(lost))
        raise UsageError(
            f"without {', '.join(left_out)} there is no {shown}, which its stamp promises",
            where=before.archive.name,
            help="keep some of it, or split the wheel by family or target",
        )


def _stripped(archive: Archive, known: list[Contents], folder: Path) -> dict[str, Stripped]:
    """Libraries with debug information, without it, by member name; several at a time."""
    full = [one for one in known if has_debug(one)]
    programs = {one.elf.architecture: find_strip(one.elf.architecture) for one in full if one.elf}
    with ThreadPoolExecutor(compression.workers()) as pool:
        jobs = {
            one.member.name: pool.submit(strip_debug, archive, one, folder, programs[one.elf.architecture])
            for one in full
            if one.elf
        }
        try:
            return {name: job.result() for name, job in jobs.items()}
        finally:
            pool.shutdown(cancel_futures=True)


def _rewritten(before: _Before, kept: list[Member], new: WheelName, stamps: Iterable[str]) -> dict[str, bytes]:
    """Members with other contents: METADATA, fatwheel.json, and what repeats the version."""
    archive, stamp, version = before.archive, before.subject.stamp, str(new.version)
    texts: dict[str, bytes] = {}
    if new.tags != before.name.tags:
        texts[before.own("WHEEL")] = wheel_file_as(before.subject.info("WHEEL") or b"", new)
    if new.version != before.name.version:
        said = before.subject.metadata["Name"] if before.subject.metadata else None
        texts[before.own("METADATA")] = metadata_as(archive, str(said or new.distribution), version)
        if stamp is not None:
            texts[before.own(STAMP)] = stamp.model_copy(update={"version": version}).to_json().encode()
    for glob in stamps:
        names = [one for one in kept if fnmatch.fnmatchcase(one.name, glob) and _is_text(before, one)]
        if not names:
            raise UsageError(f"no text in the wheel fits '{glob}'", where=archive.name, help="mend --stamp")
        for member in names:
            old = archive.read(member)
            text = saying(old.decode("utf-8", "surrogateescape"), version).encode("utf-8", "surrogateescape")
            if text != old:
                texts[member.name] = text
    return texts


def _is_text(before: _Before, member: Member) -> bool:
    """Whether a member may repeat the version: text, and not of the dist-info folder, which has versions of its own."""
    return not member.name.startswith(f"{before.folder}/") and b"\0" not in before.archive.head(member, 256)


def _says_old(before: _Before, kept: list[Member], texts: Mapping[str, bytes]) -> list[str]:
    """Text files that still hold the version that the wheel had."""
    old = re.compile(rf"(?<![\w.+]){re.escape(str(before.name.version))}(?![\w+]|\.\d)".encode())
    return sorted(
        one.name
        for one in kept
        if one.size <= _TEXT
        and not one.name.endswith(_NO_TEXT)
        and not one.name.startswith(f"{before.folder}/")
        and old.search(texts.get(one.name) or before.archive.read(one))
    )


def _item(
    before: _Before,
    member: Member,
    *,
    renaming: Renaming,
    texts: Mapping[str, bytes],
    stripped: Mapping[str, Stripped],
    level: int | None,
) -> Item | Copied:
    name, old = renaming.moved(member.name), member.name
    executable = bool(member.mode & 0o100)
    if old in texts:
        return replace(of_bytes(name, texts[old]), executable=executable)
    if old in stripped:
        return replace(of_file(name, stripped[old].path), executable=executable)
    if level is None:
        return Copied(before.archive, member, before.subject.contents[old].sha256, name)
    return of_member(before.archive, member, name, before.promised.get(old, ""))
