"""Yanking: files that stay where they are and are not chosen any more, unless somebody names their very version."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError
from fatwheel.index.atomic_write import locked
from fatwheel.index.document import read_index
from fatwheel.index.make_index import index_files, read_state, written
from fatwheel.records.index import Index, IndexedFile, YankReport
from fatwheel.wheels.formats.wheel_name import version_of


def yank(output: Path, what: Sequence[str], reason: str) -> YankReport:
    """Mark files of an index as yanked. ``what``: file names, globs over them, or ``PROJECT==VERSION``.

    A version without a label stands for all of its labels. Raises `UsageError` for what names nothing; nothing is
    changed then.
    """
    return _marked(output, what, reason)


def unyank(output: Path, what: Sequence[str]) -> YankReport:
    """Take it back. Raises `UsageError` for what names nothing that is yanked."""
    return _marked(output, what, None)


def _marked(output: Path, what: Sequence[str], reason: str | None) -> YankReport:
    output = output.resolve()
    with locked(output):
        index, state = read_index(output), read_state(output)
        if index is None:
            raise UsageError(
                "there is no index.json", where=str(output), help="give the folder that `fatwheel index` wrote"
            )
        rows = [*index.wheels, *index.sdists, *index.variants]
        held = rows if reason is not None else [row for row in rows if row.file in state.yanked]
        named = _named(held, what, rows)
        marks = {file: reason for file in named if reason is not None}
        kept = {file: why for file, why in state.yanked.items() if file not in named}
        yanked = dict(sorted({**kept, **marks}.items()))
        fresh = {file for file in named if state.yanked.get(file) != yanked.get(file)}
        state = state.model_copy(update={"yanked": yanked})
        changed = written(output, index_files(_with(index, yanked), state))
    return YankReport(
        index=str(output), yanked=reason is not None, reason=reason or "", files=sorted(fresh), changed=changed
    )


def _with(index: Index, yanked: dict[str, str]) -> Index:
    def marked(rows: list[IndexedFile]) -> list[IndexedFile]:
        return [row.model_copy(update={"yanked": yanked.get(row.file)}) for row in rows]

    return index.model_copy(update={kind: marked(getattr(index, kind)) for kind in ("wheels", "sdists", "variants")})


def _named(rows: Sequence[IndexedFile], what: Sequence[str], every: Sequence[IndexedFile]) -> set[str]:
    """The files that are meant. Raises `UsageError` with all that means none of ``rows``, or none of ``every`` file."""
    files = [row.file for row in rows]
    named: set[str] = set()
    lost: list[str] = []
    for one in what:
        found = _meant(rows, one)
        named |= found
        if not found and _meant(every, one):
            lost.append(f"nothing of '{one}' is yanked")
        elif not found:
            near = difflib.get_close_matches(
                one, [*files, *(f"{r.project}=={r.version}" for r in rows)], n=1, cutoff=0.5
            )
            lost.append(f"'{one}' names nothing there" + (f"; did you mean '{near[0]}'?" if near else ""))
    if lost:
        raise UsageError("\n  ".join(lost), help="write a file name, a glob in quotes, or PROJECT==VERSION")
    return named


def _meant(rows: Sequence[IndexedFile], text: str) -> set[str]:
    return _of_version(rows, text) if "==" in text else set(fnmatch.filter([row.file for row in rows], text))


def _of_version(rows: Sequence[IndexedFile], text: str) -> set[str]:
    project, _, version = (part.strip() for part in re.split(r"(==)", text, maxsplit=1))
    wanted = version_of(version)
    if wanted is None:
        raise UsageError(f"'{version}' is not a version", help="write it like 1.0 or 1.0+cu130.sm9x")
    name = canonicalize_name(project)
    held = [(Version(row.version), row.file) for row in rows if row.project == name]
    return {file for found, file in held if found == wanted or (not wanted.local and Version(found.public) == wanted)}
