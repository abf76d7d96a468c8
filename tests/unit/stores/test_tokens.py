"""Which token opens which repository."""

import pytest

from fatwheel.errors import UsageError
from fatwheel.stores.github import open_github
from fatwheel.stores.github.tokens import token_for, token_variable


def test_a_repository_has_a_variable_of_its_own():
    assert token_variable("flashinfer-ai/whl") == "FATWHEEL_TOKEN_FLASHINFER_AI_WHL"


def test_its_own_token_goes_before_the_one_for_all():
    environment = {"FATWHEEL_TOKEN_A_B": "its-own", "GITHUB_TOKEN": "all", "GH_TOKEN": "other"}
    assert token_for("a/b", environment) == "its-own"
    assert token_for("a/c", environment) == "all"
    assert token_for("a/c", {"GH_TOKEN": "other"}) == "other"
    assert token_for("a/c", {}) is None


def test_a_secret_that_nobody_set_is_told_and_nothing_is_tried_without_it():
    with pytest.raises(UsageError, match="FATWHEEL_TOKEN_A_B is empty") as caught:
        open_github("a/b", {"FATWHEEL_TOKEN_A_B": "", "GITHUB_TOKEN": "all"})
    assert "set the secret" in str(caught.value)
