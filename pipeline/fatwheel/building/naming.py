"""Rename the wheel that a project's own build made: its cell's CUDA label and platform tag."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fatwheel.errors import BuildError, UsageError
from fatwheel.records.plan import Cell
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture, parse_glibc_floor
from fatwheel.wheels.making.repack import Changes, repack


def rename_for_cell(built: Path, folder: Path, cell: Cell) -> Path:
    """Return the wheel under its cell's name: unchanged, or renamed into ``folder``.

    A project's own build does not know the local version label. Outside auditwheel's images the platform tag is
    ``linux_x86_64``, and ``any`` if the build only copies libraries. Verification later checks that the wheel conforms
    to its new platform tag. Raises `BuildError` with every other difference from the cell.
    """
    if built.name == cell.wheel:
        return built
    planned = WheelName.parse(cell.wheel)
    try:
        found = WheelName.parse(built.name)
        wrong = list(_differences(found, planned, cell))
    except UsageError as error:
        wrong = [error.what]
    if wrong:
        raise BuildError(
            f"the build command made {built.name}, but the wheel of this cell is {cell.wheel}:\n  "
            + "\n  ".join(wrong),
            where=cell.id,
            help="change matrix.yaml or the project's build, so that both agree",
        )
    platform = ".".join(planned.platforms) if found.platforms != planned.platforms else None
    label = planned.version.local if found.version.local is None else None
    made = folder / repack(built, folder, Changes(label=label, platform=platform), level=None).wheel
    return made.replace(folder / cell.wheel)  # upper and lower case may differ


def _differences(found: WheelName, planned: WheelName, cell: Cell) -> Iterator[str]:
    if found.distribution != planned.distribution:
        yield (
            f"distribution {found.distribution}, not {planned.distribution}: make the project's metadata and `name` "
            "equal; with `layout: provider`, each target has its own distribution"
        )
    if found.version.public != planned.version.public:
        yield f"version {found.version.public}, but `version` is {planned.version.public}"
    elif found.version.local not in (None, planned.version.local):
        local = planned.version.local or "none"
        yield f"local version {found.version.local}, not {local}: remove it from the build, fatwheel adds it"
    if found.build != planned.build:
        yield f"build number {_build_number(found)}, not {_build_number(planned)}: remove it from the build"
    actual, expected = ({(tag.interpreter, tag.abi) for tag in name.tags} for name in (found, planned))
    if actual != expected:
        built, declared = (name.tag_text.rpartition("-")[0] for name in (found, planned))
        yield (
            f"Python and ABI tag {built}, but `tag` is {declared}: declare `tag: {built}` (for one wheel per Python, "
            "add the axis `python`), or build for the limited API"
        )
    plain = found.platforms in (planned.platforms, (f"linux_{cell.arch}",), ("any",))
    if not plain and not _includes_platforms(found, planned):
        yield f"platform tag {' '.join(found.platforms)}, but `manylinux` means {' '.join(planned.platforms)}"


def _build_number(name: WheelName) -> str:
    return "".join(map(str, name.build)) or "none"


def _includes_platforms(found: WheelName, planned: WheelName) -> bool:
    """Return whether the wheel has every expected platform tag, perhaps under an older name and among others.

    auditwheel writes ``manylinux_2_17_x86_64`` together with ``manylinux2014_x86_64``.
    """
    actual, expected = (
        {(parse_glibc_floor(one), parse_architecture(one)) for one in name.platforms} for name in (found, planned)
    )
    return expected <= actual and len({arch for _, arch in actual}) == 1 and all(floor for floor, _ in actual)
