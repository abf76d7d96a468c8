"""`fatwheel build`: build the wheels of cells, each with its build record."""

from __future__ import annotations

from pathlib import Path

import click
from pydantic_core import PydanticCustomError

from fatwheel.building.compiler_cache import MODES, parse_mode
from fatwheel.building.engine import EngineOptions
from fatwheel.building.job import BuildOverrides
from fatwheel.console.build_output import show_builds, step_summary
from fatwheel.console.github_actions import append_step_summary
from fatwheel.console.options import (
    PATH,
    channel_choice,
    complete_cells,
    date_option,
    engine_option,
    json_option,
    matrix_option,
    named_command,
    toolchain_option,
)
from fatwheel.console.output import Output, echo_json, echo_progress
from fatwheel.declaration import load
from fatwheel.declaration.values import parse_duration
from fatwheel.pipelines.build_cells import BuildRequest, build_cells

_COUNT = click.IntRange(min=1)


def _parse_duration(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return a duration such as 90 min in seconds."""
    try:
        return None if value is None else parse_duration(value)
    except PydanticCustomError as error:
        raise click.BadParameter(
            f"'{value}' is not a duration: write it like 90 min, 6 h or 30 s", ctx, parameter
        ) from error


@named_command("build")
@click.argument("cell", nargs=-1, required=True, shell_complete=complete_cells)
@matrix_option
@click.option("--output", "-o", type=PATH, default=Path("dist"), show_default=True, help="Output folder.")
@click.option(
    "--channel", "-c", type=channel_choice, default=None, envvar="FATWHEEL_CHANNEL", show_envvar=True,
    help="Channel that sets the version; nightly appends .devYYYYMMDD.  [default: the first channel with the cell]",
)  # fmt: skip
@date_option
@engine_option
@click.option("--image", default=None, help="Container image; overrides `image` in matrix.yaml.")
@click.option(
    "--network", default=None, envvar="FATWHEEL_NETWORK", show_envvar=True,
    help="Network of the container: host, none, or the name of one.",
)  # fmt: skip
@click.option(
    "--volume", "volumes", multiple=True, metavar="SRC:DST[:ro]", help="Mount a volume in the container; repeatable."
)
@toolchain_option
@click.option(
    "--modules", metavar="A,B", default="",
    help="Build only these modules. The wheel is partial and cannot go to GitHub.",
)  # fmt: skip
@click.option(
    "--fake-size", metavar="BYTES", type=_COUNT, help="Create placeholder wheels of this size instead of building."
)
@click.option(
    "--parallel", "-j", metavar="N", type=_COUNT, default=1, show_default=True,
    help="Number of cells to build in parallel.",
)  # fmt: skip
@click.option(
    "--jobs", metavar="N", type=_COUNT, envvar="FATWHEEL_JOBS", show_envvar=True,
    help="Parallel compiler jobs per build.",
)  # fmt: skip
@click.option("--nvcc-threads", metavar="N", type=_COUNT, help="Threads per nvcc process.")
@click.option(
    "--silence", metavar="TIME", callback=_parse_duration,
    help="Kill a build after this long without output, e.g. '90 min'.",
)  # fmt: skip
@click.option(
    "--time-limit", metavar="TIME", callback=_parse_duration,
    help="Kill a build that runs longer than this, e.g. '5 h'.",
)  # fmt: skip
@click.option(
    "--cache", type=click.Choice(MODES), default="auto", envvar="FATWHEEL_COMPILER_CACHE",
    show_default=True, show_envvar=True, help="How to use the compiler cache (sccache).",
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
    """CELL is an ID or a glob that matches IDs. A failing cell does not stop the others. --json prints an array."""
    request = BuildRequest(
        cells=cell,
        output=output,
        channel=channel,
        date=date,
        engine=EngineOptions(engine, image, None if engine == "host" else network, volumes),
        toolchain=toolchain,
        modules=[name for name in modules.split(",") if name],
        fake_size=fake_size,
        overrides=BuildOverrides(jobs, nvcc_threads, silence, time_limit, parse_mode(cache), beside=beside),
        parallel=parallel,
        child_arguments=_child_options(ctx),
    )
    found = build_cells(load(matrix), request, echo_progress)
    if beside == 1:
        append_step_summary(step_summary(found.records, found.failed))
    if as_json and found.records:
        echo_json(found.records)
    elif found.records:
        show_builds(found.records, output)
    found.raise_failures()  # last: built wheels are shown in any case


def _child_options(ctx: click.Context) -> list[str]:
    """Return the options of this call for the call that builds one of its cells."""
    found: list[str] = ["--quiet"] if Output.current().quiet else []
    for option in ctx.command.params:
        value = ctx.params.get(str(option.name))
        if option.name in {"cell", "parallel", "beside", "as_json"} or value is None:
            continue
        flag = max(option.opts, key=len)
        values = value if isinstance(value, tuple) else (value,)
        for one in values:
            found += [flag, f"{one:g} s" if option.callback is _parse_duration else str(one)]
    return found
