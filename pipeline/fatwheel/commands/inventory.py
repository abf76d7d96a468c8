"""`fatwheel inventory`: list the machine code in wheels, by module and target."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import click

from fatwheel.console.options import json_option, named_command
from fatwheel.console.output import echo_json, echo_progress, echo_table, raise_all
from fatwheel.errors import PipelineError
from fatwheel.formatting import count_of
from fatwheel.records.inventory import CodeBytes, Inventory, Module
from fatwheel.sizes import size
from fatwheel.wheels.reading.inventory import read_inventory, read_source_inventory


@named_command("inventory")
@click.argument("wheel", nargs=-1, required=True)
@json_option
def command(wheel: tuple[str, ...], as_json: bool) -> None:
    """WHEEL is the path or URL of a wheel, a shared library or a fat binary. No CUDA tools are needed.

    Of a URL, only the parts with device code are downloaded. --json prints an array.
    """
    found: list[Inventory] = []
    failed: list[PipelineError] = []
    for one in wheel:
        is_url = re.match(r"\s*[a-z][a-z+]+:/", one, re.IGNORECASE)
        try:
            found.append(_read_url(one) if is_url else read_inventory(Path(one)))
        except PipelineError as error:
            failed.append(error)
            continue
        if not as_json:
            _print(found[-1])
    if as_json and found:
        echo_json(found)
    raise_all(failed)


def _read_url(url: str) -> Inventory:
    """Read an inventory by range requests; report the bytes fetched, even if reading fails."""
    from fatwheel.wheels.io.http_file import RemoteFile  # imports an HTTP client

    with RemoteFile(url) as file:
        try:
            return read_source_inventory(file, file.name, in_order=True)
        finally:
            requests = count_of(file.requests, "request")
            echo_progress(f"fetched {size(file.fetched)} of {size(file.size)} in {requests}")


def _print(inventory: Inventory) -> None:
    if inventory.targets:
        rows = [
            (
                str(target),
                _stored_size(code.sass),
                _unpacked_size(code.sass),
                _stored_size(code.ptx),
                _unpacked_size(code.ptx),
                str(sum(target in module.targets for module in inventory.modules)),
            )
            for target, code in inventory.targets.items()
        ]
        headings = ("target", "SASS", "unpacked", "PTX", "unpacked", "modules")
        echo_table(headings, rows, title=inventory.wheel, right=(1, 2, 3, 4, 5))
    else:
        click.echo(f"{inventory.wheel}: no device code")
    if inventory.modules:
        echo_table(
            ("module", "bytes", "in wheel", "device code"),
            [
                (
                    module.name,
                    size(module.file_bytes),
                    size(module.wheel_bytes),
                    _wrap_targets(module),
                )
                for module in inventory.modules
            ],
            right=(1, 2),
        )


def _wrap_targets(module: Module) -> str:
    """Return the stored bytes of each target, wrapped between targets."""
    parts = (
        f"{target} {size(code.stored)}".replace(" ", "\N{NO-BREAK SPACE}") for target, code in module.targets.items()
    )
    return textwrap.fill("  ".join(parts), width=24).replace("\N{NO-BREAK SPACE}", " ") or "-"


def _stored_size(code: CodeBytes | None) -> str:
    return size(code.stored) if code else "-"


def _unpacked_size(code: CodeBytes | None) -> str:
    return size(code.raw) if code else "-"
