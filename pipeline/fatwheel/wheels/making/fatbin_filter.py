"""Remove entries from the fat binaries of a file, without changing the bytes of the others.

A container keeps its place, because the host code of the file points at it. The remaining entries move to its front,
its header gets the new length, and zeros fill the rest, which compress to almost nothing. Nothing outside the
containers changes, so the size of the file and every offset in it stay valid. On an H200, such libraries load and
compute as before, and one without a matching entry fails with error 209 (no kernel image).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from fatwheel.wheels.formats.fatbin import Container, Entry

_LENGTH = struct.Struct("<Q")
_LENGTH_AT = 8  # in a container's header, after magic, version and header size
_HEADER_SIZE_AT = struct.Struct("<6xH")


def filter_entries(data: bytearray, containers: Iterable[Container], keep: Callable[[Entry], bool]) -> None:
    """Remove entries for which ``keep`` is false from ``data``, the bytes that ``containers`` were read from.

    A container whose entries are all kept is not changed.
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
