"""Parse YAML into plain values with their positions in the file."""

from __future__ import annotations

import copy
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from fatwheel.declaration.text import compose, printable
from fatwheel.errors import Diagnostic

Path = tuple[str | int, ...]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # Python parses longer ones slowly or not at all
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_MERGE = "<<"
_BEGIN = "create one with `fatwheel init`"
_LIMIT = 100_000  # values in one file, aliases counted at each use: far more than any real file has
_DEPTH = 50  # levels of nesting; no real file has ten
# Plain scalars that some parsers do not read as text: the types of YAML 1.1 (PyYAML's tags), and numbers of 1.2.
_SORTS: dict[str, str] = {"int": "a number", "float": "a number", "bool": "a boolean", "timestamp": "a date"}
_TAGS = {"str", "int", "float", "bool", "null", "timestamp", "seq", "map", "merge", "value"}
_NUMBER_1_2 = re.compile(r"[-+]?(0o[0-7]+|0x[0-9a-fA-F]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)")


@dataclass(frozen=True)
class Mark:
    """The position of a value (line and column from 1), and its text if it is a scalar."""

    line: int
    column: int
    text: str | None = None
    lead: int | None = None  # columns before the text (1 for a quote); None if it spans lines


@dataclass
class Source:
    """A parsed YAML file: its value, the marks of values and keys by path, and the syntax errors."""

    file: str
    value: Any = None
    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    errors: list[Diagnostic] = field(default_factory=list)
    size: int = 0

    def mark(self, path: Path) -> Mark:
        """The mark of a value, or of the closest value that contains it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(1, 1))

    def diagnostic(
        self,
        path: Path,
        what: str,
        help: str | None = None,
        *,
        key: bool = False,
        part: tuple[int, str] | None = None,
    ) -> Diagnostic:
        """Make a diagnostic at a value, at its key, or at a part of its text (its offset from 0, and the part)."""
        mark = self.keys.get(path) if key else None
        mark = mark or self.mark(path)
        what, help = printable(what), printable(help) if help else None
        if part and mark.lead is not None and path in self.marks:
            return Diagnostic(self.file, mark.line, mark.column + mark.lead + part[0], what, part[1], help)
        return Diagnostic(self.file, mark.line, mark.column, what, part[1] if part else mark.text, help)

    def section(self, error: Diagnostic) -> str | None:
        """The top-level key whose value contains an error, if any."""
        here = error.line, error.column
        starts = [(m.line, m.column, str(path[0])) for path, m in self.keys.items() if len(path) == 1]
        return max((one for one in starts if one[:2] <= here), default=(0, 0, None))[2]

    def touched(self, errors: Iterable[Diagnostic]) -> set[Path]:
        """The entries that contain errors, as paths of at most two parts; an aliased one at each use.

        Removed list items have negative indices.
        """
        by_position: dict[tuple[int, int], set[Path]] = {}
        for path, mark in (*self.marks.items(), *self.keys.items()):
            by_position.setdefault((mark.line, mark.column), set()).add(path[:2])
        order = sorted(by_position)
        found: set[Path] = set()
        for error in errors:
            last = bisect_right(order, (error.line, error.column)) - 1
            found |= by_position[order[last]] if last >= 0 else {()}
        return found

    def at(self, path: Path) -> Any:
        """The plain value at a path, or None."""
        value = self.value
        for part in path:
            value = _child(value, part)
        return value

    def written(self, *path: str | int) -> bool:
        """Whether the file has this key, with a valid value or not."""
        return path in self.keys

    def without(self, paths: set[Path]) -> Source:
        """A copy without some values. The marks of list items move with their items."""
        rest = Source(self.file, copy.deepcopy(self.value), dict(self.marks), dict(self.keys), [])
        for path in sorted(paths, key=lambda p: [(isinstance(x, int), x) for x in p], reverse=True):
            holder = rest.value
            for part in path[:-1]:
                holder = _child(holder, part)
            last = path[-1]
            if isinstance(holder, dict):
                holder.pop(last, None)
            elif isinstance(holder, list) and isinstance(last, int) and last < len(holder):
                del holder[last]
                rest.marks = _shift_marks(rest.marks, path[:-1], last)
                rest.keys = _shift_marks(rest.keys, path[:-1], last)
        return rest


def _child(holder: Any, part: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(part)
    return holder[part] if isinstance(holder, list) and isinstance(part, int) and part < len(holder) else None


def _shift_marks(marks: dict[Path, Mark], holder: Path, removed: int) -> dict[Path, Mark]:
    """The marks after removing item ``removed`` from the list at ``holder``; its own marks get a negative index."""
    depth = len(holder)
    inside = [int(p[depth]) for p in marks if len(p) > depth and p[:depth] == holder and isinstance(p[depth], int)]
    aside = min([0, *inside]) - 1
    moved: dict[Path, Mark] = {}
    for path, mark in marks.items():
        if len(path) > depth and path[:depth] == holder and isinstance(path[depth], int):
            place = int(path[depth])
            moved[(*holder, aside if place == removed else place - (place > removed), *path[depth + 1 :])] = mark
        else:
            moved[path] = mark
    return moved


def read_yaml(text: str, file: str) -> Source:
    """Parse YAML 1.2: only ``true`` and ``false`` are booleans, only plain decimals are numbers.

    Anchors and merge keys are supported; duplicate keys, tags and multiple documents are errors. Never raises for
    invalid input: the result has ``errors``.
    """
    source = Source(file)
    node, wrong = compose(text, file)
    if node is None:
        source.errors.append(wrong or Diagnostic(file, 1, 1, "the file is empty", help=_BEGIN))
        return source
    source.value = _construct(source, node, (), frozenset())
    return source


def _mark(node: yaml.Node) -> Mark:
    place = node.start_mark.line + 1, node.start_mark.column + 1
    if not isinstance(node, yaml.ScalarNode):
        return Mark(*place)
    one_line = node.start_mark.line == node.end_mark.line and node.style not in ("|", ">")
    return Mark(*place, node.value, (1 if node.style else 0) if one_line else None)


def _construct(source: Source, node: yaml.Node, path: Path, above: frozenset[int]) -> Any:
    source.marks[path] = _mark(node)
    source.size += 1
    if source.size > _LIMIT:
        if source.size == _LIMIT + 1:
            source.errors.append(source.diagnostic(path, "too many values", "use fewer aliases"))
        return None
    if len(path) > _DEPTH:
        source.errors.append(source.diagnostic(path, "values are nested too deeply", "remove some levels of nesting"))
        return None
    if id(node) in above:
        source.errors.append(source.diagnostic(path, "an alias cannot contain itself"))
        return None
    if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS:
        source.errors.append(source.diagnostic(path, f"unsupported YAML tag {_short_tag(node.tag)}", "remove the tag"))
        return None
    inside = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        return [_construct(source, item, (*path, place), inside) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(source, node, path, inside)
    if not isinstance(node, yaml.ScalarNode):
        return None
    value = _scalar(node)
    if value is None:  # an empty key must not mean the default: `targets:` in an exclusion would exclude cells
        name = f"'{path[-1]}'" if path and isinstance(path[-1], str) else "the value"
        source.errors.append(
            source.diagnostic(path, f"{name} is empty", 'write a value ("" for none), or remove the key')
        )
    sort = _ambiguous_type(node)
    if sort and isinstance(value, str):
        source.errors.append(_ambiguous(source, node, printable(f"some YAML parsers read {node.value} as {sort}")))
    return value


def _short_tag(tag: str) -> str:
    """A tag in its short form: ``!!set``."""
    return tag.replace("tag:yaml.org,2002:", "!!")


def _ambiguous_type(node: yaml.ScalarNode) -> str | None:
    """The type that some parsers read a plain scalar as, if it is not text."""
    if node.style or not node.value:
        return None
    tag = node.tag.removeprefix("tag:yaml.org,2002:")
    return _SORTS.get(tag) or ("a number" if _NUMBER_1_2.fullmatch(node.value) else None)


def _ambiguous(source: Source, node: yaml.ScalarNode, what: str) -> Diagnostic:
    mark = _mark(node)
    if _ambiguous_type(node) == "a boolean":
        help = f'write true or false, or "{node.value}" for text'
    else:
        help = printable(f'write "{node.value}"')
    return Diagnostic(source.file, mark.line, mark.column, what, mark.text, help)


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if node.style:
        return text
    if text.lower() in _WORDS and text in (text.lower(), text.capitalize()):
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _mapping(source: Source, node: yaml.MappingNode, path: Path, inside: frozenset[int]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    merges: list[yaml.Node] = []
    merged: Mark | None = None
    for key_node, value_node in node.value:
        mark = _mark(key_node)
        if not isinstance(key_node, yaml.ScalarNode):
            source.errors.append(Diagnostic(source.file, mark.line, mark.column, "keys must be plain text"))
            continue
        key: str = key_node.value
        if key == _MERGE and not key_node.style:
            if merged:
                source.errors.append(_duplicate_key(source, mark, merged, "merge both with <<: [*first, *second]"))
            merged = mark
            merges += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            continue
        if sort := _ambiguous_type(key_node):
            source.errors.append(
                Diagnostic(
                    source.file, mark.line, mark.column, f"some YAML parsers read the key {key} as {sort}", key,
                    f'write "{key}":',
                )
            )  # fmt: skip
        here = (*path, key)
        if key in own:
            source.errors.append(_duplicate_key(source, mark, source.keys[here], "remove one of them"))
            continue
        source.keys[here] = mark
        own[key] = _construct(source, value_node, here, inside)
    for part in merges:  # after the mapping's own keys, which take precedence and keep their positions
        if isinstance(part, yaml.MappingNode) and id(part) not in inside:
            own = {**_merged(source, part, path, inside | {id(part)}, taken=set(own)), **own}
        else:
            mark = _mark(part)
            source.errors.append(Diagnostic(source.file, mark.line, mark.column, "<< requires a mapping"))
    return own


def _duplicate_key(source: Source, mark: Mark, first: Mark, help: str) -> Diagnostic:
    what = printable(f"duplicate key '{mark.text}'")
    return Diagnostic(
        source.file, mark.line, mark.column, what, mark.text, f"{help} (the first is on line {first.line})"
    )


def _merged(
    source: Source, node: yaml.MappingNode, path: Path, inside: frozenset[int], *, taken: set[str]
) -> dict[str, Any]:
    """The entries that a merge key adds."""
    added = [pair for pair in node.value if not (isinstance(pair[0], yaml.ScalarNode) and pair[0].value in taken)]
    rest = yaml.MappingNode(node.tag, added, node.start_mark, node.end_mark)
    return _mapping(source, rest, path, inside)
