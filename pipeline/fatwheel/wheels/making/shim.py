"""Shims: metadata-only wheels that pin their provider wheels exactly, with an extra for each target."""

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

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.shim_requirements import Provider, requirements, restrict_to_extra
from fatwheel.wheels.formats.metadata import Fields, read_headers
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture
from fatwheel.wheels.making.pack import pack
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import read_embedded

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
    """Write the shim ``name`` for these provider wheels. Return its path, and the requirement of each extra.

    ``plain`` is what an install without an extra requires: all providers, or none. The shim takes its version from the
    providers, and the metadata that they have in common. Raises `UsageError` with every reason why one shim cannot
    require them all, `VerificationError` for a provider that cannot be read.
    """
    seen = [_read_provider(wheel) for wheel in wheels]
    _check(seen, name, together=plain == "all")
    extras = requirements([one.provider for one in seen])
    found = [one.embedded for one in seen if one.embedded]
    version = seen[0].provider.version
    embedded = None
    if len(found) == len(seen):
        embedded = EmbeddedMetadata(
            distribution=name, version=version, cuda=_find_common_value(one.cuda for one in found), arch=None,
            family=None, toolkit=_find_common_value(one.toolkit for one in found), targets=[], covers=[],
            commit=_find_common_value(one.commit for one in found),
        )  # fmt: skip
    metadata = _find_common_fields([one.metadata for one in seen]) | {
        "Summary": summary,
        "Requires-Dist": [
            *(extras.values() if plain == "all" else ()),
            *(restrict_to_extra(e, r) for e, r in extras.items()),
        ],
        "Provides-Extra": list(extras),
    }
    fields: Fields = {field: value for field, value in metadata.items() if value}
    with TemporaryDirectory() as nothing:
        path = pack(
            Path(nothing), out_dir, distribution=name, version=version, tags=tags, metadata=fields, embedded=embedded,
            empty=True,
        )  # fmt: skip
    return path, extras


@dataclass(frozen=True)
class _ReadProvider:
    wheel: str
    provider: Provider
    embedded: EmbeddedMetadata | None
    metadata: Message
    files: dict[str, tuple[int, int]]  # checksum (CRC-32) and size in bytes, without the dist-info folder


def _read_provider(wheel: Path) -> _ReadProvider:
    name = WheelName.parse(wheel.name)
    with Archive.open(wheel) as archive:
        text = archive.by_name.get(f"{archive.dist_info}/METADATA")
        if text is None:
            raise VerificationError("METADATA not found in the wheel", where=wheel.name, help="build it again")
        metadata = read_headers(archive.read(text))
        info = f"{archive.dist_info}/"
        files = {n: (m.crc, m.size) for n, m in archive.by_name.items() if not n.startswith(info)}
        embedded = read_embedded(archive, invalid="raise")
    extra = embedded.family if embedded and embedded.family else name.distribution.rpartition("-")[2]
    if not _TARGET.fullmatch(extra):
        raise UsageError(
            "unknown GPU target", where=wheel.name,
            help="name the distribution like mykernels-sm90a, or build it with fatwheel and `layout: provider`",
        )  # fmt: skip
    arches = {arch for platform in name.platforms if (arch := parse_architecture(platform))}
    # A free-threaded Python has the same version as the default one, and markers cannot distinguish them.
    pythons = {found[1] for tag in name.tags if (found := re.fullmatch(r"cp3(\d+)t?", tag.abi))}
    machine = (arches.pop() if len(arches) == 1 else "", f"3.{pythons.pop()}" if len(pythons) == 1 else "")
    provider = Provider(extra, name.distribution, str(name.version), machine)
    return _ReadProvider(wheel.name, provider, embedded, metadata, files)


def _check(seen: list[_ReadProvider], name: str, *, together: bool) -> None:
    reasons = [f"{one.wheel} is {name} itself" for one in seen if one.provider.distribution == canonicalize_name(name)]
    if len({Version(one.provider.version) for one in seen}) > 1:
        reasons += [f"{one.wheel} has version {one.provider.version}" for one in seen]
    names: dict[str, str] = {}
    for one in seen:
        first = names.setdefault(one.provider.extra, one.provider.distribution)
        if first != one.provider.distribution:
            reasons.append(f"{one.wheel} is for {one.provider.extra}, and so is {first}")
    reasons += _find_clashes(seen) if together else []
    if reasons:
        raise UsageError(
            "one shim cannot require all of these wheels:\n  " + "\n  ".join(reasons),
            help="pass providers of one version, one for each target and CPU, that install different files",
        )


def _find_clashes(seen: list[_ReadProvider]) -> list[str]:
    """Files that two providers would both install with different contents, one for each pair of providers."""
    found = []
    for at, one in enumerate(seen):
        for other in seen[:at]:
            apart = {one.provider.machine[0], other.provider.machine[0]}
            if one.provider.distribution == other.provider.distribution or ("" not in apart and len(apart) > 1):
                continue
            same = sorted(n for n in one.files.keys() & other.files.keys() if one.files[n] != other.files[n])
            if same:
                more = f" and {len(same) - 1} more" if len(same) > 1 else ""
                found.append(f"{one.wheel} and {other.wheel} both install {same[0]}{more}, with different contents")
    return found


def _find_common_fields(metadata: list[Message]) -> dict[str, str | list[str]]:
    """Fields with the same value in all providers."""
    found: dict[str, str | list[str]] = {}
    for field in _SHARED:
        values = [[" ".join(str(text).split()) for text in one.get_all(field, [])] for one in metadata]
        if values[0] and all(one == values[0] for one in values):
            found[field] = values[0] if field == "Project-URL" else values[0][0]
    return found


def _find_common_value(values: Iterable[str | None]) -> str | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None
