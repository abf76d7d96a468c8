"""Validation of lists of targets and capabilities, written as a YAML list or as text. Reports every invalid item."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError

from fatwheel.errors import UsageError
from fatwheel.targets import Capability, Target, parse_target

Span = tuple[int, str]  # offset of an item in its text, from 0, and the item


@dataclass(frozen=True)
class ItemError:
    """An invalid item of a value: ``path`` is its place below the field, ``part`` its place in a text."""

    what: str
    help: str | None = None
    path: tuple[int, ...] = ()
    part: Span | None = None


def invalid(what: str, help: str | None = None) -> PydanticCustomError:
    """The error that a validator raises: what is wrong, and how to fix it."""
    return _invalid_items([ItemError(what, help)])


def _invalid_items(found: list[ItemError]) -> PydanticCustomError:
    return PydanticCustomError("fatwheel", "{text}", {"text": found[0].what, "errors": tuple(found)})


def items(value: Any) -> list[tuple[str, tuple[int, ...], Span | None]]:
    """Split a list, or a text with a list, into items; each with its path below the field, or its place in the text."""
    if isinstance(value, str):
        return [(m[0], (), (m.start(), m[0])) for m in re.finditer(r"[^\s,;]+", value)]
    return [(item, (place,), None) for place, item in enumerate(value)]


def _split_items(value: Any, name: str) -> list[tuple[str, tuple[int, ...], Span | None]]:
    if not isinstance(value, str | list):
        raise PydanticCustomError("not_text", "not text", {"paths": ((),)})
    others = [(place,) for place, item in enumerate(value) if not isinstance(item, str)]
    if others:
        raise PydanticCustomError("not_text", "not text", {"paths": tuple(others)})
    found = items(value)
    if not found:
        raise invalid(f"the list of {name} is empty", "add at least one")
    if isinstance(value, str) and re.search(r"[,;]\s*[,;]|^\s*[,;]|[,;]\s*$", value):
        raise invalid(f"'{value}' has an empty item", "write one separator between items")
    return found


def read_targets(value: Any) -> tuple[Target, ...]:
    """Parse targets, ascending. Raises `PydanticCustomError` for invalid and duplicate ones."""
    found: dict[Target, Target] = {}
    errors: list[ItemError] = []
    for item, path, part in _split_items(value, "targets"):
        try:
            target = parse_target(item)
        except UsageError as error:
            errors.append(ItemError(error.what, error.help, path, part))
            continue
        other = found.setdefault(target.code, target)
        if other is not target and other.kind == target.kind:
            errors.append(ItemError(f"duplicate target {target}", "remove one of them", path, part))
        elif other is not target:
            help = f"write {target.code}+PTX for machine code and PTX"
            errors.append(ItemError(f"{other} and {target} are the same target", help, path, part))
    if errors:
        raise _invalid_items(errors)
    return tuple(sorted(found.values()))


def read_capabilities(value: Any) -> tuple[Capability, ...]:
    """Parse capabilities, ascending. Raises `PydanticCustomError` for invalid and duplicate ones."""
    found: set[Capability] = set()
    errors: list[ItemError] = []
    for item, path, part in _split_items(value, "capabilities"):
        try:
            capability = Capability.parse(item)
        except UsageError as error:
            errors.append(ItemError(error.what, error.help, path, part))
            continue
        if capability in found:
            errors.append(ItemError(f"duplicate capability {capability}", "remove one of them", path, part))
        found.add(capability)
    if errors:
        raise _invalid_items(errors)
    return tuple(sorted(found))
