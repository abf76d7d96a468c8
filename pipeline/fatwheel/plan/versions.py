"""Versions of a release and of a nightly."""

from __future__ import annotations

import datetime as dt

from packaging.version import Version

from fatwheel.declaration import Declaration
from fatwheel.errors import UsageError


def parse_date(text: str | None) -> dt.date:
    """A date as ``20261201`` or ``2026-12-01``; today in UTC if None. Raises `UsageError`."""
    if text is None:
        return dt.datetime.now(dt.UTC).date()
    for form in ("%Y%m%d", "%Y-%m-%d"):
        try:
            return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC).date()
        except ValueError:
            continue
    raise UsageError(f"'{text}' is not a date", help="write it like 20261201 or 2026-12-01")


def next_version(declaration: Declaration) -> str:
    """What nightlies lead to, so that ``NEXT.devDATE`` lies between the last release and NEXT.

    As declared; else after 1.0rc1 1.0rc2 (1.0.dev... would come before 1.0rc1), after a .dev what it leads to, and
    after a release or a post-release the next patch.
    """
    if declaration.document.next_version:
        return declaration.document.next_version
    version = Version(declaration.version)
    epoch = f"{version.epoch}!" if version.epoch else ""
    release = ".".join(map(str, version.release))
    if version.pre and version.post is None:
        letter, number = version.pre
        return f"{epoch}{release}{letter}{number if version.dev is not None else number + 1}"
    if version.dev is not None:
        return f"{epoch}{release}" if version.post is None else f"{epoch}{release}.post{version.post}"
    *head, last = version.release
    return epoch + ".".join(str(part) for part in (*head, last + 1))


def channel_version(declaration: Declaration, channel: str, date: dt.date) -> str:
    """The public version that a channel's wheels bear; of a nightly ``NEXT.devYYYYMMDD``.

    Raises `UsageError` for a nightly that pip and uv would not place between the last release and the next.
    """
    if channel != "nightly":
        return declaration.version
    following = next_version(declaration)
    nightly = f"{following}.dev{date:%Y%m%d}"
    if not Version(declaration.version) < Version(nightly) < Version(following):
        raise UsageError(
            f"the nightly {nightly} does not lie between {declaration.version} and {following}",
            where=str(declaration.path),
            help="give a later --date, or declare next_version",
        )
    return nightly
