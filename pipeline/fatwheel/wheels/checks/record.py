"""Check RECORD: it lists each member once, with its digest and size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.formats.record import Line, encode_digest, read_record
from fatwheel.wheels.io.byte_sources import Malformed

_HELP = "build the wheel again; a tool that changes a member must update RECORD"
_WEAK = {"md5", "sha1"}  # the wheel format requires sha256 or better


def check_record(wheel: InspectedWheel) -> Iterator[Finding]:
    """Compare all lines with all members."""
    if wheel.folder is None:
        return
    record = f"{wheel.folder}/RECORD"
    data = wheel.info("RECORD")
    if data is None:
        if record not in wheel.archive.by_name:
            yield error("record-missing", "RECORD not found", _HELP)
        return
    try:
        lines = read_record(data)
    except Malformed as problem:
        yield error("record-unreadable", problem.what, _HELP, record)
        return
    exempt = {record, f"{record}.jws", f"{record}.p7s"}
    listed: set[str] = set()
    for line in lines:
        if line.name in listed:
            yield error("record-line", f"'{line.name}' is listed twice", _HELP, record)
        listed.add(line.name)
        if line.name not in wheel.archive.by_name:
            yield error("record-absent", "RECORD lists it, but it is missing", _HELP, line.name)
        elif line.name not in exempt:
            yield from _check_line(wheel, line)
    for name in sorted(set(wheel.archive.by_name) - listed - (exempt - {record})):
        yield error("record-unlisted", "RECORD does not list it", _HELP, name)


def _check_line(wheel: InspectedWheel, line: Line) -> Iterator[Finding]:
    contents = wheel.contents[line.name]
    if line.size != str(contents.member.size):
        if line.size:
            what = f"its size is {contents.member.size} bytes, but in RECORD it is {line.size}"
            yield error("record-size", what, _HELP, line.name)
        else:
            yield warning("record-line", "RECORD does not contain its size", _HELP, line.name)
    algorithm, _, digest = line.digest.partition("=")
    if not digest:
        yield error("record-line", "RECORD does not contain its digest", _HELP, line.name)
    elif algorithm == "sha256":
        if contents.sha256 and encode_digest(contents.sha256) != line.digest.rstrip("="):
            yield error("record-hash", "its contents do not match the digest in RECORD", _HELP, line.name)
    elif algorithm in _WEAK or algorithm not in hashlib.algorithms_available:
        yield error("record-line", f"its digest in RECORD is {algorithm}, which installers reject", _HELP, line.name)
    else:
        yield from _check_other_digest(wheel, line, algorithm)


def _check_other_digest(wheel: InspectedWheel, line: Line, algorithm: str) -> Iterator[Finding]:
    hashed = hashlib.new(algorithm)
    try:
        for chunk in wheel.archive.chunks(wheel.archive.by_name[line.name]):
            hashed.update(chunk)
        same = encode_digest(hashed.digest()).partition("=")[2] == line.digest.partition("=")[2].rstrip("=")
    except (Malformed, TypeError):  # unreadable, which is reported already; or a digest without a fixed length
        same = bool(wheel.contents[line.name].fault)
    if not same:
        yield error("record-hash", "its contents do not match the digest in RECORD", _HELP, line.name)
