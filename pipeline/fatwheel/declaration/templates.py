"""Templates with fields in braces: commands, environment variables, names, labels and tags."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Fields of smoke commands, in addition to the axes.
SMOKE_FIELDS: frozenset[str] = frozenset(
    {
        "targets", "covers", "local", "version", "full_version", "family", "cuda", "toolkit", "arch",
        "python", "scripts",
    }
)  # fmt: skip
# Fields of build commands, in addition to the axes.
COMMAND_FIELDS: frozenset[str] = SMOKE_FIELDS | {
    "dev", "out", "source", "report", "modules", "jobs", "nvcc_threads", "launcher",
}  # fmt: skip
# Fields of names, labels and tags, in addition to the axes.
NAME_FIELDS: frozenset[str] = frozenset({"cuda", "cuda_major", "arch", "family"})
TAG_FIELDS: frozenset[str] = frozenset({"version", "date"})

_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}|[{}]")


def fields(template: str) -> list[str]:
    """The names of the fields, in order. An unmatched brace is returned as ``{`` or ``}``."""
    return [m[1] or m[0] for m in _FIELD.finditer(template) if m[0] not in ("{{", "}}")]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each ``{field}``; ``{{`` and ``}}`` become single braces. Raises `KeyError` for an unknown field."""

    def replace(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return values[match[1]]

    return _FIELD.sub(replace, template)


def axis_fields(axes: Mapping[str, str]) -> dict[str, str]:
    """Field values of axes: each as ``{name}``, and without dots as ``{name_nodot}``: 3.12 and 312."""
    return dict(axes) | {f"{name}_nodot": value.replace(".", "") for name, value in axes.items()}
