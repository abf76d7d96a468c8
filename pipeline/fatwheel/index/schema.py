"""The JSON Schema of index.json, published with the index: generated from the records and stored as data.

``python pipeline/fatwheel/index/schema.py`` regenerates it after a record has changed; a test compares them.
"""

from __future__ import annotations

import json

from fatwheel.atomic import write_atomically
from fatwheel.records.index import Index
from fatwheel.resources import resource

SCHEMA = "index.schema.json"


def generate_schema() -> str:
    """Generate the JSON Schema (draft 2020-12), the contract for programs that read an index."""
    schema = Index.model_json_schema(by_alias=True, mode="serialization")
    for part in (schema, *schema["$defs"].values()):
        part["required"] = list(part["properties"])  # unknown values are null, never omitted
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "index.json of fatwheel"}
    return json.dumps({**schema, **head}, indent=2) + "\n"


def read_schema() -> bytes:
    """Return the stored schema."""
    return resource(SCHEMA).read_bytes()


if __name__ == "__main__":
    write_atomically(resource(SCHEMA), generate_schema().encode())
