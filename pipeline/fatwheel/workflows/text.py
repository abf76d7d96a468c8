"""Write readable YAML: fixed order and layout, with comments on lines of their own or at the ends of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

# Numbers in YAML 1.2 that PyYAML, which implements YAML 1.1, reads as text.
_NUMBER_1_2 = re.compile(r"[-+]?(0o[0-7]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Comment:
    """A comment on lines of its own, as a key of a mapping (its value is ignored) or an item of a list."""

    text: str


@dataclass(frozen=True)
class BlankLine:
    """A blank line, as a key of a mapping; ``number`` makes the keys distinct."""

    number: int


@dataclass(frozen=True)
class Verbatim:
    """Items of a list as YAML text, which is only indented."""

    text: str


@dataclass(frozen=True)
class Commented:
    """A value with a comment at the end of its line."""

    value: str
    comment: str


def dump(value: dict[Any, Any]) -> str:
    """Write a document. Mappings keep their order, tuples become lists on one line.

    Parsing the text gives ``value`` without its comments and blank lines.
    """
    return "\n".join(_mapping(value, 0)) + "\n"


def _mapping(value: dict[Any, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key, inner in value.items():
        if isinstance(key, BlankLine):
            yield ""
        elif isinstance(key, Comment):
            yield from _comment(key, pad)
        else:
            yield from _entry(f"{pad}{_key(str(key), depth)}:", inner, depth)


def _comment(comment: Comment, pad: str) -> Iterator[str]:
    for line in comment.text.splitlines():
        yield f"{pad}# {line}".rstrip()


def _entry(start: str, inner: Any, depth: int) -> Iterator[str]:
    """A key and its value, on the same line or below it."""
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
        if isinstance(value, Comment):
            yield from _comment(value, pad)
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
    """Whether text can be written as a literal block."""
    plain = "\n" in text.rstrip("\n") and not text.startswith((" ", "\n", "\t")) and not text.endswith("\n\n")
    return plain and not _CONTROL.search(text) and not any(line != line.rstrip() for line in text.split("\n"))


def _lines(text: str, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for line in text.removesuffix("\n").split("\n"):
        yield f"{pad}{line}" if line else ""


def _key(text: str, depth: int) -> str:
    """The top-level key `on` stays unquoted: it means true in YAML 1.1, but GitHub reads YAML 1.2."""
    return text if text == "on" and depth == 0 else _text(text)


def _scalar(value: Any) -> str:
    if isinstance(value, Commented):
        return f"{_text(value.value)} # {value.comment}"
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
    """Plain if all parsers read the same text, else in double quotes with everything but ASCII escaped."""
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
