"""The base class of the models of matrix.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A strict, frozen model: no conversion between types, and unknown keys are errors."""

    # Built once, as part of the document: building each model separately would take a tenth of a second longer.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, defer_build=True)
