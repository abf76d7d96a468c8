"""Validate plain values against the models. Reports every invalid value with its position and help."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fatwheel.declaration.lists import ItemError
from fatwheel.declaration.model import Document
from fatwheel.declaration.source import Mark, Path, Source
from fatwheel.errors import Diagnostic


def suggest_value(text: str, allowed: list[str]) -> str | None:
    """The help for a misspelled value: the closest allowed one, or all of them."""
    near = difflib.get_close_matches(text, allowed, n=1, cutoff=0.7)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"allowed: {', '.join(allowed)}" if allowed else None


def validate(source: Source) -> tuple[Document | None, Source, list[Diagnostic], frozenset[str]]:
    """Validate a file. Returns the valid part of the document, its source, the errors, and the sections with errors.

    Invalid values are removed from the document and from the returned source (only the key if the key is unknown), so
    that later checks still see the rest. The document is None if a part is missing that everything requires.
    """
    if not isinstance(source.value, dict):
        help = "start with `version:` and `packages:`"
        return None, source, [source.diagnostic((), "matrix.yaml must be a mapping", help)], frozenset()
    errors: list[Diagnostic] = []
    rest = source
    broken: set[str] = set()
    for _ in range(
        5
    ):  # the whole document, then without invalid values, then without entries that this made incomplete ...
        try:
            return Document.model_validate(rest.value), rest, errors, frozenset(broken)
        except ValidationError as error:
            details = error.errors(include_url=False)
            if not errors:
                errors = [one for d in details for one in _translate(source, d)]
                _drop_quote_errors(source, details)
            broken |= {str(d["loc"][0]) for d in details if d["loc"]}
            rest = rest.without({_removable(d) for d in details} - {()})
    return None, rest, errors, frozenset(broken)


def _drop_quote_errors(source: Source, details: list[ErrorDetails]) -> None:
    """Drop YAML's advice to quote ``010`` where a number or a name is expected: validation reports it better."""
    marks: list[Mark | None] = [source.mark(tuple(d["loc"])) for d in details if d["type"] == "int_type"]
    marks += [source.keys.get(tuple(d["loc"][:-1])) for d in details if d["loc"][-1:] == ("[key]",)]
    marks += [source.keys.get(tuple(d["loc"])) for d in details if d["type"] == "extra_forbidden"]
    places = {(mark.line, mark.column) for mark in marks if mark}
    source.errors = [p for p in source.errors if (p.line, p.column) not in places]


def _removable(error: ErrorDetails) -> Path:
    """The path to remove for an error: of the invalid value, or of the entry without a required key."""
    path: Path = tuple(part for part in error["loc"] if part != "[key]")
    return path[:2] if error["type"] == "missing" else path


def _model_at(path: Path) -> type[BaseModel] | None:
    """The model of the mapping at a path."""
    kind: Any = Document
    for part in path:
        kind = _plain(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            fields = {f.alias or name: f for name, f in kind.model_fields.items()}
            if part not in fields:
                return None
            kind = fields[str(part)].annotation
        elif get_origin(kind) in (dict, list):
            kind = get_args(kind)[-1]
        else:
            return None
    kind = _plain(kind)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _plain(kind: Any) -> Any:
    """An annotation without `Annotated` and `| None`."""
    while True:
        args = [a for a in get_args(kind) if a is not type(None)]
        if hasattr(kind, "__metadata__") or (args and type(None) in get_args(kind)):
            kind = args[0]
        else:
            return kind


def allowed_keys(path: Path) -> list[str]:
    """The keys of the mapping at a path."""
    model = _model_at(path)
    return [f.alias or name for name, f in model.model_fields.items()] if model else []


def _translate(source: Source, error: ErrorDetails) -> list[Diagnostic]:
    is_key = error["loc"][-1:] == ("[key]",)
    path: Path = tuple(part for part in error["loc"] if part != "[key]")
    if error["type"] == "not_text":
        given = error["input"]
        return [_text_expected(source, (*path, *at), given[at[0]] if at else given) for at in error["ctx"]["paths"]]
    if error["type"] != "fatwheel":
        return [_translate_builtin(source, error, path, is_key=is_key)]
    errors: tuple[ItemError, ...] = error["ctx"]["errors"]
    found = [source.diagnostic((*path, *f.path), f.what, f.help, key=is_key, part=f.part) for f in errors]
    return [replace(p, text=None) for p in found] if path[:1] == ("secrets",) else found  # the value may be a token


def _translate_builtin(source: Source, error: ErrorDetails, path: Path, *, is_key: bool) -> Diagnostic:
    kind, context, given = error["type"], error.get("ctx", {}), error["input"]
    name = str(path[-1]) if path else "the file"
    if kind == "extra_forbidden":
        return source.diagnostic(path, f"unknown key '{name}'", suggest_value(name, allowed_keys(path[:-1])), key=True)
    if kind == "missing":
        inside = f" in {_format_path(path[:-1])}" if path[:-1] else ""
        return source.diagnostic(path[:-1], f"missing key '{name}'{inside}", f"add {name}:")
    if kind == "literal_error":
        options = [option.strip(" '") for option in context["expected"].replace(" or ", ", ").split(",")]
        if isinstance(given, bool | int | float) or given is None:
            return _text_expected(source, path, given)
        return source.diagnostic(path, f"invalid value '{given}'", suggest_value(str(given), options), key=is_key)
    if kind == "string_type":
        return _text_expected(source, path, given)
    expected = {
        "bool_type": "true or false",
        "int_type": "an integer",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "model_attributes_type": "a mapping",
    }.get(kind)
    if expected:
        shown = "nothing" if given is None else f"'{given}'" if isinstance(given, str) else _describe_value(given)
        quoted = (source.mark(path).lead or 0) > 0
        return source.diagnostic(
            path, f"{_format_path(path)} must be {expected}, not {shown}", _help(kind, path, given, quoted=quoted)
        )
    if kind in {"too_short", "string_too_short"}:
        return source.diagnostic(
            path, f"{_format_path(path)} is empty", "add at least one item" if kind == "too_short" else "write a value"
        )
    if kind == "greater_than_equal":
        return source.diagnostic(path, f"{_format_path(path)} must be at least {context['ge']}, not {given}")
    return source.diagnostic(path, f"{_format_path(path)}: {error['msg'].lower()}")


def _help(kind: str, path: Path, given: Any, *, quoted: bool) -> str | None:
    if kind == "int_type":
        digits = re.fullmatch(r"[+]?0*([0-9]{1,18})", given.replace("_", "") if isinstance(given, str) else "")
        return f"write {digits[1]}{', without quotes' if quoted else ''}" if digits else "write a number"
    if kind == "list_type":
        return f"write [{given}]" if isinstance(given, str) else "start each item with -"
    keys = allowed_keys(path)
    return f"keys: {', '.join(keys)}" if keys else "write NAME: VALUE" if kind == "dict_type" else None


def _describe_value(given: Any) -> str:
    return "a list" if isinstance(given, list) else "a mapping" if isinstance(given, dict) else str(given).lower()


def _text_expected(source: Source, path: Path, given: Any) -> Diagnostic:
    text = source.mark(path).text
    if isinstance(given, bool | int | float) and text is not None:
        sort = "a boolean" if isinstance(given, bool) else "a number"
        return source.diagnostic(path, f"{_format_path(path)} must be text, but {text} is {sort}", f'write "{text}"')
    if given is None:
        return source.diagnostic(path, f"{_format_path(path)} is empty", 'write a value ("" for none)')
    return source.diagnostic(path, f"{_format_path(path)} must be text", "write a single value")


def _format_path(path: Path) -> str:
    """A path as text: ``packages[0].build``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or "the file"
