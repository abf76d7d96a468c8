"""Versions of a release and of a nightly."""

from __future__ import annotations

import datetime as dt

from packaging.version import Version

from pipeline.declaration import Declaration
from pipeline.errors import UsageError


def parse_date(text: str | None) -> dt.date:
    """A date as ``20261201`` or ``2026-12-01``; today in UTC if None. Raises `UsageError`."""
    if text is None:
        return dt.datetime.now(dt.UTC).date()
    for form in ("%Y%m%d", "%Y-%m-%d"):
        try:
            return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC).date()
        except ValueError:
            continue
    raise UsageError(f"'{text}' is not a date", remedy="write it like 20261201 or 2026-12-01")


def next_version(declaration: Declaration) -> str:
    """What nightlies lead to: as declared, else the version itself while it is a pre-release, else the next patch."""
    if declaration.document.next_version:
        return declaration.document.next_version
    version = Version(declaration.version)
    if version.is_prerelease:
        return version.base_version
    epoch = f"{version.epoch}!" if version.epoch else ""
    *head, last = version.release
    return epoch + ".".join(str(part) for part in (*head, last + 1))


def channel_version(declaration: Declaration, channel: str, date: dt.date) -> str:
    """The public version that a channel's wheels bear; of a nightly ``NEXT.devYYYYMMDD``."""
    if channel != "nightly":
        return declaration.version
    return f"{next_version(declaration)}.dev{date:%Y%m%d}"
