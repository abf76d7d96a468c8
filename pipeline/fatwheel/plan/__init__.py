"""Plan the cells that a channel builds, from matrix.yaml."""

from fatwheel.plan.planner import find_all_errors, find_cell, find_errors, find_warnings, iter_cells, make_plan
from fatwheel.plan.selection import unknown_cell_error

__all__ = [
    "find_all_errors",
    "find_cell",
    "find_errors",
    "find_warnings",
    "iter_cells",
    "make_plan",
    "unknown_cell_error",
]
