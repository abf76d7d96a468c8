"""How the page for people says things: sizes, proof, what a wheel is for."""

from __future__ import annotations

from fatwheel.index.gpus import products
from fatwheel.records.index import IndexedFile


def size_words(count: int) -> str:
    """``820.1 MB``; kB below 100,000 bytes."""
    if count >= 1_000_000_000:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def proof_words(row: IndexedFile) -> tuple[str, str]:
    """A kind (``ran``, ``imports``, ``fails``, ``unknown``), and what was proven."""
    proof = row.proof
    if row.placeholder:
        return "unknown", "placeholder, no code in it"
    if proof is None:
        return "unknown", "not known"
    if proof.gpu == "passed" and proof.executed:
        return "ran", f"ran on {proof.device} ({', '.join(map(str, proof.executed))})"
    imported = {"passed": "imports", "failed": "does not import", "skipped": "not tried"}[proof.import_]
    if proof.gpu == "failed":
        return "fails", f"{imported}; fails on a GPU"
    kind = {"passed": "imports", "failed": "fails", "skipped": "unknown"}[proof.import_]
    return kind, f"{imported}; not run on a GPU"


def gpu_words(row: IndexedFile) -> str:
    """Products that a wheel is for: ``H100, H200, L4``."""
    if row.covers is None:
        return "not known" if row.cuda else "any"
    if not row.covers:
        return "any"
    names = [products(capability, 2) for capability in reversed(row.covers)]
    return ", ".join(names[:4]) + (" and older" if len(names) > 4 else "")
