"""RECORD: each member listed once, with the digest and size that it has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.formats.record import Line, encode_digest, read_record
from fatwheel.wheels.io.byte_sources import Malformed

_REMEDY = "build the wheel again; whatever changes a member must write RECORD anew"
_WEAK = {"md5", "sha1"}  # the wheel format asks for sha256 or better


def check_record(wheel: InspectedWheel) -> Iterator[Finding]:
    """All lines against all members."""
    if wheel.folder is None:
        return
    record = f"{wheel.folder}/RECORD"
    data = wheel.info("RECORD")
    if data is None:
        if record not in wheel.archive.by_name:
            yield error("record-missing", "there is no RECORD", _REMEDY)
        return
    try:
        lines = read_record(data)
    except Malformed as problem:
        yield error("record-unreadable", problem.what, _REMEDY, record)
        return
    exempt = {record, f"{record}.jws", f"{record}.p7s"}
    listed: set[str] = set()
    for line in lines:
        if line.name in listed:
            yield error("record-line", f"'{line.name}' is listed twice", _REMEDY, record)
        listed.add(line.name)
        if line.name not in wheel.archive.by_name:
            yield error("record-absent", "RECORD lists it, but it is not there", _REMEDY, line.name)
        elif line.name not in exempt:
            yield from _line(wheel, line)
    for name in sorted(set(wheel.archive.by_name) - listed - (exempt - {record})):
        yield error("record-unlisted", "it is there, but RECORD does not list it", _REMEDY, name)


def _line(wheel: InspectedWheel, line: Line) -> Iterator[Finding]:
    contents = wheel.contents[line.name]
    if line.size != str(contents.member.size):
        if line.size:
            what = f"{contents.member.size} bytes, but RECORD says {line.size}"
            yield error("record-size", what, _REMEDY, line.name)
        else:
            yield warning("record-line", "RECORD does not say its size", _REMEDY, line.name)
    algorithm, _, digest = line.digest.partition("=")
    if not digest:
        yield error("record-line", "RECORD has no digest of it", _REMEDY, line.name)
    elif algorithm == "sha256":
        if contents.sha256 and encode_digest(contents.sha256) != line.digest.rstrip("="):
            yield error("record-hash", "its contents do not match the digest in RECORD", _REMEDY, line.name)
    elif algorithm in _WEAK or algorithm not in hashlib.algorithms_available:
        yield error("record-line", f"RECORD has a digest by {algorithm}, which installers refuse", _REMEDY, line.name)
    else:
        yield from _other_digest(wheel, line, algorithm)


def _other_digest(wheel: InspectedWheel, line: Line, algorithm: str) -> Iterator[Finding]:
    hashed = hashlib.new(algorithm)
    try:
        for chunk in wheel.archive.chunks(wheel.archive.by_name[line.name]):
            hashed.update(chunk)
        same = encode_digest(hashed.digest()).partition("=")[2] == line.digest.partition("=")[2].rstrip("=")
    except (Malformed, TypeError):  # unreadable, which is a finding already; or a digest without a fixed length
        same = bool(wheel.contents[line.name].fault)
    if not same:
        yield error("record-hash", "its contents do not match the digest in RECORD", _REMEDY, line.name)
