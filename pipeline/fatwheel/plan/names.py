"""What a cell is called: id, distribution, local label, file and artifact."""

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
    """The axes beside CUDA and CPU."""
    return {name: value for name, value in axes.items() if name not in ("cuda", "arch")}


def name_fields(axes: Mapping[str, str], toolkit: str | None, family: str | None) -> dict[str, str]:
    """What names, labels and tags may hold in braces."""
    return {
        **axis_fields(other_axes(axes)),
        "cuda": axes.get("cuda", ""),
        "cuda_major": toolkit.split(".")[0] if toolkit else "",
        "arch": axes.get("arch", ""),
        "family": family or "",
    }


def cell_id(package: Package, axes: Mapping[str, str], part: str | None) -> str:
    """``cu130-aarch64-sm12x-python3.12``; the package's own id first; its name where nothing else is."""
    pieces = [axes[name] for name in ("cuda", "arch") if name in axes]
    pieces += [part] if part else []
    pieces += [f"{name}{value}" for name, value in other_axes(axes).items()]
    if not pieces:
        return package.id or _normal(package.name)
    return "-".join([package.id, *pieces] if package.id else pieces)


def local_label(package: Package, fields: Mapping[str, str]) -> str:
    """The local label: as declared, else ``cu130.sm12x`` for families, ``cu130`` for other CUDA wheels."""
    if package.local is not None:
        return fill(package.local, fields)
    if package.layout == "family":
        return f"{fields['cuda']}.{fields['family']}"
    return fields["cuda"] if package.layout else ""


def file_name(name: str, full_version: str, tag: str, platform: str) -> str:
    """A wheel's file name: ``mylib-1.0+cu130.sm9x-cp39-abi3-manylinux_2_28_x86_64.whl``."""
    return f"{_normal(name).replace('-', '_')}-{full_version}-{tag}-{platform}.whl"


def python_tag(template: str, fields: Mapping[str, str]) -> str:
    """The Python and ABI tag. A free-threaded Python (3.13t) has its ``t`` in the second alone: ``cp313-cp313t``."""
    python, dash, abi = template.partition("-")
    plain = {name: value[:-1] if _FREE_THREADED.fullmatch(value) else value for name, value in fields.items()}
    return f"{fill(python, plain)}{dash}{fill(abi, fields)}"


def sdist_name(name: str, version: str) -> str:
    """An sdist's file name."""
    return f"{_normal(name).replace('-', '_')}-{version}.tar.gz"


def artifact_name(name: str, cell: str) -> str:
    """The workflow artifact's name: the distribution's, and the cell's id where that says more."""
    base = _normal(name)
    return base if cell == base else f"{base}-{cell}"
