"""Check the packages and their axes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from packaging.utils import InvalidName, canonicalize_name

from fatwheel.declaration.checks.fields import check_templates
from fatwheel.declaration.checks.gpu import target_diagnostic
from fatwheel.declaration.model import Document, Package
from fatwheel.declaration.source import Path, Source
from fatwheel.declaration.structure import suggest_value
from fatwheel.declaration.templates import COMMAND_FIELDS, NAME_FIELDS
from fatwheel.declaration.tree import Tree
from fatwheel.errors import Diagnostic, UsageError
from fatwheel.targets import Target, render, toolkit

# An axis may be named python; {python} in commands is then the interpreter of that version.
_RESERVED: frozenset[str] = (COMMAND_FIELDS | NAME_FIELDS | {"target"}) - {"python"}

_MAX_CELLS = 10_000  # of one package; more take long to plan and exceed every job matrix


def check_axes(document: Document, source: Source, broken: frozenset[str]) -> Iterator[Diagnostic]:
    """Check names and values of further axes, and that some package is built over each."""
    for name, values in document.axes.items():
        if name in _RESERVED:
            yield source.diagnostic(("axes", name), f"axis name '{name}' is reserved", "rename it", key=True)
            continue
        if not values and "axes" not in broken:
            yield source.diagnostic(("axes", name), f"axis {name} has no values", "add at least one")
        for place, value in enumerate(values):
            if value in values[:place]:
                yield source.diagnostic(("axes", name, place), f"duplicate value '{value}'", "remove one of them")
        if "packages" not in broken and not any(name in package.per for package in document.packages):
            help = f"add {name} to per of a package, or remove the axis"
            yield source.diagnostic(("axes", name), f"no package is built over the axis {name}", help, key=True)


def check_set(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Check that names are unique, and that packages are listed after those they need."""
    order: dict[str, int] = {}
    for place, package in enumerate(document.packages):
        name: str = canonicalize_name(package.name)
        if name in order:
            what = f"'{package.name}' and '{document.packages[order[name]].name}' are the same distribution name"
            yield source.diagnostic(("packages", place, "name"), what, "rename one of them")
        order.setdefault(name, place)
    names = [package.name for package in document.packages]
    for place, package in enumerate(document.packages):
        path: Path = ("packages", place)
        references = [((*path, "needs", i), n) for i, n in enumerate(package.needs)]
        references += [((*path, "extras", e, i), n) for e, ns in package.extras.items() for i, n in enumerate(ns)]
        for where, name in references:
            if canonicalize_name(name) not in order:
                what = f"unknown package '{name}'"
                yield source.diagnostic(where, what, suggest_value(name, [n for n in names if n != package.name]))
            elif order[canonicalize_name(name)] == place:
                yield source.diagnostic(where, f"{name} needs itself", "remove it")
            elif order[canonicalize_name(name)] > place:
                what = f"{package.name} needs {name}, which is published later"
                yield source.diagnostic(where, what, f"move {name} before {package.name}")


def check_package(
    document: Document, package: Package, path: Path, *, source: Source, tree: Tree, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    """Check one package: its axes, layout, sources, templates, and the format of its targets."""
    yield from _axes(document, package, path, source, broken)
    yield from _cell_count(document, package, path, source)
    yield from _layout(document, package, path, source, broken)
    try:
        canonicalize_name(package.name.replace("{", "").replace("}", ""), validate=True)
    except InvalidName:
        what = f"invalid distribution name '{package.name}'"
        yield source.diagnostic((*path, "name"), what, "use letters, digits, -, _ and .")
    yield from _source_spec(package, path, source, tree)
    yield from check_templates(document, package, path, source)
    if "cuda" in package.per:
        yield from _inexpressible_targets(document, package, source, broken)
    if package.publish == "pypi" and package.local:
        help = 'write local: "" or publish: store'
        yield source.diagnostic((*path, "local"), "PyPI rejects wheels with a local version label", help)
    if package.build.kind == "sdist" and package.per:
        yield source.diagnostic((*path, "per"), "an sdist cannot be built over axes", "write per: []")


def _axes(
    document: Document, package: Package, path: Path, source: Source, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    known = ["cuda", "arch", *document.axes]
    for place, axis in enumerate(package.per):
        if axis in ("family", "target"):
            layout = "family" if axis == "family" else "provider"
            yield source.diagnostic(
                (*path, "per", place), f"{axis} is not an axis", f"remove it and write layout: {layout}"
            )
        elif axis not in known and "axes" not in broken:
            yield source.diagnostic((*path, "per", place), f"unknown axis '{axis}'", suggest_value(axis, known))
        elif axis in package.per[:place]:
            yield source.diagnostic((*path, "per", place), f"duplicate axis '{axis}'", "remove one of them")
    if "cuda" in package.per and "arch" not in package.per:
        yield source.diagnostic(
            (*path, "per"), "per contains cuda but not arch", "add arch; a CUDA wheel is built for one CPU architecture"
        )
    if "cuda" in package.per and not document.cuda and "cuda" not in broken:
        yield source.diagnostic((*path, "per"), "no CUDA label is declared", "add cuda: with labels and their targets")
    if (
        package.per == ["arch"]
        and not document.cuda
        and not document.runners.build
        and not {"cuda", "runners"} & broken
    ):
        help = "add runners.build with a runner for each"
        yield source.diagnostic((*path, "per"), "no CPU architecture is declared", help)


def _cell_count(document: Document, package: Package, path: Path, source: Source) -> Iterator[Diagnostic]:
    """Reject axes with far too many combinations."""
    count = math.prod(len(values) for name, values in document.axes.items() if name in package.per)
    if "cuda" in package.per:
        count *= sum(len(cuda.targets) for cuda in document.cuda.values())
    if count > _MAX_CELLS:
        what = f"the axes of {package.name} make at least {count} cells"
        yield source.diagnostic((*path, "per"), what, "remove axes or values, or split the file")


def _layout(
    document: Document, package: Package, path: Path, source: Source, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    has_cuda, has_arch = "cuda" in package.per, "arch" in package.per
    if has_cuda and not package.layout and not source.written(*path, "layout"):
        yield source.diagnostic(path, "missing key 'layout' in a CUDA package", "add layout: family, provider or fat")
    if package.layout and not has_cuda:
        yield source.diagnostic((*path, "layout"), "layout requires cuda in per", "remove it, or add cuda to per")
    if package.layout == "family" and not document.families and "families" not in broken:
        yield source.diagnostic(
            (*path, "layout"), "layout: family requires families", "add families:, or write layout: fat"
        )
    if source.written(*path, "shim") and package.layout != "provider":
        yield source.diagnostic(
            (*path, "shim"), "shim requires layout: provider", "write layout: provider, or remove shim"
        )
    if has_arch and not package.manylinux and not source.written(*path, "manylinux"):
        yield source.diagnostic(
            path, "missing key 'manylinux'; wheels for a CPU architecture require it", 'add manylinux: "2_28"'
        )
    if package.manylinux and not has_arch:
        yield source.diagnostic(
            (*path, "manylinux"), "manylinux requires arch in per", "add arch to per, or remove manylinux"
        )


def _source_spec(package: Package, path: Path, source: Source, tree: Tree) -> Iterator[Diagnostic]:
    given = [kind for kind in ("checkout", "index", "git") if getattr(package.source, kind) is not None]
    here: Path = (*path, "source")
    if len(given) != 1:
        what = "source is empty" if not given else f"source has both {' and '.join(given)}"
        yield source.diagnostic(here, what, "write exactly one of checkout, index and git")
    if package.source.git and not package.source.ref:
        yield source.diagnostic((*here, "git"), "git requires ref", "add ref: with the commit or tag to build")
    if package.source.ref and not package.source.git:
        yield source.diagnostic((*here, "ref"), "ref requires git", "add git: with the URL of the repository")
    if package.source.index and not _is_exact(package.source.index):
        what = f"no exact version in '{package.source.index}'"
        yield source.diagnostic((*here, "index"), what, "write NAME==VERSION")
    if package.source.checkout and not tree.is_folder(package.source.checkout):
        help = "write its path relative to matrix.yaml"
        yield source.diagnostic((*here, "checkout"), f"folder not found: {package.source.checkout}", help)


def _is_exact(requirement: str) -> bool:
    from packaging.requirements import Requirement

    specifiers = list(Requirement(requirement).specifier)
    return len(specifiers) == 1 and specifiers[0].operator in ("==", "===") and "*" not in specifiers[0].version


def _inexpressible_targets(
    document: Document, package: Package, source: Source, broken: frozenset[str]
) -> Iterator[Diagnostic]:
    """Find targets without a family, and those that the format or the layout of the package cannot express."""
    by_family = package.layout == "family" and document.families and "families" not in broken
    covered = {major for family in document.families.values() for major in family.majors}
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
    for where, shown, targets in [*lists, *bases]:
        for target in targets:
            if where[0] == "cuda" and not toolkit(document.cuda[where[1]].toolkit).compiles(target):
                continue
            if by_family and target.major not in covered and where[0] == "cuda":
                help = f"add major {target.major} to a family, or remove {target}"
                yield target_diagnostic(source, where, target, f"{shown}: no family contains {target}", help)
            for error in _format_errors(target, package):
                what = f"{shown}, package {package.name}: {error.what}"
                yield target_diagnostic(source, where, target, what, error.help)


def _format_errors(target: Target, package: Package) -> Iterator[UsageError]:
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
            f"{target} has no suffix, but suffix_from requires one from major {package.build.suffix_from}",
            help="append the suffix a or f",
        )
