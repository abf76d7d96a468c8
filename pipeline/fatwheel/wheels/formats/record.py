"""RECORD: the list of what a wheel holds, with digests and sizes."""

from __future__ import annotations

import csv
import io
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from fatwheel.wheels.io.sources import Malformed


@dataclass(frozen=True)
class Line:
    """One member: ``digest`` as ``sha256=...``, ``size`` in bytes; for RECORD itself both are empty."""

    name: str
    digest: str
    size: str


def spelt(sha256: bytes) -> str:
    """A digest as RECORD spells it."""
    return f"sha256={urlsafe_b64encode(sha256).rstrip(b'=').decode()}"


def write_record(lines: Iterable[Line]) -> bytes:
    """RECORD as bytes, in the order given."""
    return "".join(f"{','.join(map(_field, (line.name, line.digest, line.size)))}\n" for line in lines).encode()


def _field(text: str) -> str:
    """As `csv` quotes, but with a lone carriage return quoted too, without which `csv` cannot read it again."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def read_record(data: bytes) -> tuple[Line, ...]:
    """The lines of a RECORD. Raises `Malformed` for what is not one."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Malformed(f"RECORD is not a table of text ({error})") from None
    lines = []
    for number, row in enumerate(rows, 1):
        if len(row) != 3:
            raise Malformed(f"line {number} of RECORD has {len(row)} fields, not 3")
        lines.append(Line(*row))
    return tuple(lines)
