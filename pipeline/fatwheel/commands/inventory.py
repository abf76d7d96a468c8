"""`fatwheel inventory`: the machine code in a wheel, by module and target."""

from __future__ import annotations

import re
from pathlib import Path

import click

from fatwheel.console.options import json_option
from fatwheel.console.output import echo_json, echo_progress, echo_table
from fatwheel.console.summaries import SUMMARIES
from fatwheel.records.inventory import CodeBytes, Inventory, Module
from fatwheel.sizes import size


@click.command(help=SUMMARIES["inventory"])
@click.argument("wheel")
@json_option
def command(wheel: str, as_json: bool) -> None:
    """WHEEL is the path or the URL of a wheel, a shared library or a fat binary. Nothing is unpacked to disk."""
    from fatwheel.wheels.reading.inventory import read_inventory

    inventory = _at_url(wheel) if re.match(r"\s*[a-z][a-z+]+:/", wheel, re.IGNORECASE) else read_inventory(Path(wheel))
    if as_json:
        echo_json(inventory)
    else:
        _show(inventory)


def _at_url(url: str) -> Inventory:
    """Read by range requests; how much came is said on standard error, also when it was in vain."""
    from fatwheel.wheels.io.http_file import RemoteFile
    from fatwheel.wheels.reading.inventory import inventory_of_source

    with RemoteFile(url) as file:
        try:
            return inventory_of_source(file, file.name, in_order=True)
        finally:
            requests = f"{file.requests} request{'s' if file.requests != 1 else ''}"
            echo_progress(f"fetched {size(file.fetched)} of {size(file.size)} in {requests}")


def _show(inventory: Inventory) -> None:
    if inventory.targets:
        rows = [
            (
                str(target),
                _stored(code.sass),
                _raw(code.sass),
                _stored(code.ptx),
                _raw(code.ptx),
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
                    _targets(module),
                )
                for module in inventory.modules
            ],
            right=(1, 2),
        )


def _targets(module: Module) -> str:
    """Stored bytes of each target, in lines of which none is broken within a target."""
    import textwrap

    parts = (
        f"{target} {size(code.stored)}".replace(" ", "\N{NO-BREAK SPACE}") for target, code in module.targets.items()
    )
    return textwrap.fill("  ".join(parts), width=24).replace("\N{NO-BREAK SPACE}", " ") or "-"


def _stored(code: CodeBytes | None) -> str:
    return size(code.stored) if code else "-"


def _raw(code: CodeBytes | None) -> str:
    return size(code.raw) if code else "-"
