"""Update files that repeat the version or the targets, so that they agree with METADATA and the cell."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from fatwheel.atomic import write_atomically
from fatwheel.errors import BuildError
from fatwheel.records.plan import Cell
from fatwheel.targets import Target
from fatwheel.wheels.formats.texts import TARGETS_ASSIGNED, replace_group, set_version

_TOKEN = re.compile(r"(?:sm|compute)_?[0-9]+[af]?|[0-9][0-9a-zA-Z_.+-]*")


def restamp(tree: Path, patterns: Sequence[str], cell: Cell) -> list[str]:
    """Rewrite the files that the patterns match; return the changed ones. Raises `BuildError` if none matches."""
    members = {path.relative_to(tree).as_posix(): path for path in tree.rglob("*") if path.is_file()}
    changed = restamped_files(members, lambda name: members[name].read_bytes(), patterns, cell)
    for name, data in changed.items():
        write_atomically(members[name], data)
    return list(changed)


def restamped_files(
    names: Collection[str], read: Callable[[str], bytes], patterns: Sequence[str], cell: Cell
) -> dict[str, bytes]:
    """Return the new contents of the files that differ. Raises `BuildError` if a pattern matches no file."""
    changed: dict[str, bytes] = {}
    for pattern in patterns:
        found = sorted(name for name in names if fnmatch.fnmatchcase(name, pattern))
        if not found:
            raise BuildError(
                f"the build made no file that matches `stamp: {pattern}`",
                where=cell.id,
                help="make the build write it, or remove it from `stamp`",
            )
        for name in found:
            before = read(name)
            after = stamped(before.decode("utf-8", "surrogateescape"), cell).encode("utf-8", "surrogateescape")
            if after != before:
                changed[name] = after
    return changed


def stamped(text: str, cell: Cell) -> str:
    """Return a text with its version and targets replaced by the cell's; a binary file stays unchanged."""
    if "\0" in text:
        return text
    text = set_version(text, cell.full_version)
    if not cell.targets:
        return text
    return TARGETS_ASSIGNED.sub(lambda match: replace_group(match, _format_targets(match[1], cell.targets)), text)


def _format_targets(old: str, targets: Sequence[Target]) -> str:
    """Format targets like the replaced value: as a list or one string, in the target format of its first entry."""
    first = next(iter(_TOKEN.findall(old)), "9.0")
    written = [_format_target(first, target) for target in targets]
    opening, closing = old[0], old[-1]
    if opening in "[(":
        quote = "'" if "'" in old else '"'
        quoted = [f"{quote}{one}{quote}" for one in written]
        tail = "," if opening == "(" and len(quoted) == 1 else ""
        return f"{opening}{', '.join(quoted)}{tail}{closing}"
    between = re.search(r"[^\s\"'][ ,;]+(?=\S)", old[1:-1])
    return f"{opening}{(between[0][1:] if between else ' ').join(written)}{closing}"


def _format_target(like: str, target: Target) -> str:
    prefix = re.match(r"(?:sm|compute)_?", like)
    if prefix:
        return f"{prefix[0]}{target.undotted}"
    return str(target) if "." in like else target.undotted
