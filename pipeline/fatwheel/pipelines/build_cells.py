"""Build many cells, one after the other or in parallel processes, and collect the results."""

from __future__ import annotations

import fnmatch
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from fatwheel.building.build_cell import build_cell
from fatwheel.building.engine import EngineOptions
from fatwheel.building.job import BuildOverrides
from fatwheel.building.pip import DownloadRetries
from fatwheel.declaration import Declaration
from fatwheel.errors import BuildError, BuildTimeout, PipelineError, UsageError, VerificationError
from fatwheel.pipelines.fat_build import build_and_split, group_cells
from fatwheel.plan import find_cell, iter_cells, unknown_cell_error
from fatwheel.plan.versions import parse_date
from fatwheel.processes import describe_exit, run_group, terminable
from fatwheel.pythons import own_command
from fatwheel.records.build import BuildRecord
from fatwheel.records.error import ErrorRecord
from fatwheel.records.files import BUILD, beside
from fatwheel.records.plan import Cell
from fatwheel.retry import Notify

_GRACE = 30.0  # seconds that a build has to stop itself and its container
_KINDS: dict[int, type[PipelineError]] = {
    kind.exit_code: kind for kind in (UsageError, BuildError, VerificationError, BuildTimeout)
}


@dataclass(frozen=True)
class BuildRequest:
    """The cells to build (IDs or globs), and how. ``fake_size`` in bytes makes placeholder wheels instead."""

    cells: Sequence[str]
    output: Path
    channel: str | None = None
    date: str | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)
    toolchain: str = "auto"
    modules: Sequence[str] = ()
    fake_size: int | None = None
    overrides: BuildOverrides = field(default_factory=BuildOverrides)
    parallel: int = 1
    child_arguments: Sequence[str] = ()  # the options of `fatwheel build` for a child process


BuildOne = Callable[[Cell], BuildRecord]
BuildGroup = Callable[[Sequence[Cell], Sequence[Cell]], Iterable[tuple[Cell, BuildRecord | PipelineError]]]


@dataclass
class BuildResults:
    """The records of the built cells, and the errors of the failed ones, in the order of the cells."""

    records: list[BuildRecord] = field(default_factory=list)
    failed: list[tuple[Cell, PipelineError]] = field(default_factory=list)

    def raise_failures(self) -> None:
        """Raise the error of a cell; for several failed cells, or if others were built, one that lists them."""
        if not self.failed:
            return
        count = len(self.failed) + len(self.records)
        if count == 1:
            raise self.failed[0][1]
        lines = "".join(f"\n  {cell.id}: {error.what.splitlines()[0]}" for cell, error in self.failed)
        raise BuildError(f"{len(self.failed)} of {count} cells failed:{lines}", help="rebuild each one by its ID")


def build_cells(declaration: Declaration, request: BuildRequest, notify: Notify) -> BuildResults:
    """Build all cells of a request, in parallel if requested and possible. Raises `UsageError` for unknown cells.

    Cells that matrix.yaml splits from one fat build are built together, one group after the other.
    """
    selected = find_cells(declaration, request.cells, request.channel, request.date)
    if request.fake_size:
        groups = [[cell] for cell in selected]
    else:
        every = find_cells(declaration, ["*"], request.channel, request.date)
        groups = list(group_cells(declaration, selected, every))
    if request.parallel > 1 and len(selected) > 1 and all(len(group) == 1 for group in groups):
        count = min(request.parallel, len(selected))
        arguments = [*request.child_arguments, "--beside", str(count)]
        return build_in_parallel(selected, count, arguments, request.output, notify)
    channel = declaration.find_channel(request.channel) if request.channel else None
    window = (channel.wait if channel else None) or 0.0
    overrides = replace(request.overrides, retries=DownloadRetries(window=window))

    def build(cell: Cell, folder: Path = request.output) -> BuildRecord:
        return build_cell(
            declaration, cell, folder, engine=request.engine, toolchain=request.toolchain,
            modules=list(request.modules) or None, fake_size=request.fake_size, tuning=overrides, notify=notify,
        )  # fmt: skip

    def split(group: Sequence[Cell], mine: Sequence[Cell]) -> Iterable[tuple[Cell, BuildRecord | PipelineError]]:
        return build_and_split(declaration, group, mine, request.output, build)

    return build_sequentially(groups, selected, build, split, notify)


def build_sequentially(
    groups: Sequence[Sequence[Cell]], chosen: Sequence[Cell], build: BuildOne, split: BuildGroup, notify: Notify
) -> BuildResults:
    """Build one group of cells after the other, and continue after failures.

    ``split`` builds a group of several cells at once and returns the wheels of those in ``chosen``.
    """
    found = BuildResults()

    def failed(cell: Cell, error: PipelineError) -> None:
        found.failed.append((cell, error))
        if len(chosen) > 1:
            notify(f"{cell.id} failed: {error}")

    expected = {cell.id for cell in chosen}
    for group in groups:
        mine = [cell for cell in group if cell.id in expected]
        try:
            if len(group) == 1:
                found.records.append(build(mine[0]))
                continue
            for cell, result in split(group, mine):
                if isinstance(result, PipelineError):
                    failed(cell, result)
                else:
                    found.records.append(result)
        except PipelineError as error:
            for cell in mine:
                failed(cell, error)
    return found


def build_in_parallel(
    cells: Sequence[Cell], count: int, arguments: Sequence[str], output: Path, notify: Notify
) -> BuildResults:
    """Build up to ``count`` cells at a time, each in its own process; its output lines start with the cell's ID.

    ``arguments`` follow the cell on the command line of ``fatwheel build``. An interrupt stops all builds.
    """
    stop = Event()
    answers: dict[str, BuildRecord | PipelineError] = {}
    with terminable(), ThreadPoolExecutor(count) as pool:
        pending = {pool.submit(_build_in_child, cell, arguments, output, stop, notify): cell for cell in cells}
        try:
            for done in as_completed(pending):
                answers[pending[done].id] = done.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return _collect(cells, answers)


def _build_in_child(
    cell: Cell, arguments: Sequence[str], output: Path, stop: Event, notify: Notify
) -> BuildRecord | PipelineError:
    """Build one cell in a child process; return its build record, or the error that the child recorded."""
    rest = bytearray()

    def sink(chunk: bytes) -> None:
        rest.extend(chunk)
        *lines, last = bytes(rest).split(b"\n")
        rest[:] = last
        for line in lines:
            notify(f"[{cell.id}] {line.decode(errors='replace')}")

    def tick(_pid: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    command, variables = own_command("build", cell.id, *arguments)
    with tempfile.TemporaryDirectory(prefix="fatwheel-error-") as folder:
        record = Path(folder) / "error.json"
        env = os.environ | variables | {"FATWHEEL_ERROR_RECORD": str(record)}
        status = run_group(command, env=env, cwd=Path.cwd(), sink=sink, tick=tick, grace=_GRACE)
        if status == 0:
            return BuildRecord.read(beside(output / cell.wheel, BUILD))
        if record.is_file():
            return _as_error(ErrorRecord.read(record))
    kind = _KINDS.get(status, BuildError)
    return kind(f"the child process {describe_exit(status)}", where=cell.id, help="see its output above")


def _as_error(record: ErrorRecord) -> PipelineError:
    return _KINDS.get(record.exit_code, BuildError)(record.message, where=record.where, help=record.help)


def _collect(cells: Sequence[Cell], answers: Mapping[str, BuildRecord | PipelineError]) -> BuildResults:
    found = BuildResults()
    for cell in cells:
        answer = answers[cell.id]
        if isinstance(answer, PipelineError):
            found.failed.append((cell, answer))
        else:
            found.records.append(answer)
    return found


def find_cells(declaration: Declaration, texts: Sequence[str], channel: str | None, date: str | None) -> list[Cell]:
    """Return the cells of these IDs and globs, each once, of one channel or of all. Raises `UsageError` for none."""
    day = parse_date(date)
    found: dict[str, Cell] = {}
    for text in texts:
        if not is_glob(text):
            found.setdefault(text, find_cell(declaration, text, channel, date=day))
            continue
        known = list(iter_cells(declaration, channel, day))
        matching = [one for one in known if fnmatch.fnmatchcase(one.id, text)]
        if not matching:
            raise unknown_cell_error(text, [one.id for one in known])
        for one in matching:
            found.setdefault(one.id, one)
    return list(found.values())


def is_glob(text: str) -> bool:
    """Return whether a text is a glob rather than an ID."""
    return not set("*?[").isdisjoint(text)
