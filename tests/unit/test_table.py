"""Tables on standard output."""

import random

import click
import pytest

from fatwheel.console.output import echo_table
from fatwheel.console.table import broken, drawn


def plain(lines):
    return [click.unstyle(line) for line in lines]


def test_a_table_is_as_wide_as_its_values():
    found = plain(drawn(("target", "bytes"), [("9.0a", "7"), ("12.0f", "1234567")], room=80, right={1}, styles={}))
    assert found == [
        " target     bytes",
        " ────────────────",
        " 9.0a           7",
        " 12.0f    1234567",
    ]


def test_what_does_not_fit_is_broken_between_words_and_long_words_anywhere():
    found = plain(drawn(("a", "b"), [("one two three four", "x" * 30)], room=27, styles={}))
    assert found == [
        " a             b",
        " ─────────────────────────",
        " one two       xxxxxxxxxxx",
        " three four    xxxxxxxxxxx",
        "               xxxxxxxx",
    ]


@pytest.mark.parametrize("seed", range(40))
def test_no_line_is_wider_than_there_is_room_and_no_letter_is_lost(seed):
    rng = random.Random(seed)
    columns = rng.randint(1, 5)
    rows = [
        [" ".join("x" * rng.randint(1, 40) for _ in range(rng.randint(1, 6))) for _ in range(columns)]
        for _ in range(rng.randint(0, 4))
    ]
    lines = plain(drawn(["head"] * columns, rows, room=60, right={0}, title="t" * 100, styles={}))
    assert max(map(len, lines)) <= 60
    assert sum(line.count("x") for line in lines) == sum(cell.count("x") for row in rows for cell in row)


def test_whole_values_are_never_broken_and_empty_ones_keep_their_place():
    found = plain(drawn(("name", "text"), [("a" * 30, "b c " * 9), ("", "")], room=40, whole={0}, styles={}))
    assert any("a" * 30 in line for line in found)
    assert found[-1] == ""
    assert broken("", 5) == [""]
    assert broken("a\nb", 5) == ["a", "b"]


def test_colours_are_for_terminals(monkeypatch, capsys):
    echo_table(("outcome",), [("done",), ("failed",)], styles={"failed": "red"})
    assert capsys.readouterr().out == " outcome\n ───────\n done\n failed\n\n"
    (line,) = drawn(("outcome",), [("failed",)], room=80, styles={"failed": "red"})[-1:]
    assert line == " " + click.style("failed", fg="red")
    monkeypatch.setenv("COLUMNS", "20")
    echo_table(("outcome",), [("one two three four five",)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 20
