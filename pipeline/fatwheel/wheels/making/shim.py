"""Shims: a wheel of metadata alone, which requires its providers exactly and has an extra for each target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from packaging.utils import canonicalize_name
from packaging.version import Version
from pydantic import ValidationError

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.records.shim_requirements import Provider, behind, requirements
from fatwheel.wheels.formats.metadata import Fields, read_headers
from fatwheel.wheels.formats.names import WheelName, architecture
from fatwheel.wheels.making.pack import pack
from fatwheel.wheels.reading.archive import Archive

_SHARED = ("License-Expression", "Requires-Python", "Author", "Author-email", "Project-URL")
_TARGET = re.compile(r"sm[0-9]{2,3}[af]?")


def write_shim(
    wheels: Iterable[Path],
    out_dir: Path,
    *,
    name: str,
    plain: Literal["all", "extras"] = "all",
    summary: str = "",
    tags: str = "py3-none-any",
) -> tuple[Path, dict[str, str]]:
    """Write the shim ``name`` of these providers' wheels; its path, and what each extra requires.

    ``plain`` says what an install without an extra brings: all providers, or none. The version is theirs, and so is
    the metadata that they agree on. Raises `UsageError`, naming all, for wheels that no shim can require together.
    """
    seen = [_read(wheel) for wheel in wheels]
    _check(seen, name, together=plain == "all")
    wanted = requirements([one.provider for one in seen])
    stamps = [one.stamp for one in seen if one.stamp]
    version = seen[0].provider.version
    stamp = None
    if len(stamps) == len(seen):
        stamp = EmbeddedMetadata(
            distribution=name, version=version, cuda=_same(s.cuda for s in stamps), arch=None, family=None,
            toolkit=_same(s.toolkit for s in stamps), targets=[], covers=[], commit=_same(s.commit for s in stamps),
        )  # fmt: skip
    metadata = _agreed([one.metadata for one in seen]) | {
        "Summary": summary,
        "Requires-Dist": [*(wanted.values() if plain == "all" else ()), *(behind(e, r) for e, r in wanted.items())],
        "Provides-Extra": list(wanted),
    }
    fields: Fields = {field: value for field, value in metadata.items() if value}
    with TemporaryDirectory() as nothing:
        path = pack(
            Path(nothing), out_dir, distribution=name, version=version, tags=tags, metadata=fields, stamp=stamp,
            empty=True,
        )  # fmt: skip
    return path, wanted


@dataclass(frozen=True)
class _Seen:
    wheel: str
    provider: Provider
    stamp: EmbeddedMetadata | None
    metadata: Message
    files: dict[str, tuple[int, int]]  # outside of its dist-info: checksum and size


def _read(wheel: Path) -> _Seen:
    name = WheelName.parse(wheel.name)
    with Archive.open(wheel) as archive:
        text = archive.by_name.get(f"{archive.dist_info}/METADATA")
        if text is None:
            raise VerificationError("it has no METADATA", where=wheel.name, help="build it again")
        metadata = read_headers(archive.read(text))
        info = f"{archive.dist_info}/"
        files = {n: (m.crc, m.size) for n, m in archive.by_name.items() if not n.startswith(info)}
        member = archive.by_name.get(f"{archive.dist_info}/{STAMP}")
        try:
            stamp = EmbeddedMetadata.model_validate_json(archive.read(member)) if member else None
        except ValidationError:
            raise UsageError("its fatwheel.json is none of fatwheel's", where=wheel.name) from None
    said = stamp.family if stamp and stamp.family else name.distribution.rpartition("-")[2]
    if not _TARGET.fullmatch(said):
        raise UsageError(
            "nothing says which target it is for", where=wheel.name,
            help="name its distribution like mykernels-sm90a, or have fatwheel build it with `layout: provider`",
        )  # fmt: skip
    arches = {arch for platform in name.platforms if (arch := architecture(platform))}
    # A free-threaded Python has the version of the other one, and a marker tells them apart no more than that.
    pythons = {found[1] for tag in name.tags if (found := re.fullmatch(r"cp3(\d+)t?", tag.abi))}
    machine = (arches.pop() if len(arches) == 1 else "", f"3.{pythons.pop()}" if len(pythons) == 1 else "")
    provider = Provider(said, name.distribution, str(name.version), machine)
    return _Seen(wheel.name, provider, stamp, metadata, files)


def _check(seen: list[_Seen], name: str, *, together: bool) -> None:
    wrong = [f"{one.wheel} is {name} itself" for one in seen if one.provider.distribution == canonicalize_name(name)]
    if len({Version(one.provider.version) for one in seen}) > 1:
        wrong += [f"{one.wheel} is {one.provider.version}" for one in seen]
    names: dict[str, str] = {}
    for one in seen:
        first = names.setdefault(one.provider.extra, one.provider.distribution)
        if first != one.provider.distribution:
            wrong.append(f"{one.wheel} is for {one.provider.extra}, and so is {first}")
    wrong += _clashes(seen) if together else []
    if wrong:
        raise UsageError(
            "one shim cannot require all of them:\n  " + "\n  ".join(wrong),
            help="give the providers of one version, one for each target, with folders of their own; wheels of "
            "several CPUs may come together",
        )


def _clashes(seen: list[_Seen]) -> list[str]:
    """Files that two providers would install over each other, one for each pair."""
    found = []
    for at, one in enumerate(seen):
        for other in seen[:at]:
            apart = {one.provider.machine[0], other.provider.machine[0]}
            if one.provider.distribution == other.provider.distribution or ("" not in apart and len(apart) > 1):
                continue
            same = sorted(n for n in one.files.keys() & other.files.keys() if one.files[n] != other.files[n])
            if same:
                more = f" and {len(same) - 1} more" if len(same) > 1 else ""
                found.append(f"{one.wheel} and {other.wheel} both install {same[0]}{more}, with other contents")
    return found


def _agreed(metadata: list[Message]) -> dict[str, str | list[str]]:
    """Fields that say the same in all."""
    found: dict[str, str | list[str]] = {}
    for field in _SHARED:
        values = [[" ".join(str(text).split()) for text in one.get_all(field, [])] for one in metadata]
        if values[0] and all(one == values[0] for one in values):
            found[field] = values[0] if field == "Project-URL" else values[0][0]
    return found


def _same(values: Iterable[str | None]) -> str | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None
