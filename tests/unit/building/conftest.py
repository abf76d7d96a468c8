"""What tests of the build station share."""

import os
import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)
