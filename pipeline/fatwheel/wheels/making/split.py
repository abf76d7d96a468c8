"""Splitting: a wheel with code for many targets becomes wheels with some of them each; nothing is compiled again."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.base import atomic_file
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.records.split import SplitPart
from fatwheel.targets import Capability, Target, dotted, runs
from fatwheel.wheels.checks.expected import Expected
from fatwheel.wheels.checks.record import check_record
from fatwheel.wheels.checks.subject import subject_of
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.formats.fatbin import Entry
from fatwheel.wheels.formats.names import WheelName
from fatwheel.wheels.io.compression import DEFAULT_LEVEL, PIECE
from fatwheel.wheels.io.sources import BLOCK, Source
from fatwheel.wheels.making import sbom
from fatwheel.wheels.making.fatbin_filter import thin
from fatwheel.wheels.making.pack import SIGNATURES
from fatwheel.wheels.making.renaming import Renaming, metadata_as
from fatwheel.wheels.making.sbom import bill_item
from fatwheel.wheels.making.writer import Copied, Item, of_bytes, write_wheel
from fatwheel.wheels.reading.archive import Archive, Member
from fatwheel.wheels.reading.contents import Contents, examine
from fatwheel.wheels.reading.read_embedded import stamp_of

Empty = Literal["keep", "drop"]
"""What becomes of a library all of whose device code belongs to other wheels."""

Rewrite = Callable[[list[str], Callable[[str], bytes]], Mapping[str, bytes]]
"""Member names, and how to read one -> the members that get other contents."""


@dataclass(frozen=True)
class Part:
    """One wheel to make. ``stamp`` says its distribution, version, targets and what they cover; ``cell`` is its id."""

    cell: str
    wheel: str  # file name
    stamp: EmbeddedMetadata
    rewrite: Rewrite = lambda names, read: {}  # noqa: ARG005  (nothing to rewrite)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(self.stamp.targets)

    def keeps(self, entry: Entry) -> bool:
        """Whether an entry belongs to this wheel."""
        ptx = entry.code == "ptx"
        return any(t.code == entry.target and (t.has_ptx if ptx else t.has_sass) for t in self.targets)


def split(
    wheel: Path,
    parts: list[Part],
    out_dir: Path,
    *,
    empty: Empty = "keep",
    only: str | None = None,
    level: int = DEFAULT_LEVEL,
) -> Iterator[SplitPart]:
    """Write the parts of ``wheel`` to ``out_dir``, one after the other; each is there whole, or not at all.

    ``parts`` are all that it is divided into; ``only``, a glob over their cells, says which are written.

    A part that takes everything, and has the wheel's own name and stamp, is a copy to the byte: splitting again changes
    nothing. Raises `UsageError` for parts that do not fit the wheel, and `VerificationError`, before anything is
    written, with every reason why the wheel cannot be split safely.
    """
    with Archive.open(wheel) as archive:
        name = WheelName.parse(wheel.name)
        _refuse_redistributables(name)
        every = examine(archive, archive.by_name.values(), digests=True)
        contents = [one for one in every if one.member.name not in _made_anew(archive)]
        reasons = _faults(contents) or [*_strays(contents, parts), *_losses(contents, parts)]
        reasons += _unrecorded(archive, name, every)
        if reasons:
            raise VerificationError(
                "cannot be split:\n  " + "\n  ".join(reasons), where=wheel.name, help="build its parts apart"
            )
        for part in parts:
            _check_tags(name, part)
        chosen = [part for part in parts if only is None or fnmatch.fnmatchcase(part.cell, only)]
        if not chosen:
            raise UsageError(f"no cell matches '{only}'", help=f"there are: {', '.join(p.cell for p in parts)}")
        for part in chosen:
            yield _written(archive, contents, part, out_dir, empty=empty, level=level)


def _made_anew(archive: Archive) -> set[str]:
    return {f"{archive.dist_info}/{file}" for file in ("RECORD", STAMP, "METADATA", sbom.FILE, *SIGNATURES)}


def _refuse_redistributables(name: WheelName) -> None:
    if name.distribution.startswith("nvidia-"):
        raise UsageError(
            "NVIDIA's own libraries are not split: their licence forbids changing them, and they keep device code "
            "outside fat binaries",
            where=name.text,
            help="require the distribution as it is",
        )


def _check_tags(name: WheelName, part: Part) -> None:
    wanted = WheelName.parse(part.wheel)
    if wanted.build != name.build:
        raise UsageError("it has a build number", where=name.text, help="build it without one, as cells have none")
    if wanted.tags != name.tags:
        raise UsageError(
            f"its tags are {name.tag_text}, and those of {part.cell} {wanted.tag_text}",
            where=name.text,
            help="make `tag` and `manylinux` of the package what the wheel was built for",
        )


def _faults(contents: list[Contents]) -> list[str]:
    broken = [f"{one.member.name}: {one.fault.what}" for one in contents if one.fault]
    linked = [
        f"{one.member.name} holds code for the linker, of which nothing says what needs it"
        for one in contents
        if any(entry.code == "other" for entry in one.entries)
    ]
    return broken + linked


def _unrecorded(archive: Archive, name: WheelName, contents: list[Contents]) -> list[str]:
    """What is not as RECORD says, which the parts' own RECORD would hide."""
    found = check_record(subject_of(archive, name, contents, Expected()))
    return [f"{one.member}: {one.what}" if one.member else one.what for one in found if one.severity == "error"]


def _strays(contents: list[Contents], parts: list[Part]) -> list[str]:
    """Machine code that no part takes, and targets of parts that the wheel has no code for."""
    held: dict[Target, str] = {}
    for one in contents:
        for entry in one.entries:
            if entry.code == "sass":
                held.setdefault(entry.target, one.member.name)
    if not held:
        return ["it holds no machine code"]
    lost = [
        f"it holds code for {target} ({member}), which no cell takes"
        for target, member in sorted(held.items())
        if not any(target == t.code and t.has_sass for part in parts for t in part.targets)
    ]
    missing = [
        f"{part.cell} wants code for {target}, and no library in it has any"
        for part in parts
        for target in part.targets
        if target.has_sass and target.code not in held
    ]
    return lost + missing


def _losses(contents: list[Contents], parts: list[Part]) -> list[str]:
    """Capabilities that a library serves now, from PTX that would leave, and would not serve any more."""
    found = []
    for one in contents:
        for part in parts if one.entries else ():
            release = part.stamp.toolkit or ""
            kept = [entry for entry in one.entries if part.keeps(entry)]
            if not kept:
                continue  # a library without code is dropped or emptied as a whole, and that is said
            lost = [
                capability
                for capability in part.stamp.covers
                if _served(one.entries, capability, release) and not _served(kept, capability, release)
            ]
            if lost:
                found.append(f"{one.member.name} serves {dotted(lost)} from PTX that {part.cell} does not take")
    return found


def _served(entries: tuple[Entry, ...] | list[Entry], capability: Capability, release: str) -> bool:
    return any(
        runs(replace(entry.target, kind="virtual" if entry.code == "ptx" else "real"), capability, release)
        for entry in entries
    )


def _written(
    archive: Archive, contents: list[Contents], part: Part, out_dir: Path, *, empty: Empty, level: int
) -> SplitPart:
    path = out_dir / part.wheel
    thinned: list[str] = []
    emptied: list[str] = []
    dropped: list[str] = []
    items: list[Item | Copied] = []
    modules: dict[str, Contents] = {}
    folder, new = archive.dist_info, WheelName.parse(part.wheel)
    renaming = Renaming.to(folder, new)
    read = {one.member.name: one.member for one in contents}
    rewritten = part.rewrite(list(read), lambda name: archive.read(read[name]))
    for one in contents:
        kept = [entry for entry in one.entries if part.keeps(entry)]
        target = renaming.moved(one.member.name)
        if one.entries and not kept:
            (dropped if empty == "drop" else emptied).append(one.member.name)
            if empty == "drop":
                continue
        if one.is_module:
            modules[target] = replace(one, entries=tuple(kept))
        if one.member.name in rewritten:
            items.append(of_bytes(target, rewritten[one.member.name]))
        elif len(kept) == len(one.entries):
            items.append(Copied(archive, one.member, one.sha256, target))
        else:
            if kept:
                thinned.append(one.member.name)
            items.append(_thinned(archive, one.member, target, part))
    done = SplitPart(
        cell=part.cell, wheel=part.wheel, bytes=0, targets=part.stamp.targets,
        thinned=sorted(thinned), emptied=sorted(emptied), dropped=sorted(dropped),
    )  # fmt: skip
    metadata = metadata_as(archive, part.stamp.distribution, part.stamp.version)
    if part.wheel == archive.name and not (thinned or dropped or rewritten) and stamp_of(archive) == part.stamp:
        _copy(archive.source, path)
        return done.model_copy(update={"bytes": path.stat().st_size, "emptied": []})
    items += [
        of_bytes(f"{new.dist_info}/METADATA", metadata),
        of_bytes(f"{new.dist_info}/{STAMP}", part.stamp.to_json().encode()),
    ]
    items.sort(key=lambda item: (item.name.startswith(f"{new.dist_info}/"), item.name))
    late = (
        bill_item(new, new.dist_info, metadata, modules, part.stamp)
        if f"{folder}/{sbom.FILE}" in archive.by_name
        else None
    )
    write_wheel(path, items, record=f"{new.dist_info}/RECORD", level=level, late=late)
    return done.model_copy(update={"bytes": path.stat().st_size})


def _thinned(archive: Archive, member: Member, name: str, part: Part) -> Item:
    """A library with the entries of one part, made when its turn comes."""

    def pieces() -> Iterator[bytes]:
        with archive.contents(member) as source:
            data = bytearray(source.size)
            for start in range(0, source.size, BLOCK):
                data[start : start + BLOCK] = source.read(start, min(BLOCK, source.size - start))
            if data[:4] == fatbin.MAGIC:
                containers = tuple(fatbin.read_containers(source))
            else:
                containers = fatbin.read_code(source, elf.read_elf(source))
            thin(data, containers, part.keeps)
        view = memoryview(data)
        yield from (bytes(view[start : start + PIECE]) for start in range(0, len(view), PIECE))

    return Item(name, member.size, pieces, bool(member.mode & 0o100))


def _copy(source: Source, path: Path) -> None:
    with atomic_file(path) as file:
        for start in range(0, source.size, BLOCK):
            file.write(source.read(start, min(BLOCK, source.size - start)))
