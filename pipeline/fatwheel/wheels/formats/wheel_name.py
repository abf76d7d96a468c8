"""Wheel file names: their parts, the folder names that follow from them, and platform tags."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.tags import Tag, parse_tag
from packaging.utils import BuildTag, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from fatwheel.errors import UsageError

# The glibc of the tags that preceded manylinux_X_Y (PEP 600).
_LEGACY: dict[str, tuple[int, int]] = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclass(frozen=True)
class WheelName:
    """A valid file name: ``demo_jit-0.6.13+cu130.sm12x-cp39-abi3-manylinux_2_28_x86_64.whl``."""

    text: str
    distribution: str  # normalized: flashinfer-jit-cache
    version: Version
    build: BuildTag
    tags: frozenset[Tag]

    @classmethod
    def parse(cls, text: str) -> WheelName:
        """Parse a file name. Raises `UsageError` for one that pip and uv would ignore."""
        try:
            distribution, version, build, tags = parse_wheel_filename(text)
        except ValueError as error:  # also raised by Python for numbers that are too long
            raise UsageError(
                f"invalid wheel file name '{text}' ({error})",
                help="name it {distribution}-{version}-{python}-{abi}-{platform}.whl, '+' before a local version",
            ) from None
        return cls(text, distribution, version, build, tags)

    @classmethod
    def of(cls, distribution: str, version: str, tags: str) -> WheelName:
        """The file name for a distribution, a version with its local label, and tags.

        ``tags`` is like ``cp39-abi3-manylinux_2_28_x86_64``. Raises `UsageError`.
        """
        if len(tags.split("-")) != 3 or not all(tags.split("-")):
            raise UsageError(f"invalid wheel tags '{tags}'", help="write it like cp39-abi3-manylinux_2_28_x86_64")
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", distribution):
            raise UsageError(f"invalid distribution name '{distribution}'", help="use letters, digits, '-', '_', '.'")
        normal = parse_version(version)
        if normal is None:
            raise UsageError(f"invalid version '{version}'", help="write it like 0.6.13+cu130.sm12x")
        return cls.parse(f"{escape_name(distribution)}-{normal}-{tags}.whl")

    @property
    def stem(self) -> str:
        """``flashinfer_jit_cache-0.6.13+cu130.sm12x``: the start of the names of the dist-info and .data folders."""
        return f"{escape_name(self.distribution)}-{self.version}"

    @property
    def dist_info(self) -> str:
        """The dist-info folder, without a slash."""
        return f"{self.stem}.dist-info"

    @property
    def tag_text(self) -> str:
        """The three tags as in the file name."""
        return "-".join(self.text.removesuffix(".whl").split("-")[-3:])

    @property
    def platforms(self) -> tuple[str, ...]:
        """Platform tags, sorted."""
        return tuple(sorted({tag.platform for tag in self.tags}))

    @property
    def is_pure(self) -> bool:
        """Whether it installs on any platform."""
        return "any" in self.platforms


def parse_version(text: str) -> Version | None:
    """Parse a version; None if it is invalid, or has a number of more than 4300 digits, Python's limit."""
    try:
        return Version(text)
    except ValueError:  # InvalidVersion is a subclass
        return None


def escape_name(distribution: str) -> str:
    """A distribution name as in file and folder names: ``flashinfer_jit_cache``."""
    return canonicalize_name(distribution).replace("-", "_")


def expand_tags(tags: str) -> tuple[str, ...]:
    """The single tags of a set such as ``py2.py3-none-any``, sorted, as in WHEEL."""
    return tuple(sorted(map(str, parse_tag(tags))))


def parse_glibc_floor(platform: str) -> tuple[int, int] | None:
    """The oldest glibc that a manylinux platform tag allows; None for other platforms."""
    match = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", platform)
    if match:
        return int(match[1]), int(match[2])
    return _LEGACY.get(platform.split("_", maxsplit=1)[0])


def parse_architecture(platform: str) -> str | None:
    """The CPU architecture of a Linux platform tag (``x86_64``); None for other platforms."""
    match = re.fullmatch(
        r"(?:linux|manylinux1|manylinux2010|manylinux2014|(?:manylinux|musllinux)_\d+_\d+)_(\w+)", platform
    )
    return match[1] if match else None
