"""Who writes a compiler cache, and who only reads it."""

import json

import pytest

from fatwheel.building.compiler_cache import parse_mode, resolve_mode
from fatwheel.errors import UsageError
from tests.unit.building.samples import program

SHARED = {"SCCACHE_BUCKET": "b", "GITHUB_ACTIONS": "true"}


def machine(tmp_path, **variables):
    return {"FATWHEEL_SCCACHE": str(program(tmp_path / "sccache", "exit 0")), **variables}


@pytest.mark.parametrize(
    ("event", "ref", "kind", "mode"),
    [
        ("pull_request", "7/merge", "branch", "read"),
        ("pull_request_target", "main", "branch", "read"),
        ("merge_group", "main", "branch", "read"),
        ("schedule", "main", "branch", "write"),
        ("push", "main", "branch", "write"),
        ("push", "feature", "branch", "read"),
        ("push", "v1.0", "tag", "write"),
        ("release", "v1.0", "tag", "write"),
        ("workflow_dispatch", "feature", "branch", "read"),
        ("issue_comment", "main", "branch", "read"),
    ],
)
def test_a_shared_cache_is_written_only_by_what_was_reviewed(tmp_path, event, ref, kind, mode):
    about = {"GITHUB_EVENT_NAME": event, "GITHUB_REF_NAME": ref, "GITHUB_REF_TYPE": kind}
    assert resolve_mode("auto", machine(tmp_path, **SHARED, **about)) == mode


def test_the_default_branch_is_what_the_event_says(tmp_path):
    (tmp_path / "event.json").write_text(json.dumps({"repository": {"default_branch": "trunk"}}))
    about = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF_NAME": "trunk", "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    assert resolve_mode("auto", machine(tmp_path, **SHARED, **about)) == "write"
    assert resolve_mode("auto", machine(tmp_path, **SHARED, **(about | {"GITHUB_REF_NAME": "main"}))) == "read"


def test_a_cache_of_this_machine_is_written(tmp_path):
    assert resolve_mode("auto", machine(tmp_path, GITHUB_ACTIONS="true", GITHUB_EVENT_NAME="pull_request")) == "write"


def test_a_wish_comes_first_and_without_sccache_it_is_off(tmp_path):
    assert resolve_mode("read", machine(tmp_path)) == "read"
    assert resolve_mode("off", machine(tmp_path)) == "off"
    assert resolve_mode("write", {"FATWHEEL_SCCACHE": str(tmp_path / "none"), "PATH": ""}) == "off"


def test_an_unknown_mode():
    with pytest.raises(UsageError, match="unknown cache mode 'on'"):
        parse_mode("on")
