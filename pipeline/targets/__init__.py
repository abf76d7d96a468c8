"""GPU targets: how they are spelt, what compiles them, and which devices run them.

A *capability* is a device's compute capability (9.0). A *target* is what code was compiled for (9.0a):
machine code (SASS), PTX, or both. Everything that asks "does it fit?" asks `runs` or `covers`.
"""

from pipeline.targets.compatibility import covers, family_members, jits, loads, nearest, runs
from pipeline.targets.parsing import parse_target, parse_targets
from pipeline.targets.rendering import SPELLINGS, render
from pipeline.targets.table import Toolkit, toolkit, toolkits
from pipeline.targets.target import KNOWN_CAPABILITIES, TEGRA, Capability, Kind, Suffix, Target

__all__ = [
    "KNOWN_CAPABILITIES",
    "SPELLINGS",
    "TEGRA",
    "Capability",
    "Kind",
    "Suffix",
    "Target",
    "Toolkit",
    "covers",
    "family_members",
    "jits",
    "loads",
    "nearest",
    "parse_target",
    "parse_targets",
    "render",
    "runs",
    "toolkit",
    "toolkits",
]
