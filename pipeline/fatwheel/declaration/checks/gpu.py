"""Check CUDA labels, GPU families and GPU runners."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from fatwheel.declaration.lists import items
from fatwheel.declaration.model import Cuda, Document
from fatwheel.declaration.source import Path, Source
from fatwheel.declaration.structure import suggest_value
from fatwheel.errors import Diagnostic, UsageError
from fatwheel.targets import KNOWN_CAPABILITIES, Capability, Target, nearest, parse_target, render, toolkit


def target_diagnostic(source: Source, path: Path, target: Target, what: str, help: str | None) -> Diagnostic:
    """Make a diagnostic at one target of the list at a path."""
    value = source.at(path)
    for text, below, part in items(value) if isinstance(value, str | list) else ():
        try:
            if parse_target(text) == target:
                return source.diagnostic((*path, *below), what, help, part=part)
        except (UsageError, TypeError):
            continue
    return source.diagnostic(path, what, help)


def capability_diagnostic(source: Source, path: Path, capability: Capability, what: str, help: str) -> Diagnostic:
    """Make a diagnostic at one capability of the list at a path."""
    value = source.at(path)
    for text, below, part in items(value) if isinstance(value, str | list) else ():
        if text == str(capability):
            return source.diagnostic((*path, *below), what, help, part=part)
    return source.diagnostic(path, what, help)


def check_cuda(label: str, cuda: Cuda, source: Source) -> Iterator[Diagnostic]:
    """Check targets and options of a CUDA label against its toolkit, and its images."""
    path: Path = ("cuda", label)
    table = toolkit(cuda.toolkit)
    for arch, targets in cuda.targets.items():
        for target in targets:
            if not table.compiles(target):
                near = nearest(target, cuda.toolkit)
                yield target_diagnostic(
                    source, (*path, "targets", arch), target,
                    f"{label} {arch}: CUDA {cuda.toolkit} cannot compile {target}",
                    f"closest supported target: {near}" if near else f"remove {target}; it has no similar target",
                )  # fmt: skip
    if cuda.compress and cuda.compress != "none" and not table.has_compress_mode:
        what = f"nvcc {cuda.toolkit} does not support --compress-mode"
        yield source.diagnostic((*path, "compress"), what, "remove compress, or use CUDA 12.8 or later")
    for arch in cuda.image:
        if arch not in cuda.targets:
            what = f"{label} has an image but no targets for {arch}"
            yield source.diagnostic(
                (*path, "image", arch), what, f"add targets for {arch}, or remove the image", key=True
            )


def check_labels(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Check that pip and uv prefer the label of the newer toolkit. They compare labels as text: cu9 > cu130."""
    for (first, one), (second, other) in combinations(document.cuda.items(), 2):
        older, newer = (
            (first, second) if toolkit(one.toolkit).version < toolkit(other.toolkit).version else (second, first)
        )
        if one.toolkit != other.toolkit and older > newer:
            old, new = document.cuda[older].toolkit, document.cuda[newer].toolkit
            yield source.diagnostic(
                ("cuda", older),
                f"pip and uv prefer +{older} (CUDA {old}) over +{newer} (CUDA {new}), because they compare labels as "
                "text",
                f"rename it to cu{old.replace('.', '')}" if re.fullmatch(r"cu[0-9]+", older) else "rename one of them",
                key=True,
            )


def check_families(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Check that majors are known and in one family only, and that base targets are foreign and compile."""
    owner: dict[int, str] = {}
    known = sorted({c.major for c in KNOWN_CAPABILITIES})
    for name, family in document.families.items():
        for place, major in enumerate(family.majors):
            path: Path = ("families", name, "majors", place)
            if major in owner:
                twice = f"twice in {name}" if owner[major] == name else f"in {owner[major]} and in {name}"
                yield source.diagnostic(path, f"major {major} is {twice}", "keep one of them")
            elif major not in known:
                yield source.diagnostic(
                    path, f"no known GPU has the major {major}", f"known: {', '.join(map(str, known))}"
                )
            owner.setdefault(major, name)
        for target in family.base or ():
            base: Path = ("families", name, "base")
            if target.major in family.majors:
                what = f"base target {target} is native to {name}"
                yield target_diagnostic(source, base, target, what, "remove it from base")
            for label, cuda in document.cuda.items():
                native = any(t.major in family.majors for targets in cuda.targets.values() for t in targets)
                if native and not toolkit(cuda.toolkit).compiles(target):
                    near = nearest(target, cuda.toolkit)
                    what = f"{label}: CUDA {cuda.toolkit} cannot compile the base target {target}"
                    yield target_diagnostic(
                        source, base, target, what, f"closest supported target: {near}" if near else "remove it"
                    )


def check_runners(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Check that GPU runners belong to a declared family, provider or fat wheel."""
    names = list(document.families)
    layouts = {package.layout for package in document.packages}
    if "provider" in layouts:
        every = {t for cuda in document.cuda.values() for targets in cuda.targets.values() for t in targets}
        names += [render([t], "provider") for t in sorted(every) if t.kind == "real"]
    if "fat" in layouts:
        names.append("all")
    for family in document.runners.smoke:
        if family not in names:
            path: Path = ("runners", "smoke", family)
            yield source.diagnostic(path, f"unknown family '{family}'", suggest_value(family, names), key=True)
