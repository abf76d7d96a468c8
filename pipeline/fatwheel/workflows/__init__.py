"""GitHub Actions: generated workflow files, job matrices, action pins, and pushing an index to a branch."""

from fatwheel.workflows.generate import Difference, apply_differences, find_differences, find_drift

__all__ = ["Difference", "apply_differences", "find_differences", "find_drift"]
