"""Compose the names of a cell: ID, distribution, local label, file and workflow artifact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from packaging.utils import canonicalize_name

from fatwheel.declaration.model import Package
from fatwheel.declaration.templates import axis_fields, fill

_normal = cache(canonicalize_name)
_FREE_THREADED = re.compile(r"3\.?[0-9]+t")


def other_axes(axes: Mapping[str, str]) -> dict[str, str]:
    """The axes other than cuda and arch."""
    return {name: value for name, value in axes.items() if name not in ("cuda", "arch")}


def name_fields(axes: Mapping[str, str], toolkit: str | None, family: str | None) -> dict[str, str]:
    """The field values of names, labels and tags."""
    return {
        **axis_fields(other_axes(axes)),
        "cuda": axes.get("cuda", ""),
        "cuda_major": toolkit.split(".")[0] if toolkit else "",
        "arch": axes.get("arch", ""),
        "family": family or "",
    }


def cell_id(package: Package, axes: Mapping[str, str], part: str | None) -> str:
    """``cu130-aarch64-sm12x-python3.12``, with the ID prefix of the package; without axes, its name."""
    pieces = [axes[name] for name in ("cuda", "arch") if name in axes]
    pieces += [part] if part else []
    pieces += [f"{name}{value}" for name, value in other_axes(axes).items()]
    if not pieces:
        return package.id or _normal(package.name)
    return "-".join([package.id, *pieces] if package.id else pieces)


def local_label(package: Package, fields: Mapping[str, str]) -> str:
    """The declared local label; by default ``cu130.sm12x`` for families, ``cu130`` for other CUDA wheels."""
    if package.local is not None:
        return fill(package.local, fields)
    if package.layout == "family":
        return f"{fields['cuda']}.{fields['family']}"
    return fields["cuda"] if package.layout else ""


def wheel_file_name(name: str, full_version: str, tag: str, platform: str) -> str:
    """The file name of a wheel: ``mylib-1.0+cu130.sm9x-cp39-abi3-manylinux_2_28_x86_64.whl``."""
    return f"{_normal(name).replace('-', '_')}-{full_version}-{tag}-{platform}.whl"


def python_tag(template: str, fields: Mapping[str, str]) -> str:
    """The Python and ABI tag. For free-threaded Python (3.13t), only the ABI tag has the ``t``: ``cp313-cp313t``."""
    python, dash, abi = template.partition("-")
    plain = {name: value[:-1] if _FREE_THREADED.fullmatch(value) else value for name, value in fields.items()}
    return f"{fill(python, plain)}{dash}{fill(abi, fields)}"


def sdist_name(name: str, version: str) -> str:
    """The file name of an sdist."""
    return f"{_normal(name).replace('-', '_')}-{version}.tar.gz"


def artifact_name(name: str, cell: str) -> str:
    """The name of the workflow artifact: the distribution, and the cell ID unless it is the same."""
    base = _normal(name)
    return base if cell == base else f"{base}-{cell}"
