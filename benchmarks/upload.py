"""Compare the upload of an asset of 1.9 GiB with `curl -T`, to the same server.

``python benchmarks/upload.py [--gib 1.9] [--rounds 3]`` prints throughput in MiB/s, ratio, and memory above idle.
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
    options = parser.parse_args()
    size = int(options.gib * (1 << 30))
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
            measure(site, file, size, options.rounds)
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
    curl_rates, fatwheel_rates, above = [], [], 0
    for number in range(rounds):
        start = time.perf_counter()
        curl(
            "-T", str(file), "-X", "POST", "-H", f"Authorization: token {TOKEN}",
            "-H", "Content-Type: application/octet-stream", "-H", "Expect:", f"{target}?name=curl-{number}.bin",
        )  # fmt: skip
        curl_rates.append(size / (time.perf_counter() - start) / (1 << 20))
        done = subprocess.run(
            [sys.executable, "-c", UPLOADER, str(file), f"ours-{number}.bin"],
            env=environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        result = json.loads(done.stdout)
        fatwheel_rates.append(size / result["seconds"] / (1 << 20))
        above = max(above, result["above"])
        print(f"round {number + 1}: curl {curl_rates[-1]:.0f} MiB/s, fatwheel {fatwheel_rates[-1]:.0f} MiB/s")
    best_curl, best_fatwheel = max(curl_rates), max(fatwheel_rates)
    print(
        f"best: curl {best_curl:.0f} MiB/s, fatwheel {best_fatwheel:.0f} MiB/s, ratio {best_fatwheel / best_curl:.2f}"
    )
    print(f"memory above idle: {above / 1024:.1f} MiB")


def curl(*arguments: str) -> str:
    return subprocess.run(["curl", "-sS", "--fail", *arguments], check=True, capture_output=True, text=True).stdout


def control(site: dict[str, str], action: str, data: object) -> None:
    curl("-X", "POST", "-d", json.dumps(data), f"{site['api']}/_fake/{action}")


if __name__ == "__main__":
    main()
