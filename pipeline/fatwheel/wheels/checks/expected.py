"""What a wheel is compared with: the properties that its cell and its build record determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fatwheel.digests import Digest
from fatwheel.records.build import BuildRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.plan import Cell
from fatwheel.targets import Target
from fatwheel.wheels.formats.wheel_name import WheelName


@dataclass(frozen=True)
class Expected:
    """Expected properties of a wheel; one that is None (or empty) is not checked.

    ``modules`` has the targets of each library, by member name, file name, or file name without its extension; a
    library without targets only has to exist. ``stamp_files`` are text files in the wheel that repeat its version or
    targets; ``embedded`` is its ``fatwheel.json``, of which commit and modules are not compared.
    """

    wheel: str | None = None
    distribution: str | None = None
    version: str | None = None  # with the local label
    arch: str | None = None
    targets: tuple[Target, ...] | None = None
    partial: bool = False  # a partial wheel, which may miss code for some targets
    modules: Mapping[str, tuple[Target, ...]] | None = None
    stamp_files: tuple[str, ...] = ()
    embedded: EmbeddedMetadata | None = None
    sha256: Digest | None = None


def expected_of(cell: Cell, *, build: BuildRecord | None = None, stamp_files: Sequence[str] = ()) -> Expected:
    """The expected properties of a cell's wheel; with ``build``, also those in its build record."""
    pure = WheelName.parse(cell.wheel).is_pure
    return Expected(
        wheel=cell.wheel,
        distribution=cell.package,
        version=cell.full_version,
        arch=None if pure else cell.arch,
        targets=() if pure else tuple(cell.targets),
        partial=build is not None and build.slice is not None and any(one.targets for one in build.modules),
        modules={one.name: tuple(one.targets) for one in build.modules} if build and build.modules else None,
        stamp_files=tuple(stamp_files),
        embedded=EmbeddedMetadata.of(cell),
        sha256=build.sha256 if build else None,
    )
