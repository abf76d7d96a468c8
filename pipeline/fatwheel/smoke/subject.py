"""The subject of a smoke test: a wheel, its embedded metadata, and the settings of its package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fatwheel.declaration.model import Package
from fatwheel.errors import UsageError
from fatwheel.plan.requirements import fill_requirements
from fatwheel.records.plan import Cell
from fatwheel.targets import Capability
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import read_embedded


@dataclass(frozen=True)
class Subject:
    """One wheel under test.

    ``modules`` are imported. ``covers`` is None if it is unknown. ``command`` is the package's GPU test (``{python}``
    is that of the test environment), run with ``requires`` installed and ``env`` set. ``provided`` are globs of the
    libraries that a program which loads this package provides.
    """

    wheel: Path
    name: WheelName
    modules: tuple[str, ...]
    covers: tuple[Capability, ...] | None = None
    toolkit: str | None = None
    placeholder: bool = False
    command: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    provided: tuple[str, ...] = ()
    cell: Cell | None = None


def subject_of(wheel: Path, package: Package | None = None, cell: Cell | None = None) -> Subject:
    """Read a wheel; its package and cell supply what its embedded metadata does not contain.

    Raises `UsageError` for a missing file or an invalid wheel name, `VerificationError` for an invalid archive.
    """
    if not wheel.is_file():
        raise UsageError("wheel not found", where=str(wheel), help="build or download it first")
    name = WheelName.parse(wheel.name)
    with Archive.open(wheel) as archive:
        stamp = read_embedded(archive, invalid="raise")
        listed = archive.by_name.get(f"{archive.dist_info}/top_level.txt")
        top_level = archive.read(listed).decode("utf-8", "replace").split() if listed else []
        modules = top_levels(archive.by_name, top_level)
    # A provider has its own import name; the shim has that of the package.
    named = (package.import_name,) if package and package.import_name and package.layout != "provider" else modules
    known = stamp.covers if stamp else cell.covers if cell else None
    smoke = package.smoke if package else None
    return Subject(
        wheel=wheel,
        name=name,
        modules=named,
        covers=None if known is None else tuple(known),
        toolkit=stamp.toolkit if stamp else cell.toolkit if cell else None,
        placeholder=bool(stamp and stamp.placeholder),
        command=tuple(smoke.command) if smoke else (),
        requires=tuple(fill_requirements(smoke.requires, cell) if cell else smoke.requires) if smoke else (),
        env=dict(smoke.env) if smoke else {},
        provided=tuple(package.provided) if package else (),
        cell=cell,
    )


def top_levels(members: Sequence[str] | Mapping[str, object], listed: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the top-level modules of a wheel, from its top_level.txt if they exist, else from its members.

    Private ones (``_name``) count only if there are no others.
    """
    found: set[str] = set()
    for member in members:
        parts = member.split("/")
        if parts[0].endswith(".data") and len(parts) > 2 and parts[1] in ("purelib", "platlib"):
            parts = parts[2:]
        name = parts[0] if len(parts) > 1 else parts[0].split(".")[0]
        if name.isidentifier() and parts[-1].endswith((".py", ".so")):
            found.add(name)
    valid = found.intersection(listed)
    public = {name for name in valid or found if not name.startswith("_")}
    return tuple(sorted(public or valid or found))
