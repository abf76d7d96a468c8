"""What each mistake in a matrix.yaml is answered with: tests/golden/bad_declarations.txt holds the exact words."""

import os
import re
from pathlib import Path

import pytest

from pipeline.declaration import parse
from pipeline.errors import DeclarationError
from pipeline.plan import make_plan, problems
from tests.golden import FOLDER
from tests.unit.declaration.bad_declarations import BAD, GOOD, broken

FILE = FOLDER / "bad_declarations.txt"


def answer(text: str, folder: Path) -> str:
    """What `fatwheel check` says of a declaration: all problems, with the file called matrix.yaml."""
    path = folder / "matrix.yaml"
    try:
        found = problems(parse(text, path))
        error = DeclarationError(tuple(found)) if found else None
    except DeclarationError as refused:
        error = refused
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
    places = [line for line in lines if re.match(r"matrix\.yaml:\d+:\d+: ", line)]
    assert places
    assert lines[-1] == f"{len(places)} problem{'s' if len(places) != 1 else ''} in the declaration."


def test_the_golden_file_holds_no_mistake_that_is_not_tried(answers):
    assert list(answers) == list(BAD)


def test_a_token_in_the_place_of_a_name_is_never_repeated(answers, tmp_path):
    assert "ghp_" not in answers["secret-with-its-value"]
    with pytest.raises(DeclarationError) as caught:
        parse(broken("secret-with-its-value"), tmp_path / "matrix.yaml")
    assert all("ghp_" not in f"{p.what}{p.text}{p.remedy}" for p in caught.value.problems)
