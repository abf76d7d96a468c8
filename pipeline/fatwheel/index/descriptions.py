"""Describe an entry for the landing page: its tests and its GPUs."""

from __future__ import annotations

from fatwheel.index.gpus import name_gpus
from fatwheel.records.index import IndexedFile


def describe_test(entry: IndexedFile) -> tuple[str, str]:
    """Return a kind (``tested``, ``imports``, ``fails``, ``unknown``; a CSS class), and the test results as text."""
    tests = entry.proof
    if entry.placeholder:
        return "unknown", "placeholder without code"
    if tests is None:
        return "unknown", "unknown"
    if tests.gpu == "passed" and tests.executed:
        return "tested", f"GPU-tested on {tests.device} ({', '.join(map(str, tests.executed))})"
    imported = {"passed": "import passed", "failed": "import failed", "skipped": "import not tested"}[tests.import_]
    if tests.gpu == "failed":
        return "fails", f"{imported}, GPU test failed"
    kind = {"passed": "imports", "failed": "fails", "skipped": "unknown"}[tests.import_]
    return kind, f"{imported}, no GPU test"


def describe_gpus(entry: IndexedFile) -> str:
    """Name products that a wheel supports, newest first: ``H100, H200, L4``."""
    if entry.covers is None:
        return "unknown" if entry.cuda else "any"
    if not entry.covers:
        return "any"
    names = [name_gpus(capability, 2) for capability in reversed(entry.covers)]
    return ", ".join(names[:4]) + (" and older" if len(names) > 4 else "")
