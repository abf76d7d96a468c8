"""`fatwheel rehearse`: run the whole pipeline on this machine, releasing to a folder."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import (
    PATH,
    channel_option,
    engine_option,
    json_option,
    matrix_option,
    named_command,
    only_option,
    toolchain_option,
)
from fatwheel.console.output import echo_json, echo_progress, echo_table, echo_wrapped
from fatwheel.declaration import load
from fatwheel.errors import BuildError, PipelineError, ReleaseIncomplete, UsageError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.pipelines.rehearsal import Options, rehearse
from fatwheel.plan import make_plan
from fatwheel.records.rehearsal import Rehearsal
from fatwheel.sizes import size

_STYLES = {
    "done": "green", "uploaded": "green", "identical": "green", "skipped": "yellow", "withheld": "yellow",
    "failed": "red", "not-sent": "red",
}  # fmt: skip


def _parse_sizes(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, int]:
    """Return bytes by cell ID from CELL=BYTES."""
    sizes: dict[str, int] = {}
    for text in value:
        cell, separator, count = text.partition("=")
        if not separator or not cell or not count.isdigit():
            raise click.BadParameter(f"'{text}' is not CELL=BYTES", ctx, parameter)
        sizes[cell] = int(count)
    return sizes


@named_command("rehearse")
@matrix_option
@channel_option
@only_option
@engine_option
@toolchain_option
@click.option("--output", "-o", type=PATH, default=Path("rehearsal"), show_default=True, help="Output folder.")
@click.option("--fake-build", is_flag=True, help="Create placeholder wheels instead of building.")
@click.option(
    "--fake-size", metavar="CELL=BYTES", multiple=True, callback=_parse_sizes,
    help="With --fake-build: size of one of them; repeatable.",
)  # fmt: skip
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
    """Build, test, release, index and install. Cells that this machine cannot build are skipped.

    Exits with the code of the first failure.
    """
    if fake_size and not fake_build:
        raise UsageError("--fake-size requires --fake-build", help="add --fake-build")
    declaration = load(matrix)
    plan = make_plan(declaration, channel, only)
    options = Options(output, engine=engine, toolchain=toolchain, fake=fake_build, sizes=fake_size)
    seen = rehearse(declaration, plan, options, echo_progress)
    if as_json:
        echo_json(seen)
    else:
        _print(seen)
    _raise_failures(seen)


def _print(seen: Rehearsal) -> None:
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
    indexed = sum(row.index == "listed" for row in seen.cells)
    here = sum(row.build != "skipped" for row in seen.cells)
    skipped = len(seen.cells) - here
    state = "published" if seen.published else "not published"
    rest = f"; {count_of(skipped, 'cell')} not buildable on this machine" if skipped else ""
    click.echo(f"\n{seen.tag} {state}: {indexed} of {here} wheels released and indexed in {seen.folder}/index{rest}")


def _raise_failures(seen: Rehearsal) -> None:
    failed = [row for row in seen.cells if row.status]
    lost = [row for row in seen.cells if row.build == "done" and row.index != "listed"]
    if all(row.build == "skipped" for row in seen.cells):
        raise BuildError("this machine can build none of these cells", help="see the reasons above")
    if failed:
        kinds: dict[int, type[PipelineError]] = {4: BuildError, 5: VerificationError}
        raise kinds.get(failed[0].status, ReleaseIncomplete)(
            f"{count_of(len(failed), 'cell')} failed: {failed[0].reason}"
        )
    if lost or not seen.published:
        what = f"{count_of(len(lost), 'wheel')} not released" if lost else "the release is not published"
        raise ReleaseIncomplete(what, where=f"{seen.folder}/store {seen.tag}")
