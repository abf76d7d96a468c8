"""Files of a tree that repeat the version or the targets are made to agree with METADATA and the cell."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from fatwheel.errors import BuildError
from fatwheel.records.base import write_atomically
from fatwheel.records.plan import Cell
from fatwheel.targets import Target
from fatwheel.wheels.formats.texts import TARGETS_ASSIGNED, replace_group, set_version

_TOKEN = re.compile(r"(?:sm|compute)_?[0-9]+[af]?|[0-9][0-9a-zA-Z_.+-]*")


def restamp(tree: Path, patterns: Sequence[str], cell: Cell) -> list[str]:
    """Rewrite the files that the patterns name; which of them changed, as members. Raises `BuildError` for no file."""
    members = {path.relative_to(tree).as_posix(): path for path in tree.rglob("*") if path.is_file()}
    changed = restamped(members, lambda name: members[name].read_bytes(), patterns, cell)
    for name, data in changed.items():
        write_atomically(members[name], data)
    return list(changed)


def restamped(
    names: Collection[str], read: Callable[[str], bytes], patterns: Sequence[str], cell: Cell
) -> dict[str, bytes]:
    """The new contents of those files among ``names`` that do not agree. Raises `BuildError` for no file."""
    changed: dict[str, bytes] = {}
    for pattern in patterns:
        found = sorted(name for name in names if fnmatch.fnmatchcase(name, pattern))
        if not found:
            raise BuildError(
                f"the build left no {pattern}, which `stamp` names",
                where=cell.id,
                help="have the command write it, or take it off `stamp`",
            )
        for name in found:
            before = read(name)
            after = stamped(before.decode("utf-8", "surrogateescape"), cell).encode("utf-8", "surrogateescape")
            if after != before:
                changed[name] = after
    return changed


def stamped(text: str, cell: Cell) -> str:
    """A text with the cell's version and targets in the place of those that it says; what is none stays as it is."""
    if "\0" in text:
        return text
    text = set_version(text, cell.full_version)
    if not cell.targets:
        return text
    return TARGETS_ASSIGNED.sub(lambda match: replace_group(match, _listed(match[1], cell.targets)), text)


def _listed(said: str, targets: Sequence[Target]) -> str:
    """Targets in the form of what stood there: a list or one text, and each spelt as the first of them was."""
    first = next(iter(_TOKEN.findall(said)), "9.0")
    spelt = [_spelt(first, target) for target in targets]
    opening, closing = said[0], said[-1]
    if opening in "[(":
        quote = "'" if "'" in said else '"'
        quoted = [f"{quote}{one}{quote}" for one in spelt]
        tail = "," if opening == "(" and len(quoted) == 1 else ""
        return f"{opening}{', '.join(quoted)}{tail}{closing}"
    between = re.search(r"[^\s\"'][ ,;]+(?=\S)", said[1:-1])
    return f"{opening}{(between[0][1:] if between else ' ').join(spelt)}{closing}"


def _spelt(like: str, target: Target) -> str:
    prefix = re.match(r"(?:sm|compute)_?", like)
    if prefix:
        return f"{prefix[0]}{target.undotted}"
    return str(target) if "." in like else target.undotted
