"""Building many cells: one after the other or side by side, with what is shown and summed up at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from fatwheel.console.output import echo_table
from fatwheel.markdown import table
from fatwheel.sizes import size

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.errors import PipelineError
    from fatwheel.records.build import BuildRecord
    from fatwheel.records.plan import Cell

SHOWN = 5  # left-out modules that are named for each wheel
_GRACE = 30.0  # seconds that a build has to end itself and its container
_SLOWEST = 10  # modules in the step summary

Say = Callable[[str], None]
One = Callable[["Cell"], "BuildRecord"]
Many = Callable[[Sequence["Cell"], Sequence["Cell"]], "Iterable[tuple[Cell, BuildRecord | PipelineError]]"]


@dataclass
class Outcome:
    """What was built, and what failed with which error, in the order of the cells."""

    records: list[BuildRecord] = field(default_factory=list)
    failed: list[tuple[Cell, PipelineError]] = field(default_factory=list)


def in_turn(groups: Sequence[Sequence[Cell]], chosen: Sequence[Cell], build: One, divide: Many, say: Say) -> Outcome:
    """One group of cells after the other; what fails does not keep the next from being built.

    A group of several cells comes out of one build, by ``divide``; of those, the ones ``chosen`` are wanted.
    """
    from fatwheel.errors import PipelineError

    found = Outcome()

    def failed(cell: Cell, error: PipelineError) -> None:
        found.failed.append((cell, error))
        if len(chosen) > 1:
            say(f"{cell.id} failed: {error}")

    wanted = {cell.id for cell in chosen}
    for group in groups:
        mine = [cell for cell in group if cell.id in wanted]
        try:
            if len(group) == 1:
                found.records.append(build(mine[0]))
                continue
            for cell, result in divide(group, mine):
                if isinstance(result, PipelineError):
                    failed(cell, result)
                else:
                    found.records.append(result)
        except PipelineError as error:
            for cell in mine:
                failed(cell, error)
    return found


def side_by_side(cells: Sequence[Cell], count: int, arguments: Sequence[str], output: Path, say: Say) -> Outcome:
    """So many at a time, each in a process of its own, whose lines begin with the cell's id.

    ``arguments`` are those of ``fatwheel build`` after the cell. An interrupt ends them all.
    """
    from fatwheel.processes import terminable

    stop = Event()
    answers: dict[str, tuple[int, str]] = {}
    with terminable(), ThreadPoolExecutor(count) as pool:
        waiting = {pool.submit(_child, cell, arguments, stop, say): cell for cell in cells}
        try:
            for done in as_completed(waiting):
                answers[waiting[done].id] = done.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return _gathered(cells, answers, output)


def _child(cell: Cell, arguments: Sequence[str], stop: Event, say: Say) -> tuple[int, str]:
    """Build one cell in a process; its status, and what it said of its failure."""
    from fatwheel.processes import run_group
    from fatwheel.pythons import own_command

    lines: list[str] = []
    rest = bytearray()

    def sink(chunk: bytes) -> None:
        rest.extend(chunk)
        *whole, last = bytes(rest).split(b"\n")
        rest[:] = last
        for line in whole:
            text = line.decode(errors="replace")
            lines.append(text)
            del lines[:-200]
            say(f"[{cell.id}] {text}")

    def tick(_pid: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    command, variables = own_command("build", cell.id, *arguments)
    status = run_group(command, env=os.environ | variables, cwd=Path.cwd(), sink=sink, tick=tick, grace=_GRACE)
    start = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].startswith("error:")), None)
    words = lines[start:] if start is not None else lines[-3:]
    return status, re.sub(r"^error: ", "", "\n".join(words))


def _gathered(cells: Sequence[Cell], answers: dict[str, tuple[int, str]], output: Path) -> Outcome:
    from fatwheel.errors import BuildError, BuildTimeout, UsageError, VerificationError
    from fatwheel.records.build import BuildRecord
    from fatwheel.records.files import BUILD, beside

    kinds: dict[int, type[PipelineError]] = {2: UsageError, 5: VerificationError, 124: BuildTimeout}
    found = Outcome()
    for cell in cells:
        status, words = answers[cell.id]
        if status == 0:
            found.records.append(BuildRecord.read(beside(output / cell.wheel, BUILD)))
        else:
            what = words.removeprefix(f"{cell.id}: ") or f"ended with status {status}"
            found.failed.append((cell, kinds.get(status, BuildError)(what)))
    return found


def cells_named(declaration: Declaration, texts: Sequence[str], channel: str | None, date: str | None) -> list[Cell]:
    """The cells of these ids and globs, each once: in one channel, else in any. Raises `UsageError` for none."""
    import fnmatch

    from fatwheel.plan import find_cell, iter_cells, unknown_cell_error
    from fatwheel.plan.versions import parse_date

    day = parse_date(date)
    found: dict[str, Cell] = {}
    for text in texts:
        if not is_glob(text):
            found.setdefault(text, find_cell(declaration, text, channel, date=day))
            continue
        known = list(iter_cells(declaration, channel, day))
        fitting = [one for one in known if fnmatch.fnmatchcase(one.id, text)]
        if not fitting:
            raise unknown_cell_error(text, [one.id for one in known])
        for one in fitting:
            found.setdefault(one.id, one)
    return list(found.values())


def is_glob(text: str) -> bool:
    """Whether a text matches names rather than being one."""
    return not set("*?[").isdisjoint(text)


def show(records: Sequence[BuildRecord], output: Path) -> None:
    """What was built, as a table, and where it is."""
    for record in records:
        for row in record.left_out[:SHOWN]:
            click.echo(f"{record.cell.id}: {row.name} is left out: {row.reason}")
        if len(record.left_out) > SHOWN:
            click.echo(f"{record.cell.id}: {len(record.left_out) - SHOWN} more are left out; the record names them")
    echo_table(
        ["cell", "modules", "size", "seconds", "memory", "cache"],
        [
            (
                record.cell.id,
                str(len(record.modules)) if record.modules else "-",
                size(record.bytes),
                "-" if record.seconds is None else f"{record.seconds:.0f}",
                "-" if record.peak_memory is None else size(record.peak_memory),
                _cache(record),
            )
            for record in records
        ],
        right=(1, 2, 3, 4, 5),
    )
    for record in records:
        if record.cache and record.cache.reason:
            click.echo(f"{record.cell.id}: the compiler cache: {record.cache.reason}")
    for record in records:
        click.echo(output / record.wheel)


def _cache(record: BuildRecord) -> str:
    used = record.cache
    return "-" if used is None else f"{used.hits} of {used.hits + used.misses}"


def judge(failed: Sequence[tuple[Cell, PipelineError]], count: int) -> None:
    """Raise what failed; of several, all by name."""
    from fatwheel.errors import BuildError

    if not failed:
        return
    if count == 1:
        raise failed[0][1]
    lines = "".join(f"\n  {cell.id}: {error.what.splitlines()[0]}" for cell, error in failed)
    raise BuildError(f"{len(failed)} of {count} cells failed:{lines}", help="build them again one by one, by their ids")


def markdown(found: Outcome) -> str:
    """Return the step summary: a row for each cell, and the slowest modules."""
    rows: list[tuple[str, ...]] = []
    for one in found.records:
        jobs = str(one.parallel.jobs) if one.parallel else "-"
        seconds = "-" if one.seconds is None else f"{one.seconds:.0f}"
        peak = "-" if one.peak_memory is None else size(one.peak_memory)
        rows.append((one.cell.id, f"`{one.wheel}`", size(one.bytes), seconds, jobs, peak, _cache(one)))
    rows += [(cell.id, f"failed: {error.what.splitlines()[0]}", "", "", "", "", "") for cell, error in found.failed]
    headings = ("cell", "wheel", "size", "seconds", "jobs", "peak memory", "cache hits")
    lines = ["### Build", "", *table(headings, rows, right=range(2, 7))]
    timed = [(m.seconds, m.name, one.cell.id) for one in found.records for m in one.modules if m.seconds is not None]
    if timed:
        slowest = [(name, cell, f"{seconds:.1f}") for seconds, name, cell in sorted(timed, reverse=True)[:_SLOWEST]]
        lines += ["", *table(("module", "cell", "seconds"), slowest, right=(2,))]
    return "\n".join([*lines, ""]) + "\n"
