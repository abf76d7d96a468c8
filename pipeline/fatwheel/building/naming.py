"""A wheel that a project's own build left gets its cell's name: the label, and the platform that it is promised for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fatwheel.errors import BuildError, UsageError
from fatwheel.records.plan import Cell
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture, parse_glibc_floor
from fatwheel.wheels.making.repack import Changes, repack


def named(built: Path, folder: Path, cell: Cell) -> Path:
    """The wheel under its cell's name: as it is, or renamed into ``folder``.

    A build that knows nothing of labels leaves one without; a build outside of auditwheel's images calls the platform
    ``linux_x86_64``, and one that only takes libraries along ``any``. Whether the wheel keeps the promise of its new
    platform is verified afterwards. Raises `BuildError` with everything in which it is another wheel.
    """
    if built.name == cell.wheel:
        return built
    wanted = WheelName.parse(cell.wheel)
    try:
        found = WheelName.parse(built.name)
        wrong = list(_differences(found, wanted, cell))
    except UsageError as error:
        wrong = [error.what]
    if wrong:
        raise BuildError(
            f"the build command left {built.name}, and the cell's wheel is {cell.wheel}:\n  " + "\n  ".join(wrong),
            where=cell.id,
            help="make the declaration and the project's build agree",
        )
    platform = ".".join(wanted.platforms) if found.platforms != wanted.platforms else None
    label = wanted.version.local if found.version.local is None else None
    made = folder / repack(built, folder, Changes(label=label, platform=platform), level=None).wheel
    return made.replace(folder / cell.wheel)  # a name may be spelt in capitals


def _differences(found: WheelName, wanted: WheelName, cell: Cell) -> Iterator[str]:
    if found.distribution != wanted.distribution:
        yield (
            f"it is of {found.distribution}, and the cell's of {wanted.distribution}: let the project's metadata and "
            "`name` say the same; with layout: provider each target has a distribution of its own"
        )
    if found.version.public != wanted.version.public:
        yield f"its version is {found.version.public}, and `version` says {wanted.version.public}"
    elif found.version.local not in (None, wanted.version.local):
        yield f"its label is {found.version.local}, and the cell's {wanted.version.local or 'none'}: leave it out"
    if found.build != wanted.build:
        yield f"its build number is {_build(found)}, and the cell's {_build(wanted)}: leave it out"
    here, there = ({(tag.interpreter, tag.abi) for tag in name.tags} for name in (found, wanted))
    if here != there:
        built, said = (name.tag_text.rpartition("-")[0] for name in (found, wanted))
        yield (
            f"its Python and ABI tag is {built}, and `tag` says {said}: declare `tag: {built}` (one wheel for each "
            "Python takes the axis python), or build for the limited API"
        )
    if found.platforms not in (wanted.platforms, (f"linux_{cell.arch}",), ("any",)) and not _promises(found, wanted):
        yield f"its platform is {' '.join(found.platforms)}, and `manylinux` says {' '.join(wanted.platforms)}"


def _build(name: WheelName) -> str:
    return "".join(map(str, name.build)) or "none"


def _promises(found: WheelName, wanted: WheelName) -> bool:
    """Whether every platform wanted is among those found, which auditwheel may call by an older name, or add others to.

    ``manylinux_2_17_x86_64`` comes from it with ``manylinux2014_x86_64``.
    """
    here, there = (
        {(parse_glibc_floor(one), parse_architecture(one)) for one in name.platforms} for name in (found, wanted)
    )
    return there <= here and len({arch for _, arch in here}) == 1 and all(floor for floor, _ in here)
