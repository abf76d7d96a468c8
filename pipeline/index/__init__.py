"""The index station: what a store holds, as pages that pip and uv read and one index.json for everybody else."""

from pipeline.index.station import make_index

__all__ = ["make_index"]
