"""YAML with positions: plain values, and where in the file each of them stands."""

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

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # longer ones are mistakes, and Python reads them slowly or not at all
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_MERGE = "<<"
_BEGIN = "`fatwheel init` writes a first one"
_LIMIT = 100_000  # values in one file, aliases counted at each place: far above any real matrix, below what hangs
_DEPTH = 50  # values within values: no matrix needs ten
# What readers of YAML take for something else than text: by 1.1, as PyYAML tags it, and the numbers that 1.2 adds.
_SORTS: dict[str, str] = {"int": "a number", "float": "a number", "bool": "a truth value", "timestamp": "a date"}
_TAGS = {"str", "int", "float", "bool", "null", "timestamp", "seq", "map", "merge", "value"}
_NUMBER_1_2 = re.compile(r"[-+]?(0o[0-7]+|0x[0-9a-fA-F]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)")


@dataclass(frozen=True)
class Mark:
    """Where a value stands (line and column from 1), and its text as written if it is a scalar."""

    line: int
    column: int
    text: str | None = None
    lead: int | None = None  # columns before the text itself (1 for a quote); None where it spans lines


@dataclass
class Source:
    """One YAML file: its value, the marks of values and of keys by path, and what is wrong with its form."""

    file: str
    value: Any = None
    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    errors: list[Diagnostic] = field(default_factory=list)
    size: int = 0

    def mark(self, path: Path) -> Mark:
        """The mark of a value, or of the nearest value around it."""
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
        """A problem at a value, at its key, or at a part of its text (where it begins, from 0, and the part)."""
        mark = self.keys.get(path) if key else None
        mark = mark or self.mark(path)
        what, help = printable(what), printable(help) if help else None
        if part and mark.lead is not None and path in self.marks:
            return Diagnostic(self.file, mark.line, mark.column + mark.lead + part[0], what, part[1], help)
        return Diagnostic(self.file, mark.line, mark.column, what, part[1] if part else mark.text, help)

    def section(self, problem: Diagnostic) -> str | None:
        """The key of the whole file under which a problem stands, if any."""
        here = problem.line, problem.column
        begun = [(m.line, m.column, str(path[0])) for path, m in self.keys.items() if len(path) == 1]
        return max((one for one in begun if one[:2] <= here), default=(0, 0, None))[2]

    def touched(self, problems: Iterable[Diagnostic]) -> set[Path]:
        """The entries that problems stand in, as paths of two parts or fewer; with aliases, in each place.

        Items that were taken out have places below zero.
        """
        standing: dict[tuple[int, int], set[Path]] = {}
        for path, mark in (*self.marks.items(), *self.keys.items()):
            standing.setdefault((mark.line, mark.column), set()).add(path[:2])
        order = sorted(standing)
        found: set[Path] = set()
        for problem in problems:
            last = bisect_right(order, (problem.line, problem.column)) - 1
            found |= standing[order[last]] if last >= 0 else {()}
        return found

    def at(self, path: Path) -> Any:
        """The plain value at a path, or None."""
        value = self.value
        for part in path:
            value = _child(value, part)
        return value

    def written(self, *path: str | int) -> bool:
        """Whether the file has this key, be its value right or wrong."""
        return path in self.keys

    def without(self, paths: set[Path]) -> Source:
        """The same with some values taken out; marks of list items move up with their items."""
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
                rest.marks = _closed_up(rest.marks, path[:-1], last)
                rest.keys = _closed_up(rest.keys, path[:-1], last)
        return rest


def _child(holder: Any, part: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(part)
    return holder[part] if isinstance(holder, list) and isinstance(part, int) and part < len(holder) else None


def _closed_up(marks: dict[Path, Mark], holder: Path, gone: int) -> dict[Path, Mark]:
    """Marks after item ``gone`` of the list at ``holder`` was taken out: its own stay, at a place below zero."""
    depth = len(holder)
    inside = [int(p[depth]) for p in marks if len(p) > depth and p[:depth] == holder and isinstance(p[depth], int)]
    aside = min([0, *inside]) - 1
    moved: dict[Path, Mark] = {}
    for path, mark in marks.items():
        if len(path) > depth and path[:depth] == holder and isinstance(path[depth], int):
            place = int(path[depth])
            moved[(*holder, aside if place == gone else place - (place > gone), *path[depth + 1 :])] = mark
        else:
            moved[path] = mark
    return moved


def read_yaml(text: str, file: str) -> Source:
    """Read YAML 1.2 plain values: only ``true`` and ``false`` are booleans, only plain decimals are numbers.

    Anchors and merge keys work; repeated keys, tags and a second document are problems. Nothing is raised for bad
    input: look at ``problems``.
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
            source.errors.append(source.diagnostic(path, "the file holds too many values", "use fewer aliases"))
        return None
    if len(path) > _DEPTH:
        source.errors.append(source.diagnostic(path, "values lie too deep within each other", "no key needs so many"))
        return None
    if id(node) in above:
        source.errors.append(source.diagnostic(path, "an alias that holds itself"))
        return None
    if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS:
        source.errors.append(
            source.diagnostic(path, f"the tag {_shown(node.tag)} means nothing here", "write the plain value")
        )
        return None
    inside = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        return [_construct(source, item, (*path, place), inside) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(source, node, path, inside)
    if not isinstance(node, yaml.ScalarNode):
        return None
    value = _scalar(node)
    if value is None:  # a key left empty must not mean the default: `targets:` in an exclusion would leave out cells
        name = f"'{path[-1]}'" if path and isinstance(path[-1], str) else "the value"
        source.errors.append(source.diagnostic(path, f"{name} is empty", 'write a value ("" for none), or remove it'))
    sort = _other_sort(node)
    if sort and isinstance(value, str):
        source.errors.append(_ambiguous(source, node, printable(f"{node.value} is {sort} to some readers of YAML")))
    return value


def _shown(tag: str) -> str:
    """A tag as it is written: ``!!set``."""
    return tag.replace("tag:yaml.org,2002:", "!!")


def _other_sort(node: yaml.ScalarNode) -> str | None:
    """What a plain scalar may be taken for instead of text."""
    if node.style or not node.value:
        return None
    tag = node.tag.removeprefix("tag:yaml.org,2002:")
    return _SORTS.get(tag) or ("a number" if _NUMBER_1_2.fullmatch(node.value) else None)


def _ambiguous(source: Source, node: yaml.ScalarNode, what: str) -> Diagnostic:
    mark = _mark(node)
    if _other_sort(node) == "a truth value":
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
            source.errors.append(Diagnostic(source.file, mark.line, mark.column, "a key must be plain text"))
            continue
        key: str = key_node.value
        if key == _MERGE and not key_node.style:
            if merged:
                source.errors.append(_twice(source, mark, merged, "write one: <<: [*first, *second]"))
            merged = mark
            merges += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            continue
        if sort := _other_sort(key_node):
            source.errors.append(
                Diagnostic(
                    source.file, mark.line, mark.column, f"the key {key} is {sort} to readers of YAML", key,
                    f'write "{key}":',
                )
            )  # fmt: skip
        here = (*path, key)
        if key in own:
            source.errors.append(_twice(source, mark, source.keys[here], "remove one of them"))
            continue
        source.keys[here] = mark
        own[key] = _construct(source, value_node, here, inside)
    for part in merges:  # after the mapping's own keys, which win, and whose places must stay theirs
        if isinstance(part, yaml.MappingNode) and id(part) not in inside:
            own = {**_merged(source, part, path, inside | {id(part)}, held=set(own)), **own}
        else:
            mark = _mark(part)
            source.errors.append(Diagnostic(source.file, mark.line, mark.column, "<< takes a mapping"))
    return own


def _twice(source: Source, mark: Mark, first: Mark, help: str) -> Diagnostic:
    what = printable(f"the key '{mark.text}' is here twice")
    return Diagnostic(
        source.file, mark.line, mark.column, what, mark.text, f"{help}; the first is on line {first.line}"
    )


def _merged(
    source: Source, node: yaml.MappingNode, path: Path, inside: frozenset[int], *, held: set[str]
) -> dict[str, Any]:
    """What a merge brings that is not there yet."""
    wanted = [pair for pair in node.value if not (isinstance(pair[0], yaml.ScalarNode) and pair[0].value in held)]
    rest = yaml.MappingNode(node.tag, wanted, node.start_mark, node.end_mark)
    return _mapping(source, rest, path, inside)
