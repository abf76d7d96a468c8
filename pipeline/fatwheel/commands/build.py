"""`fatwheel build`: cells become wheels, each with its record beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.github_actions import append_step_summary
from fatwheel.console.options import date_option, engine_option, json_option, matrix_option, toolchain_option
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.records.build import BuildRecord
    from fatwheel.records.plan import Cell


def _time(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A time with its unit, as in matrix.yaml, in seconds."""
    from pydantic_core import PydanticCustomError

    from fatwheel.declaration.values import parse_duration

    try:
        return None if value is None else parse_duration(value)
    except PydanticCustomError as error:
        raise click.BadParameter(
            f"'{value}' is not a duration: write it like 90 min, 6 h or 30 s", ctx, parameter
        ) from error


_COUNT = click.IntRange(min=1)


@click.command(help=SUMMARIES["build"])
@click.argument("cell", nargs=-1, required=True)
@matrix_option
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), default=Path("dist"), show_default=True, help="Where wheels go."
)
@click.option(
    "--channel", "-c", default=None, envvar="FATWHEEL_CHANNEL", show_envvar=True,
    help="Whose version the wheel bears: nightly gives .devYYYYMMDD. By default the first that has the cell.",
)  # fmt: skip
@date_option
@engine_option
@click.option("--image", default=None, help="The container image, in the place of the declared one.")
@click.option("--network", default=None, envvar="FATWHEEL_NETWORK", help="The container's network: host, none ...")
@click.option("--volume", "volumes", multiple=True, metavar="SRC:DST[:ro]", help="One more volume of the container.")
@toolchain_option
@click.option("--modules", metavar="A,B", default="", help="Build only these modules: a slice, which is not released.")
@click.option("--fake-size", metavar="BYTES", type=_COUNT, help="Make placeholders of this size instead.")
@click.option("--parallel", "-j", metavar="N", type=_COUNT, default=1, help="Build so many cells side by side.")
@click.option("--jobs", metavar="N", type=_COUNT, envvar="FATWHEEL_JOBS", help="Compilers side by side in a build.")
@click.option("--nvcc-threads", metavar="N", type=_COUNT, help="Threads of each nvcc.")
@click.option(
    "--silence", metavar="TIME", callback=_time, help="End a build that prints nothing for so long, as 90 min."
)
@click.option("--time-limit", metavar="TIME", callback=_time, help="End a build that takes longer, as 5 h.")
@click.option(
    "--cache", default="auto", envvar="FATWHEEL_COMPILER_CACHE", show_default=True, show_envvar=True,
    help="sccache: auto, off, read, write.",
)  # fmt: skip
@click.option("--beside", type=_COUNT, default=1, hidden=True)
@json_option
@click.pass_context
def command(  # noqa: PLR0917  (click passes them by name)
    ctx: click.Context,
    cell: tuple[str, ...],
    matrix: Path,
    output: Path,
    channel: str | None,
    date: str | None,
    engine: str,
    image: str | None,
    network: str | None,
    volumes: tuple[str, ...],
    toolchain: str,
    modules: str,
    fake_size: int | None,
    parallel: int,
    jobs: int | None,
    nvcc_threads: int | None,
    silence: float | None,
    time_limit: float | None,
    cache: str,
    beside: int,
    as_json: bool,
) -> None:
    """Each CELL is an id or a glob. A cell that fails does not keep the others from being built; the end names all."""
    from fatwheel.building.build_cell import build_cell
    from fatwheel.building.compiler_cache import mode_named
    from fatwheel.building.engine import EngineOptions
    from fatwheel.building.job import BuildOverrides
    from fatwheel.building.pip import DownloadRetries
    from fatwheel.building.toolchain import choice_named
    from fatwheel.declaration import load
    from fatwheel.pipelines import build_cells, fat_build

    choice = EngineOptions(engine, image, None if engine == "host" else network, volumes)
    choice_named(toolchain)
    mode = mode_named(cache)
    declaration = load(matrix)
    wanted = build_cells.cells_named(declaration, cell, channel, date)
    every = wanted if fake_size else build_cells.cells_named(declaration, ["*"], channel, date)
    groups = [[one] for one in wanted] if fake_size else list(fat_build.group_cells(declaration, wanted, every))
    if parallel > 1 and len(wanted) > 1 and all(len(group) == 1 for group in groups):
        count = min(parallel, len(wanted))
        found = build_cells.side_by_side(wanted, count, [*_again(ctx), "--beside", str(count)], output, echo_progress)
    else:
        waits = [found.wait for name, found in declaration.channels.items() if name == channel]
        window = next(iter(waits), None) or 0.0
        tuning = BuildOverrides(jobs, nvcc_threads, silence, time_limit, mode, DownloadRetries(window=window), beside)

        def build(one: Cell, folder: Path = output) -> BuildRecord:
            return build_cell(
                declaration, one, folder, engine=choice, toolchain=toolchain,
                modules=[name for name in modules.split(",") if name] or None, fake_size=fake_size, tuning=tuning,
                notify=echo_progress,
            )  # fmt: skip

        found = build_cells.in_turn(
            groups,
            wanted,
            build,
            lambda all_, mine: fat_build.build_and_split(declaration, all_, mine, output, build),
            echo_progress,
        )
    if beside == 1:
        append_step_summary(build_cells.markdown(found))
    if as_json and (len(cell) > 1 or build_cells.is_glob(cell[0])):
        echo_json(found.records)
    elif as_json and found.records:
        echo_json(found.records[0])
    elif found.records:
        build_cells.show(found.records, output)
    build_cells.judge(found.failed, len(wanted))  # last: what was built is shown in any case


def _again(ctx: click.Context) -> list[str]:
    """The options of this call for a call of each cell by itself."""
    left_out = {"cell", "parallel", "beside", "as_json"}
    found: list[str] = []
    for option in ctx.command.params:
        value = ctx.params[str(option.name)]
        if option.name in left_out or value is None:
            continue
        flag = max(option.opts, key=len)
        values = value if isinstance(value, tuple) else (value,)
        for one in values:
            found += [flag, f"{one:g} s" if option.callback is _time else str(one)]
    return found
