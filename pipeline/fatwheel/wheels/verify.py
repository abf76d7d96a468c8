"""Verify a wheel: is it valid, and does it match what is expected? All findings at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fatwheel.digests import stream_digest
from fatwheel.errors import UsageError
from fatwheel.records.verification import Finding, Verification
from fatwheel.wheels.checks.binaries import check_binaries
from fatwheel.wheels.checks.code import check_code
from fatwheel.wheels.checks.expected import Expected, expected_of
from fatwheel.wheels.checks.inspected import Check, error, inspect_wheel
from fatwheel.wheels.checks.members import check_members
from fatwheel.wheels.checks.metadata import check_metadata, check_name, check_wheel_file
from fatwheel.wheels.checks.record import check_record
from fatwheel.wheels.checks.stamps import check_embedded, check_stamp_files
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io.byte_sources import FileSource, Malformed, open_file, read_blocks
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import examine

__all__ = ["Expected", "expected_of", "verify"]

CHECKS: tuple[Check, ...] = (
    check_members,
    check_metadata,
    check_wheel_file,
    check_record,
    check_binaries,
    check_code,
    check_embedded,
    check_stamp_files,
)


def verify(path: Path, expected: Expected | None = None) -> Verification:
    """Run all checks on a wheel. Reads each member once; memory is bounded by the largest library.

    Raises `UsageError` only if the file cannot be opened; an unreadable archive is a finding.
    """
    expected = expected or Expected()
    with open_file(path) as file:
        source = FileSource(file)
        found = list(check_name(path.name, expected))
        placeholder = False
        try:
            archive = Archive(source, path.name)
        except Malformed as problem:
            found.append(error("archive-unreadable", problem.what, problem.help or "build or download it again"))
        else:
            contents = examine(archive, archive.by_name.values(), digests=True)
            wheel = inspect_wheel(archive, _parse_name(path.name), contents, expected)
            placeholder = wheel.placeholder
            for check in CHECKS:
                found += check(wheel)
        found += _check_digest(source, expected)
        return Verification(
            wheel=path.name,
            bytes=source.size,
            placeholder=placeholder,
            findings=sorted(found, key=lambda f: (f.severity, f.kind, f.member or "", f.what)),
        )


def _parse_name(text: str) -> WheelName | None:
    try:
        return WheelName.parse(text)
    except UsageError:
        return None


def _check_digest(source: FileSource, expected: Expected) -> Iterator[Finding]:
    if expected.sha256:
        found = stream_digest(read_blocks(source))
        if found != expected.sha256:
            what = f"the SHA-256 digest is {found}, but in the build record it is {expected.sha256}"
            yield error("digest", what, "build it again; do not change a wheel after its build")
