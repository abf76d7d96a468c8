"""nox sessions follow the plan: one for each cell of any channel, each with a name of its own."""

import pytest

from pipeline.sessions import cells, session_id, session_ids
from tests.unit.plan.matrices import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_cell_of_every_channel_has_a_session_of_its_own(name):
    found = cells(EXAMPLES[name])
    names = session_ids(found)
    assert len(set(names)) == len({cell.id for cell in found}) == len(found)


def test_names_say_the_axes():
    by_id = {cell.id: session_id(cell) for name in EXAMPLES for cell in cells(EXAMPLES[name])}
    assert by_id["cu130-aarch64-sm12x"] == "cuda=130,arch=aarch64,family=sm12x"
    assert by_id["cu130-x86_64-sm90a"] == "cuda=130,arch=x86_64,family=sm90a"
    assert by_id["cu130-shim"] == "cuda=130,family=shim"
    assert by_id["flashinfer-cubin"] == "package=flashinfer-cubin"
    assert by_id["cu126-x86_64-all-python3.12-torch2.13"] == "cuda=126,arch=x86_64,python=3.12,torch=2.13"


def test_two_packages_of_the_same_axes_are_told_apart():
    first = cells(EXAMPLES["flashinfer-split"])[0]
    second = first.model_copy(update={"id": "other-cu129-x86_64-sm9x", "package": "other"})
    assert session_ids([first, second]) == [
        "package=flashinfer-jit-cache,cuda=129,arch=x86_64,family=sm9x",
        "package=other,cuda=129,arch=x86_64,family=sm9x",
    ]
