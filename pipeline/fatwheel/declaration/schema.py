"""Generate the JSON Schema of matrix.yaml from the models."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from fatwheel.declaration.model import Document

FILE = "matrix.schema.json"


def schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) for editors to complete and validate matrix.yaml."""
    document_schema = Document.model_json_schema(by_alias=True)
    _close(document_schema)
    _without_null(document_schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **document_schema,
        "title": "fatwheel matrix.yaml",
    }


def _close(part: Any) -> None:
    """Forbid other keys in every mapping with patterns for its keys, in place."""
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _close(inner)
    if isinstance(part, dict) and "patternProperties" in part:
        part["additionalProperties"] = False


def _without_null(part: Any) -> None:
    """Remove null as a value, in place: matrix.yaml does not allow empty keys."""
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _without_null(inner)
    if not isinstance(part, dict):
        return
    if part.get("default", ...) is None:
        del part["default"]
    options = part.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        options.remove({"type": "null"})
        if len(options) == 1:
            del part["anyOf"]
            part.update(options[0] | part)


def schema_text() -> str:
    """The schema as text."""
    return json.dumps(schema(), indent=2) + "\n"


def drift(folder: Path) -> str:
    """The diff between the schema file in a folder and the current schema; empty if they agree or there is no file."""
    path = folder / FILE
    if not path.is_file():
        return ""
    existing, current = path.read_text(encoding="utf-8"), schema_text()
    lines = difflib.unified_diff(
        existing.splitlines(), current.splitlines(), fromfile=FILE, tofile=f"{FILE} (generated)", lineterm="", n=1
    )
    return "\n".join(lines)
