"""Tables on standard output."""

import random

import click
import pytest

from fatwheel.console.output import echo_table
from fatwheel.console.table import draw_table, wrap_text


def plain(lines):
    return [click.unstyle(line) for line in lines]


def test_a_table_is_as_wide_as_its_values():
    found = plain(
        draw_table(("target", "bytes"), [("9.0a", "7"), ("12.0f", "1234567")], width=80, right={1}, styles={})
    )
    assert found == [
        " target     bytes",
        " ────────────────",
        " 9.0a           7",
        " 12.0f    1234567",
    ]


def test_text_wraps_at_spaces_and_only_a_word_that_fits_nowhere_is_broken():
    found = plain(draw_table(("a", "b"), [("one two three four", "x" * 30)], width=27, styles={}))
    assert found == [
        " a       b",
        " ─────────────────────────",
        " one     xxxxxxxxxxxxxxxxx",
        " two     xxxxxxxxxxxxx",
        " three",
        " four",
    ]


@pytest.mark.parametrize("seed", range(40))
def test_no_line_is_wider_than_there_is_room_and_no_letter_is_lost(seed):
    rng = random.Random(seed)
    columns = rng.randint(1, 5)
    rows = [
        [" ".join("x" * rng.randint(1, 40) for _ in range(rng.randint(1, 6))) for _ in range(columns)]
        for _ in range(rng.randint(0, 4))
    ]
    lines = plain(draw_table(["head"] * columns, rows, width=60, right={0}, title="t" * 100, styles={}))
    assert max(map(len, lines)) <= 60
    assert sum(line.count("x") for line in lines) == sum(cell.count("x") for row in rows for cell in row)


def test_whole_values_are_never_broken_and_empty_ones_keep_their_place():
    found = plain(draw_table(("name", "text"), [("a" * 30, "b c " * 9), ("", "")], width=40, whole={0}, styles={}))
    assert any("a" * 30 in line for line in found)
    assert found[-1] == ""
    assert wrap_text("", 5) == [""]
    assert wrap_text("a\nb", 5) == ["a", "b"]


def test_colours_are_for_terminals(monkeypatch, capsys):
    echo_table(("outcome",), [("done",), ("failed",)], styles={"failed": "red"})
    assert capsys.readouterr().out == " outcome\n ───────\n done\n failed\n\n"
    (line,) = draw_table(("outcome",), [("failed",)], width=80, styles={"failed": "red"})[-1:]
    assert line == " " + click.style("failed", fg="red")
    monkeypatch.setenv("COLUMNS", "20")
    echo_table(("outcome",), [("one two three four five",)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 20


def test_long_words_wrap_after_separators_and_ids_stay_whole_where_they_fit():
    name = "minikernels-0.1.0+cu130.sm9x-cp311-abi3-manylinux_2_28_x86_64.whl"
    assert wrap_text(name, 30) == ["minikernels-0.1.0+cu130.sm9x-", "cp311-abi3-", "manylinux_2_28_x86_64.whl"]
    found = plain(
        draw_table(("cell", "reason"), [("cu130-x86_64-sm9x", "no such compiler here " * 5)], width=40, styles={})
    )
    assert found[2].startswith(" cu130-x86_64-sm9x   no such")


@pytest.mark.parametrize("seed", range(200))
def test_words_are_never_broken_where_they_fit(seed):
    rng = random.Random(seed)
    columns = rng.randint(1, 5)
    letters = "abcdefgh"

    def word():
        return "-".join("".join(rng.choices(letters, k=rng.randint(1, 10))) for _ in range(rng.randint(1, 4)))

    rows = [[" ".join(word() for _ in range(rng.randint(0, 6))) for _ in range(columns)] for _ in range(4)]
    lines = plain(draw_table(["head"] * columns, rows, width=80, styles={}))
    assert max(map(len, lines)) <= 80
    printed = {piece for line in lines[2:] for text in line.split() for piece in text.split("-") if piece}
    assert printed == {piece for row in rows for text in row for piece in text.replace("-", " ").split()}
