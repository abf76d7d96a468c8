"""From a declaration to GitHub Actions: workflow files, job matrices, action pins, and an index that is pushed."""

from fatwheel.workflows.generate import Difference, apply, differences, drift

__all__ = ["Difference", "apply", "differences", "drift"]
