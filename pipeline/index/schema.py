"""The JSON Schema of index.json, published beside it."""

from __future__ import annotations

import json

from pipeline.records.index import Index


def index_schema() -> str:
    """A JSON Schema (draft 2020-12) as text: what programs that read an index may rely on."""
    held = Index.model_json_schema(by_alias=True, mode="serialization")
    for part in (held, *held["$defs"].values()):
        part["required"] = list(part["properties"])  # what is not known is null, not left out
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "index.json of fatwheel"}
    return json.dumps({**held, **head}, indent=2) + "\n"
