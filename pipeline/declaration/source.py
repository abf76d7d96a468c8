"""YAML with positions: plain values, and where in the file each of them stands."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from pipeline.errors import Problem

Path = tuple[str | int, ...]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_MERGE = "<<"


@dataclass(frozen=True)
class Mark:
    """Where a value stands (line and column from 1), and its text as written if it is a scalar."""

    line: int
    column: int
    text: str | None = None


@dataclass
class Source:
    """One YAML file: its value, the marks of values and of keys by path, and what is wrong with its form."""

    file: str
    value: Any = None
    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def mark(self, path: Path) -> Mark:
        """The mark of a value, or of the nearest value around it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(1, 1))

    def problem(self, path: Path, what: str, remedy: str | None = None, *, key: bool = False) -> Problem:
        """A problem at a value, or at its key."""
        mark = self.keys.get(path) if key else None
        mark = mark or self.mark(path)
        return Problem(self.file, mark.line, mark.column, what, mark.text, remedy)

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
    """Marks after item ``gone`` of the list at ``holder`` was taken out."""
    depth = len(holder)
    moved: dict[Path, Mark] = {}
    for path, mark in marks.items():
        if len(path) > depth and path[:depth] == holder and isinstance(path[depth], int):
            place = int(path[depth])
            if place == gone:
                continue
            moved[(*holder, place - (place > gone), *path[depth + 1 :])] = mark
        else:
            moved[path] = mark
    return moved


def read_yaml(text: str, file: str) -> Source:
    """Read YAML 1.2 plain values: only ``true`` and ``false`` are booleans, only plain decimals are numbers.

    Anchors and merge keys work; repeated keys, tags and a second document are problems. Nothing is raised for bad
    input: look at ``problems``.
    """
    source = Source(file)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        source.problems.append(Problem(file, line, column, f"not YAML: {error.problem or error.context}"))
        return source
    except yaml.YAMLError as error:
        source.problems.append(Problem(file, 1, 1, f"not YAML: {error}"))
        return source
    if node is None:
        source.problems.append(Problem(file, 1, 1, "the file is empty", remedy="`fatwheel init` writes a first one"))
        return source
    source.value = _construct(source, node, (), frozenset())
    return source


def _mark(node: yaml.Node) -> Mark:
    text = node.value if isinstance(node, yaml.ScalarNode) else None
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1, text)


def _construct(source: Source, node: yaml.Node, path: Path, above: frozenset[int]) -> Any:
    source.marks[path] = _mark(node)
    if id(node) in above:
        source.problems.append(source.problem(path, "an alias that holds itself"))
        return None
    if not node.tag.startswith("tag:yaml.org,2002:"):
        source.problems.append(source.problem(path, f"the tag {node.tag} means nothing here", "write the plain value"))
        return None
    inside = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        return [_construct(source, item, (*path, place), inside) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(source, node, path, inside)
    return _scalar(node) if isinstance(node, yaml.ScalarNode) else None


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
    merged: dict[str, Any] = {}
    for key_node, value_node in node.value:
        mark = _mark(key_node)
        if not isinstance(key_node, yaml.ScalarNode):
            source.problems.append(Problem(source.file, mark.line, mark.column, "a key must be plain text"))
            continue
        key: str = key_node.value
        if key == _MERGE and not key_node.style:
            parts = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            for part in parts:
                if isinstance(part, yaml.MappingNode) and id(part) not in inside:
                    merged = {**_mapping(source, part, path, inside | {id(part)}), **merged}
                else:
                    source.problems.append(Problem(source.file, mark.line, mark.column, "<< takes a mapping"))
            continue
        here = (*path, key)
        if key in own:
            first = source.keys[here]
            source.problems.append(
                Problem(
                    source.file, mark.line, mark.column, f"the key '{key}' is here twice", key,
                    f"remove one of them; the first is on line {first.line}",
                )
            )  # fmt: skip
            continue
        source.keys[here] = mark
        own[key] = _construct(source, value_node, here, inside)
    return {**merged, **own}
