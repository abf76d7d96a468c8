"""The table of CUDA toolkits: the targets that the ptxas of each release accepts, and other facts about them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

from fatwheel.errors import UsageError
from fatwheel.resources import resource
from fatwheel.targets.parsing import parse_targets
from fatwheel.targets.target import Target

# Release -> {"ptxas": version, "targets": undotted, ascending}. `fatwheel toolkits --ptxas PATH` creates a row.
DATA = resource("toolkits.json")
_NOTE = "//"
_COMPRESS_MODE_SINCE = (12, 8)  # measured: the first nvcc with --compress-mode
MINIMUM_DRIVERS: dict[int, str] = {12: "525", 13: "580"}
"""The oldest driver branch for each CUDA major, whatever the minor version, according to NVIDIA's release notes."""
COMPRESSED_CODE_DRIVER = "550.54.14"
"""The first driver that loads machine code that nvcc 12 compressed with zstd. All drivers for CUDA 13 do."""


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit release (``13.0``) and the targets that its ptxas accepts."""

    release: str
    ptxas: str
    targets: frozenset[Target]

    @property
    def version(self) -> tuple[int, int]:
        """(major, minor)."""
        major, minor = self.release.split(".")
        return int(major), int(minor)

    @property
    def has_compress_mode(self) -> bool:
        """Whether its nvcc has ``--compress-mode``."""
        return self.version >= _COMPRESS_MODE_SINCE

    @property
    def undotted(self) -> str:
        """The targets as in the table: ``75 80 ... 121f``, ascending."""
        return " ".join(t.undotted for t in sorted(self.targets))

    def compiles(self, target: Target) -> bool:
        """Whether this toolkit compiles the target, to machine code or to PTX."""
        return target.code in self.targets


@cache
def toolkits() -> dict[str, Toolkit]:
    """All toolkits by release, ascending."""
    table = json.loads(DATA.read_text(encoding="utf-8"))
    return {
        release: Toolkit(release, row["ptxas"], frozenset(parse_targets(row["targets"])))
        for release, row in table.items()
        if release != _NOTE
    }


def toolkit(release: str) -> Toolkit:
    """The toolkit of a release. Raises `UsageError` for an unknown one."""
    try:
        return toolkits()[release]
    except KeyError:
        known = ", ".join(toolkits())
        raise UsageError(f"unknown CUDA toolkit '{release}'", help=f"known: {known}") from None


def read_ptxas(help_text: str, version_text: str) -> Toolkit:
    """Make a toolkit from the output of ``ptxas --help`` and ``ptxas --version``. Raises `UsageError`."""
    release = re.search(r"release ([0-9]+\.[0-9]+), V([0-9.]+)", version_text)
    section = re.search(r"^--gpu-name\b.*?(?=^--|\Z)", help_text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"'sm_([0-9]+[af]?)'", section[0].split("Default value")[0]) if section else []
    if not release or not names:
        what = "release" if not release else "values of --gpu-name"
        raise UsageError(
            f"cannot find the {what} in the output of ptxas", help="pass the path of a CUDA ptxas to --ptxas"
        )
    return Toolkit(release[1], release[2], frozenset(parse_targets(" ".join(names))))


def table_with(row: Toolkit, table: str) -> str:
    """The text of the table with one row added or replaced; ascending by release, one row per line."""
    rows = json.loads(table)
    note = rows.pop(_NOTE, None)
    rows[row.release] = {"ptxas": row.ptxas, "targets": row.undotted}
    ordered = sorted(rows.items(), key=lambda item: tuple(map(int, item[0].split("."))))
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in ordered]
    if note is not None:
        lines.insert(0, f"  {json.dumps(_NOTE)}: {json.dumps(note)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
