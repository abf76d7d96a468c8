"""Thinning: entries leave the fat binaries of a file, and the others keep their bytes.

A container keeps its place, since the host code of the file points at it; what is kept moves to its front, its header
says the new length, and zeros fill the rest, which deflate to next to nothing. Nothing outside the containers changes,
so the file stays the same size and every offset in it stays right. On an H200 such libraries load and compute as
before, and one left without a fitting entry answers with error 209 (no kernel image).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from fatwheel.wheels.formats.fatbin import Container, Entry

_LENGTH = struct.Struct("<Q")
_LENGTH_AT = 8  # in a container's header, after magic, version and header size
_HEADER_SIZE_AT = struct.Struct("<6xH")


def thin(data: bytearray, containers: Iterable[Container], keep: Callable[[Entry], bool]) -> None:
    """Take the entries that ``keep`` refuses out of ``data``, the bytes that ``containers`` were read from.

    A container of which everything is kept is not touched.
    """
    for container in containers:
        kept = [entry for entry in container.entries if keep(entry)]
        if len(kept) == len(container.entries):
            continue
        (header,) = _HEADER_SIZE_AT.unpack_from(data, container.offset)
        start, end = container.offset + header, container.offset + container.size
        body = b"".join(data[entry.offset : entry.end] for entry in kept)
        data[start:end] = body + bytes(end - start - len(body))
        _LENGTH.pack_into(data, container.offset + _LENGTH_AT, len(body))
