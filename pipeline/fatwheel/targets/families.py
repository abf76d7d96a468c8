"""The usual GPU families: which majors of compute capabilities share a wheel."""

from __future__ import annotations

from collections.abc import Mapping

USUAL_FAMILIES: Mapping[str, tuple[int, ...]] = {"sm9x": (5, 6, 7, 8, 9), "sm10x": (10, 11), "sm12x": (12,)}
"""Majors by family, as FlashInfer proposed them: for `fatwheel init`, and for wheels without declared families."""
