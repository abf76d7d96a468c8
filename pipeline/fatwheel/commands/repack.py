"""`fatwheel repack`: a wheel compressed anew; smaller, renamed or with a bill of materials, if asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option
from fatwheel.console.output import echo_json, echo_progress, raise_all
from fatwheel.console.summaries import SUMMARIES
from fatwheel.sizes import size

if TYPE_CHECKING:
    from fatwheel.errors import PipelineError
    from fatwheel.records.repack import RepackRecord
    from fatwheel.wheels.making.repack import Changes


@click.command(help=SUMMARIES["repack"])
@click.argument("wheel", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="Where the wheel goes.")
@click.option("--level", default="6", show_default=True, help="0 (store) to 12 (slowest); keep: as they are.")
@click.option("--strip-debug", is_flag=True, help="Take debug information out of libraries.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out members, or a folder.")
@click.option("--version", "version", metavar="VERSION", default=None, help="Another version.")
@click.option("--label", metavar="LABEL", default=None, help="Another local label (cu130.sm9x); '' for none.")
@click.option("--platform", metavar="TAG", default=None, help="Another platform tag: manylinux_2_28_x86_64.")
@click.option("--stamp", metavar="GLOB", multiple=True, help="Files in it that repeat the version.")
@click.option("--sbom", is_flag=True, help="Put a CycloneDX bill of materials into it (PEP 770).")
@click.option("--stream-over", metavar="SIZE", default="1 GiB", show_default=True, help="Hold no larger member.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    wheel: tuple[Path, ...],
    output: Path,
    level: str,
    strip_debug: bool,
    exclude: tuple[str, ...],
    version: str | None,
    label: str | None,
    platform: str | None,
    stamp: tuple[str, ...],
    sbom: bool,
    stream_over: str,
    as_json: bool,
) -> None:
    """Ends with 2 for changes that cannot be, 5 for a wheel that is not what its RECORD says.

    Of several wheels, --json prints a list. A build record that lies beside a wheel comes along unless the version
    changes.
    """
    from fatwheel.errors import PipelineError
    from fatwheel.pipelines.repack import build_record, update_records
    from fatwheel.processes import terminable
    from fatwheel.wheels.making.repack import Changes, repack

    changes = Changes(version, label, platform, stamp, exclude, strip_debug, sbom)
    chosen, large = _level(level), _size(stream_over)
    _refuse_one_for_two(wheel, changes)
    done: list[RepackRecord] = []
    failed: list[PipelineError] = []
    for one in wheel:
        try:
            with terminable():
                built = build_record(one)
                record = repack(one, output, changes, level=chosen, large=large)
                update_records(built, output / record.wheel, record)
        except PipelineError as error:
            failed.append(error)
            continue
        done.append(record)
        if not as_json:
            _show(record, output)
    if as_json and (done or len(wheel) > 1):
        echo_json(done[0] if len(wheel) == 1 else done)
    for record in done:
        if record.says_old:
            old = ", ".join(record.says_old)
            echo_progress(f"{record.wheel}: these files still contain the old version: {old}; pass them to --stamp")
    raise_all(failed)


def _refuse_one_for_two(wheels: tuple[Path, ...], changes: Changes) -> None:
    """Raise `UsageError` where two wheels would get the same name."""
    from fatwheel.errors import UsageError
    from fatwheel.wheels.making.repack import rename

    seen: dict[str, Path] = {}
    for one in wheels:
        try:
            new = rename(one.name, changes).text
        except UsageError:
            continue  # said when its turn comes
        if new in seen:
            help = "repack them one by one, to folders of their own"
            raise UsageError(f"{seen[new]} and {one} would both become {new}", help=help)
        seen[new] = one


def _level(text: str) -> int | None:
    from fatwheel.errors import UsageError
    from fatwheel.wheels.io.compression import HIGHEST_LEVEL, check_level

    if text == "keep":
        return None
    if not text.isdecimal():
        raise UsageError(f"'{text}' is no compression level", help=f"choose 0 to {HIGHEST_LEVEL}, or keep")
    check_level(int(text))
    return int(text)


def _size(text: str) -> int:
    from fatwheel.declaration.values import parse_size
    from fatwheel.errors import UsageError

    try:
        return parse_size(text)
    except ValueError:
        raise UsageError(f"'{text}' is not a size", help="write it with its unit, like '512 MiB'") from None


def _show(record: RepackRecord, output: Path) -> None:
    ratio = record.bytes / record.from_bytes
    click.echo(f"{output / record.wheel}: {size(record.from_bytes)} -> {size(record.bytes)} ({ratio:.1%})")
    if record.stripped:
        before, after = sum(s.before for s in record.stripped), sum(s.after for s in record.stripped)
        many = f"{len(record.stripped)} librar{'ies' if len(record.stripped) > 1 else 'y'}"
        click.echo(f"  debug information out of {many}: {size(before)} -> {size(after)}")
    if record.excluded:
        click.echo(f"  left out: {', '.join(record.excluded)}")
    if record.rewritten:
        click.echo(f"  rewritten: {', '.join(record.rewritten)}")
    if record.sbom:
        click.echo(f"  bill of materials: {record.sbom}")
