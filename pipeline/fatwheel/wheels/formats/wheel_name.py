"""Names: a wheel's file name and what its parts promise, and the names that follow from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.tags import Tag, parse_tag
from packaging.utils import BuildTag, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from fatwheel.errors import UsageError

# The glibc of the tags that came before manylinux_X_Y (PEP 600).
_LEGACY: dict[str, tuple[int, int]] = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclass(frozen=True)
class WheelName:
    """A file name that follows the rules: ``demo_jit-0.6.13+cu130.sm12x-cp39-abi3-manylinux_2_28_x86_64.whl``."""

    text: str
    distribution: str  # normalised: flashinfer-jit-cache
    version: Version
    build: BuildTag
    tags: frozenset[Tag]

    @classmethod
    def parse(cls, text: str) -> WheelName:
        """Raises `UsageError` for what pip and uv would not find."""
        try:
            distribution, version, build, tags = parse_wheel_filename(text)
        except ValueError as error:  # also what Python says of a number without end
            raise UsageError(
                f"'{text}' is not the file name of a wheel ({error})",
                help="name it {distribution}-{version}-{python}-{abi}-{platform}.whl, '+' before a local version",
            ) from None
        return cls(text, distribution, version, build, tags)

    @classmethod
    def of(cls, distribution: str, version: str, tags: str) -> WheelName:
        """The name for a distribution, a version with its local label, and tags.

        ``tags`` is like ``cp39-abi3-manylinux_2_28_x86_64``. Raises `UsageError`.
        """
        if len(tags.split("-")) != 3 or not all(tags.split("-")):
            raise UsageError(
                f"'{tags}' is not a set of wheel tags", help="write it like cp39-abi3-manylinux_2_28_x86_64"
            )
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", distribution):
            raise UsageError(
                f"'{distribution}' is not the name of a distribution", help="use letters, digits, '-', '_', '.'"
            )
        normal = version_of(version)
        if normal is None:
            raise UsageError(f"'{version}' is not a version", help="write it like 0.6.13+cu130.sm12x")
        return cls.parse(f"{escaped(distribution)}-{normal}-{tags}.whl")

    @property
    def stem(self) -> str:
        """``flashinfer_jit_cache-0.6.13+cu130.sm12x``: what the dist-info and data folders begin with."""
        return f"{escaped(self.distribution)}-{self.version}"

    @property
    def dist_info(self) -> str:
        """The dist-info folder of a wheel of this name, without a slash."""
        return f"{self.stem}.dist-info"

    @property
    def tag_text(self) -> str:
        """The three tags as they stand in the name."""
        return "-".join(self.text.removesuffix(".whl").split("-")[-3:])

    @property
    def platforms(self) -> tuple[str, ...]:
        """Platform tags, sorted."""
        return tuple(sorted({tag.platform for tag in self.tags}))

    @property
    def is_pure(self) -> bool:
        """Whether it installs on any platform."""
        return "any" in self.platforms


def version_of(text: str) -> Version | None:
    """A version; None for what is none, and for numbers of more digits than Python reads (4300)."""
    try:
        return Version(text)
    except ValueError:  # InvalidVersion is one
        return None


def escaped(distribution: str) -> str:
    """A distribution's name as file and folder names hold it: ``flashinfer_jit_cache``."""
    return canonicalize_name(distribution).replace("-", "_")


def expanded(tags: str) -> tuple[str, ...]:
    """All single tags of a set as ``py2.py3-none-any``, sorted, as WHEEL lists them."""
    return tuple(sorted(map(str, parse_tag(tags))))


def glibc_floor(platform: str) -> tuple[int, int] | None:
    """The glibc that a manylinux platform tag promises to load on; None for other platforms."""
    match = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", platform)
    if match:
        return int(match[1]), int(match[2])
    return _LEGACY.get(platform.split("_", maxsplit=1)[0])


def architecture(platform: str) -> str | None:
    """The CPU of a Linux platform tag (``x86_64``); None for other platforms."""
    match = re.fullmatch(
        r"(?:linux|manylinux1|manylinux2010|manylinux2014|(?:manylinux|musllinux)_\d+_\d+)_(\w+)", platform
    )
    return match[1] if match else None
