"""RECORD: the list of a wheel's members with their digests and sizes."""

from __future__ import annotations

import csv
import io
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from fatwheel.wheels.io.byte_sources import Malformed

SIGNATURES = ("RECORD.jws", "RECORD.p7s")
"""Signatures of RECORD in the dist-info folder, which RECORD does not list."""


@dataclass(frozen=True)
class Line:
    """One member: ``digest`` like ``sha256=...``, ``size`` in bytes; both are empty for RECORD itself."""

    name: str
    digest: str
    size: str


def encode_digest(sha256: bytes) -> str:
    """A digest in the format of RECORD: ``sha256=`` and URL-safe base64 without padding."""
    return f"sha256={urlsafe_b64encode(sha256).rstrip(b'=').decode()}"


def write_record(lines: Iterable[Line]) -> bytes:
    """RECORD with the lines in the given order."""
    return "".join(f"{','.join(map(_quote, (line.name, line.digest, line.size)))}\n" for line in lines).encode()


def _quote(text: str) -> str:
    """Quote as `csv` does, and also a lone carriage return, which `csv` could not read back."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def read_record(data: bytes) -> tuple[Line, ...]:
    """The lines of a RECORD. Raises `Malformed` if it is invalid."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Malformed(f"invalid RECORD ({error})") from None
    lines = []
    for number, row in enumerate(rows, 1):
        if len(row) != 3:
            raise Malformed(f"invalid RECORD: line {number} has {len(row)} fields, not 3")
        lines.append(Line(*row))
    return tuple(lines)
