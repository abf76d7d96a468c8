"""Channels: tags that differ, that git takes, and stores that take the wheels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fatwheel.declaration.checks.fields import check_fields
from fatwheel.declaration.model import Document
from fatwheel.declaration.source import Path, Source
from fatwheel.declaration.templates import TAG_FIELDS, fields
from fatwheel.errors import Diagnostic
from fatwheel.records.files import SIZE_LIMIT

# GitHub refuses an asset of this size in bytes or more.
# What no git tag may hold: spaces and control characters, ~ ^ : ? * [ \, "..", "@{", and slashes and dots at the ends.
_BAD_TAG = re.compile(r"[\s~^:?*\[\\\x00-\x1f\x7f]|\.\.|@\{|//|^[-./]|[./]$|/\.|\.lock$|^$")


def check_channels(document: Document, source: Source) -> Iterator[Diagnostic]:
    """Each channel's tag, and two channels that would write the same files."""
    for name, channel in document.channels.declared.items():
        path: Path = ("channels", name)
        yield from check_fields(source, (*path, "tag"), channel.tag, TAG_FIELDS)
        held = set(fields(channel.tag))
        if held - TAG_FIELDS:
            continue
        if name == "release" and "version" not in held:
            yield source.diagnostic((*path, "tag"), "every release would have the same tag", "put {version} into it")
        if name == "nightly" and not held & {"version", "date"}:
            what = "every nightly would have the same tag"
            yield source.diagnostic((*path, "tag"), what, "put {version} or {date} into it")
        if _BAD_TAG.search(re.sub(r"\{[a-z]+\}", "1", channel.tag)):
            yield source.diagnostic(
                (*path, "tag"), f"git takes no tag like '{channel.tag}'", "write it like v{version}"
            )
        if name == "pull-request" and channel.repository:
            what = "wheels of pull requests have the release's file names: published, they would take its place"
            yield source.diagnostic((*path, "repository"), what, "remove it: they travel as workflow artifacts")


def check_size(document: Document, source: Source) -> Iterator[Diagnostic]:
    """A limit that GitHub does not have, and wheels over it with nowhere to go."""
    size = document.size
    if size.over == "elsewhere" and not size.elsewhere:
        yield source.diagnostic(("size", "over"), "over: elsewhere needs to know where", "add size.elsewhere: a store")
    if size.elsewhere and size.over != "elsewhere":
        what = f"size.elsewhere is not used with over: {size.over}"
        yield source.diagnostic(("size", "elsewhere"), what, "write over: elsewhere, or remove it")
    if size.limit > SIZE_LIMIT and any(channel.repository for channel in document.channels.declared.values()):
        what = "GitHub takes no asset of 2 GiB or more"
        yield source.diagnostic(("size", "limit"), what, "write 2 GiB (a wheel must be smaller), or less")
