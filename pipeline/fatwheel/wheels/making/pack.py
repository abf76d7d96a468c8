"""Packing: a folder laid out as site-packages becomes a wheel; a wheel that a project built gains fatwheel's stamp."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.wheels.formats.metadata import Fields, write_metadata, write_wheel_file
from fatwheel.wheels.formats.names import WheelName
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from fatwheel.wheels.making.placeholder import placeholder
from fatwheel.wheels.making.writer import Copied, Item, of_bytes, of_file, write_wheel
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import examine

__all__ = ["SIGNATURES", "STAMP", "pack", "placeholder", "stamp_wheel"]

SIGNATURES = ("RECORD.jws", "RECORD.p7s")  # of a RECORD that is no more


def pack(
    tree: Path,
    out_dir: Path,
    *,
    distribution: str,
    version: str,
    tags: str,
    metadata: Fields | None = None,
    stamp: EmbeddedMetadata | None = None,
    licenses: Sequence[Path] = (),
    level: int = DEFAULT_LEVEL,
    empty: bool = False,
) -> Path:
    """Pack ``tree`` (the wheel's root, without a dist-info folder) into a wheel in ``out_dir``, and return its path.

    ``version`` is with the local label, ``tags`` is like ``cp39-abi3-manylinux_2_28_x86_64``, ``metadata`` as for
    `metadata.write_metadata`, ``level`` is 0 (store) to 12. Equal trees give equal bytes: members are sorted, dated
    ``SOURCE_DATE_EPOCH`` (else 1980-01-01), and keep only their executable bit. ``__pycache__`` folders stay out.
    With ``empty`` a tree may hold nothing: the wheel is its metadata.
    Raises `UsageError` for what cannot be a wheel, naming every such file.
    """
    name = WheelName.of(distribution, version, tags)
    if stamp:
        _check_stamp(stamp, name)
    body = [of_file(member, path) for member, path in _files(tree)]
    if not body and not empty:
        raise UsageError("nothing to pack", where=str(tree), help="have the build command fill this folder")
    info: dict[str, Item] = {}
    files = _license_files(licenses)
    for file, path in files.items():
        info[f"licenses/{file}"] = of_file(f"{name.dist_info}/licenses/{file}", path)
    texts = {
        "METADATA": write_metadata(name, distribution, metadata or {}, tuple(files)),
        "WHEEL": write_wheel_file(name),
        **({STAMP: stamp.to_json().encode()} if stamp else {}),
    }
    for file, data in texts.items():
        info[file] = of_bytes(f"{name.dist_info}/{file}", data)
    items = [*body, *(info[file] for file in sorted(info))]
    return write_wheel(out_dir / name.text, items, record=f"{name.dist_info}/RECORD", level=level)


def stamp_wheel(
    wheel: Path,
    out_dir: Path,
    stamp: EmbeddedMetadata,
    *,
    replaced: Mapping[str, bytes] | None = None,
    level: int = DEFAULT_LEVEL,
) -> Path:
    """Write a wheel that some other tool built to ``out_dir`` under the same name, with ``stamp`` in it.

    ``replaced`` members get these contents; the others keep their compressed bytes. Order, dates and RECORD are made
    anew as `pack` makes them. ``out_dir`` may be the folder that the wheel is in. Raises `UsageError` when the stamp is
    for another wheel, `VerificationError` when the wheel cannot be read.
    """
    name = WheelName.parse(wheel.name)
    _check_stamp(stamp, name)
    with Archive.open(wheel) as archive:
        folder = archive.dist_info
        made_anew = {f"{folder}/{file}" for file in ("RECORD", STAMP, *SIGNATURES)} | set(replaced or ())
        members = [member for member in archive.by_name.values() if member.name not in made_anew]
        contents = examine(archive, members, digests=True)
        broken = [f"{one.member.name}: {one.fault.what}" for one in contents if one.fault and not one.sha256]
        if broken:
            raise VerificationError("\n  ".join(broken), where=wheel.name, help="build it again")
        items: list[Item | Copied] = [Copied(archive, one.member, one.sha256) for one in contents]
        items.append(of_bytes(f"{folder}/{STAMP}", stamp.to_json().encode()))
        items += [of_bytes(name, data) for name, data in (replaced or {}).items()]
        items.sort(key=lambda item: (item.name.startswith(f"{folder}/"), item.name))
        return write_wheel(out_dir / wheel.name, items, record=f"{folder}/RECORD", level=level)


def _check_stamp(stamp: EmbeddedMetadata, name: WheelName) -> None:
    same = canonicalize_name(stamp.distribution) == name.distribution and Version(stamp.version) == name.version
    if not same:
        raise UsageError(f"the stamp is for {stamp.distribution} {stamp.version}", where=name.text)


def _files(tree: Path) -> list[tuple[str, Path]]:
    """Member names and paths, sorted by name. Raises `UsageError` naming all that a wheel cannot hold."""
    if not tree.is_dir():
        raise UsageError("not a folder", where=str(tree))
    wrong: list[str] = []
    found: list[tuple[str, Path]] = []
    for path in _walk(tree):
        member = path.relative_to(tree).as_posix()
        reason = _unfit(member, path)
        if reason:
            wrong.append(f"{member!r} ({reason})")
        else:
            found.append((member, path))
    if wrong:
        raise UsageError(
            f"the tree holds what a wheel cannot: {', '.join(sorted(wrong))}",
            where=str(tree),
            help="have the build command leave plain files only, laid out as in site-packages",
        )
    return sorted(found)


def _walk(tree: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(tree):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name != "__pycache__" and name not in links]
        yield from (here / name for name in (*files, *links))


def _unfit(member: str, path: Path) -> str | None:
    top = member.split("/", maxsplit=1)[0]
    if path.is_symlink():
        return "a symbolic link"
    if not path.is_file():
        return "not a file"
    if top.endswith(".dist-info") and "/" in member:
        return "in a dist-info folder, which fatwheel writes itself"
    if "\\" in member or any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in member):
        return "a name that does not install everywhere"
    return None


def _license_files(licenses: Sequence[Path]) -> dict[str, Path]:
    files = {path.name: path for path in licenses}
    if len(files) < len(licenses):
        raise UsageError("two licence files have the same name", help="rename one")
    missing = [str(path) for path in licenses if not path.is_file()]
    if missing:
        raise UsageError(f"no such licence file: {', '.join(missing)}")
    return files
