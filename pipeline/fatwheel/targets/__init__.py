"""GPU targets: formats, the toolkits that compile them, and the devices that run them.

A *capability* is the compute capability of a device (9.0). A *target* is what device code is compiled for (9.0a):
machine code (SASS), PTX, or both. `runs` and `covers` answer which devices run it.
"""

from fatwheel.targets.compatibility import covers, family_members, jits, loads, nearest, runs
from fatwheel.targets.families import USUAL_FAMILIES
from fatwheel.targets.parsing import parse_target, parse_targets
from fatwheel.targets.rendering import SPELLINGS, dotted, render
from fatwheel.targets.table import COMPRESSED_CODE_DRIVER, MINIMUM_DRIVERS, Toolkit, toolkit, toolkits
from fatwheel.targets.target import KNOWN_CAPABILITIES, TEGRA, Capability, Kind, Suffix, Target

__all__ = [
    "COMPRESSED_CODE_DRIVER",
    "KNOWN_CAPABILITIES",
    "MINIMUM_DRIVERS",
    "SPELLINGS",
    "TEGRA",
    "USUAL_FAMILIES",
    "Capability",
    "Kind",
    "Suffix",
    "Target",
    "Toolkit",
    "covers",
    "dotted",
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
