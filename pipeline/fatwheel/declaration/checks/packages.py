"""Packages and the axes that they are built over."""

from __future__ import annotations

import math
from collections.abc import Iterator

from packaging.utils import InvalidName, canonicalize_name

from fatwheel.declaration.checks.fields import check_templates
from fatwheel.declaration.checks.gpu import target_diagnostic
from fatwheel.declaration.model import Document, Package
from fatwheel.declaration.source import Path, Source
from fatwheel.declaration.structure import suggest
from fatwheel.declaration.templates import COMMAND_FIELDS, NAME_FIELDS
from fatwheel.declaration.tree import Tree
from fatwheel.errors import Diagnostic, UsageError
from fatwheel.targets import Target, render, toolkit

# An axis may be called python: in commands, {python} is then the interpreter of that version.
_RESERVED: frozenset[str] = (COMMAND_FIELDS | NAME_FIELDS | {"target"}) - {"python"}

_MANY = 10_000  # cells of one package; GitHub takes 256 jobs in one matrix


def check_axes(document: Document, source: Source, broken: frozenset[str]) -> Iterator[Diagnostic]:
    """Further axes: their names, their values, and whether anything is built over them."""
    for name, values in document.axes.items():
        if name in _RESERVED:
            yield source.diagnostic(
                ("axes", name), f"'{name}' is a name that fatwheel uses itself", "rename it", key=True
            )
            continue
        if not values and "axes" not in broken:
            yield source.diagnostic(("axes", name), f"the axis {name} has no values", "name at least one")
        for place, value in enumerate(values):
            if value in values[:place]:
                yield source.diagnostic(("axes", name, place), f"'{value}' is here twice", "remove one of them")
        if "packages" not in broken and not any(name in package.per for package in document.packages):
            help = f"add {name} to a per, or remove it"
            yield source.diagnostic(("axes", name), f"no package is built per {name}", help, key=True)


def check_set(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Names that are one, and packages that need others of the set: those must be published before them."""
    order: dict[str, int] = {}
    for place, package in enumerate(document.packages):
        name: str = canonicalize_name(package.name)
        if name in order:
            what = f"'{package.name}' and '{document.packages[order[name]].name}' are one distribution name"
            yield source.diagnostic(("packages", place, "name"), what, "rename one of them")
        order.setdefault(name, place)
    names = [package.name for package in document.packages]
    for place, package in enumerate(document.packages):
        path: Path = ("packages", place)
        wanted = [((*path, "needs", i), n) for i, n in enumerate(package.needs)]
        wanted += [((*path, "extras", e, i), n) for e, ns in package.extras.items() for i, n in enumerate(ns)]
        for where, name in wanted:
            if canonicalize_name(name) not in order:
                what = f"'{name}' is no package of this set"
                yield source.diagnostic(where, what, suggest(name, [n for n in names if n != package.name]))
            elif order[canonicalize_name(name)] == place:
                yield source.diagnostic(where, f"{name} needs itself", "remove it")
            elif order[canonicalize_name(name)] > place:
                what = f"{package.name} needs {name}, which is published after it"
                yield source.diagnostic(where, what, f"put {name} before {package.name}: what is needed goes first")


def check_package(
    document: Document, package: Package, path: Path, *, source: Source, tree: Tree, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    """One package: its axes, its origin, its templates, and whether its variable can say every target."""
    yield from _per(document, package, path, source, broken)
    yield from _many(document, package, path, source)
    yield from _layout(document, package, path, source, broken)
    try:
        canonicalize_name(package.name.replace("{", "").replace("}", ""), validate=True)
    except InvalidName:
        what = f"'{package.name}' is not a distribution name"
        yield source.diagnostic((*path, "name"), what, "use letters, digits, - _ .")
    yield from _origin(package, path, source, tree)
    yield from check_templates(document, package, path, source)
    if "cuda" in package.per:
        yield from _expressible(document, package, source, broken)
    if package.publish == "pypi" and package.local:
        help = 'write local: "", or publish: store'
        yield source.diagnostic((*path, "local"), "PyPI takes no wheel with a local label", help)
    if package.build.kind == "sdist" and package.per:
        yield source.diagnostic((*path, "per"), "an sdist is one file for every machine", "write per: []")


def _per(
    document: Document, package: Package, path: Path, source: Source, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    known = ["cuda", "arch", *document.axes]
    for place, axis in enumerate(package.per):
        if axis in ("family", "target"):
            wanted = "family" if axis == "family" else "provider"
            yield source.diagnostic((*path, "per", place), f"per does not hold {axis}", f"say layout: {wanted}")
        elif axis not in known and "axes" not in broken:
            yield source.diagnostic((*path, "per", place), f"there is no axis '{axis}'", suggest(axis, known))
        elif axis in package.per[:place]:
            yield source.diagnostic((*path, "per", place), f"'{axis}' is here twice", "remove one of them")
    if "cuda" in package.per and "arch" not in package.per:
        yield source.diagnostic((*path, "per"), "a CUDA wheel is made for one CPU architecture", "add arch to per")
    if "cuda" in package.per and not document.cuda and "cuda" not in broken:
        yield source.diagnostic((*path, "per"), "no CUDA label is declared", "add cuda: with labels and their targets")
    if (
        package.per == ["arch"]
        and not document.cuda
        and not document.runners.build
        and not {"cuda", "runners"} & broken
    ):
        help = "add runners.build with a label for each"
        yield source.diagnostic((*path, "per"), "no CPU architecture is declared", help)


def _many(document: Document, package: Package, path: Path, source: Source) -> Iterator[Diagnostic]:
    """Axes whose product nobody means: it would be long in the making, and no matrix of jobs takes it."""
    count = math.prod(len(values) for name, values in document.axes.items() if name in package.per)
    if "cuda" in package.per:
        count *= sum(len(cuda.targets) for cuda in document.cuda.values())
    if count > _MANY:
        what = f"the axes of {package.name} make {count} cells or more"
        yield source.diagnostic((*path, "per"), what, "take axes or values out, or divide it over declarations")


def _layout(
    document: Document, package: Package, path: Path, source: Source, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    has_cuda, has_arch = "cuda" in package.per, "arch" in package.per
    if has_cuda and not package.layout and not source.written(*path, "layout"):
        yield source.diagnostic(path, "a CUDA package needs a layout", "add layout: family, provider or fat")
    if package.layout and not has_cuda:
        yield source.diagnostic((*path, "layout"), "a layout divides GPU targets, and per holds no cuda", "remove it")
    if package.layout == "family" and not document.families and "families" not in broken:
        yield source.diagnostic((*path, "layout"), "no families are declared", "add families:, or say layout: fat")
    if source.written(*path, "shim") and package.layout != "provider":
        yield source.diagnostic((*path, "shim"), "a shim stands before providers", "say layout: provider, or remove it")
    if has_arch and not package.manylinux and not source.written(*path, "manylinux"):
        yield source.diagnostic(path, "a wheel for one CPU architecture needs a glibc floor", 'add manylinux: "2_28"')
    if package.manylinux and not has_arch:
        yield source.diagnostic((*path, "manylinux"), "manylinux needs arch in per", "add arch to per, or remove it")


def _origin(package: Package, path: Path, source: Source, tree: Tree) -> Iterator[Diagnostic]:
    given = [kind for kind in ("checkout", "index", "git") if getattr(package.source, kind) is not None]
    here: Path = (*path, "source")
    if len(given) != 1:
        what = "the source names nothing" if not given else f"the source is given as {' and '.join(given)}"
        yield source.diagnostic(here, what, "give exactly one of checkout, index and git")
    if package.source.git and not package.source.ref:
        yield source.diagnostic((*here, "git"), "a git source needs the commit that is built", "add ref:")
    if package.source.ref and not package.source.git:
        yield source.diagnostic((*here, "ref"), "ref is the commit of a git source, and there is none", "add git:")
    if package.source.index and not _literal(package.source.index):
        what = f"'{package.source.index}' leaves the version open"
        yield source.diagnostic((*here, "index"), what, "write NAME==VERSION, so that a plan needs no index")
    if package.source.checkout and not tree.is_folder(package.source.checkout):
        help = "its path starts from the folder of this file"
        yield source.diagnostic((*here, "checkout"), f"there is no folder {package.source.checkout}", help)


def _literal(requirement: str) -> bool:
    from packaging.requirements import Requirement

    specifiers = list(Requirement(requirement).specifier)
    return len(specifiers) == 1 and specifiers[0].operator in ("==", "===") and "*" not in specifiers[0].version


def _expressible(document: Document, package: Package, source: Source, broken: frozenset[str]) -> Iterator[Diagnostic]:
    """Targets that no family holds, or that the package's own variable or layout cannot say."""
    by_family = package.layout == "family" and document.families and "families" not in broken
    held = {major for family in document.families.values() for major in family.majors}
    lists = [
        (("cuda", label, "targets", str(arch)), f"{label} {arch}", targets)
        for label, cuda in document.cuda.items()
        for arch, targets in cuda.targets.items()
    ]
    bases = [
        (("families", name, "base"), name, tuple(t for t in family.base or () if t.major not in family.majors))
        for name, family in document.families.items()
        if by_family
    ]
    for where, spoken, targets in [*lists, *bases]:
        for target in targets:
            if where[0] == "cuda" and not toolkit(document.cuda[where[1]].toolkit).compiles(target):
                continue
            if by_family and target.major not in held and where[0] == "cuda":
                help = f"add major {target.major} to a family, or leave {target} out"
                yield target_diagnostic(source, where, target, f"{spoken}: {target} belongs to no family", help)
            for error in _refusals(target, package):
                what = f"{spoken}, for {package.name}: {error.what}"
                yield target_diagnostic(source, where, target, what, error.help)


def _refusals(target: Target, package: Package) -> Iterator[UsageError]:
    spellings = [package.build.spelling]
    if package.layout == "provider" and package.build.spelling != "provider":
        spellings.append("provider")
    for spelling in spellings:
        try:
            render([target], spelling)
        except UsageError as error:
            yield error
    if package.build.suffix_from and target.major >= package.build.suffix_from and not target.suffix:
        yield UsageError(
            f"{target} has no suffix, and the sources need one from major {package.build.suffix_from} on",
            help="write the a or f that is meant",
        )
