"""`fatwheel images`: the container images of a declaration, pinned by digest."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.output import echo_json, echo_table
from fatwheel.console.summaries import SUMMARIES


@click.command(help=SUMMARIES["images"])
@matrix_option
@click.option("--update", is_flag=True, help="Ask the registries, and write the digests into the declaration.")
@json_option
def command(matrix: Path, update: bool, as_json: bool) -> None:
    """Ends with 0, 2 or 7: a registry that does not tell; the images of others are written all the same."""
    from fatwheel.declaration import load
    from fatwheel.declaration.load import parse
    from fatwheel.errors import ReleaseRefused
    from fatwheel.records.base import write_atomically
    from fatwheel.workflows.registry import DeclaredImage, find_images, pin_images, resolve_digest

    declaration = load(matrix)
    images = list(find_images(declaration))
    found: dict[DeclaredImage, str] = {}
    failures: list[str] = []
    if update:
        import httpx

        asked: dict[str, str | ReleaseRefused] = {}
        with httpx.Client(timeout=30.0, follow_redirects=True) as client:
            for image in images:
                if image.reference not in asked:
                    try:
                        asked[image.reference] = resolve_digest(image, client)
                    except ReleaseRefused as refusal:
                        asked[image.reference] = refusal
                        failures.append(str(refusal))
                answer = asked[image.reference]
                if isinstance(answer, str):
                    found[image] = answer
        text = matrix.read_text(encoding="utf-8")
        moved = pin_images(text, found)
        if moved != text:
            parse(moved, matrix)  # nothing is written that could not be read again
            write_atomically(matrix, moved.encode())
    if as_json:
        echo_json({"images": [{"name": i.name, "tag": i.tag, "digest": found.get(i, i.digest)} for i in images]})
    else:
        rows = [(i.reference, (found.get(i, i.digest) or "-")[:19], _news(i.digest, found.get(i))) for i in images]
        echo_table(["image", "digest", ""], rows)
    if failures:
        raise ReleaseRefused("\n".join(failures))


def _news(before: str | None, now: str | None) -> str:
    if now is None:
        return "" if before else "not pinned"
    return "as it was" if before == now else "moved" if before else "pinned"
