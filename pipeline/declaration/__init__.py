"""matrix.yaml: reading it, checking it, and its JSON Schema."""

from pipeline.declaration.declaration import Declaration
from pipeline.declaration.load import load, parse

__all__ = ["Declaration", "load", "parse"]
