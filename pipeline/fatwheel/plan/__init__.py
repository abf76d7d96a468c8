"""Declaration, channel and selection -> the plan that every station works from."""

from fatwheel.plan.planner import all_cells, cell, channels, every_problem, make_plan, problems, unknown_cell, warnings

__all__ = ["all_cells", "cell", "channels", "every_problem", "make_plan", "problems", "unknown_cell", "warnings"]
