"""What each mistake in a matrix.yaml is answered with: tests/golden/bad_declarations.txt holds the exact words."""

import os
import re
from pathlib import Path

import pytest

from fatwheel.declaration import load, parse
from fatwheel.declaration.load import read_text
from fatwheel.errors import DeclarationError, UsageError
from fatwheel.plan import find_all_errors, make_plan
from tests.golden import FOLDER
from tests.unit.declaration.bad_declarations import BAD, GOOD, broken

FILE = FOLDER / "bad_declarations.txt"


def answer(text: str, folder: Path) -> str:
    """What `fatwheel check` says of a declaration: all problems, with the file called matrix.yaml."""
    path = folder / "matrix.yaml"
    found = find_all_errors(read_text(text, path))
    error = DeclarationError(tuple(found)) if found else None
    return str(error or "nothing is wrong").replace(str(path), "matrix.yaml") + "\n"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Answers by mistake, from the golden file."""
    if os.environ.get("UPDATE_GOLDEN"):
        folder = tmp_path_factory.mktemp("golden")
        FILE.write_text("\n".join(f"== {name}\n{answer(broken(name), folder)}" for name in BAD), encoding="utf-8")
    parts = re.split(r"^== (\S+)\n", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_the_good_declaration_is_good(tmp_path):
    assert answer(GOOD, tmp_path) == "nothing is wrong\n"
    assert len(make_plan(parse(GOOD, tmp_path / "matrix.yaml")).cells) == 7


@pytest.mark.parametrize("name", BAD)
def test_each_mistake_is_named_with_its_place_and_remedy(name, answers, tmp_path):
    assert answer(broken(name), tmp_path).strip() == answers[name]


@pytest.mark.parametrize("name", BAD)
def test_every_problem_has_a_place_in_the_file_and_most_say_what_to_do(name, answers):
    lines = answers[name].splitlines()
    places = [line for line in lines if re.match(r"matrix\.yaml:\d+:\d+: error: ", line)]
    assert places
    assert lines[-1] == f"Found {len(places)} error{'s' if len(places) != 1 else ''}."


def test_the_golden_file_holds_no_mistake_that_is_not_tried(answers):
    assert list(answers) == list(BAD)


def test_a_token_in_the_place_of_a_name_is_never_repeated(answers, tmp_path):
    assert "ghp_" not in answers["secret-with-its-value"]
    with pytest.raises(DeclarationError) as caught:
        parse(broken("secret-with-its-value"), tmp_path / "matrix.yaml")
    assert all("ghp_" not in f"{p.what}{p.text}{p.help}" for p in caught.value.errors)


def test_the_mistakes_of_plans_are_said_beside_those_of_form(tmp_path):
    """A number without quotes, a token, and two that only a plan shows: all in one run."""
    text = (
        GOOD.replace('"1.2.0"\nnext', "1.20\nnext")
        .replace("TOKEN}", "ghp_0123}")
        .replace("capabilities: 8.0 8.6 9.0", "capabilities: 8.0 10.3 9.0")
        .replace('["cu130-*", mylib-data]', "[cu131-*]")
    )
    places = [line.split(": ")[0] for line in answer(text, tmp_path).splitlines() if line.startswith("matrix.yaml:")]
    assert places == ["matrix.yaml:1:10", *["matrix.yaml:40:19"] * 3, "matrix.yaml:46:26", "matrix.yaml:50:22"]


def test_what_follows_from_a_mistake_is_not_said_as_well(tmp_path):
    """Targets that cannot be read break a promise, and empty a selection: the targets are what is wrong."""
    text = broken("no-target").replace("runners:", "machines:")
    assert "3 errors" not in answer(text, tmp_path)
    assert "required by must_cover" not in answer(text, tmp_path)


# -- files that are no text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoded", "place"),
    [
        (GOOD.encode("utf-16"), "1:1"),
        (GOOD.replace("nobody asked", "café").encode("latin-1"), f"42:{GOOD.splitlines()[41].index('nobody') + 4}"),
        (b"version: \xed\xa0\x80\n", "1:10"),
    ],
    ids=["utf-16", "latin-1", "half-a-pair"],
)
def test_bytes_that_are_not_utf_8_are_named_with_their_place(encoded, place, tmp_path):
    path = tmp_path / "matrix.yaml"
    path.write_bytes(encoded)
    with pytest.raises(DeclarationError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{place}: error: invalid UTF-8\n")


@pytest.mark.parametrize("change", [lambda text: f"\ufeff{text}", lambda text: text.replace("\n", "\r\n")])
def test_byte_order_marks_and_line_ends_of_windows_change_nothing(change, tmp_path):
    path = tmp_path / "matrix.yaml"
    path.write_bytes(change(GOOD).encode())
    assert load(path).document == parse(GOOD, path).document
    path.write_bytes(change(broken("unknown-toolkit")).encode())
    with pytest.raises(DeclarationError, match=r":28:14: error: unknown CUDA toolkit '13\.9'"):
        load(path)


def test_paths_that_lead_to_no_file_are_usage_errors(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "none", tmp_path / "file" / "matrix.yaml", tmp_path / ("x" * 300)):
        with pytest.raises(UsageError, match="--matrix"):
            load(path)


@pytest.mark.parametrize("content", [b"", b"1.0\n2.0\n", b"\xff\xfe1\x000", b"1.0+cu130", b"x" * 1000, b"9" * 5000])
def test_a_version_file_of_anything_else_is_named(content, tmp_path):
    (tmp_path / "VERSION").write_bytes(content)
    text = GOOD.replace('version: "1.2.0"\n', "version_file: VERSION\n")
    with pytest.raises(DeclarationError, match=r"matrix\.yaml:1:15: error: .* VERSION( |\n)") as caught:
        parse(text, tmp_path / "matrix.yaml")
    assert len(str(caught.value).splitlines()) == 3


def test_a_version_file_may_have_a_byte_order_mark_and_spaces(tmp_path):
    (tmp_path / "VERSION").write_text("\ufeff v1.2.0RC1 \n")
    text = GOOD.replace('version: "1.2.0"\n', "version_file: VERSION\n")
    assert parse(text, tmp_path / "matrix.yaml").version == "1.2.0rc1"


def test_every_number_in_a_list_of_targets_is_named(tmp_path):
    told = answer(GOOD.replace('["8.0", 9.0a, 12.0f]', "[8.0, 9.0a, 12.0]"), tmp_path)
    assert [line.partition(": error: ")[2] for line in told.splitlines() if "must be text" in line] == [
        "cuda.cu130.targets.x86_64[0] must be text, but 8.0 is a number",
        "cuda.cu130.targets.x86_64[2] must be text, but 12.0 is a number",
    ]
