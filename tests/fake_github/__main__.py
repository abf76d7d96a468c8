"""The fake as a program: it prints its addresses as one line of JSON and serves until it is ended."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from pathlib import Path

from fatwheel.clock import Clock
from tests.fake_github.clock import VirtualClock
from tests.fake_github.faults import Fault
from tests.fake_github.server import Site


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_github", description=__doc__)
    parser.add_argument("--repository", default="octo/wheels")
    parser.add_argument("--token", default="secret-token")
    parser.add_argument("--port", type=int, default=0, help="of the API; 0 takes a free one")
    parser.add_argument("--uploads-port", type=int, default=0)
    parser.add_argument("--enterprise", action="store_true", help="one origin: /api/v3 and /api/uploads")
    parser.add_argument("--immutable", action="store_true", help="what is published is locked")
    parser.add_argument("--no-digests", action="store_true", help="as an older Enterprise server")
    parser.add_argument("--no-hashing", action="store_true", help="discard bodies unhashed, for benchmarks")
    parser.add_argument("--virtual-clock", action="store_true", help="moved by POST /_fake/clock")
    parser.add_argument("--minute", type=int, default=0, help="writes a minute; GitHub's limit is 80")
    parser.add_argument("--hour", type=int, default=0, help="writes an hour; GitHub's limit is 500")
    parser.add_argument("--faults", type=Path, help="JSON: a list of faults, as in faults.py")
    asked = parser.parse_args()
    faults = [Fault(**row) for row in json.loads(asked.faults.read_text())] if asked.faults else []
    site = Site(
        asked.repository, clock=VirtualClock() if asked.virtual_clock else Clock(), faults=faults, token=asked.token,
        enterprise=asked.enterprise, immutable=asked.immutable, digests=not asked.no_digests,
        hashing=not asked.no_hashing, limits={"minute": asked.minute, "hour": asked.hour},
        ports=(asked.port, asked.uploads_port),
    )  # fmt: skip
    with site:
        sys.stdout.write(json.dumps({"api": site.api_url, "uploads": site.uploads_url}) + "\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
