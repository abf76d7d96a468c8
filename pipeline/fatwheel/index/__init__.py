"""The index station: what a store holds, as pages that pip and uv read and one index.json for everybody else."""

from fatwheel.index.make_index import make_index
from fatwheel.index.yanking import unyank, yank

__all__ = ["make_index", "unyank", "yank"]
