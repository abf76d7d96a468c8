"""Refuse to rewrite a wheel that is damaged, or that differs from its RECORD: a new RECORD would hide it."""

from __future__ import annotations

from fatwheel.errors import VerificationError
from fatwheel.wheels.checks.expected import Expected
from fatwheel.wheels.checks.inspected import InspectedWheel, inspect_wheel
from fatwheel.wheels.checks.members import check_members
from fatwheel.wheels.checks.record import check_record
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import Contents, examine

_CODE = ("elf-unreadable", "fat-binary-unreadable")


def inspect_archive(archive: Archive, *, digests: bool = True) -> InspectedWheel:
    """Inspect every member of a wheel. Without ``digests`` no member is read, and only the archive's list is known."""
    members = archive.by_name.values()
    contents = examine(archive, members, digests=True) if digests else [Contents(member) for member in members]
    return inspect_wheel(archive, WheelName.parse(archive.name), contents, Expected())


def find_defects(wheel: InspectedWheel, *, code: bool) -> list[str]:
    """Errors that a new RECORD would hide, as ``member: what``; with ``code``, also libraries that cannot be parsed."""
    found = [
        f"{finding.member}: {finding.what}" if finding.member else finding.what
        for check in (check_members, check_record)
        for finding in check(wheel)
        if finding.severity == "error" and (code or finding.kind not in _CODE)
    ]
    if wheel.folder is None:
        found.append(f"expected one dist-info folder, found {len(wheel.archive.dist_infos)}")
    else:
        needed = [f"{wheel.folder}/{file}" for file in ("METADATA", "WHEEL")]
        found += [f"{member} not found" for member in needed if member not in wheel.archive.by_name]
    return found


def require_intact(wheel: InspectedWheel, what: str) -> None:
    """Raise `VerificationError` with all defects; ``what`` is the failure, such as "cannot be repacked"."""
    if defects := find_defects(wheel, code=False):
        raise VerificationError(
            f"{what}:\n  " + "\n  ".join(defects), where=wheel.archive.name, help="build or download it again"
        )
