"""Engines: which names are known, and which this version runs."""

import os

import pytest

from pipeline.build.engine import engine_named
from pipeline.errors import UsageError


def test_the_host_engine_runs_a_command_into_the_log_and_onto_standard_error(tmp_path, capfdbinary):
    host = engine_named("host")
    status = host.run(
        ["sh", "-c", "echo out; echo err >&2; exit 3"], env=os.environ, cwd=tmp_path, log=tmp_path / "log"
    )
    assert (host.name, status) == ("host", 3)
    assert (tmp_path / "log").read_bytes() == b"out\nerr\n"
    assert capfdbinary.readouterr() == (b"", b"out\nerr\n")


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_a_known_engine_of_a_later_version_is_refused_with_what_works_now(name):
    with pytest.raises(UsageError, match=f"does not run builds in {name} yet") as caught:
        engine_named(name)
    assert "--engine host" in str(caught.value.remedy)


def test_an_unknown_engine_names_those_that_are_known():
    with pytest.raises(UsageError, match="there is no engine 'dockr'") as caught:
        engine_named("dockr")
    assert caught.value.remedy == "choose one of: host, docker, podman"
