"""One asset of 1.9 GiB: the release station's upload beside `curl -T`, to the same server, in one run.

``python benchmarks/upload.py [--gib 1.9] [--rounds 3]`` prints MB/s, their ratio, and the memory above idle.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "secret-token"
UPLOADER = """
import json, os, resource, sys, time
from pathlib import Path
from fatwheel.stores.body import Body
from fatwheel.stores.github import open_github
store = open_github("octo/wheels", os.environ)
(release,) = store.find("v1")
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path = Path(sys.argv[1])
start = time.perf_counter()
made = store.upload(release, sys.argv[2], Body(path, path.stat().st_size))
seconds = time.perf_counter() - start
assert made.size == path.stat().st_size
print(json.dumps({"seconds": seconds, "above": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.9)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    size = int(asked.gib * (1 << 30))
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fake_github", "--no-hashing"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout
        site = json.loads(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "wheel.bin"
            with file.open("wb") as handle:
                handle.truncate(size)
            measure(site, file, size, asked.rounds)
    finally:
        server.terminate()
        server.wait()


def measure(site: dict[str, str], file: Path, size: int, rounds: int) -> None:
    environment = os.environ | {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_API_URL": site["api"],
        "PYTHONPATH": str(ROOT / "pipeline"),
    }
    control(site, "release", {"tag": "v1", "draft": False})
    (release,) = json.loads(curl(f"{site['api']}/_fake/state"))
    target = release["upload_url"].split("{")[0]
    theirs, ours, above = [], [], 0
    for number in range(rounds):
        start = time.perf_counter()
        curl(
            "-T", str(file), "-X", "POST", "-H", f"Authorization: token {TOKEN}",
            "-H", "Content-Type: application/octet-stream", "-H", "Expect:", f"{target}?name=curl-{number}.bin",
        )  # fmt: skip
        theirs.append(size / (time.perf_counter() - start) / 1e6)
        done = subprocess.run(
            [sys.executable, "-c", UPLOADER, str(file), f"ours-{number}.bin"],
            env=environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        told = json.loads(done.stdout)
        ours.append(size / told["seconds"] / 1e6)
        above = max(above, told["above"])
        print(f"round {number + 1}: curl {theirs[-1]:.0f} MB/s, fatwheel {ours[-1]:.0f} MB/s")
    print(f"best: curl {max(theirs):.0f}, fatwheel {max(ours):.0f} MB/s; ratio {max(ours) / max(theirs):.2f}")
    print(f"memory above idle: {above / 1024:.1f} MiB")


def curl(*arguments: str) -> str:
    return subprocess.run(["curl", "-sS", "--fail", *arguments], check=True, capture_output=True, text=True).stdout


def control(site: dict[str, str], what: str, data: object) -> None:
    curl("-X", "POST", "-d", json.dumps(data), f"{site['api']}/_fake/{what}")


if __name__ == "__main__":
    main()
