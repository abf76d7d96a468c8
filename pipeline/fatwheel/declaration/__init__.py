"""Load and validate matrix.yaml, and generate its JSON Schema."""

from fatwheel.declaration.declaration import Declaration
from fatwheel.declaration.load import LoadResult, load, parse, read

__all__ = ["Declaration", "LoadResult", "load", "parse", "read"]
