"""Check the channels, their tags, and the size limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fatwheel.declaration.checks.fields import check_fields
from fatwheel.declaration.model import Document
from fatwheel.declaration.source import Path, Source
from fatwheel.declaration.templates import TAG_FIELDS, fields
from fatwheel.errors import Diagnostic
from fatwheel.records.files import SIZE_LIMIT

# What Git forbids in tags: spaces and control characters, ~ ^ : ? * [ \, "..", "@{", and slashes and dots at the ends.
_BAD_TAG = re.compile(r"[\s~^:?*\[\\\x00-\x1f\x7f]|\.\.|@\{|//|^[-./]|[./]$|/\.|\.lock$|^$")


def check_channels(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Check the tag and repository of each channel."""
    for name, channel in document.channels.declared.items():
        path: Path = ("channels", name)
        yield from check_fields(source, (*path, "tag"), channel.tag, TAG_FIELDS)
        used = set(fields(channel.tag))
        if used - TAG_FIELDS:
            continue
        if name == "release" and "version" not in used:
            yield source.diagnostic((*path, "tag"), "every release would get the same tag", "add {version} to it")
        if name == "nightly" and not used & {"version", "date"}:
            what = "every nightly would get the same tag"
            yield source.diagnostic((*path, "tag"), what, "add {version} or {date} to it")
        if _BAD_TAG.search(re.sub(r"\{[a-z]+\}", "1", channel.tag)):
            yield source.diagnostic((*path, "tag"), f"invalid Git tag '{channel.tag}'", "e.g. v{version}")
        if name == "pull-request" and channel.repository:
            what = "pull requests cannot be published: their wheels have the file names of the release"
            yield source.diagnostic(
                (*path, "repository"), what, "remove the key; the wheels are available as workflow artifacts"
            )


def check_size(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Check the size limit, and that the fallback store is configured if it is used."""
    size = document.size
    if size.over == "elsewhere" and not size.elsewhere:
        yield source.diagnostic(
            ("size", "over"), "over: elsewhere requires a fallback store", "add size.elsewhere, e.g. dir:PATH"
        )
    if size.elsewhere and size.over != "elsewhere":
        what = f"size.elsewhere has no effect with over: {size.over}"
        yield source.diagnostic(("size", "elsewhere"), what, "write over: elsewhere, or remove the key")
    if size.limit > SIZE_LIMIT and any(channel.repository for channel in document.channels.declared.values()):
        what = "GitHub rejects assets of 2 GiB or more"
        yield source.diagnostic(("size", "limit"), what, "write 2 GiB (wheels must be smaller) or less")
