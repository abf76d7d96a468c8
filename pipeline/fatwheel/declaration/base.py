"""What every part of matrix.yaml shares: strict, frozen, and no key without a meaning."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Strict and frozen: text is text, and a key that means nothing is an error."""

    # Built once, with the document that holds them all: each model on its own would cost a tenth of a second.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, defer_build=True)
