"""Compute the versions of releases and nightlies."""

from __future__ import annotations

import datetime as dt

from packaging.version import Version

from fatwheel.declaration import Declaration
from fatwheel.errors import UsageError


def parse_date(text: str | None) -> dt.date:
    """Parse a date (``20261201`` or ``2026-12-01``); None is today in UTC. Raises `UsageError`."""
    if text is None:
        return dt.datetime.now(dt.UTC).date()
    for form in ("%Y%m%d", "%Y-%m-%d"):
        try:
            return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC).date()
        except ValueError:
            continue
    raise UsageError(f"invalid date '{text}'", help="e.g. 20261201 or 2026-12-01")


def next_version(declaration: Declaration) -> str:
    """The version that nightlies lead up to, such that ``NEXT.devDATE`` sorts between the last release and NEXT.

    As declared. By default, 1.0rc2 after 1.0rc1 (1.0.dev... would sort before 1.0rc1), the final version after a .dev
    version, and the next patch release after a release or post-release.
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
    """The public version of a channel's wheels: ``NEXT.devYYYYMMDD`` for nightlies.

    Raises `UsageError` for a nightly that does not sort between the last release and the next one.
    """
    if channel != "nightly":
        return declaration.version
    following = next_version(declaration)
    nightly = f"{following}.dev{date:%Y%m%d}"
    if not Version(declaration.version) < Version(nightly) < Version(following):
        raise UsageError(
            f"nightly {nightly} does not sort between {declaration.version} and {following}",
            where=str(declaration.path),
            help="pass a later --date, or declare next_version",
        )
    return nightly
