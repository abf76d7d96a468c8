"""matrix.yaml: reading it, checking it, and its JSON Schema."""

from pipeline.declaration.declaration import Declaration
from pipeline.declaration.load import Reading, load, parse, read

__all__ = ["Declaration", "Reading", "load", "parse", "read"]
