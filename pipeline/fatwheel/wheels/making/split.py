"""Split wheels: one with code for many targets becomes several with some of them each, without recompiling."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fatwheel.atomic import atomic_file
from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import EMBEDDED
from fatwheel.records.split import SplitPart
from fatwheel.targets import Capability, Target, dotted, runs
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.formats.fatbin import Entry
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io.byte_sources import Source, read_blocks
from fatwheel.wheels.io.compression import DEFAULT_LEVEL, PIECE
from fatwheel.wheels.making.edition import Edition
from fatwheel.wheels.making.fatbin_filter import filter_entries
from fatwheel.wheels.making.intact import find_defects, inspect_archive
from fatwheel.wheels.making.writer import Item
from fatwheel.wheels.reading.archive import Archive, Member
from fatwheel.wheels.reading.contents import Contents
from fatwheel.wheels.reading.read_embedded import read_embedded

Empty = Literal["keep", "drop"]
"""Whether a part contains a library whose device code all belongs to other parts."""

Rewrite = Callable[[list[str], Callable[[str], bytes]], Mapping[str, bytes]]
"""Member names, and a function that reads one -> new contents of some of them."""


@dataclass(frozen=True)
class PartSpec:
    """One wheel to write. ``embedded`` has its distribution, version, targets and coverage; ``cell`` is its ID."""

    cell: str
    wheel: str  # file name
    embedded: EmbeddedMetadata
    rewrite: Rewrite = lambda names, read: {}  # noqa: ARG005  (nothing to rewrite)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(self.embedded.targets)

    def keeps(self, entry: Entry) -> bool:
        """Whether an entry belongs to this wheel."""
        ptx = entry.code == "ptx"
        return any(t.code == entry.target and (t.has_ptx if ptx else t.has_sass) for t in self.targets)


def split(
    wheel: Path,
    parts: Sequence[PartSpec],
    out_dir: Path,
    *,
    empty: Empty = "keep",
    only: str | None = None,
    level: int = DEFAULT_LEVEL,
) -> Iterator[SplitPart]:
    """Write the parts of ``wheel`` to ``out_dir``, one after another; no partial files are left.

    ``parts`` are all parts of the wheel; ``only``, a glob of cell IDs, selects those to write. A part that keeps all
    code and has the wheel's name and embedded metadata is a copy, so splitting again changes nothing. Raises
    `UsageError` for parts that do not match the wheel and, before anything is written, `VerificationError` with every
    reason why the wheel cannot be split safely.
    """
    with Archive.open(wheel) as archive:
        name = WheelName.parse(wheel.name)
        _refuse_redistributables(name)
        inspected = inspect_archive(archive)
        contents = list(inspected.contents.values())
        reasons = find_defects(inspected, code=True) + _find_linker_code(contents)
        reasons = reasons or [*_find_mismatches(contents, parts), *_find_losses(contents, parts)]
        if reasons:
            raise VerificationError(
                "cannot be split:\n  " + "\n  ".join(reasons), where=wheel.name, help="build the wheels separately"
            )
        for part in parts:
            _check_tags(name, part)
        chosen = [part for part in parts if only is None or fnmatch.fnmatchcase(part.cell, only)]
        if not chosen:
            raise UsageError(f"no cell matches '{only}'", help=f"the cells are {', '.join(p.cell for p in parts)}")
        for part in chosen:
            yield _write_part(archive, contents, part, out_dir, empty=empty, level=level)


def _refuse_redistributables(name: WheelName) -> None:
    if name.distribution.startswith("nvidia-"):
        raise UsageError(
            "NVIDIA's own libraries cannot be split: their license forbids changes, and they contain device code "
            "outside fat binaries",
            where=name.text,
            help="require the distribution as it is",
        )


def _check_tags(name: WheelName, part: PartSpec) -> None:
    expected = WheelName.parse(part.wheel)
    if expected.build != name.build:
        raise UsageError("it has a build number", where=name.text, help="build it without one; cells have none")
    if expected.tags != name.tags:
        raise UsageError(
            f"its tags are {name.tag_text}, but those of {part.cell} are {expected.tag_text}",
            where=name.text,
            help="set `tag` and `manylinux` of the package to the tags of the wheel",
        )


def _find_linker_code(contents: list[Contents]) -> list[str]:
    return [
        f"{one.member.name} contains relocatable device code, and what needs it is unknown"
        for one in contents
        if any(entry.code == "other" for entry in one.entries)
    ]


def _find_mismatches(contents: list[Contents], parts: Sequence[PartSpec]) -> list[str]:
    """Machine code that belongs to no part, and targets of parts without machine code in the wheel."""
    found: dict[Target, str] = {}
    for one in contents:
        for entry in one.entries:
            if entry.code == "sass":
                found.setdefault(entry.target, one.member.name)
    if not found:
        return ["it contains no machine code"]
    lost = [
        f"it contains code for {target} ({member}), which no cell has as a target"
        for target, member in sorted(found.items())
        if not any(target == t.code and t.has_sass for part in parts for t in part.targets)
    ]
    missing = [
        f"{part.cell} has the target {target}, for which no library contains code"
        for part in parts
        for target in part.targets
        if target.has_sass and target.code not in found
    ]
    return lost + missing


def _find_losses(contents: list[Contents], parts: Sequence[PartSpec]) -> list[str]:
    """Capabilities that a library supports through PTX that a part would not keep."""
    found = []
    for one in contents:
        for part in parts if one.entries else ():
            release = part.embedded.toolkit or ""
            kept = [entry for entry in one.entries if part.keeps(entry)]
            if not kept:
                continue  # reported as emptied or dropped
            lost = [
                capability
                for capability in part.embedded.covers
                if _runs_on(one.entries, capability, release) and not _runs_on(kept, capability, release)
            ]
            if lost:
                found.append(f"{one.member.name} runs on {dotted(lost)} through PTX that {part.cell} does not keep")
    return found


def _runs_on(entries: Sequence[Entry], capability: Capability, release: str) -> bool:
    return any(
        runs(replace(entry.target, kind="virtual" if entry.code == "ptx" else "real"), capability, release)
        for entry in entries
    )


def _write_part(
    archive: Archive, contents: list[Contents], part: PartSpec, out_dir: Path, *, empty: Empty, level: int
) -> SplitPart:
    path = out_dir / part.wheel
    edition = Edition.of(archive, contents, WheelName.parse(part.wheel), embedded=part.embedded)
    generated = {edition.own(file) for file in ("METADATA", EMBEDDED)}
    rewritten = part.rewrite([name for name in edition.kept if name not in generated], edition.read)
    edition.rewrite(rewritten)
    filtered: list[str] = []
    emptied: list[str] = []
    dropped: list[str] = []
    for name, one in list(edition.kept.items()):
        entries = tuple(entry for entry in one.entries if part.keeps(entry))
        if len(entries) == len(one.entries):
            continue
        if not entries and empty == "drop":
            dropped.append(name)
            del edition.kept[name]
            continue
        (filtered if entries else emptied).append(name)
        edition.kept[name] = replace(one, entries=entries)
        edition.libraries[name] = _filter_library(archive, one.member, part)
    unchanged = not (filtered or emptied or dropped or rewritten)
    if unchanged and part.wheel == archive.name and read_embedded(archive, invalid="ignore") == part.embedded:
        _copy(archive.source, path)
    else:
        edition.write(path, level=level)
    return SplitPart(
        cell=part.cell, wheel=part.wheel, bytes=path.stat().st_size, targets=part.embedded.targets,
        filtered=sorted(filtered), emptied=sorted(emptied), dropped=sorted(dropped),
    )  # fmt: skip


def _filter_library(archive: Archive, member: Member, part: PartSpec) -> Item:
    """A library with only the entries of one part, made when it is written."""

    def pieces() -> Iterator[bytes]:
        with archive.contents(member) as source:
            data, at = bytearray(source.size), 0
            for block in read_blocks(source):
                data[at : at + len(block)] = block
                at += len(block)
            if data[:4] == fatbin.MAGIC:
                containers = tuple(fatbin.read_containers(source))
            else:
                containers = fatbin.read_code(source, elf.read_elf(source))
            filter_entries(data, containers, part.keeps)
        view = memoryview(data)
        yield from (bytes(view[start : start + PIECE]) for start in range(0, len(view), PIECE))

    return Item(member.name, member.size, pieces)


def _copy(source: Source, path: Path) -> None:
    with atomic_file(path) as file:
        file.writelines(read_blocks(source))
