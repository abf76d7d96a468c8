"""Fields in braces, as commands, environment variables, names and labels of a declaration hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping

# What a smoke command may use beside the axes.
SMOKE_FIELDS: frozenset[str] = frozenset(
    {
        "targets", "covers", "local", "version", "full_version", "family", "cuda", "toolkit", "arch",
        "python", "scripts",
    }
)  # fmt: skip
# What a build command may use beside the axes.
COMMAND_FIELDS: frozenset[str] = SMOKE_FIELDS | {
    "dev", "out", "source", "report", "modules", "jobs", "nvcc_threads", "launcher",
}  # fmt: skip
# What names, labels and tags may use beside the axes.
NAME_FIELDS: frozenset[str] = frozenset({"cuda", "cuda_major", "arch", "family"})
TAG_FIELDS: frozenset[str] = frozenset({"version", "date"})

_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}|[{}]")


def fields(template: str) -> list[str]:
    """The names in braces, in order; ``{`` or ``}`` stands for a brace that is neither doubled nor part of a field."""
    return [m[1] or m[0] for m in _FIELD.finditer(template) if m[0] not in ("{{", "}}")]


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with each ``{field}`` replaced; ``{{`` and ``}}`` give single braces. Raises `KeyError`."""

    def replace(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return values[match[1]]

    return _FIELD.sub(replace, template)


def axis_fields(axes: Mapping[str, str]) -> dict[str, str]:
    """Each axis by its name, and without dots as ``{name_nodot}``: python 3.12 gives ``cp{python_nodot}`` = cp312."""
    return dict(axes) | {f"{name}_nodot": value.replace(".", "") for name, value in axes.items()}
