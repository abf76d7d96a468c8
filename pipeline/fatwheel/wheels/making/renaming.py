"""Renaming a wheel: its file name, and the dist-info and .data folders that repeat distribution and version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError
from fatwheel.wheels.formats.wheel_name import WheelName, parse_version


@dataclass(frozen=True)
class Renaming:
    """The dist-info folder before and after, and the new name of the .data folder beside it."""

    before: str  # demo-1.0.dist-info
    after: str
    data: str  # demo-2.0.data

    @classmethod
    def between(cls, folder: str, before: WheelName, after: WheelName) -> Renaming:
        """From ``folder`` to the folders of ``after``; nothing moves if distribution and version stay the same."""
        if (before.distribution, before.version) == (after.distribution, after.version):
            return cls(folder, folder, f"{folder.removesuffix('.dist-info')}.data")
        return cls(folder, after.dist_info, f"{after.stem}.data")

    def apply(self, name: str) -> str:
        """A member's name in the new wheel."""
        top, slash, rest = name.partition("/")
        if not slash or self.before == self.after:
            return name
        if top == self.before:
            return f"{self.after}/{rest}"
        if top.endswith(".data") and _parse_folder(top) == _parse_folder(self.before):  # not always written alike
            return f"{self.data}/{rest}"
        return name


def _parse_folder(folder: str) -> tuple[str, Version | None]:
    """Distribution and version in the name of a dist-info or .data folder."""
    distribution, _, version = folder.rpartition(".")[0].partition("-")
    return canonicalize_name(distribution), parse_version(version)


def with_version(name: WheelName, version: str | None, label: str | None) -> WheelName:
    """The wheel name with another version or local version label (empty: none); build number and tags stay.

    Raises `UsageError` for an invalid version, or for a version with a label beside ``label``.
    """
    text = str(name.version) if version is None else version
    given = parse_version(text)
    if given is not None and label is not None:
        if version is not None and given.local:
            raise UsageError(f"'{version}' has a label, and --label gives another one", help="give only one label")
        text = f"{given.public}+{label}" if label else given.public
        given = parse_version(text)
    if given is None:
        raise UsageError(f"invalid version '{text}'", help="write it like 0.6.13+cu130.sm12x")
    parts = name.text.split("-")
    return name if given == name.version else WheelName.parse("-".join([parts[0], str(given), *parts[2:]]))


def with_platform(name: WheelName, platform: str) -> WheelName:
    """The wheel name with other platform tags, joined by dots. Raises `UsageError` for invalid tags."""
    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", platform):
        raise UsageError(f"invalid platform tag '{platform}'", help="write it like manylinux_2_28_x86_64")
    return WheelName.parse(f"{name.text.removesuffix('.whl').rpartition('-')[0]}-{platform}.whl")
