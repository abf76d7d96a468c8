"""Writing YAML that people read: fixed order and layout, remarks, and notes at the ends of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

# Numbers that YAML 1.2 sees and PyYAML, which reads YAML 1.1, takes for text.
_NUMBER_1_2 = re.compile(r"[-+]?(0o[0-7]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Remark:
    """A comment on lines of its own: a key of a mapping (its value is not used), or an item of a list."""

    text: str


@dataclass(frozen=True)
class Gap:
    """An empty line, as a key of a mapping; ``number`` tells them apart."""

    number: int


@dataclass(frozen=True)
class Verbatim:
    """Items of a list as somebody else wrote them, only moved to their place."""

    text: str


@dataclass(frozen=True)
class Noted:
    """A value with a comment behind it."""

    value: str
    note: str


def write(value: dict[Any, Any]) -> str:
    """The text of a document. Mappings keep their order, tuples stand on one line.

    Read back, it is ``value`` without remarks and notes.
    """
    return "\n".join(_mapping(value, 0)) + "\n"


def _mapping(value: dict[Any, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key, inner in value.items():
        if isinstance(key, Gap):
            yield ""
        elif isinstance(key, Remark):
            yield from _remark(key, pad)
        else:
            yield from _entry(f"{pad}{_key(str(key), depth)}:", inner, depth)


def _remark(remark: Remark, pad: str) -> Iterator[str]:
    for line in remark.text.splitlines():
        yield f"{pad}# {line}".rstrip()


def _entry(start: str, inner: Any, depth: int) -> Iterator[str]:
    """What follows a key: on its line, or below it."""
    if isinstance(inner, dict) and inner:
        yield start
        yield from _mapping(inner, depth + 1)
    elif isinstance(inner, tuple):
        yield f"{start} [{', '.join(map(_text, inner))}]"
    elif isinstance(inner, list) and inner:
        yield start
        yield from _items(inner, depth + 1)
    elif isinstance(inner, str) and _is_block(inner):
        yield f"{start} |" if inner.endswith("\n") else f"{start} |-"
        yield from _lines(inner, depth + 1)
    else:
        yield f"{start} {_scalar(inner)}"


def _items(values: list[Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for value in values:
        if isinstance(value, Remark):
            yield from _remark(value, pad)
        elif isinstance(value, Verbatim):
            yield from (f"{pad}{line}".rstrip() for line in value.text.splitlines())
        elif isinstance(value, dict | list) and value:
            lines = list(_mapping(value, depth + 1) if isinstance(value, dict) else _items(value, depth + 1))
            first = next(place for place, line in enumerate(lines) if not line.lstrip().startswith("#"))
            yield from (line.replace("  ", "", 1) for line in lines[:first])
            yield f"{pad}- {lines[first].lstrip()}"
            yield from lines[first + 1 :]
        else:
            yield f"{pad}- {_scalar(value)}"


def _is_block(text: str) -> bool:
    """Whether text can stand as it is, line by line."""
    plain = "\n" in text.rstrip("\n") and not text.startswith((" ", "\n", "\t")) and not text.endswith("\n\n")
    return plain and not _CONTROL.search(text) and not any(line != line.rstrip() for line in text.split("\n"))


def _lines(text: str, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for line in text.removesuffix("\n").split("\n"):
        yield f"{pad}{line}" if line else ""


def _key(text: str, depth: int) -> str:
    """`on` begins every workflow, plain: a word for true in YAML 1.1, but GitHub reads 1.2."""
    return text if text == "on" and depth == 0 else _text(text)


def _scalar(value: Any) -> str:
    if isinstance(value, Noted):
        return f"{_text(value.value)} # {value.note}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return _text(value)


@cache
def _text(value: str) -> str:
    """Plain where every reader takes it for the same text, else in double quotes, all but ASCII escaped."""
    if value and not _NUMBER_1_2.fullmatch(value) and value.isprintable() and value.isascii():
        try:
            if yaml.safe_load(f"- {value}: 1\n- {value}") == [{value: 1}, value]:
                return value
        except yaml.YAMLError:
            pass
    return f'"{"".join(map(_escaped, value))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
