"""What is written as YAML is read back as it was, by readers of both versions of YAML."""

from __future__ import annotations

import re

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fatwheel.workflows.text import BlankLine, Comment, Commented, dump

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\u0085"), max_size=30)
AWKWARD = st.sampled_from([
    "on", "yes", "no", "null", "~", "", " x", "x ", "1", "1.0", "1e3", "0o17", "0x1F", "1_000", "12:30:45", "- x",
    "a: b", "a:", "#x", "a # b", "*a", "&a", "!a", "|", ">", "%x", "@x", "`x", "{x", "[x", "x]", "'", '"', "a\nb\n",
    "a\nb", "\na", "a\n\n", "  a\nb\n", "a \nb\n", "a\tb", "\t", "2026-12-01", "true", ".inf", "=", "<<", "---", "...",
    "${{ a }}", "a\\\nb\n", "é", "\u2028", "\ud7ff", "?", "? x", "x: - y", "a,b", "a\r\nb\n",
])  # fmt: skip
SCALAR = st.one_of(TEXT, AWKWARD, st.booleans(), st.none(), st.integers(-(10**6), 10**6))
VALUE = st.recursive(
    SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT | AWKWARD, inner, max_size=4)),
    max_leaves=12,
)  # fmt: skip
_NUMBER = re.compile(r"[-+]?(0o[0-7]+|0x[0-9a-fA-F]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)")


@settings(deadline=None, max_examples=60)
@given(st.dictionaries((TEXT | AWKWARD).filter(lambda key: key != "on"), VALUE, min_size=1, max_size=5))
def test_it_reads_back_as_it_was(value):
    assert yaml.safe_load(dump(value)) == value


@settings(deadline=None, max_examples=60)
@given(TEXT | AWKWARD)
def test_text_that_yaml_1_2_takes_for_a_number_is_quoted(text):
    line = dump({"key": text})
    if _NUMBER.fullmatch(text):
        assert line == f'key: "{text}"\n'


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.from_regex(r"[a-z]{3,6}", fullmatch=True), VALUE, min_size=1, max_size=4))
def test_remarks_gaps_and_notes_change_nothing(value):
    dressed = {}
    for number, (key, inner) in enumerate(value.items()):
        dressed |= {BlankLine(number): None, Comment(f"about\n{key}"): None, key: inner}
    dressed["noted"] = Commented("a@b", "v1")
    text = dump(dressed)
    assert yaml.safe_load(text) == {**value, "noted": "a@b"}
    assert "noted: a@b # v1\n" in text


def test_layout_is_what_people_write():
    steps = [
        {"name": "One", "run": "a \\\n  b\n"},
        Comment("Why."),
        {"uses": Commented("x/y@abc", "v1"), "with": {"a": 1}},
    ]
    document = {"on": {"push": None}, "needs": ("a", "b"), "permissions": {}, "steps": steps, "version": "3.10"}
    assert dump(document) == (
        'on:\n  push: null\nneeds: [a, b]\npermissions: {}\nsteps:\n  - name: One\n    run: |\n      a \\\n        b\n'
        '  # Why.\n  - uses: x/y@abc # v1\n    with:\n      a: 1\nversion: "3.10"\n'
    )  # fmt: skip
