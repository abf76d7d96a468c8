"""Compute capabilities of devices, and targets of device code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fatwheel.errors import UsageError
from fatwheel.targets.schema import text_schema

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

Suffix = Literal["", "a", "f"]
Kind = Literal["real", "virtual", "both"]

# A plain target is forward compatible within its major, `f` within its family, `a` is exact; ascending in that order.
_SUFFIX_ORDER: dict[str, int] = {"": 0, "f": 1, "a": 2}
_KIND_ORDER: dict[str, int] = {"real": 0, "both": 1, "virtual": 2}


class Capability(NamedTuple):
    """The compute capability of a device."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Capability:
        """Parse ``9.0``. Raises `UsageError` for anything else, including a suffix."""
        match = re.fullmatch(r"([1-9][0-9]?)\.([0-9])", text)
        if not match:
            raise UsageError(f"invalid compute capability '{text}'", help="e.g. 9.0 or 12.1")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        return text_schema(cls, cls.parse)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, str]:
        return {"type": "string"}


def _capabilities(text: str) -> tuple[Capability, ...]:
    return tuple(map(Capability.parse, text.split()))


# Capabilities of available products. 8.8 is missing: CUDA 13.0 compiles it, but no product with it is known.
KNOWN_CAPABILITIES: tuple[Capability, ...] = _capabilities(
    "5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.3 10.7 11.0 12.0 12.1"
)

# Integrated devices (Tegra, Jetson), whose machine code is not interchangeable with that of other devices.
# 10.1 is the name of 11.0 in CUDA 12.8 and 12.9. It is unknown whether devices that report 11.0 load such code, so
# 10.1 is not a known capability.
TEGRA: frozenset[Capability] = frozenset(_capabilities("5.3 6.2 7.2 8.7 10.1 11.0"))


@dataclass(frozen=True)
class Target:
    """What device code is compiled for. ``kind``: machine code (real), PTX (virtual) or both."""

    major: int
    minor: int
    suffix: Suffix = ""
    kind: Kind = "real"

    def __str__(self) -> str:
        tail = {"real": "", "both": "+PTX", "virtual": "-virtual"}[self.kind]
        return f"{self.major}.{self.minor}{self.suffix}{tail}"

    def __lt__(self, other: Target) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[int, int, int, int]:
        return (self.major, self.minor, self.specificity, _KIND_ORDER[self.kind])

    @property
    def capability(self) -> Capability:
        """The capability in its name."""
        return Capability(self.major, self.minor)

    @property
    def undotted(self) -> str:
        """``90a``, as in ``sm_90a``."""
        return f"{self.major}{self.minor}{self.suffix}"

    @property
    def specificity(self) -> int:
        """How narrow the suffix is: 0 for a plain target, 1 for ``f``, 2 for ``a``."""
        return _SUFFIX_ORDER[self.suffix]

    @property
    def has_sass(self) -> bool:
        """Whether it includes machine code."""
        return self.kind != "virtual"

    @property
    def has_ptx(self) -> bool:
        """Whether it includes PTX."""
        return self.kind != "real"

    @property
    def code(self) -> Target:
        """The same target for machine code only, as toolkits list it."""
        return Target(self.major, self.minor, self.suffix)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        from fatwheel.targets.parsing import parse_target  # which is built on this module

        return text_schema(cls, parse_target)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, str]:
        return {"type": "string"}
