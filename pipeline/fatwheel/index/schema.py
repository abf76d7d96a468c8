"""The JSON Schema of index.json, published beside it: made from the records once, and kept as data.

``python pipeline/fatwheel/index/schema.py`` writes it anew when a record has changed; a test compares.
"""

from __future__ import annotations

import json

from fatwheel.records.base import write_atomically
from fatwheel.records.index import Index
from fatwheel.resources import resource

SCHEMA = "index.schema.json"


def made_schema() -> str:
    """A JSON Schema (draft 2020-12) as text: what programs that read an index may rely on."""
    held = Index.model_json_schema(by_alias=True, mode="serialization")
    for part in (held, *held["$defs"].values()):
        part["required"] = list(part["properties"])  # what is not known is null, not left out
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "index.json of fatwheel"}
    return json.dumps({**held, **head}, indent=2) + "\n"


def kept_schema() -> bytes:
    """The same, from the file."""
    return resource(SCHEMA).read_bytes()


if __name__ == "__main__":
    write_atomically(resource(SCHEMA), made_schema().encode())
