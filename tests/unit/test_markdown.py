"""Markdown tables and escaping."""

from __future__ import annotations

import pytest

from fatwheel.markdown import escape, table


@pytest.mark.parametrize(
    ("text", "escaped"), [("a|b", "a\\|b"), ("<b>", "&lt;b>"), ("one\ntwo", "one two"), ("`x` *y*", "`x` *y*")]
)
def test_escape_keeps_text_in_its_cell(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_a_table_aligns_columns_and_escapes_cells() -> None:
    assert table(("name", "size"), [("a|b", "1"), ("<x>", "")], right=(1,)) == [
        "| name | size |",
        "|---|---:|",
        "| a\\|b | 1 |",
        "| &lt;x> |  |",
    ]
