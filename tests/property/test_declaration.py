"""LoadResult a matrix.yaml: whatever stands in it, it is a declaration or a list of mistakes with their places."""

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fatwheel.declaration.load import read_text
from fatwheel.declaration.source import read_yaml
from fatwheel.errors import DeclarationError, UsageError
from fatwheel.plan import find_all_errors, make_plan
from tests.unit.declaration.bad_declarations import GOOD
from tests.unit.plan.matrices import EXAMPLES, ROOT

CHECKS = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
PATH = Path(ROOT) / "matrix.yaml"
TEXTS = [GOOD, *(path.read_text(encoding="utf-8") for path in EXAMPLES.values())]
ODD = st.one_of(
    st.sampled_from(
        [
            None, True, 0, -1, 1.5, 10**400, float("inf"), float("nan"), "", " ", "*", "{", "{{", "{}", "{cuda}",
            "{family}", "8.0", "8.0 8.0", "cu130", "..", "/", "-", "é", "\x00", "\u2028", "a\nb", "x" * 3000, "0 B",
            "9" * 400 + " GiB", "${{ x }}", "1!2", "1.0.dev1", [], {}, [[]], {"": ""}, {"a": {}}, ["x", "x"], [None],
        ]
    ),
    st.text(max_size=12),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4),
)  # fmt: skip


def places(value, path=()):
    """The paths of all values below one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield (*path, key)
        yield from places(below, (*path, key))


@st.composite
def changed(draw):
    """A good declaration with other values in one to four places, or without them."""
    document = yaml.safe_load(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(list(places(document))))
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        what = draw(st.sampled_from(["other", "gone", "twice"]))
        if what == "other":
            holder[path[-1]] = copy.deepcopy(draw(ODD))
        elif what == "gone":
            del holder[path[-1]]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[draw(st.text("abc-{}", min_size=1, max_size=5))] = copy.deepcopy(holder[path[-1]])
        if not list(places(document)):
            break
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False)


@st.composite
def damaged(draw):
    """The text of a good declaration with characters put in, taken out or overwritten."""
    text = list(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text) - 1))
        text[place] = draw(
            st.sampled_from([*"\t{}[]:-\"'&*!%#,|>?~@`", "", "\n", "<<: *a\n", "\x85", "\ufeff", "\x07"])
        )
    return "".join(text)


def judged(text):
    """Plans every channel; the mistakes that it is refused for."""
    reading = read_text(text, PATH)
    if reading.errors:
        return DeclarationError(tuple(find_all_errors(reading))).errors
    try:
        declaration = reading.checked()
        for channel in declaration.channels:
            make_plan(declaration, channel).to_json()
    except DeclarationError as error:
        return error.errors
    except UsageError:  # a version after which no nightly of today comes
        return ()
    return ()


@CHECKS
@given(changed() | damaged())
def test_any_text_is_a_declaration_or_a_list_of_mistakes_within_the_file(text):
    found = judged(text)
    lines = text.replace("\r", "\n").replace("\x85", "\n").replace("\u2028", "\n").replace("\u2029", "\n").split("\n")
    for problem in found:
        assert problem.file == str(PATH)
        assert 1 <= problem.line <= len(lines) + 1
        assert problem.column >= 1
        assert str(problem).isprintable() or "\n  help: " in str(problem)
        assert len(str(problem).splitlines()) <= 2
    assert len(set(found)) == len(found)


@CHECKS
@given(st.recursive(st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_quoted_yaml_is_read_as_it_was_written(value):
    """What PyYAML quotes is text to both, and integers are integers: nothing is taken for something else."""
    source = read_yaml(yaml.safe_dump(value, allow_unicode=False), "x")
    if not source.errors:
        assert source.value == value


@pytest.mark.parametrize("text", TEXTS)
def test_every_value_of_a_good_declaration_has_its_mark(text):
    source = read_yaml(text, "x")
    assert not source.errors
    assert set(source.marks) == {(), *places(source.value)}
    assert source.value == yaml.safe_load(text)
