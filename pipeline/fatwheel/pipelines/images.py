"""Pin the container images of matrix.yaml to the digests that their tags have now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fatwheel.atomic import write_atomically
from fatwheel.declaration.load import parse
from fatwheel.errors import ReleaseRefused
from fatwheel.workflows.registry import DeclaredImage, pin_images, resolve_digest


def update_digests(matrix: Path, images: Sequence[DeclaredImage]) -> tuple[dict[DeclaredImage, str], list[str]]:
    """Look up each image in its registry and write the digests found to ``matrix``.

    Returns the digests, and what failed.
    """
    import httpx

    found: dict[DeclaredImage, str] = {}
    failures: list[str] = []
    answers: dict[str, str | ReleaseRefused] = {}
    with httpx.Client(timeout=30.0, follow_redirects=True) as client:
        for image in images:
            if image.reference not in answers:
                try:
                    answers[image.reference] = resolve_digest(image, client)
                except ReleaseRefused as refusal:
                    answers[image.reference] = refusal
                    failures.append(str(refusal))
            answer = answers[image.reference]
            if isinstance(answer, str):
                found[image] = answer
    text = matrix.read_text(encoding="utf-8")
    pinned = pin_images(text, found)
    if pinned != text:
        parse(pinned, matrix)  # never write a file that cannot be read again
        write_atomically(matrix, pinned.encode())
    return found, failures
