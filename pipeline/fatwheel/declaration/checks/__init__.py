"""Check that the parts of matrix.yaml agree. Each error has its position."""

from __future__ import annotations

from collections.abc import Iterator

from fatwheel.declaration.checks.channels import check_channels, check_size
from fatwheel.declaration.checks.gpu import check_cuda, check_families, check_labels, check_runners
from fatwheel.declaration.checks.packages import check_axes, check_package, check_set
from fatwheel.declaration.checks.versions import check_version_keys, check_versions
from fatwheel.declaration.model import Document
from fatwheel.declaration.source import Source
from fatwheel.declaration.tree import Tree
from fatwheel.errors import Diagnostic

__all__ = ["check", "check_versions"]


def check(document: Document, source: Source, tree: Tree, broken: frozenset[str] = frozenset()) -> Iterator[Diagnostic]:
    """Yield all errors between parts.

    ``broken``: sections that contain invalid values; nothing in them is reported as missing.
    """
    yield from check_version_keys(document, source, tree)
    for label, cuda in document.cuda.items():
        yield from check_cuda(label, cuda, source)
    yield from check_labels(document, source)
    yield from check_families(document, source)
    yield from check_axes(document, source, broken)
    for place, package in enumerate(document.packages):
        yield from check_package(document, package, ("packages", place), source=source, tree=tree, broken=broken)
    if "packages" not in broken:
        yield from check_set(document, source)
    if "families" not in broken and "packages" not in broken:
        yield from check_runners(document, source)
    yield from check_channels(document, source)
    yield from check_size(document, source)
