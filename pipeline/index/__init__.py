"""The index station: what a store holds, as pages that pip and uv read and one index.json for everybody else."""

from pipeline.index.station import make_index
from pipeline.index.yanking import unyank, yank

__all__ = ["make_index", "unyank", "yank"]
