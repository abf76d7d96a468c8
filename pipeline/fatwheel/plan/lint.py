"""What a declaration may hold, but probably does not mean; each with its place."""

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
    """All of it, for these cells: warnings, that keep nothing from being planned."""
    found = [*_installs(declaration, made), *_orders(declaration, made), *_needs(declaration)]
    for label, cuda in declaration.document.cuda.items():
        found += _label(declaration, label, cuda)
        for arch, targets in cuda.targets.items():
            found += _targets(declaration, ("cuda", label, "targets", arch), f"{label} {arch}", cuda.toolkit, targets)
    found += _channels(declaration)
    return found


def _installs(declaration: Declaration, made: list[PlannedCell]) -> Iterator[Diagnostic]:
    """What pip and uv take when no label is asked for: the one that is last in their order, whatever the machine is."""
    labels: dict[tuple[int, str], set[str]] = {}
    by_family: set[tuple[int, str]] = set()
    for one in made:
        if one.cell.local_version and (one.package.layout != "provider" or one.cell.shim):
            key = (one.index, one.cell.package)
            labels.setdefault(key, set()).add(one.cell.local_version)
            if one.cell.family:
                by_family.add(key)
    for key, held in labels.items():
        if len(held) > 1:
            last = max(held, key=lambda label: Version(f"0+{label}"))
            blind = "GPU" if key in by_family else "CUDA"
            yield declaration.source.diagnostic(
                ("packages", key[0], "name"),
                f"a plain `pip install {key[1]}` takes +{last} on every machine, whatever its {blind}",
                "have users name the label, or an index page that holds one of them; install_wheel.py does",
            )


def _orders(declaration: Declaration, made: list[PlannedCell]) -> Iterator[Diagnostic]:
    """Labels by which pip and uv prefer the older of two versions on one axis: torch29 to torch214."""
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
                        f"pip and uv prefer +{old.local_version} ({axis} {old.axes[axis]}) to +{new.local_version} "
                        f"({axis} {new.axes[axis]}): letters and digits together compare as text"
                    )
                    help = f"write {{{axis}}} for {{{axis}_nodot}} there, whose numbers compare as numbers"
                    yield declaration.source.diagnostic(("packages", place, "local"), what, help)


def _rank(cell: Cell) -> Version:
    return Version(f"0+{cell.local_version}")


def _needs(declaration: Declaration) -> Iterator[Diagnostic]:
    """Packages on PyPI that need others which are not there."""
    elsewhere = {canonicalize_name(p.name) for p in declaration.packages if p.publish != "pypi"}
    for place, package in enumerate(declaration.packages):
        for number, name in enumerate(package.needs):
            if package.publish == "pypi" and canonicalize_name(name) in elsewhere:
                what = f"{package.name} goes to PyPI and needs {name}, which does not: a plain install finds no {name}"
                help = "publish it there too, or put it behind an extra"
                yield declaration.source.diagnostic(("packages", place, "needs", number), what, help)


def _label(declaration: Declaration, label: str, cuda: Cuda) -> Iterator[Diagnostic]:
    path: Path = ("cuda", label)
    major, minor = cuda.toolkit.split(".")
    number = re.fullmatch(r"cu([0-9]+)", label)
    if number and number[1] not in (major, major + minor):
        what = f"{label} reads like another CUDA than its toolkit, {cuda.toolkit}"
        yield declaration.source.diagnostic(path, what, f"name it cu{major}{minor}", key=True)
    if cuda.compress and cuda.compress != "none" and major == "12":
        what = (
            f"{label}: compressed machine code of CUDA 12 requires driver {COMPRESSED_CODE_DRIVER} or later; "
            f"otherwise {MINIMUM_DRIVERS[12]} is enough"
        )
        yield declaration.source.diagnostic((*path, "compress"), what, "leave compress out, or tell users")


def _targets(
    declaration: Declaration, path: Path, pair: str, release: str, targets: tuple[Target, ...]
) -> Iterator[Diagnostic]:
    source = declaration.source
    for target in targets:
        twins = [t for t in targets if t.suffix and t.capability == target.capability]
        if not target.suffix and twins:
            what = f"{pair}: {target} stands beside {twins[0]}, and code that needs the suffix does not compile for it"
            yield target_diagnostic(source, path, target, what, f"remove {target}, unless the sources serve both")
        if not any(runs(target, capability, release) for capability in KNOWN_CAPABILITIES):
            what = f"{pair}: no known GPU runs {target}"
            yield target_diagnostic(source, path, target, what, "leave it out, unless you know one")
        if target.suffix and target.has_ptx:
            what = f"{pair}: the PTX of {target.code} reaches no further than its machine code"
            yield target_diagnostic(source, path, target, what, f"write {target.code}, and +PTX on a plain target")


def _channels(declaration: Declaration) -> Iterator[Diagnostic]:
    for name, channel in declaration.channels.items():
        if channel.immutable and channel.completeness == "partial":
            what = f"{name}: a partial release of an immutable repository stays partial; nothing can be added later"
            yield declaration.source.diagnostic(
                ("channels", name, "completeness"), what, "write completeness: complete, or resume before publishing"
            )
