"""The text of a YAML file: from bytes, to nodes, or why not; and places in it."""

from __future__ import annotations

import re

import yaml
from yaml.composer import ComposerError

from fatwheel.errors import Diagnostic

# What no YAML file may hold: most control characters, halves of pairs, and the two that are no characters.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 200  # characters at the beginning of a long message that are shown


def decode(data: bytes, file: str) -> str | Diagnostic:
    """The text that UTF-8 bytes stand for, or where they are none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = position_of(data[: error.start].decode("utf-8"), error.start)
        what = "not YAML: the bytes from here on are not UTF-8 text"
        return Diagnostic(file, line, column, what, f"0x{data[error.start]:02x}", "save the file as UTF-8")


def compose(text: str, file: str) -> tuple[yaml.Node | None, Diagnostic | None]:
    """The node of the only document, or why there is none; neither for a file without a value."""
    odd = _FORBIDDEN.search(text)
    if odd:
        what = f"not YAML: the character U+{ord(odd[0]):04X} can stand in no file"
        return None, Diagnostic(file, *position_of(text, odd.start()), what, odd[0], "remove it")
    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, Diagnostic(file, line, column, *_said(error, text))
    except RecursionError:  # of the loader in Python; the one in C counts, and says so with a mark
        return None, Diagnostic(file, 1, 1, "not YAML: values lie too deep within each other")


def _said(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str | None, str | None]:
    """What is wrong, the offending text and the help, from what the loader says."""
    what, context, mark = error.problem or error.context or "", error.context_mark, error.problem_mark
    if isinstance(error, ComposerError) and not _at(text, mark).startswith(("*", "&")):
        return "a second document begins here", "---", "keep one document in a file"
    before = text.splitlines()[mark.line][: mark.column + 1] if mark and mark.line < len(text.splitlines()) else ""
    if "\t" in before and not before.strip():
        return f"not YAML: {what}", "\t", "indent with spaces, not with tabs"
    if isinstance(error, ComposerError) and _at(text, mark).startswith("*"):
        return "an alias of nothing", None, "name it with & where it is first written, above this"
    since = f" {error.context} from line {context.line + 1} on" if error.context and context else ""
    return f"not YAML: {what}{since}", None, None


def _at(text: str, mark: yaml.Mark | None) -> str:
    """The rest of the line at a mark; empty without one."""
    lines = text.splitlines()
    return lines[mark.line][mark.column :] if mark and mark.line < len(lines) else ""


def position_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a character of a text."""
    begin = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, min(offset, len(text)) - begin + 1


def printable(text: str) -> str:
    """A text on one line, without what a terminal would obey, and not endless."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= 2 * _LONGEST else f"{shown[:_LONGEST]} ... {shown[-_LONGEST // 4 :]}"
