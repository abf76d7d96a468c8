"""What must agree between the parts of a declaration; every problem with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import Version

from pipeline.declaration.model import Cuda, Document, Package
from pipeline.declaration.source import Path, Source
from pipeline.declaration.structure import suggest
from pipeline.declaration.templates import COMMAND_FIELDS, NAME_FIELDS, TAG_FIELDS, fields
from pipeline.errors import Problem, UsageError
from pipeline.targets import Target, nearest, render, toolkit

_COMPRESS_SINCE = (12, 8)  # nvcc knows --compress-mode from CUDA 12.8


def check(
    document: Document, source: Source, root: FilePath, broken: frozenset[str] = frozenset()
) -> Iterator[Problem]:
    """All problems between the parts. ``broken`` names sections that lack something: nothing is said to miss there."""
    yield from _versions(document, source, root)
    for label, cuda in document.cuda.items():
        yield from _cuda(label, cuda, source)
    yield from _families(document, source)
    yield from _axes(document, source, broken)
    for place, package in enumerate(document.packages):
        yield from _package(document, package, ("packages", place), source=source, root=root, broken=broken)
    if "families" not in broken:
        yield from _runners(document, source)
    yield from _channels(document, source)
    if document.size.over == "elsewhere" and not document.size.elsewhere:
        yield source.problem(("size", "over"), "over: elsewhere needs to know where", "add size.elsewhere: a store")


def _versions(document: Document, source: Source, root: FilePath) -> Iterator[Problem]:
    has_version, has_file = document.version is not None, document.version_file is not None
    if has_version and has_file:
        yield source.problem(("version_file",), "version and version_file say the same thing twice", "keep one of them")
    elif not has_version and not has_file and not source.written("version") and not source.written("version_file"):
        yield source.problem((), "'version' is missing", 'add version: "1.0", or version_file: version.txt')
    if document.version_file and not (root / document.version_file).is_file():
        yield source.problem(("version_file",), f"there is no file {document.version_file}", "its path starts here")
    if document.version and document.next_version and Version(document.next_version) <= Version(document.version):
        yield source.problem(("next_version",), f"{document.next_version} does not come after {document.version}")


def _cuda(label: str, cuda: Cuda, source: Source) -> Iterator[Problem]:
    path: Path = ("cuda", label)
    table = toolkit(cuda.toolkit)
    for arch, targets in cuda.targets.items():
        for target in targets:
            if not table.compiles(target):
                near = nearest(target, cuda.toolkit)
                yield source.problem(
                    (*path, "targets", arch),
                    f"{label} {arch}: CUDA {cuda.toolkit} cannot compile {target}",
                    f"the nearest that it can is {near}" if near else f"leave {target} out",
                )
    if cuda.compress and cuda.compress != "none" and table.version < _COMPRESS_SINCE:
        yield source.problem(
            (*path, "compress"),
            f"nvcc {cuda.toolkit} does not know --compress-mode",
            "leave it out, or use 12.8 or later",
        )
    for arch in cuda.image:
        if arch not in cuda.targets:
            yield source.problem((*path, "image", arch), f"{label} has an image for {arch}, but no targets", key=True)


def _families(document: Document, source: Source) -> Iterator[Problem]:
    owner: dict[int, str] = {}
    for name, family in document.families.items():
        for place, major in enumerate(family.majors):
            if major in owner:
                yield source.problem(
                    ("families", name, "majors", place), f"major {major} is in {owner[major]} and in {name}", "keep one"
                )
            owner.setdefault(major, name)
        for target in family.base or ():
            if target.major in family.majors:
                yield source.problem(
                    ("families", name, "base"), f"{target} is native to {name}, so not a base", "leave it out of base"
                )


def _axes(document: Document, source: Source, broken: frozenset[str]) -> Iterator[Problem]:
    for name, values in document.axes.items():
        if name in COMMAND_FIELDS or name in NAME_FIELDS or name == "target":
            yield source.problem(("axes", name), f"'{name}' is a name that fatwheel uses itself", "rename it", key=True)
        if not values:
            yield source.problem(("axes", name), f"the axis {name} has no values", "name at least one")
        for place, value in enumerate(values):
            if value in values[:place]:
                yield source.problem(("axes", name, place), f"'{value}' is here twice", "remove one of them")
        if "packages" not in broken and not any(name in package.per for package in document.packages):
            yield source.problem(
                ("axes", name), f"no package is built per {name}", f"add {name} to a per, or remove it"
            )


def _package(
    document: Document, package: Package, path: Path, *, source: Source, root: FilePath, broken: frozenset[str]
) -> Iterator[Problem]:
    yield from _per(document, package, path, source, broken)
    try:
        canonicalize_name(package.name.replace("{", "").replace("}", ""), validate=True)
    except InvalidName:
        yield source.problem(
            (*path, "name"), f"'{package.name}' is not a distribution name", "use letters, digits, - _ ."
        )
    yield from _origin(package, path, source, root)
    axes = {*(a for a in package.per if a in document.axes)}
    named = axes | {f"{a}_nodot" for a in axes}
    names = named | (NAME_FIELDS if "cuda" in package.per else set())
    yield from _fields(source, (*path, "name"), package.name, named | (names & {"cuda", "cuda_major"}))
    yield from _fields(source, (*path, "tag"), package.tag, named)
    yield from _fields(source, (*path, "local"), package.local or "", names)
    commands = COMMAND_FIELDS | named
    for place, argument in enumerate(package.build.command):
        yield from _fields(source, (*path, "build", "command", place), argument, commands)
    for key, value in package.build.env.items():
        yield from _fields(source, (*path, "build", "env", key), value, commands)
    if package.smoke:
        for place, argument in enumerate(package.smoke.command):
            yield from _fields(source, (*path, "smoke", "command", place), argument, commands)
    if "cuda" in package.per:
        yield from _expressible(document, package, path, source, broken)
    if package.publish == "pypi" and package.local:
        yield source.problem(
            (*path, "local"), "PyPI takes no wheel with a local label", 'write local: "", or publish: store'
        )


def _per(document: Document, package: Package, path: Path, source: Source, broken: frozenset[str]) -> Iterator[Problem]:
    known = ["cuda", "arch", *document.axes]
    for place, axis in enumerate(package.per):
        if axis in ("family", "target"):
            wanted = "family" if axis == "family" else "provider"
            yield source.problem((*path, "per", place), f"per does not hold {axis}", f"say layout: {wanted}")
        elif axis not in known and "axes" not in broken:
            yield source.problem((*path, "per", place), f"there is no axis '{axis}'", suggest(axis, known))
        elif axis in package.per[:place]:
            yield source.problem((*path, "per", place), f"'{axis}' is here twice", "remove one of them")
    has_cuda, has_arch = "cuda" in package.per, "arch" in package.per
    if has_cuda and not has_arch:
        yield source.problem((*path, "per"), "a CUDA wheel is made for one CPU architecture", "add arch to per")
    if has_cuda and not document.cuda and "cuda" not in broken:
        yield source.problem((*path, "per"), "no CUDA label is declared", "add cuda: with labels and their targets")
    if has_cuda and not package.layout and not source.written(*path, "layout"):
        yield source.problem(path, "a CUDA package needs a layout", "add layout: family, provider or fat")
    if package.layout and not has_cuda:
        yield source.problem((*path, "layout"), "a layout divides GPU targets, and per holds no cuda", "remove it")
    if package.layout == "family" and not document.families and "families" not in broken:
        yield source.problem((*path, "layout"), "no families are declared", "add families:, or say layout: fat")
    if has_arch and not package.manylinux and not source.written(*path, "manylinux"):
        yield source.problem(path, "a wheel for one CPU architecture needs a glibc floor", 'add manylinux: "2_28"')
    if package.manylinux and not has_arch:
        yield source.problem((*path, "manylinux"), "manylinux needs arch in per", "add arch to per, or remove it")


def _origin(package: Package, path: Path, source: Source, root: FilePath) -> Iterator[Problem]:
    given = [kind for kind in ("checkout", "index", "git") if getattr(package.source, kind) is not None]
    here: Path = (*path, "source")
    if len(given) != 1:
        what = "the source names nothing" if not given else f"the source is given as {' and '.join(given)}"
        yield source.problem(here, what, "give exactly one of checkout, index and git")
    if package.source.git and not package.source.ref:
        yield source.problem((*here, "git"), "a git source needs the commit that is built", "add ref:")
    if package.source.index and "==" not in package.source.index:
        yield source.problem((*here, "index"), "a foreign version is a literal", "write NAME==VERSION")
    if package.source.checkout and not (root / package.source.checkout).is_dir():
        yield source.problem((*here, "checkout"), f"there is no folder {package.source.checkout}")


def _fields(source: Source, path: Path, template: str, allowed: set[str] | frozenset[str]) -> Iterator[Problem]:
    for name in fields(template):
        if name in ("{", "}"):
            yield source.problem(path, f"a lone '{name}' in '{template}'", f"write {name * 2} for the brace itself")
        elif name not in allowed:
            yield source.problem(path, f"nothing is called {{{name}}} here", suggest(name, sorted(allowed)))


def _expressible(
    document: Document, package: Package, path: Path, source: Source, broken: frozenset[str]
) -> Iterator[Problem]:
    """Targets that no family holds, or that the package's own variable cannot say."""
    by_family = package.layout == "family" and document.families and "families" not in broken
    held = {major for family in document.families.values() for major in family.majors}
    inexpressible: dict[str, UsageError] = {}
    for label, cuda in document.cuda.items():
        for arch, targets in cuda.targets.items():
            for target in targets:
                if by_family and target.major not in held:
                    yield source.problem(
                        ("cuda", label, "targets", arch), f"{label} {arch}: {target} belongs to no family",
                        f"add major {target.major} to a family, or leave {target} out",
                    )  # fmt: skip
                _try(target, package, inexpressible)
    for error in inexpressible.values():
        yield source.problem((*path, "build", "spelling"), error.what, error.remedy)


def _try(target: Target, package: Package, found: dict[str, UsageError]) -> None:
    try:
        render([target], package.build.spelling)
    except UsageError as error:
        found.setdefault(str(target), error)


def _runners(document: Document, source: Source) -> Iterator[Problem]:
    names = list(document.families)
    providers = any(package.layout == "provider" for package in document.packages)
    for family in document.runners.smoke:
        if family not in names and not providers:
            yield source.problem(
                ("runners", "smoke", family), f"there is no family '{family}'", suggest(family, names), key=True
            )


def _channels(document: Document, source: Source) -> Iterator[Problem]:
    for name, channel in (
        ("release", document.channels.release),
        ("nightly", document.channels.nightly),
        ("pull-request", document.channels.pull_request),
    ):
        if channel is None:
            continue
        path: Path = ("channels", name)
        yield from _fields(source, (*path, "tag"), channel.tag, TAG_FIELDS)
        if "{version}" not in channel.tag and name == "release":
            yield source.problem((*path, "tag"), "every release would have the same tag", "put {version} into it")
        if name == "nightly" and not {"version", "date"} & set(fields(channel.tag)):
            yield source.problem(
                (*path, "tag"), "every nightly would have the same tag", "put {version} or {date} into it"
            )
