"""Declaration, channel and selection -> the plan that every station works from."""

from pipeline.plan.planner import cell, channels, make_plan, problems, unknown_cell, warnings

__all__ = ["cell", "channels", "make_plan", "problems", "unknown_cell", "warnings"]
