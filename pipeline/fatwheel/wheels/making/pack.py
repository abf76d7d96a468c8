"""Pack a folder laid out as site-packages into a wheel, or add fatwheel's embedded metadata to a finished wheel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.wheels.formats.metadata import Fields
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from fatwheel.wheels.making.edition import Edition, write_dist_info
from fatwheel.wheels.making.writer import item_from_bytes, item_from_file, write_wheel
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import examine


def pack(
    tree: Path,
    out_dir: Path,
    *,
    distribution: str,
    version: str,
    tags: str,
    metadata: Fields | None = None,
    embedded: EmbeddedMetadata | None = None,
    licenses: Sequence[Path] = (),
    level: int = DEFAULT_LEVEL,
    empty: bool = False,
) -> Path:
    """Pack ``tree`` (the wheel's root, without a dist-info folder) into a wheel in ``out_dir``, and return its path.

    ``version`` includes the local label, ``tags`` is like ``cp39-abi3-manylinux_2_28_x86_64``, ``metadata`` is as for
    `metadata.write_metadata`, ``level`` is 0 (store) to 12. Equal trees give equal bytes: members are sorted, dated
    ``SOURCE_DATE_EPOCH`` (else 1980-01-01), and keep only their executable bit. ``__pycache__`` folders are excluded.
    With ``empty`` the tree may contain no files; the wheel then consists of its metadata.
    Raises `UsageError` naming every file that a wheel cannot contain.
    """
    name = WheelName.of(distribution, version, tags)
    if embedded:
        _check_embedded(embedded, name)
    items = [item_from_file(member, path) for member, path in _find_files(tree)]
    if not items and not empty:
        raise UsageError("nothing to pack", where=str(tree), help="have the build command fill this folder")
    files = _check_licenses(licenses)
    items += [item_from_file(f"{name.dist_info}/licenses/{file}", path) for file, path in files.items()]
    texts = write_dist_info(name, distribution, metadata or {}, embedded=embedded, licenses=tuple(files))
    items += [item_from_bytes(member, data) for member, data in texts.items()]
    return write_wheel(out_dir / name.text, items, dist_info=name.dist_info, level=level)


def embed_metadata(
    wheel: Path,
    out_dir: Path,
    embedded: EmbeddedMetadata,
    *,
    replaced: Mapping[str, bytes] | None = None,
    level: int = DEFAULT_LEVEL,
) -> Path:
    """Write a wheel that another tool built to ``out_dir`` under the same name, with fatwheel's embedded metadata.

    ``replaced`` are members with other contents, or new ones; the others keep their compressed bytes. ``out_dir`` may
    be the wheel's own folder. Raises `UsageError` if ``embedded`` belongs to another wheel, `VerificationError` if the
    wheel cannot be read.
    """
    name = WheelName.parse(wheel.name)
    _check_embedded(embedded, name)
    with Archive.open(wheel) as archive:
        contents = examine(archive, archive.by_name.values(), digests=True)
        edition = Edition.of(archive, contents, name, embedded=embedded)
        edition.rewrite(replaced or {})
        kept = [one for member, one in edition.kept.items() if member not in edition.texts]
        unreadable = [f"{one.member.name}: {one.fault.what}" for one in kept if one.fault and not one.sha256]
        if unreadable:
            raise VerificationError("\n  ".join(unreadable), where=wheel.name, help="build it again")
        return edition.write(out_dir / wheel.name, level=level)


def _check_embedded(embedded: EmbeddedMetadata, name: WheelName) -> None:
    same = canonicalize_name(embedded.distribution) == name.distribution and Version(embedded.version) == name.version
    if not same:
        what = f"the embedded metadata is for {embedded.distribution} {embedded.version}"
        raise UsageError(what, where=name.text)


def _find_files(tree: Path) -> list[tuple[str, Path]]:
    """Member names and paths, sorted by name. Raises `UsageError` naming every file that a wheel cannot contain."""
    if not tree.is_dir():
        raise UsageError("not a folder", where=str(tree))
    invalid: list[str] = []
    found: list[tuple[str, Path]] = []
    for path in _walk(tree):
        member = path.relative_to(tree).as_posix()
        reason = _find_obstacle(member, path)
        if reason:
            invalid.append(f"{member!r} ({reason})")
        else:
            found.append((member, path))
    if invalid:
        raise UsageError(
            f"a wheel cannot contain these files: {', '.join(sorted(invalid))}",
            where=str(tree),
            help="have the build command create only regular files, laid out as in site-packages",
        )
    return sorted(found)


def _walk(tree: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(tree):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name != "__pycache__" and name not in links]
        yield from (here / name for name in (*files, *links))


def _find_obstacle(member: str, path: Path) -> str | None:
    top = member.split("/", maxsplit=1)[0]
    if path.is_symlink():
        return "a symbolic link"
    if not path.is_file():
        return "not a regular file"
    if top.endswith(".dist-info") and "/" in member:
        return "in a dist-info folder, which fatwheel writes"
    if "\\" in member or any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in member):
        return "its name cannot be installed on every system"
    return None


def _check_licenses(licenses: Sequence[Path]) -> dict[str, Path]:
    files = {path.name: path for path in licenses}
    if len(files) < len(licenses):
        raise UsageError("two license files have the same name", help="rename one")
    missing = [str(path) for path in licenses if not path.is_file()]
    if missing:
        raise UsageError(f"license file not found: {', '.join(missing)}")
    return files
