"""Errors of click and of the operating system, as the errors that fatwheel reports."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection
from pathlib import Path

import click

from fatwheel.caches import SET_CACHE, cache_root
from fatwheel.errors import PipelineError, UsageError
from fatwheel.system_errors import DENIED, FULL, working_folder_exists

_NO_ROOM = FULL | {errno.EFBIG}
_NOT_A_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}


def unknown_command(name: str, known: Collection[str]) -> UsageError:
    """Return the error for a command that does not exist, with the closest name."""
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return UsageError(
        f"unknown command '{name}'", help=f"did you mean '{near[0]}'?" if near else "run `fatwheel --help`"
    )


def from_click(error: click.ClickException) -> UsageError:
    """Return click's error in lower case and without a period, with a help."""
    context = getattr(error, "ctx", None)
    help = f"run `{context.command_path} --help`" if context else "run `fatwheel --help`"
    if isinstance(error, click.NoSuchOption):
        near = error.possibilities
        return UsageError(
            f"unknown option '{error.option_name}'", help=f"did you mean '{min(near)}'?" if near else help
        )
    what = error.format_message().strip().removesuffix(".").replace("valid integer range", "whole number")
    kind = getattr(getattr(error, "param", None), "type", None)
    if isinstance(kind, click.Choice) and " is not one of " in what:
        what = what.partition(" is not one of ")[0]
        help = f"choose one of: {', '.join(map(str, kind.choices))}"
    if found := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", what, re.DOTALL):
        what = f"unexpected argument '{found[1]}'"
    return UsageError(what[:1].lower() + what[1:], help=help)


def from_system(error: OSError) -> PipelineError | None:
    """Return the error for a file or folder that cannot be used; None for any other error of the system."""
    place = error.filename2 or error.filename
    text = error.strerror or str(error)
    reason = text[:1].lower() + text[1:]
    relative = place is None or not Path(_shown(place) or "").is_absolute()
    if relative and error.errno == errno.ENOENT and not working_folder_exists():
        return UsageError("the working folder no longer exists", help="change to another folder")
    if error.errno in _NO_ROOM:
        help = "free some disk space, or use another disk (--output, TMPDIR, FATWHEEL_CACHE)"
        return UsageError(reason, where=_shown(place), help=help)
    if error.errno in DENIED or (error.errno in _NOT_A_PLACE and place is not None):
        return UsageError(reason, where=_shown(place), help=_other_place(place))
    return None


def _shown(place: object) -> str | None:
    return os.fsdecode(place) if isinstance(place, str | bytes | os.PathLike) else None


def _other_place(place: object) -> str:
    path = Path(_shown(place) or ".").absolute()
    try:
        in_cache = path.is_relative_to(cache_root(os.environ))
    except UsageError:  # this user has no home folder
        in_cache = False
    return SET_CACHE if in_cache else "check the path and its permissions, or choose another one"
