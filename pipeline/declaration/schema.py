"""The JSON Schema of matrix.yaml, from the models."""

from __future__ import annotations

from typing import Any

from pipeline.declaration.model import Document


def schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) from which editors complete and check matrix.yaml."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "matrix.yaml of fatwheel",
        **Document.model_json_schema(by_alias=True),
    }
