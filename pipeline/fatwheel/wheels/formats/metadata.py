"""METADATA and WHEEL: write, read and edit the headers that identify a wheel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.message import Message
from email.parser import Parser
from email.policy import compat32

from packaging.metadata import InvalidMetadata, Metadata

from fatwheel import __version__
from fatwheel.errors import UsageError
from fatwheel.wheels.formats.wheel_name import WheelName, expand_tags

VERSION = "2.4"  # of core metadata: the first with License-Expression and License-File
GENERATOR = f"fatwheel {__version__}"

_OWN = {"Metadata-Version", "Name", "Version", "License-File"}
_MANY = {
    "Classifier",
    "Dynamic",
    "Obsoletes-Dist",
    "Platform",
    "Project-URL",
    "Provides-Dist",
    "Provides-Extra",
    "Requires-Dist",
    "Requires-External",
    "Supported-Platform",
}
_ONE = {
    "Author",
    "Author-email",
    "Description",
    "Description-Content-Type",
    "Download-URL",
    "Home-page",
    "Keywords",
    "License",
    "License-Expression",
    "Maintainer",
    "Maintainer-email",
    "Requires-Python",
    "Summary",
}
_SPELLING = {field.lower(): field for field in _OWN | _MANY | _ONE}

_HEADER = re.compile(rb"([\x21-\x39\x3b-\x7e]*):")  # what `email` takes for the start of a header

Fields = Mapping[str, str | Sequence[str]]
"""Core metadata by field name."""


def write_metadata(name: WheelName, distribution: str, fields: Fields, licenses: Sequence[str] = ()) -> bytes:
    """METADATA for a wheel. ``fields`` are core metadata by name, in any case and with '-' or '_': ``requires_dist``.

    ``licenses`` are the names of files in ``dist-info/licenses/``. Raises `UsageError` naming every invalid field.
    """
    lines = [f"Metadata-Version: {VERSION}", f"Name: {distribution}", f"Version: {name.version}"]
    invalid: list[str] = []
    description = ""
    for key, value in fields.items():
        field = _SPELLING.get(key.lower().replace("_", "-"), "")
        values = [value] if isinstance(value, str) else list(value)
        if field in _OWN or not field:
            invalid.append(f"{key} ({'written by fatwheel' if field else 'unknown field'})")
        elif field in _ONE and len(values) > 1:
            invalid.append(f"{key} (expected one value, found {len(values)})")
        elif field == "Description":
            description = "".join(values)
        elif any("\n" in text or "\r" in text for text in values):
            invalid.append(f"{key} (contains a line break)")
        else:
            lines += [f"{field}: {text}" for text in values if text]
    lines += [f"License-File: {file}" for file in licenses]
    data = ("\n".join(lines) + "\n" + (f"\n{description}" if description else "")).encode()
    if not invalid:
        try:
            Metadata.from_email(data, validate=True)
        except ExceptionGroup as group:
            invalid = [
                f"{error.field if isinstance(error, InvalidMetadata) else 'metadata'} ({error})"
                for error in group.exceptions
            ]
    if invalid:
        raise UsageError(
            f"invalid metadata of {distribution}: {'; '.join(invalid)}",
            help="use the fields of core metadata 2.4: summary, requires_python, requires_dist ...",
        )
    return data


def write_wheel_file(name: WheelName) -> bytes:
    """WHEEL for a wheel with this name."""
    lines = [
        "Wheel-Version: 1.0",
        f"Generator: {GENERATOR}",
        f"Root-Is-Purelib: {'true' if name.is_pure else 'false'}",
        *(f"Tag: {tag}" for tag in expand_tags(name.tag_text)),
        *([f"Build: {name.build[0]}{name.build[1]}"] if name.build else []),
    ]
    return ("\n".join(lines) + "\n").encode()


def read_headers(data: bytes) -> Message:
    """Parse METADATA or WHEEL into headers and a body, both in UTF-8, unlike plain email."""
    return Parser(policy=compat32).parsestr(data.decode("utf-8", "surrogateescape"))


def edit_headers(data: bytes, changes: Mapping[str, Sequence[str]]) -> bytes:
    """METADATA or WHEEL with other values of some headers, one header for each value.

    New headers replace the first one of that name, or follow the last header. Line endings, folded headers, the body
    and every other byte stay as they are; so does a header that has the values already.
    """
    headers: list[tuple[bytes, bytes]] = []  # name in lower case; lines, with those of a folded value
    length = 0
    for line in data.splitlines(keepends=True):
        if headers and line[:1] in (b" ", b"\t"):
            headers[-1] = headers[-1][0], headers[-1][1] + line
        elif match := _HEADER.match(line):
            headers.append((match[1].lower(), line))
        else:
            break
        length += len(line)
    end = (_line_end(headers[0][1]) if headers else b"") or b"\n"
    for field, values in changes.items():
        key, encoded = field.lower().encode(), [value.encode("utf-8", "surrogateescape") for value in values]
        found = [at for at, (name, _) in enumerate(headers) if name == key]
        if [_value(headers[at][1]) for at in found] == encoded:
            continue
        place = found[0] if found else len(headers)
        spelling = headers[place][1].partition(b":")[0] if found else field.encode()
        headers = [header for at, header in enumerate(headers) if at not in found]
        if place == len(headers) > 0 and not _line_end(headers[-1][1]):
            headers[-1] = headers[-1][0], headers[-1][1] + end
        headers[place:place] = [(key, spelling + b": " + value + end) for value in encoded]
    return b"".join(lines for _, lines in headers) + data[length:]


def _line_end(lines: bytes) -> bytes:
    return lines[len(lines.rstrip(b"\r\n")) :]


def _value(lines: bytes) -> bytes:
    return b" ".join(lines.partition(b":")[2].split())


def set_tags(data: bytes, name: WheelName) -> bytes:
    """WHEEL with the tags of this file name."""
    pure = "true" if name.is_pure else "false"
    return edit_headers(data, {"Root-Is-Purelib": [pure], "Tag": expand_tags(name.tag_text)})
