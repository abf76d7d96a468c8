"""An Enterprise server behind TLS, with a certificate of its own, and the program as a program."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_github.server import Site
from tests.fake_github.workshop import make_files, the_release

pytestmark = pytest.mark.integration


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@pytest.mark.parametrize("trusted", [True, False])
def test_a_certificate_of_its_own_is_trusted_only_if_told(tmp_path: Path, trusted: bool) -> None:
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
        ],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    (file,) = make_files(tmp_path / "dist", {"a.bin": 300_000})
    with Site(enterprise=True, tls=context) as site:
        environment = os.environ | {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": site.api_url}
        if trusted:
            environment["SSL_CERT_FILE"] = str(tmp_path / "cert.pem")
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "release", "--store", "github:octo/wheels", "--tag", "v1", "--json",
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
