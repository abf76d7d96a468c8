"""Warn about parts of a valid matrix.yaml that are probably wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.declaration import Declaration
from fatwheel.declaration.checks.gpu import target_diagnostic
from fatwheel.declaration.model import Cuda
from fatwheel.declaration.source import Path
from fatwheel.errors import Diagnostic
from fatwheel.plan.expand import PlannedCell
from fatwheel.records.plan import Cell
from fatwheel.targets import COMPRESSED_CODE_DRIVER, KNOWN_CAPABILITIES, MINIMUM_DRIVERS, Target, runs


def lint(declaration: Declaration, made: list[PlannedCell]) -> list[Diagnostic]:
    """Return all warnings for these cells. They do not prevent a plan."""
    found = [*_plain_installs(declaration, made), *_label_order(declaration, made), *_pypi_needs(declaration)]
    for label, cuda in declaration.document.cuda.items():
        found += _label(declaration, label, cuda)
        for arch, targets in cuda.targets.items():
            found += _targets(declaration, ("cuda", label, "targets", arch), f"{label} {arch}", cuda.toolkit, targets)
    found += _channels(declaration)
    return found


def _plain_installs(declaration: Declaration, made: list[PlannedCell]) -> Iterator[Diagnostic]:
    """Warn if a plain install chooses one of several labels: the one that sorts last, on every machine."""
    labels: dict[tuple[int, str], set[str]] = {}
    by_family: set[tuple[int, str]] = set()
    for one in made:
        if one.cell.local_version and (one.package.layout != "provider" or one.cell.shim):
            key = (one.index, one.cell.package)
            labels.setdefault(key, set()).add(one.cell.local_version)
            if one.cell.family:
                by_family.add(key)
    for key, of_package in labels.items():
        if len(of_package) > 1:
            last = max(of_package, key=lambda label: Version(f"0+{label}"))
            blind = "GPU" if key in by_family else "CUDA"
            yield declaration.source.diagnostic(
                ("packages", key[0], "name"),
                f"`pip install {key[1]}` installs +{last} on every machine, regardless of its {blind}",
                "publish commands that pin the label or use the index of one label; install_wheel.py does both",
            )


def _label_order(declaration: Declaration, made: list[PlannedCell]) -> Iterator[Diagnostic]:
    """Warn if pip and uv prefer the label of an older axis value: torch29 over torch214."""
    seen: set[tuple[int, str]] = set()
    for axis, values in declaration.document.axes.items():
        if not all(re.fullmatch(r"[0-9]+(\.[0-9]+)*", value) for value in values):
            continue
        groups: dict[tuple[object, ...], list[PlannedCell]] = {}
        for one in made:
            if axis in one.cell.axes and one.cell.local_version and (one.index, axis) not in seen:
                rest = [value for name, value in one.cell.axes.items() if name != axis]
                key = (one.index, one.cell.package, one.cell.cuda, one.cell.arch, one.cell.family, *rest)
                groups.setdefault(key, []).append(one)
        for group in groups.values():
            by_value = sorted((m.cell for m in group), key=lambda cell: Version(cell.axes[axis]))
            place = group[0].index
            for old, new in pairwise(by_value):
                if (place, axis) not in seen and _rank(old) > _rank(new):
                    seen.add((place, axis))
                    what = (
                        f"pip and uv prefer +{old.local_version} ({axis} {old.axes[axis]}) over +{new.local_version} "
                        f"({axis} {new.axes[axis]}), because they compare mixed letters and digits as text"
                    )
                    help = f"write {{{axis}}} instead of {{{axis}_nodot}}; separate numbers compare as numbers"
                    yield declaration.source.diagnostic(("packages", place, "local"), what, help)


def _rank(cell: Cell) -> Version:
    return Version(f"0+{cell.local_version}")


def _pypi_needs(declaration: Declaration) -> Iterator[Diagnostic]:
    """Warn about packages on PyPI that need packages that are not."""
    elsewhere = {canonicalize_name(p.name) for p in declaration.packages if p.publish != "pypi"}
    for place, package in enumerate(declaration.packages):
        for number, name in enumerate(package.needs):
            if package.publish == "pypi" and canonicalize_name(name) in elsewhere:
                what = f"{package.name} is published on PyPI but needs {name}, which is not, so a plain install fails"
                help = "publish it on PyPI too, or make it an extra"
                yield declaration.source.diagnostic(("packages", place, "needs", number), what, help)


def _label(declaration: Declaration, label: str, cuda: Cuda) -> Iterator[Diagnostic]:
    path: Path = ("cuda", label)
    major, minor = cuda.toolkit.split(".")
    number = re.fullmatch(r"cu([0-9]+)", label)
    if number and number[1] not in (major, major + minor):
        what = f"label {label} suggests a CUDA version other than {cuda.toolkit}"
        yield declaration.source.diagnostic(path, what, f"rename it to cu{major}{minor}", key=True)
    if cuda.compress and cuda.compress != "none" and major == "12":
        what = (
            f"{label}: compressed machine code of CUDA 12 requires driver {COMPRESSED_CODE_DRIVER} or later; "
            f"otherwise {MINIMUM_DRIVERS[12]} is enough"
        )
        yield declaration.source.diagnostic(
            (*path, "compress"), what, "remove compress, or document the driver requirement"
        )


def _targets(
    declaration: Declaration, path: Path, pair: str, release: str, targets: tuple[Target, ...]
) -> Iterator[Diagnostic]:
    source = declaration.source
    for target in targets:
        twins = [t for t in targets if t.suffix and t.capability == target.capability]
        if not target.suffix and twins:
            what = f"{pair}: {target} is declared besides {twins[0]}, but code that requires the suffix cannot use it"
            yield target_diagnostic(source, path, target, what, f"remove {target}, unless the sources support both")
        if not any(runs(target, capability, release) for capability in KNOWN_CAPABILITIES):
            what = f"{pair}: no known GPU runs {target}"
            yield target_diagnostic(source, path, target, what, "remove it, unless you know one")
        if target.suffix and target.has_ptx:
            what = f"{pair}: PTX of {target.code} runs only where its machine code does"
            yield target_diagnostic(
                source, path, target, what, f"write {target.code}, and append +PTX to a plain target instead"
            )


def _channels(declaration: Declaration) -> Iterator[Diagnostic]:
    for name, channel in declaration.channels.items():
        if channel.immutable and channel.completeness == "partial":
            what = f"{name}: nothing can be added to a partial release in an immutable repository"
            yield declaration.source.diagnostic(
                ("channels", name, "completeness"), what, "write completeness: complete"
            )
