"""`fatwheel rehearse`: the whole line on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import channel_option, engine_option, json_option, matrix_option, toolchain_option
from fatwheel.console.output import echo_json, echo_progress, echo_table, echo_wrapped
from fatwheel.console.summaries import SUMMARIES
from fatwheel.sizes import size

if TYPE_CHECKING:
    from fatwheel.records.rehearsal import Rehearsal


_STYLES = {
    "done": "green", "uploaded": "green", "identical": "green", "not here": "yellow", "withheld": "yellow",
    "failed": "red", "not sent": "red",
}  # fmt: skip


def _sizes(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, int]:
    del ctx, parameter
    sizes: dict[str, int] = {}
    for text in value:
        cell, separator, count = text.partition("=")
        if not separator or not cell or not count.isdigit():
            raise click.BadParameter(f"'{text}' is not CELL=BYTES")
        sizes[cell] = int(count)
    return sizes


@click.command(help=SUMMARIES["rehearse"])
@matrix_option
@channel_option
@click.option("--only", metavar="GLOB", default=None, help="Only cells whose id matches.")
@engine_option
@toolchain_option
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("rehearsal"), show_default=True)
@click.option("--fake-build", is_flag=True, help="Make placeholder wheels in the place of builds.")
@click.option("--fake-size", metavar="CELL=BYTES", multiple=True, callback=_sizes, help="The size of one of them.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path,
    channel: str,
    only: str | None,
    engine: str,
    toolchain: str,
    output: Path,
    fake_build: bool,
    fake_size: dict[str, int],
    as_json: bool,
) -> None:
    """Ends with the status of the first thing that failed; cells that cannot be built here are no failure."""
    from fatwheel.declaration import load
    from fatwheel.errors import UsageError
    from fatwheel.pipelines.rehearsal import Options, rehearse
    from fatwheel.plan import make_plan

    if fake_size and not fake_build:
        raise UsageError("--fake-size needs --fake-build", help="add --fake-build")
    declaration = load(matrix)
    plan = make_plan(declaration, channel, only)
    options = Options(output, engine=engine, toolchain=toolchain, fake=fake_build, sizes=fake_size)
    seen = rehearse(declaration, plan, options, echo_progress)
    if as_json:
        echo_json(seen)
    else:
        _show(seen)
    _judge(seen)


def _show(seen: Rehearsal) -> None:
    echo_table(
        ["cell", "build", "size", "smoke", "release", "install"],
        [
            (
                row.id,
                f"{row.seconds:.0f} s" if row.seconds is not None and row.build == "done" else row.build,
                size(row.bytes) if row.bytes is not None else "-",
                row.smoke,
                row.release,
                row.install,
            )
            for row in seen.cells
        ],
        right=(2,),
        styles=_STYLES,
    )
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in seen.cells:
        if row.reason:
            reasons.setdefault((row.build if row.build != "done" else row.release, row.reason), []).append(row.id)
    for (outcome, reason), ids in reasons.items():
        echo_wrapped(f"{outcome}: {', '.join(ids)}")
        echo_wrapped(reason, "  ")
    live = sum(row.index == "listed" for row in seen.cells)
    here = sum(row.build != "not here" for row in seen.cells)
    elsewhere = len(seen.cells) - here
    state = "published" if seen.published else "not published"
    rest = f"; {elsewhere} cells need another machine" if elsewhere else ""
    click.echo(f"\n{seen.tag} {state}: {live} of {here} wheels live, indexed in {seen.folder}/index{rest}")


def _judge(seen: Rehearsal) -> None:
    from fatwheel.errors import BuildError, PipelineError, ReleaseIncomplete, VerificationError

    failed = [row for row in seen.cells if row.status]
    wanted = [row for row in seen.cells if row.build == "done" and row.index != "listed"]
    nothing = all(row.build == "not here" for row in seen.cells)
    if nothing:
        raise BuildError("this machine can build none of these cells", help="see the reasons above")
    if failed:
        kinds: dict[int, type[PipelineError]] = {4: BuildError, 5: VerificationError}
        raise kinds.get(failed[0].status, ReleaseIncomplete)(f"{len(failed)} cells failed: {failed[0].reason}")
    if wanted or not seen.published:
        count = len(wanted)
        raise ReleaseIncomplete(
            f"{count} wanted wheel{'s are' if count != 1 else ' is'} not live", where=f"{seen.folder}/store {seen.tag}"
        )
