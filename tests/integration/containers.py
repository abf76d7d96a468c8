"""A real podman for tests: its own storage and settings, and an image whose programs are this machine's, mounted."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

IMAGE = "localhost/fatwheel-test:1"
_FOLDERS = ("usr", "lib", "lib64", "bin", "sbin", "etc", "opt")
_CONF = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "{runtime}"
"""
_STORAGE = """
[storage]
driver = "vfs"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


class NoPodman(Exception):
    """Why there is none."""


def settings(folder: Path) -> dict[str, str]:
    """Variables that make podman work in ``folder`` alone, after a container ran. Raises `NoPodman`."""
    if shutil.which("podman") is None:
        raise NoPodman("there is no podman here")
    # crun refuses the hybrid cgroups of some machines.
    runtime = "runc" if shutil.which("runc") else "crun"
    (folder / "containers.conf").write_text(_CONF.format(runtime=runtime))
    (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
    variables = {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }
    _import(dict(os.environ) | variables)
    command = ["podman", "run", "--rm", "--network=host", *_options(), IMAGE, "sh", "-c", "echo ready"]
    answer = subprocess.run(command, env=dict(os.environ) | variables, capture_output=True, text=True, check=False)
    if answer.stdout != "ready\n":
        raise NoPodman(f"podman runs no container here: {answer.stderr.strip().splitlines()[-1:]}")
    return variables


def volumes() -> tuple[str, ...]:
    """This machine's programs, in the container."""
    places = [f"/{name}" for name in _FOLDERS if Path("/", name).exists()]
    inside = any(Path(sys.base_prefix).is_relative_to(place) for place in places)
    return tuple(f"{place}:{place}:ro" for place in (places if inside else [*places, sys.base_prefix]))


def _options() -> list[str]:
    return [f"--volume={volume}" for volume in volumes()]


def _import(env: dict[str, str]) -> None:
    """An image of empty folders."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in (*_FOLDERS, "tmp", "proc", "dev", "sys", "var"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
    answer = subprocess.run(
        ["podman", "import", "-", IMAGE], input=packed.getvalue(), env=env, capture_output=True, check=False
    )
    if answer.returncode != 0:
        raise NoPodman(f"podman imports no image here: {answer.stderr.decode().strip().splitlines()[-1:]}")
