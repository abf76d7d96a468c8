"""Generate the reference pages from the code: configuration keys, commands, records, exit codes and targets."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import fatwheel.records
from fatwheel import errors
from fatwheel.console.summaries import GROUPS, LESS_USED, SUMMARIES
from fatwheel.declaration.schema import schema as json_schema
from fatwheel.records.base import Record
from fatwheel.targets import KNOWN_CAPABILITIES, SPELLINGS, covers, parse_targets, render, toolkits

_MATRIX = """\
Every key, from the model that validates it. `fatwheel check` reports all errors of a file in one run, with line numbers
and fixes. Editors that support JSON Schema complete and validate keys as you type if this is the first line:
"""
_SCHEMA = """\
`fatwheel schema -o matrix.schema.json` writes the schema. Quote strings that look like numbers: `toolkit: "13.0"`.
"""
_COMMANDS = """\
This page shows the output of `fatwheel COMMAND --help`. Commands print results to standard output, and progress and
errors to standard error; `-q` omits the progress. All commands use the same [exit codes](exit-codes.md). Commands that
can use a `matrix.yaml` read `./matrix.yaml` if it exists. `--no-matrix` ignores it, and `-v` shows which file is read.
"""
_JSON = """\
With `--json`, a command prints exactly one JSON document on standard output. `build`, `inventory`, `repack`, `smoke`,
`split` and `verify` print an array with one [record](records.md) per wheel, also for a single wheel; all other commands
print an object. If a command fails before it has a result, the document is `{"error": ...}` with an
[ErrorRecord](records.md#errorrecord); the exit code is the same as without `--json`.
"""
_COMPLETION = """\
Commands, options, cell IDs and channels can be completed in bash, zsh and fish. For bash, add this line to `~/.bashrc`
(for the others, replace `bash_source` with `zsh_source` or `fish_source`):

```text
eval "$(_FATWHEEL_COMPLETE=bash_source fatwheel)"
```
"""
_RECORDS = """\
The JSON files that stages exchange, and the output of `--json`. Later versions may add fields; ignore fields that
you do not know. Sizes are in bytes, digests are SHA-256 in hexadecimal.
"""
_TARGETS = """\
A *capability* belongs to a device (9.0), a *target* to compiled code (9.0a). All parts of fatwheel use the tables
below; [Targets and coverage](../explanation/covers.md) explains them.
"""
_FILES = {
    "BuildRecord": "`X.whl.build.json`, beside each wheel",
    "SmokeRecord": "`X.whl.smoke.json`, beside each tested wheel",
    "EmbeddedMetadata": "`*.dist-info/fatwheel.json`, in each wheel that fatwheel built",
    "Manifest": "`manifest.json`, in each release",
    "Plan": "`fatwheel plan --json`",
    "PlanDiff": "`fatwheel plan --diff REV --json`",
    "ReleaseRecord": "`fatwheel release --json` and `fatwheel status --json`",
    "ReleaseJournal": "`.fatwheel/release-TAG.json`, used to resume a release",
    "Inventory": "`fatwheel inventory --json`",
    "Verification": "`fatwheel verify --json`",
    "Index": "`index.json`, at the root of an index",
    "IndexReport": "`fatwheel index --json`",
    "ErrorRecord": '`--json` of a failed command, as `{"error": ...}`',
    "Report": "`fatwheel report --json`, and `report.json` beside the HTML report",
    "Rehearsal": "`fatwheel rehearse --json`",
}


def write(folder: Path) -> list[Path]:
    """Write all pages to a folder and return their paths; files whose text is unchanged are not touched."""
    folder.mkdir(exist_ok=True)
    pages = {
        "matrix.md": matrix_page(),
        "commands.md": commands_page(),
        "records.md": records_page(),
        "exit-codes.md": exit_codes_page(),
        "targets.md": targets_page(),
    }
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with escaped cells."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"


def _code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


# matrix.yaml


def matrix_page() -> str:
    """Return the page of all keys of matrix.yaml."""
    schema = json_schema()
    parts = [
        "# matrix.yaml\n",
        _MATRIX,
        "```yaml\n# yaml-language-server: $schema=matrix.schema.json\n```\n",
        _SCHEMA,
    ]
    for path, name in _objects(schema):
        model = schema["$defs"][name] if name else schema
        heading = f"`{path}`" if path else "The file"
        parts.append(f"## {heading}\n")
        if model.get("description"):
            parts.append(f"{_sentence(model['description'])}\n")
        parts.append(_keys(model, schema))
    return "\n".join(parts)


def _objects(schema: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield each object of the schema once, with the first path that leads to it."""
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
    for one in _values(value):
        yield from ((f".NAME{suffix}", name) for suffix, name in _inner(one))


def _values(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of a mapping's values, for any form of keys."""
    return [
        one
        for one in [value.get("additionalProperties"), *value.get("patternProperties", {}).values()]
        if isinstance(one, dict)
    ]


def _keys(model: dict[str, Any], schema: dict[str, Any]) -> str:
    required = set(model.get("required", []))
    rows = []
    for key, value in model.get("properties", {}).items():
        default = "required" if key in required else _default(value)
        rows.append((_code(key), _form(value, schema), default, value.get("description", "")))
    return table(["key", "value", "default", "description"], rows)


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
        return f"for example {_code(value['examples'][0])}"
    kind = value.get("type")
    if kind == "array":
        return f"a list of: {_form(value.get('items', {}), schema)}"
    if kind == "object":
        inner = _values(value)
        return f"a mapping of names to: {_form(inner[0], schema)}" if inner else "a mapping"
    return {"string": "a string", "boolean": "`true` or `false`", "integer": "an integer"}.get(str(kind), "a string")


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default is None or default in ([], {}):
        return ""
    if isinstance(default, dict):
        return "see below"
    return _code(json.dumps(default) if not isinstance(default, str) else default)


def _sentence(text: str) -> str:
    return " ".join(text.split())


# Commands


def commands_page() -> str:
    """Return the page of all commands with their options."""
    parts = [
        "# Commands\n",
        _COMMANDS,
        *(_group(title, commands) for title, commands in {**GROUPS, "Less used": LESS_USED}.items()),
        f"## JSON output\n\n{_JSON}",
        f"## Shell completion\n\n{_COMPLETION}",
    ]
    for verb, summary in SUMMARIES.items():
        command: click.Command = importlib.import_module(f"fatwheel.commands.{verb}").command
        parts.append(_command(verb, summary, command))
    return "\n".join(parts)


def _group(title: str, commands: Mapping[str, str]) -> str:
    rows = [(f"[`{name}`](#{name})", summary) for name, summary in commands.items()]
    return f"**{title}**\n\n{table(['command', 'purpose'], rows)}"


def _command(verb: str, summary: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"fatwheel {verb}")
    parts = [f"## {verb}\n", f"{summary}\n", f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"]
    description = inspect.getdoc(command.callback) if command.callback else None
    if description:
        parts.append(f"{_sentence(description)}\n")
    options = [one for one in command.params if isinstance(one, click.Option)]
    rows = [(_names(option, context), *_describe(option, context)) for option in options]
    parts.append(table(["option", "description", "default"], rows))
    return "\n".join(parts)


def _names(option: click.Option, context: click.Context) -> str:
    names = ", ".join(_code(name) for name in sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {option.make_metavar(context)}"


def _describe(option: click.Option, context: click.Context) -> tuple[str, str]:
    about = option.help or ""
    if option.envvar:
        about += f" Environment: `{option.envvar}`."
    default = option.get_default(context)
    plain = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    return about, _code(default) if plain and default else ""


# Records


def records_page() -> str:
    """Return the page of all records, with the file or the option that produces each."""
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
        parts.append(f"## {model.__name__}\n")
        parts.append(f"{_sentence(inspect.getdoc(model) or '')}\n")
        if model.__name__ in _FILES:
            parts.append(f"Where: {_FILES[model.__name__]}.\n")
        parts.append(_fields(model) if issubclass(model, BaseModel) else _plain_fields(model))
    return "\n".join(parts)


def _fields(model: type[BaseModel]) -> str:
    comments = _comments(model)
    rows = [
        (_code(field.alias or name), _type(field.annotation), _field_default(field), comments.get(name, ""))
        for name, field in model.model_fields.items()
    ]
    return table(["field", "type", "default", "description"], rows)


def _plain_fields(model: type) -> str:
    """Return the table of a dataclass's fields."""
    hints = typing.get_type_hints(model)
    rows = [
        (_code(field.name), _type(hints[field.name]), "" if field.default is dataclasses.MISSING else "`null`", "")
        for field in dataclasses.fields(model)
    ]
    return table(["field", "type", "default", "description"], rows)


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """Return the comments after the fields in the source, by field name."""
    lines = inspect.getsource(model).splitlines()
    found = (re.match(r"    (\w+): .*?  # (.+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match and not match[2].startswith("noqa")}


def _field_default(field: FieldInfo) -> str:
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
        return f"object of {_type(arguments[1])}"
    if isinstance(annotation, type) and (issubclass(annotation, Record) or dataclasses.is_dataclass(annotation)):
        if annotation.__module__.startswith(f"{fatwheel.records.__name__}."):
            return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
        return annotation.__name__.lower()  # a target or capability, as text
    return {str: "string", int: "integer", float: "number", bool: "boolean"}.get(annotation, "string")


# Exit codes and targets


def exit_codes_page() -> str:
    """Return the page of exit codes, from the exception classes."""
    kinds = [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.PipelineError) and one is not errors.PipelineError
    ]
    rows = [("0", "", "Success.")]
    rows += [(str(one.exit_code), _code(one.__name__), _sentence(inspect.getdoc(one) or "")) for one in kinds]
    rows.sort(key=lambda row: int(row[0]))
    return "\n".join(
        [
            "# Exit codes\n",
            "The exit codes of all commands. Error messages state what happened, where, and how to fix it.\n",
            table(["exit code", "exception", "description"], rows),
            "Nox itself exits with code 1 if a session fails, and prints the exit code of the command.\n",
        ]
    )


def targets_page() -> str:
    """Return the page of targets: those of each toolkit, the capabilities that run them, and the target formats."""
    releases = [(release, row.ptxas, _spaced(map(str, sorted(row.targets)))) for release, row in toolkits().items()]
    newest = list(toolkits())[-1]
    every = sorted(toolkits()[newest].targets)
    runs = [(str(target), " ".join(map(str, covers([target], None, newest))) or "none known") for target in every]
    example = parse_targets("8.0 9.0a+PTX 12.0f")
    formats = []
    for spelling in SPELLINGS:
        try:
            formats.append((_code(spelling), _code(render(example, spelling))))
        except errors.PipelineError as error:
            formats.append((_code(spelling), error.what))
    return "\n".join(
        [
            "# Targets\n",
            _TARGETS,
            "## Targets of each toolkit\n",
            table(["CUDA", "ptxas", "targets"], releases),
            f"## Devices that run each target of CUDA {newest}\n",
            f"Known capabilities: {' '.join(map(str, KNOWN_CAPABILITIES))}.\n",
            table(["target", "capabilities"], runs),
            "## Target formats\n",
            "`spelling` in `matrix.yaml` sets the format of `{targets}`. The examples show `8.0 9.0a+PTX 12.0f`.\n",
            table(["`spelling`", "example"], formats),
        ]
    )


def _spaced(texts: Iterable[str]) -> str:
    return " ".join(texts)
