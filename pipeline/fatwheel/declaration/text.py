"""Decode a YAML file and parse it into nodes, and compute positions in it."""

from __future__ import annotations

import re

import yaml
from yaml.composer import ComposerError

from fatwheel.errors import Diagnostic

# Characters that YAML forbids: most control characters, surrogates, and the two noncharacters U+FFFE and U+FFFF.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 200  # characters shown of the beginning of a long message


def decode(data: bytes, file: str) -> str | Diagnostic:
    """Decode UTF-8; the error with its position if the bytes are something else."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = position_of(data[: error.start].decode("utf-8"), error.start)
        what = "invalid UTF-8"
        return Diagnostic(file, line, column, what, f"0x{data[error.start]:02x}", "save the file as UTF-8")


def compose(text: str, file: str) -> tuple[yaml.Node | None, Diagnostic | None]:
    """Parse text into the node of its only document, or an error. Both are None for an empty file."""
    odd = _FORBIDDEN.search(text)
    if odd:
        what = f"YAML does not allow the character U+{ord(odd[0]):04X}"
        return None, Diagnostic(file, *position_of(text, odd.start()), what, odd[0], "remove it")
    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, Diagnostic(file, line, column, *_describe(error, text))
    except RecursionError:  # in the Python loader; the C loader reports the depth as an error with a position
        return None, Diagnostic(file, 1, 1, "invalid YAML: values are nested too deeply")


def _describe(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str | None, str | None]:
    """What is wrong, the offending text and the help, for an error of the YAML loader."""
    what, context, mark = error.problem or error.context or "", error.context_mark, error.problem_mark
    if isinstance(error, ComposerError) and not _at(text, mark).startswith(("*", "&")):
        return "more than one YAML document", "---", "keep one document per file"
    before = text.splitlines()[mark.line][: mark.column + 1] if mark and mark.line < len(text.splitlines()) else ""
    if "\t" in before and not before.strip():
        return f"invalid YAML: {what}", "\t", "indent with spaces, not with tabs"
    if isinstance(error, ComposerError) and _at(text, mark).startswith("*"):
        return "undefined alias", None, "define it with & above this line"
    since = f" {error.context} from line {context.line + 1}" if error.context and context else ""
    return f"invalid YAML: {what}{since}", None, None


def _at(text: str, mark: yaml.Mark | None) -> str:
    """Return the text from a mark to the end of its line; empty without a mark."""
    lines = text.splitlines()
    return lines[mark.line][mark.column :] if mark and mark.line < len(lines) else ""


def position_of(text: str, offset: int) -> tuple[int, int]:
    """The line and column, from 1, of an offset in a text."""
    begin = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, min(offset, len(text)) - begin + 1


def printable(text: str) -> str:
    """Escape a text for a terminal, on one line, and shorten it if it is very long."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= 2 * _LONGEST else f"{shown[:_LONGEST]} ... {shown[-_LONGEST // 4 :]}"
