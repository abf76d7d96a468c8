"""An Enterprise server behind TLS, with a certificate of its own, and the program as a program."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fake_github.server import Site
from tests.fake_github.workshop import make_files, the_release

pytestmark = pytest.mark.integration


def certificate(folder: Path) -> ssl.SSLContext:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
        ],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.mark.parametrize("trusted", [True, False])
def test_a_certificate_of_its_own_is_trusted_only_if_told(tmp_path: Path, trusted: bool) -> None:
    context = certificate(tmp_path)
    (file,) = make_files(tmp_path / "dist", {"a.bin": 300_000})
    with Site(enterprise=True, tls=context) as site:
        environment = os.environ | {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": site.api_url}
        if trusted:
            environment["SSL_CERT_FILE"] = str(tmp_path / "cert.pem")
        done = subprocess.run(
            [sys.executable, "-m", "fatwheel", "release", "--store", "github:octo/wheels", "--tag", "v1", "--json",
             "--record", str(tmp_path / "r.json"), str(file)],
            env=environment, capture_output=True, text=True, check=False, cwd=Path.cwd(),
        )  # fmt: skip
        if trusted:
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["published"]
            assert not the_release(site).draft
        else:
            assert done.returncode == 7
            assert "CERTIFICATE_VERIFY_FAILED" in done.stderr
            assert "set SSL_CERT_FILE" in done.stderr
            assert not site.state.log


@pytest.mark.skipif(shutil.which("gh") is None, reason="gh is not installed")
def test_githubs_own_client_reads_what_was_released(tmp_path: Path) -> None:
    """It shows that what is served is like the real thing, to somebody else's eyes: see, download and add an asset."""
    context = certificate(tmp_path)
    files = make_files(tmp_path / "dist", {"a-1.0+cu130-cp39-abi3-linux_x86_64.whl": 300_000, "b.bin": 9})
    added = make_files(tmp_path / "more", {"c+d.bin": 70_000})[0]
    with Site(enterprise=True, tls=context) as site:
        site.jealous = False  # gh 2.23 takes the token to wherever it is sent
        ours = {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": site.api_url}
        host = f"localhost:{urlsplit(site.api_url).port}"
        theirs = {
            "GH_HOST": host, "GH_ENTERPRISE_TOKEN": "secret-token", "GH_PROMPT_DISABLED": "1", "HOME": str(tmp_path),
            "GH_NO_UPDATE_NOTIFIER": "1", "GH_CONFIG_DIR": str(tmp_path / "gh"),
        }  # fmt: skip
        common = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "GH_"))}
        common["SSL_CERT_FILE"] = str(tmp_path / "cert.pem")

        def call(environment: dict[str, str], *command: str) -> str:
            done = subprocess.run(
                command, env=common | environment, capture_output=True, text=True, check=False, cwd=Path.cwd()
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        release = [sys.executable, "-m", "fatwheel", "release", "--store", "github:octo/wheels", "--tag", "v1"]
        release += ["--record", str(tmp_path / "r.json")]
        call(ours, *release, *map(str, files))
        where = ("v1", "-R", f"{host}/octo/wheels")
        shown = json.loads(call(theirs, "gh", "release", "view", *where, "--json", "assets,isDraft"))
        assert not shown["isDraft"]
        assert {asset["name"] for asset in shown["assets"]} == {*(f.name for f in files), "manifest.json", "SHA256SUMS"}
        call(theirs, "gh", "release", "download", *where, "-D", str(tmp_path / "got"))
        for file in files:
            assert (tmp_path / "got" / file.name).read_bytes() == file.read_bytes()
        call(theirs, "gh", "release", "upload", *where, str(added))
        assert json.loads(call(ours, *release, "--json", *map(str, [*files, added])))["published"]
        assert [entry["name"] for entry in site.uploads()].count(added.name) == 1, "what gh sent is what is wanted"
