"""`fatwheel repack`: rewrite wheels reproducibly; optionally strip or rename them, or add an SBOM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, named_command
from fatwheel.console.output import echo_json, echo_progress, raise_all
from fatwheel.declaration.values import parse_size
from fatwheel.errors import PipelineError, UsageError
from fatwheel.formatting import count_of
from fatwheel.pipelines.repack import build_record, update_records
from fatwheel.processes import terminable
from fatwheel.records.repack import RepackRecord
from fatwheel.sizes import size
from fatwheel.wheels.io.compression import HIGHEST_LEVEL, check_level
from fatwheel.wheels.making.repack import Changes, rename, repack


@named_command("repack")
@click.argument("wheel", nargs=-1, required=True, type=PATH)
@click.option("--output", "-o", type=PATH, required=True, help="Output folder.")
@click.option(
    "--level", default="6", show_default=True, help="Compression level: 0 (none) to 12 (smallest), or `keep`."
)
@click.option("--strip-debug", is_flag=True, help="Strip debug information from libraries.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Remove files or folders from the wheel; repeatable.")
@click.option("--version", "version", metavar="VERSION", default=None, help="New version.")
@click.option("--label", metavar="LABEL", default=None, help="New local version label, e.g. cu130.sm9x; '' removes it.")
@click.option("--platform", metavar="TAG", default=None, help="New platform tag, e.g. manylinux_2_28_x86_64.")
@click.option("--stamp", metavar="GLOB", multiple=True, help="Files in the wheel whose version is updated; repeatable.")
@click.option("--sbom", is_flag=True, help="Add a CycloneDX SBOM (PEP 770).")
@click.option(
    "--stream-over", metavar="SIZE", default="1 GiB", show_default=True,
    help="Stream files larger than SIZE instead of loading them into memory.",
)  # fmt: skip
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
    """The build record beside a wheel is kept up to date, unless the version changes.

    Exits with code 2 for invalid changes, and 5 for a wheel that does not match its RECORD. --json prints an array.
    """
    changes = Changes(version, label, platform, stamp, exclude, strip_debug, sbom)
    chosen, large = _parse_level(level), _parse_stream_size(stream_over)
    _reject_same_names(wheel, changes)
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
            _print(record, output)
    if as_json and done:
        echo_json(done)
    for record in done:
        if record.outdated_texts:
            old = ", ".join(record.outdated_texts)
            echo_progress(f"{record.wheel}: these files still contain the old version: {old}; pass them to --stamp")
    raise_all(failed)


def _reject_same_names(wheels: Sequence[Path], changes: Changes) -> None:
    """Raise `UsageError` if two wheels would get the same name."""
    seen: dict[str, Path] = {}
    for one in wheels:
        try:
            new = rename(one.name, changes).text
        except UsageError:
            continue  # reported when this wheel is repacked
        if new in seen:
            raise UsageError(f"{seen[new]} and {one} would both become {new}", help="repack them to separate folders")
        seen[new] = one


def _parse_level(text: str) -> int | None:
    if text == "keep":
        return None
    if not text.isdecimal():
        raise UsageError(f"invalid compression level '{text}'", help=f"choose 0 to {HIGHEST_LEVEL}, or keep")
    check_level(int(text))
    return int(text)


def _parse_stream_size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError:
        raise UsageError(f"'{text}' is not a size", help="write it with its unit, like '512 MiB'") from None


def _print(record: RepackRecord, output: Path) -> None:
    ratio = record.bytes / record.from_bytes
    click.echo(f"{output / record.wheel}: {size(record.from_bytes)} -> {size(record.bytes)} ({ratio:.1%})")
    if record.stripped:
        before, after = sum(s.before for s in record.stripped), sum(s.after for s in record.stripped)
        many = count_of(len(record.stripped), "library", "libraries")
        click.echo(f"  stripped {many}: {size(before)} -> {size(after)}")
    if record.excluded:
        click.echo(f"  removed: {', '.join(record.excluded)}")
    if record.rewritten:
        click.echo(f"  rewritten: {', '.join(record.rewritten)}")
    if record.sbom:
        click.echo(f"  SBOM: {record.sbom}")
