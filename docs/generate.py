"""The reference pages, written from the code: keys from the models, commands from click, records, statuses, targets."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import fatwheel.records
from fatwheel import errors
from fatwheel.console.summaries import SUMMARIES
from fatwheel.declaration.schema import schema as json_schema
from fatwheel.records.base import Record
from fatwheel.targets import KNOWN_CAPABILITIES, SPELLINGS, covers, parse_targets, render, toolkits

_MATRIX = """\
Every key, from the model that checks it. `fatwheel check` reports all mistakes of a file at once, each with its line
and a help. An editor that reads JSON Schema completes and checks the keys as you type, with this in the first line:
"""
_SCHEMA = """\
`fatwheel schema -o matrix.schema.json` writes the schema. Texts that look like numbers stand in quotes:
`toolkit: "13.0"`.
"""
_COMMANDS = """\
`fatwheel COMMAND --help` shows the same. Results go to standard output, progress and errors to standard error; with
`--json` the output is one JSON document, whose form is in [records](records.md). [Statuses](statuses.md) are the same
for all of them.
"""
_RECORDS = """\
What passes between the stations, as files and as what `--json` prints. All are JSON; fields may be added in later
versions, and readers pass over fields that they do not know. Sizes are bytes, digests SHA-256 in hexadecimal.
"""
_TARGETS = """\
A *capability* belongs to a device (9.0), a *target* to code (9.0a). What follows is the table that every part of
fatwheel asks; [what covers what](../explanation/covers.md) explains it.
"""
_FILES = {
    "BuildRecord": "`X.whl.build.json`, beside each wheel",
    "SmokeRecord": "`X.whl.smoke.json`, beside each wheel that was tried",
    "EmbeddedMetadata": "`*.dist-info/fatwheel.json`, in each wheel",
    "Manifest": "`manifest.json`, in each release",
    "Plan": "`fatwheel plan --json`",
    "PlanDiff": "`fatwheel plan --diff REV --json`",
    "ReleaseRecord": "`fatwheel release --json` and `fatwheel status --json`",
    "ReleaseJournal": "`.fatwheel/release-TAG.json`, from which a run resumes",
    "Inventory": "`fatwheel inventory --json`",
    "Verification": "`fatwheel verify --json`",
    "Index": "`index.json`, at the root of an index",
    "IndexReport": "`fatwheel index --json`",
    "Report": "`fatwheel report --json`, and `report.json` beside its page",
    "Rehearsal": "`fatwheel rehearse --json`",
}


def write(folder: Path) -> list[Path]:
    """Write all pages into a folder; those whose text is new are touched, no others."""
    folder.mkdir(exist_ok=True)
    pages = {
        "matrix.md": matrix_page(),
        "commands.md": commands_page(),
        "records.md": records_page(),
        "statuses.md": statuses_page(),
        "targets.md": targets_page(),
    }
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"


def _code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


# matrix.yaml


def matrix_page() -> str:
    """Every key that a declaration may hold."""
    schema = json_schema()
    parts = [
        "# matrix.yaml\n",
        _MATRIX,
        "```yaml\n# yaml-language-server: $schema=matrix.schema.json\n```\n",
        _SCHEMA,
    ]
    for path, name in _places(schema):
        model = schema["$defs"][name] if name else schema
        heading = f"`{path}`" if path else "The file"
        parts.append(f"## {heading}\n")
        if model.get("description"):
            parts.append(f"{_sentence(model['description'])}\n")
        parts.append(_keys(model, schema))
    return "\n".join(parts)


def _places(schema: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Each object of the schema once, under the path where it is met first."""
    seen: set[str] = set()
    queue: list[tuple[str, str | None]] = [("", None)]
    while queue:
        path, name = queue.pop(0)
        yield path, name
        model = schema["$defs"][name] if name else schema
        for key, value in model.get("properties", {}).items():
            for suffix, inner in _inner(value):
                if inner not in seen:
                    seen.add(inner)
                    queue.append((f"{path}.{key}{suffix}".lstrip("."), inner))


def _inner(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "$ref" in value:
        yield "", value["$ref"].rsplit("/", 1)[1]
    for option in value.get("anyOf", []) + value.get("allOf", []):
        yield from _inner(option)
    if isinstance(value.get("items"), dict):
        yield from ((f"[]{suffix}", name) for suffix, name in _inner(value["items"]))
    for held in _values(value):
        yield from ((f".NAME{suffix}", name) for suffix, name in _inner(held))


def _values(value: dict[str, Any]) -> list[dict[str, Any]]:
    """What a mapping's values look like, whatever form its keys have."""
    return [
        held
        for held in [value.get("additionalProperties"), *value.get("patternProperties", {}).values()]
        if isinstance(held, dict)
    ]


def _keys(model: dict[str, Any], schema: dict[str, Any]) -> str:
    needed = set(model.get("required", []))
    rows = []
    for key, value in model.get("properties", {}).items():
        default = "needed" if key in needed else _default(value)
        rows.append((_code(key), _form(value, schema), default, value.get("description", "")))
    return table(["key", "form", "default", ""], rows)


def _form(value: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        target = schema["$defs"][name]
        return "a mapping, below" if target.get("type") == "object" else _form(target, schema)
    options = [option for option in value.get("anyOf", []) + value.get("allOf", []) if option.get("type") != "null"]
    if options:
        return " or ".join(dict.fromkeys(_form(option, schema) for option in options))
    if "enum" in value:
        return ", ".join(_code(option) for option in value["enum"])
    if "const" in value:
        return _code(value["const"])
    if value.get("examples"):
        return f"like {_code(value['examples'][0])}"
    kind = value.get("type")
    if kind == "array":
        return f"a list: {_form(value.get('items', {}), schema)}"
    if kind == "object":
        inner = _values(value)
        return f"a mapping of names: {_form(inner[0], schema)}" if inner else "a mapping"
    return {"string": "text", "boolean": "`true` or `false`", "integer": "a whole number"}.get(str(kind), "text")


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default is None or default in ([], {}):
        return ""
    if isinstance(default, dict):
        return "as below"
    return _code(json.dumps(default) if not isinstance(default, str) else default)


def _sentence(text: str) -> str:
    return " ".join(text.split())


# Commands


def commands_page() -> str:
    """Every command with its options, as `--help` shows them."""
    parts = [
        "# Commands\n",
        _COMMANDS,
        table(["command", ""], [(f"[`{verb}`](#{verb})", summary) for verb, summary in SUMMARIES.items()]),
    ]
    for verb, summary in SUMMARIES.items():
        command: click.Command = importlib.import_module(f"fatwheel.commands.{verb}").command
        parts.append(_command(verb, summary, command))
    return "\n".join(parts)


def _command(verb: str, summary: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"fatwheel {verb}")
    parts = [f"## {verb}\n", f"{summary}\n", f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"]
    told = inspect.getdoc(command.callback) if command.callback else None
    if told:
        parts.append(f"{_sentence(told)}\n")
    options = [one for one in command.params if isinstance(one, click.Option)]
    rows = [(_names(option, context), *_told(option, context)) for option in options]
    parts.append(table(["option", "", "default"], rows))
    return "\n".join(parts)


def _names(option: click.Option, context: click.Context) -> str:
    names = ", ".join(_code(name) for name in sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {option.make_metavar(context)}"


def _told(option: click.Option, context: click.Context) -> tuple[str, str]:
    about = option.help or ""
    if option.envvar:
        about += f" Environment: `{option.envvar}`."
    default = option.get_default(context)
    plain = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    return about, _code(default) if plain and default else ""


# Records


def records_page() -> str:
    """Every record, with the file or the option that gives it."""
    found: list[type] = []
    for module in pkgutil.iter_modules(fatwheel.records.__path__):
        loaded = importlib.import_module(f"fatwheel.records.{module.name}")
        found += [
            one
            for one in vars(loaded).values()
            if isinstance(one, type)
            and (issubclass(one, Record) or dataclasses.is_dataclass(one))
            and one.__module__ == loaded.__name__
            and one is not Record
        ]
    found.sort(key=lambda one: (one.__name__ not in _FILES, one.__module__))
    parts = [
        "# Records\n",
        _RECORDS,
    ]
    for model in found:
        where = f" {_FILES[model.__name__]}." if model.__name__ in _FILES else ""
        parts.append(f"## {model.__name__}\n")
        parts.append(f"{_sentence(inspect.getdoc(model) or '')}{where}\n")
        parts.append(_fields(model) if issubclass(model, BaseModel) else _plain_fields(model))
    return "\n".join(parts)


def _fields(model: type[BaseModel]) -> str:
    comments = _comments(model)
    rows = [
        (_code(field.alias or name), _type(field.annotation), _given(field), comments.get(name, ""))
        for name, field in model.model_fields.items()
    ]
    return table(["field", "type", "default", ""], rows)


def _plain_fields(model: type) -> str:
    """The same of a dataclass."""
    hints = typing.get_type_hints(model)
    rows = [
        (_code(field.name), _type(hints[field.name]), "" if field.default is dataclasses.MISSING else "`null`", "")
        for field in dataclasses.fields(model)
    ]
    return table(["field", "type", "default", ""], rows)


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """What stands behind the fields in the source."""
    lines = inspect.getsource(model).splitlines()
    found = (re.match(r"    (\w+): .*?  # (.+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match and not match[2].startswith("noqa")}


def _given(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    default = field.get_default(call_default_factory=True, validated_data={})
    return _code(json.dumps(default)) if default is None or isinstance(default, str | int | float | list | dict) else ""


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        shown = [_type(one) for one in arguments if one is not type(None)]
        return " or ".join([*shown, "null"] if type(None) in arguments else shown)
    if origin is typing.Literal:
        return ", ".join(_code(one) for one in arguments)
    if origin in (list, tuple, frozenset):
        return f"list of {_type(arguments[0])}" if arguments else "list"
    if origin is dict:
        return f"{_type(arguments[1])} by name"
    if isinstance(annotation, type) and (issubclass(annotation, Record) or dataclasses.is_dataclass(annotation)):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(annotation, "text")


# Statuses and targets


def statuses_page() -> str:
    """What the command ends with."""
    kinds = [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.PipelineError) and one is not errors.PipelineError
    ]
    rows = [("0", "", "Done.")]
    rows += [(str(one.exit_code), _code(one.__name__), _sentence(inspect.getdoc(one) or "")) for one in kinds]
    rows.append(("130", "", "Interrupted. What was finished stays, nothing is half-written."))
    rows.sort(key=lambda row: int(row[0]))
    return "\n".join(
        [
            "# Statuses\n",
            "The exit status of `fatwheel`. An error says what happened, where, and what to do.\n",
            table(["status", "error", ""], rows),
            "nox itself ends with 1 for any session that failed, and prints the status of the command inside.\n",
        ]
    )


def targets_page() -> str:
    """Which toolkit compiles what, what runs where, and how it is spelt."""
    releases = [(release, row.ptxas, _spaced(map(str, sorted(row.targets)))) for release, row in toolkits().items()]
    newest = list(toolkits())[-1]
    every = sorted(toolkits()[newest].targets)
    runs = [(str(target), " ".join(map(str, covers([target], None, newest))) or "none known") for target in every]
    example = parse_targets("8.0 9.0a+PTX 12.0f")
    spelt = []
    for spelling in SPELLINGS:
        try:
            spelt.append((_code(spelling), _code(render(example, spelling))))
        except errors.PipelineError as error:
            spelt.append((_code(spelling), error.what))
    return "\n".join(
        [
            "# Targets\n",
            _TARGETS,
            "## What each toolkit compiles\n",
            table(["CUDA", "its ptxas", "targets"], releases),
            f"## What runs machine code, as CUDA {newest} compiles it\n",
            f"Of the known capabilities: {' '.join(map(str, KNOWN_CAPABILITIES))}.\n",
            table(["target", "runs on"], runs),
            "## Spellings\n",
            "`spelling` in matrix.yaml decides how `{targets}` is written. The example is `8.0 9.0a+PTX 12.0f`.\n",
            table(["spelling", ""], spelt),
        ]
    )


def _spaced(texts: Iterable[str]) -> str:
    return " ".join(texts)
