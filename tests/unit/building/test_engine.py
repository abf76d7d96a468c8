"""Engines: which names are known, what a host and a container are told, and which images are whose."""

import os
import platform
from pathlib import Path

import pytest

from fatwheel.building.containers import container_environ, runs_here
from fatwheel.building.engine import HOST, EngineOptions
from fatwheel.building.images import Client, login_for
from fatwheel.errors import BuildError, UsageError
from fatwheel.registries import registry_of
from tests.unit.building.samples import program


def test_the_host_runs_a_command_and_passes_its_output_on(tmp_path):
    said = bytearray()
    status = HOST.run(["sh", "-c", "echo out; echo err >&2; exit 3"], env=os.environ, cwd=tmp_path, sink=said.extend)
    assert (HOST.name, HOST.arch, HOST.image, status) == ("host", platform.machine(), None, 3)
    assert bytes(said) == b"out\nerr\n"


def test_an_unknown_engine_names_those_that_are_known():
    with pytest.raises(UsageError, match="unknown engine 'dockr'") as caught:
        EngineOptions("dockr")
    assert caught.value.help == "choose one of: host, docker, podman"


def test_what_only_containers_have_is_refused_for_the_host():
    with pytest.raises(UsageError, match="--image, --network and --volume need a container engine"):
        EngineOptions("host", image="x")


@pytest.mark.parametrize("volume", ["cuda", "cuda:/cuda", "/a:/b:ro:z"])
def test_a_volume_has_two_places(volume):
    with pytest.raises(UsageError, match="invalid volume"):
        EngineOptions("podman", volumes=(volume,))


def engine(tmp_path, name, text):
    """A client whose words are ``text``."""
    program(tmp_path / name, text)
    return Client(name, {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, pause=lambda _: None)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'Cannot connect to the Docker daemon' >&2; exit 1",
        "echo; exit 0",  # some clients end well and say no version of a server
    ],
)
def test_a_client_without_its_engine_is_not_an_engine(tmp_path, text):
    with pytest.raises(BuildError, match="docker does not respond: ") as caught:
        engine(tmp_path, "docker", text).check()
    assert "use --engine host" in str(caught.value.help)


def test_no_client_at_all_is_told_the_same_way():
    with pytest.raises(BuildError, match="podman does not respond: cannot start 'podman'"):
        Client("podman", {"PATH": "/nonexistent"}).check()


def test_a_pull_that_fails_for_the_moment_is_tried_again(tmp_path):
    inspected = '[{"Id": "x", "RepoDigests": ["r@sha256:12"], "Architecture": "amd64", "Config": {"Env": ["A=b"]}}]'
    text = f"""
case "$1" in
  image) [ -e {tmp_path}/pulled ] && echo '{inspected}' || exit 1 ;;
  pull) echo pull >> {tmp_path}/tries
        if [ $(wc -l < {tmp_path}/tries) -ge 3 ]; then touch {tmp_path}/pulled
        else echo 'read: connection reset' >&2; exit 1; fi ;;
esac
"""
    said = []
    held = engine(tmp_path, "podman", text).image("r:1", "x86_64", login=None, notify=said.append)
    assert (held.image.name, held.image.digest, held.arch, held.environ) == ("r:1", "sha256:12", "x86_64", {"A": "b"})
    assert len(said) == 3
    assert "retrying in 5 s" in said[1]


def test_an_image_that_is_not_there_is_not_asked_for_twice(tmp_path):
    text = f'[ "$1" = pull ] && echo x >> {tmp_path}/tries; echo "manifest unknown" >&2; exit 1'
    with pytest.raises(BuildError, match="cannot pull image r:1\n  \\| manifest unknown"):
        engine(tmp_path, "podman", text).image("r:1", "x86_64", login=None, notify=lambda _: None)
    assert (tmp_path / "tries").read_text() == "x\n"


def test_a_closed_registry_names_the_secret_that_would_open_it(tmp_path):
    text = 'echo "denied: requested access to the resource is denied" >&2; exit 1'
    with pytest.raises(BuildError) as caught:
        engine(tmp_path, "podman", text).image("ghcr.io/o/i:1", "x86_64", login=None, notify=lambda _: None)
    assert "name a secret for ghcr.io under `secrets`" in str(caught.value.help)


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_a_token_goes_by_standard_input_and_into_no_message(tmp_path, name):
    text = f"""
echo "$@" >> {tmp_path}/lines
case "$*" in *login*) cat > {tmp_path}/token; echo "bad password TOP-SECRET" >&2; exit 1 ;; esac
exit 1
"""
    login = login_for("ghcr.io/o/i:1", {"ghcr.io": "PULL_KEY"}, {"PULL_KEY": "TOP-SECRET", "GITHUB_ACTOR": "me"})
    assert login is not None
    assert "TOP-SECRET" not in repr(login)
    with pytest.raises(BuildError, match=r"ghcr\.io rejected the login of me") as caught:
        engine(tmp_path, name, text).image("ghcr.io/o/i:1", "x86_64", login=login, notify=lambda _: None)
    assert (tmp_path / "token").read_text() == "TOP-SECRET"
    assert "TOP-SECRET" not in (tmp_path / "lines").read_text() + str(caught.value)
    assert "check the secret PULL_KEY" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "registry"),
    [
        ("nvidia/cuda:13", "docker.io"), ("debian", "docker.io"), ("ghcr.io/a/b", "ghcr.io"),
        ("localhost/base:1", "localhost"), ("r.example:5000/x", "r.example:5000"),
    ],
)  # fmt: skip
def test_the_registry_of_an_image(name, registry):
    assert registry_of(name) == registry


def test_no_login_without_the_secret():
    assert login_for("ghcr.io/a/b", {"ghcr.io": "KEY"}, {}) is None
    assert login_for("nvidia/cuda:1", {"ghcr.io": "KEY"}, {"KEY": "x"}) is None


def test_a_container_has_the_images_variables_and_is_told_only_how_to_reach_the_network():
    host = {"PATH": "/mine", "HOME": "/me", "HTTPS_PROXY": "http://p", "PIP_INDEX_URL": "http://i", "GITHUB_TOKEN": "x",
            "PIP_TARGET": "/t", "AWS_SECRET_ACCESS_KEY": "x"}  # fmt: skip
    found = container_environ({"PATH": "/cuda/bin:/bin", "CUDA_VERSION": "13"}, host, Path("/w/home"), Path("/c"))
    assert found == {
        "PATH": "/cuda/bin:/bin", "CUDA_VERSION": "13", "HTTPS_PROXY": "http://p", "PIP_INDEX_URL": "http://i",
        "HOME": "/w/home", "FATWHEEL_CACHE": "/c",
    }  # fmt: skip


def test_another_cpu_runs_where_binfmt_hands_it_to_qemu(tmp_path):
    assert runs_here(platform.machine(), tmp_path)
    other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
    assert not runs_here(other, tmp_path)
    (tmp_path / f"qemu-{other}").write_text("enabled\ninterpreter /usr/bin/qemu\n")
    assert runs_here(other, tmp_path)
    (tmp_path / f"qemu-{other}").write_text("disabled\n")
    assert not runs_here(other, tmp_path)
