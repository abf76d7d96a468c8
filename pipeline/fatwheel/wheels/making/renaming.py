"""Another name for a wheel: what its version and distribution stand in, and how that is rewritten."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.checks.stamps import VERSION_SAID
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.names import WheelName, expanded, version_of
from fatwheel.wheels.reading.archive import Archive


@dataclass(frozen=True)
class Renaming:
    """From a dist-info folder to the one of another name. ``data`` is the new name of a folder beside it."""

    before: str  # demo-1.0.dist-info
    after: str
    data: str  # demo-2.0.data

    @classmethod
    def to(cls, before: str, new: WheelName) -> Renaming:
        """To what a wheel of this name has."""
        return cls(before, new.dist_info, f"{new.stem}.data")

    @classmethod
    def none(cls, before: str) -> Renaming:
        """Everything keeps its name."""
        return cls(before, before, f"{before.removesuffix('.dist-info')}.data")

    def moved(self, name: str) -> str:
        """A member's name in the new wheel."""
        top, slash, rest = name.partition("/")
        if not slash or self.before == self.after:
            return name
        if top == self.before:
            return f"{self.after}/{rest}"
        if top.endswith(".data") and _read(top) == _read(self.before):  # the two may be spelt differently
            return f"{self.data}/{rest}"
        return name


def _read(folder: str) -> tuple[str, Version | None]:
    """Distribution and version in the name of a dist-info or data folder."""
    distribution, _, version = folder.rpartition(".")[0].partition("-")
    return canonicalize_name(distribution), version_of(version)


def with_version(name: WheelName, version: str | None, label: str | None) -> WheelName:
    """The same wheel's name with another version, or another local label (empty: without one); build tag and tags stay.

    Raises `UsageError` for what is no version, or for two labels.
    """
    try:
        wanted = Version(version) if version is not None else name.version
        if label is not None and version is not None and wanted.local:
            raise UsageError(f"'{version}' has a label, and --label gives another", help="give one of them")
        if label is not None:
            wanted = Version(f"{wanted.public}+{label}" if label else wanted.public)
    except (InvalidVersion, ValueError):
        said = version if label is None else f"{version or name.version.public}+{label}"
        raise UsageError(f"'{said}' is not a version", help="write it like 0.6.13+cu130.sm12x") from None
    parts = name.text.split("-")
    return name if wanted == name.version else WheelName.parse("-".join([parts[0], str(wanted), *parts[2:]]))


def with_platform(name: WheelName, platform: str) -> WheelName:
    """The same wheel's name with other platform tags, joined by dots. Raises `UsageError` for what is none."""
    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", platform):
        raise UsageError(f"'{platform}' is not a platform tag", help="write it like manylinux_2_28_x86_64")
    return WheelName.parse(f"{name.text.removesuffix('.whl').rpartition('-')[0]}-{platform}.whl")


def wheel_file_as(data: bytes, name: WheelName) -> bytes:
    """WHEEL with the tags of this name, and every other line as it was."""
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    kept = [line for line in lines if line.strip() and not re.match(r"(?i)(tag|root-is-purelib)\s*:", line)]
    pure = "true" if name.is_pure else "false"
    made = [*kept, f"Root-Is-Purelib: {pure}", *(f"Tag: {tag}" for tag in expanded(name.tag_text))]
    return ("\n".join(made) + "\n").encode("utf-8", "surrogateescape")


def metadata_as(archive: Archive, distribution: str, version: str) -> bytes:
    """METADATA with this name and version, and every other byte as it was. Raises `VerificationError`."""
    member = archive.by_name.get(f"{archive.dist_info}/METADATA")
    if member is None:
        raise VerificationError("it has no METADATA", where=archive.name, help="build it again")
    data = archive.read(member)
    head, blank, body = data.partition(b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n")
    for field, value in (("Name", distribution), ("Version", version)):
        said = read_headers(data)[field]
        same = said is not None and str(said) == value
        pattern = rf"(?im)^({field}:[ \t]*)[^\r\n]*".encode()
        head = head if same else re.sub(pattern, rb"\g<1>" + value.encode(), head, count=1)
    return head + blank + body


def saying(text: str, version: str) -> str:
    """A text with this version in the place of each that it says to be its own: alone, or as ``version = "1.0"``."""
    bare = text.strip()
    if _is_version(bare):
        return text.replace(bare, version)

    return VERSION_SAID.sub(lambda match: put(match, version) if _is_version(match[1]) else match[0], text)


def put(match: re.Match[str], value: str) -> str:
    """What was matched, with another value for its group."""
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + value + match[0][end:]


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except (InvalidVersion, ValueError):
        return False
    return True
