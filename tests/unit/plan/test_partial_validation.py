"""Mistakes in the plans of a declaration that are told in the same run as mistakes in other parts of it."""

import copy

import pytest
import yaml

from fatwheel.declaration.load import read_text
from fatwheel.plan import find_all_errors
from tests.unit.declaration.bad_declarations import GOOD
from tests.unit.plan.matrices import EXAMPLES

TWO = """\
version: "1.0"
packages:
  - {name: one, per: [python], tag: "cp{python}-abi3", build: {kind: wheel, command: [make]}}
  - {name: two, per: [cuda, arch], layout: fat, tag: py3-none, manylinux: "2_28", local: Two!,
     build: {kind: wheel, command: [make]}}
  - {name: three, per: [torch], tag: py3-none, build: {kind: wheel, command: [make]}}
  - {name: four, per: [torch], tag: py3-none, build: {kind: wheel, command: [make]}}
cuda:
  cu129: {toolkit: "12.9", targets: {x86_64: "9.0"}}
  cu130: {toolkit: "13.0", targets: {x86_64: "9.0"}}
axes: {python: ["3.12"], torch: ["2.10"]}
"""
TAG, LABEL, SHARED = (
    "invalid Python and ABI tag 'cp3.12-abi3'",
    "local label 'Two!' is not in normal form",
    "share the ID torch2.10",
)


def told(text, tmp_path):
    return [problem.what for problem in find_all_errors(read_text(text, tmp_path / "matrix.yaml"))]


def heard(what, found):
    return any(what in one for one in found)


def test_all_of_them_where_nothing_else_is_wrong(tmp_path):
    found = told(TWO, tmp_path)
    assert all(heard(what, found) for what in (TAG, LABEL, SHARED))


@pytest.mark.parametrize(
    ("old", "new", "still", "hidden"),
    [
        ("name: one,", "name: one, compile: 1,", [LABEL, SHARED], [TAG]),  # a key that means nothing, in one package
        ("kind: wheel, command: [make]}}\n  - {name: four", "kind: weel, command: [make]}}\n  - {name: four",
         [TAG, LABEL], [SHARED]),
        ('toolkit: "12.9"', "toolkit: 12.9", [TAG, LABEL, SHARED], []),  # the other label shows it as well
        ('"12.9", targets: {x86_64: "9.0"}}\n', '"12.9", targets: {x86_64: "9.9"}}\n', [TAG, LABEL, SHARED], []),
        ("torch: [", "torch: [2.11, ", [TAG, LABEL], [SHARED]),
        ("axes: {", "families: {sm9x: {majors: nine}}\naxes: {", [TAG, LABEL, SHARED], []),
        ("axes: {", "exclude: [{cells: 'x*'}]\naxes: {", [], [TAG, LABEL, SHARED]),  # they may be those that it means
        ("axes: {", "exlude: []\naxes: {", [], [TAG, LABEL, SHARED]),
    ],
)  # fmt: skip
def test_a_mistake_elsewhere_hides_only_what_follows_from_it(tmp_path, old, new, still, hidden):
    assert TWO.count(old) == 1
    found = told(TWO.replace(old, new), tmp_path)
    assert [what for what in (TAG, LABEL, SHARED) if heard(what, found)] == [
        w for w in (TAG, LABEL, SHARED) if w in still
    ]
    assert not any(heard(what, found) for what in hidden)
    assert len(found) > len(still)


def test_an_anchor_with_a_mistake_is_one_in_each_place_that_repeats_it(tmp_path):
    text = TWO.replace(
        "build: {kind: wheel, command: [make]}}\n  - {name: two", "build: &b {kind: weel}}\n  - {name: two"
    )
    text = text.replace("name: three, per: [torch], tag: py3-none, build: {kind: wheel, command: [make]}}",
                        "name: three, per: [torch], tag: py3-none, build: *b}")  # fmt: skip
    found = told(text, tmp_path)
    assert heard(LABEL, found)
    assert not heard(TAG, found)
    assert not heard(SHARED, found)


def places(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield (*path, key)
        yield from places(below, (*path, key))


@pytest.mark.parametrize("text", [GOOD, *(path.read_text(encoding="utf-8") for path in EXAMPLES.values())])
def test_a_value_of_the_wrong_sort_brings_no_false_mistakes_with_it(text):
    document = yaml.safe_load(text)
    for path in places(document):
        if path[0] not in ("packages", "cuda", "families", "axes", "exclude"):
            continue
        broken = copy.deepcopy(document)
        holder = broken
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = {"x": [1]}
        reading = read_text(yaml.safe_dump(broken, sort_keys=False), EXAMPLES["torch"])
        assert reading.errors
        assert find_all_errors(reading) == list(reading.errors), path
