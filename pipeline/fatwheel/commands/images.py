"""`fatwheel images`: list the container images of matrix.yaml, or pin them by digest."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option, matrix_option, named_command
from fatwheel.console.output import echo_json, echo_table
from fatwheel.declaration import load
from fatwheel.errors import ReleaseRefused
from fatwheel.pipelines.images import update_digests
from fatwheel.workflows.registry import find_images


@named_command("images")
@matrix_option
@click.option("--update", is_flag=True, help="Look up the digests in the registries and write them to matrix.yaml.")
@json_option
def command(matrix: Path, update: bool, as_json: bool) -> None:
    """Exits with code 7 if a registry fails; the images of other registries are pinned anyway."""
    images = list(find_images(load(matrix)))
    found, failures = update_digests(matrix, images) if update else ({}, [])
    if as_json:
        echo_json({"images": [{"name": i.name, "tag": i.tag, "digest": found.get(i, i.digest)} for i in images]})
    else:
        rows = [(i.reference, (found.get(i, i.digest) or "-")[:19], _state(i.digest, found.get(i))) for i in images]
        echo_table(["image", "digest", ""], rows)
    if failures:
        raise ReleaseRefused("\n".join(failures))


def _state(before: str | None, now: str | None) -> str:
    if now is None:
        return "" if before else "not pinned"
    return "unchanged" if before == now else "updated" if before else "pinned"
