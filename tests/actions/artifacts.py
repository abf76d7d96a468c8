"""Upload and download artifacts with the fake GitHub server; the inputs are in environment variables."""

from __future__ import annotations

import base64
import glob
import io
import json
import os
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def request(url: str, data: bytes | None = None, *, token: bool = False) -> tuple[int, bytes, str]:
    headers = {"Authorization": f"Bearer {os.environ['FAKE_TOKEN']}"} if token else {}
    try:
        with urllib.request.build_opener(NoRedirects).open(urllib.request.Request(url, data, headers)) as answer:
            return answer.status, answer.read(), ""
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers.get("location", "")


def upload(server: str, name: str, where: str) -> str | None:
    found = [Path(path) for pattern in where.split() for path in glob.glob(pattern)]  # noqa: PTH207  (absolute patterns)
    files = [file for path in found for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    files = [file for file in files if file.is_file()]
    root = Path(os.path.commonpath([file.parent for file in files])) if files else Path()
    files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(root).parts)]
    if not files:
        sys.stdout.write(f"no files found at {where}\n")
        return "no files" if os.environ["NONE"] == "error" else None
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in files:
            archive.write(file, file.relative_to(root))
    body = {
        "run": int(os.environ["GITHUB_RUN_ID"]), "name": name, "content": base64.b64encode(content.getvalue()).decode(),
        "overwrite": os.environ["OVERWRITE"] == "true",
    }  # fmt: skip
    status, _, _ = request(f"{server}/_fake/artifact", json.dumps(body).encode())
    return None if status == 201 else f"the artifact service responded with {status}"


def download(server: str, name: str, where: str) -> str | None:
    base = f"{server}/repos/{os.environ['GITHUB_REPOSITORY']}/actions"
    rows = json.loads(request(f"{base}/runs/{os.environ['GITHUB_RUN_ID']}/artifacts?per_page=100", token=True)[1])
    found = [row["id"] for row in rows["artifacts"] if row["name"] == name]
    if not found:
        return f"artifact {name} not found"
    _, _, location = request(f"{base}/artifacts/{found[0]}/zip", token=True)
    with zipfile.ZipFile(io.BytesIO(request(location)[1])) as archive:
        archive.extractall(where)
    return None


if __name__ == "__main__":
    action = {"upload": upload, "download": download}[sys.argv[1]]
    sys.exit(action(os.environ["GITHUB_API_URL"], os.environ["NAME"], os.environ["WHERE"]))
