"""Which variables hold secrets, and texts without their values."""

import pytest

from fatwheel.building.containers import container_environ
from fatwheel.secret_names import is_secret, redact
from tests.unit.building.test_variables import declared, variables

SECRET = [
    "GITHUB_TOKEN", "GPG_SIGNING_KEY", "SSH_KEY", "DB_CREDENTIAL", "GOOGLE_APPLICATION_CREDENTIALS", "PGPASSWORD",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "APIKEY", "github_token", "NPM_TOKENS", "GH_PAT", "MYSQL_PWD",
    "KEY_PASSPHRASE",
]  # fmt: skip
HARMLESS = ["PWD", "OLDPWD", "PATH", "TOKENIZERS_PARALLELISM", "KEYMAP", "PASSES", "MAX_JOBS", "COMPATIBILITY", "CC"]


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_hidden_from_builds_containers_and_texts(name, tmp_path):
    assert is_secret(name)
    environ = {name: "the-value", "PATH": "/bin"}
    assert name not in variables(declared(), environ)
    assert name not in container_environ({}, environ | {f"PIP_{name}": "the-value"}, tmp_path, tmp_path)
    assert redact('said "the-value"', environ) == f'said "<{name}>"'


def test_pip_settings_reach_a_container_unless_they_are_secret(tmp_path):
    found = container_environ({}, {"PIP_INDEX_URL": "u", "PIP_TOKEN": "t"}, tmp_path, tmp_path)
    assert (found.get("PIP_INDEX_URL"), found.get("PIP_TOKEN")) == ("u", None)


@pytest.mark.parametrize("name", HARMLESS)
def test_other_variables_are_kept(name):
    assert not is_secret(name)
    assert redact("the-value", {name: "the-value"}) == "the-value"


def test_short_values_and_escaped_values():
    assert redact("a b c", {"MY_TOKEN": "b"}) == "a b c"
    assert redact('{"x": "a\\"long\\nvalue"}', {"MY_TOKEN": 'a"long\nvalue'}) == '{"x": "<MY_TOKEN>"}'
    assert redact("abcdefgh", {"A_TOKEN": "abcdef", "B_TOKEN": "abcdefgh"}) == "<B_TOKEN>"
