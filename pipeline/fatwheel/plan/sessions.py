"""Compose the names of the nox sessions of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fatwheel.declaration import Declaration
from fatwheel.plan.planner import iter_cells
from fatwheel.records.plan import Cell


def session_id(cell: Cell) -> str:
    """The parameters of a session: ``cuda=130,arch=aarch64,family=sm12x``."""
    parts: list[str] = []
    if cell.cuda:
        parts.append(f"cuda={cell.cuda.removeprefix('cu')}")
    if cell.arch:
        parts.append(f"arch={cell.arch}")
    if cell.family or cell.shim:
        parts.append(f"family={cell.family or 'shim'}")
    parts += [f"{name}={value}" for name, value in cell.axes.items()]
    return ",".join(parts) or f"package={cell.package}"


def session_ids(found: Sequence[Cell]) -> list[str]:
    """The parameters of all sessions; with the package if two packages have the same axes."""
    short = [session_id(cell) for cell in found]
    return [
        f"package={cell.package},{text}" if short.count(text) > 1 else text
        for cell, text in zip(found, short, strict=True)
    ]


def session_names(declaration: Declaration) -> Mapping[str, str]:
    """Session names such as ``build(cuda=130,arch=aarch64,family=sm12x)``, by cell ID."""
    found = list(iter_cells(declaration))
    return {cell.id: f"build({text})" for cell, text in zip(found, session_ids(found), strict=True)}
