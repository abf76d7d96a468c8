"""A store that cannot be reached, or is not there, is told with its place and what to do, whatever the command."""

import socket

import pytest

from fatwheel.__main__ import run


@pytest.fixture
def nobody(monkeypatch):
    """An API address at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, and not listening: connections are refused while it is held
        port = held.getsockname()[1]
        monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("GITHUB_TOKEN", "a-token")
        yield f"127.0.0.1:{port}"


@pytest.mark.parametrize("verb", ["index", "deliver"])
def test_no_connection_has_its_place_and_a_remedy(nobody, verb, tmp_path, capsys):
    assert run([verb, "--store", "github:OWNER/REPO", "--output", str(tmp_path / "out")]) == 7
    told = capsys.readouterr().err
    assert "no connection (ConnectError: " in told
    assert "github:OWNER/REPO: " in told or f"{nobody}: " in told
    assert "  help: check the network" in told


@pytest.mark.parametrize("verb", ["index", "deliver"])
def test_a_folder_that_is_not_there_is_no_empty_store(verb, tmp_path, capsys):
    assert run([verb, "--store", f"dir:{tmp_path / 'no'}", "--output", str(tmp_path / "out")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
