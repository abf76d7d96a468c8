"""Build a package index from a store: project pages for pip and uv, a landing page, and index.json."""

from fatwheel.index.make_index import make_index
from fatwheel.index.yanking import unyank, yank

__all__ = ["make_index", "unyank", "yank"]
