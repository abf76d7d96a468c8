"""Yank files of an index: they stay available, but installers skip them unless they are pinned exactly."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError
from fatwheel.index.atomic_write import lock_output
from fatwheel.index.document import read_index
from fatwheel.index.make_index import read_state, render_index, write_index
from fatwheel.records.index import Index, IndexedFile, YankReport
from fatwheel.wheels.formats.wheel_name import parse_version


def yank(output: Path, what: Sequence[str], reason: str) -> YankReport:
    """Yank files of an index. ``what``: file names, globs, or ``PROJECT==VERSION``.

    A version without a label matches all its labels. Raises `UsageError` if an argument matches nothing; the index is
    not changed then.
    """
    return _update(output, what, reason)


def unyank(output: Path, what: Sequence[str]) -> YankReport:
    """Undo a yank. Raises `UsageError` if an argument matches no yanked file; the index is not changed then."""
    return _update(output, what, None)


def _update(output: Path, what: Sequence[str], reason: str | None) -> YankReport:
    output = output.resolve()
    with lock_output(output):
        index, state = read_index(output), read_state(output)
        if index is None:
            raise UsageError(
                "index.json not found", where=str(output), help="give a folder that `fatwheel index` wrote"
            )
        entries = [*index.wheels, *index.sdists, *index.variants]
        candidates = entries if reason is not None else [entry for entry in entries if entry.file in state.yanked]
        named = _select_files(candidates, what, entries)
        marks = {file: reason for file in named if reason is not None}
        kept = {file: why for file, why in state.yanked.items() if file not in named}
        yanked = dict(sorted({**kept, **marks}.items()))
        changed_files = {file for file in named if state.yanked.get(file) != yanked.get(file)}
        state = state.model_copy(update={"yanked": yanked})
        changed = write_index(output, render_index(_apply_yanks(index, yanked), state))
    return YankReport(
        index=str(output), yanked=reason is not None, reason=reason or "", files=sorted(changed_files), changed=changed
    )


def _apply_yanks(index: Index, yanked: dict[str, str]) -> Index:
    def apply(entries: list[IndexedFile]) -> list[IndexedFile]:
        return [entry.model_copy(update={"yanked": yanked.get(entry.file)}) for entry in entries]

    return index.model_copy(update={kind: apply(getattr(index, kind)) for kind in ("wheels", "sdists", "variants")})


def _select_files(entries: Sequence[IndexedFile], what: Sequence[str], every: Sequence[IndexedFile]) -> set[str]:
    """Select the matching files among ``entries``. Raises `UsageError` with all arguments that match none.

    ``every``: all entries of the index, for the message about files that are not yanked.
    """
    files = [entry.file for entry in entries]
    named: set[str] = set()
    unmatched: list[str] = []
    for one in what:
        found = _match_files(entries, one)
        named |= found
        if not found and _match_files(every, one):
            unmatched.append(f"'{one}' matches no yanked file")
        elif not found:
            near = difflib.get_close_matches(
                one, [*files, *(f"{r.project}=={r.version}" for r in entries)], n=1, cutoff=0.5
            )
            unmatched.append(f"'{one}' matches no file in the index" + (f"; did you mean '{near[0]}'?" if near else ""))
    if unmatched:
        raise UsageError("\n  ".join(unmatched), help="give a file name, a quoted glob, or PROJECT==VERSION")
    return named


def _match_files(entries: Sequence[IndexedFile], text: str) -> set[str]:
    return (
        _match_version(entries, text) if "==" in text else set(fnmatch.filter([entry.file for entry in entries], text))
    )


def _match_version(entries: Sequence[IndexedFile], text: str) -> set[str]:
    project, _, version = (part.strip() for part in re.split(r"(==)", text, maxsplit=1))
    requested = parse_version(version)
    if requested is None:
        raise UsageError(f"invalid version '{version}'", help="use a version such as 1.0 or 1.0+cu130.sm9x")
    name = canonicalize_name(project)
    files = [(Version(entry.version), entry.file) for entry in entries if entry.project == name]
    return {
        file
        for found, file in files
        if found == requested or (not requested.local and Version(found.public) == requested)
    }
