"""Inject every kind of fault into uploads, at every attempt, and report outcomes, requests and bytes sent.

``python benchmarks/faults.py [--json FILE]`` then releases twelve assets of which some meet a fault, 300 assets with
sidecars under secondary rate limits, and kills a release at each of its requests in turn. Everything runs over real
sockets and on a virtual clock, except for the processes that are killed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

from fatwheel.records.release import ReleaseRecord
from tests.fake_github.clock import START, VirtualClock
from tests.fake_github.faults import ASSET_FAULTS, RELEASE_FAULTS, UPLOAD_FAULTS, Fault
from tests.fake_github.kills import really, survive
from tests.fake_github.server import Site
from tests.fake_github.workshop import check_server, make_files, outcomes, run

SIZE = 200_000  # bytes of the asset that meets the fault
POSITIONS = ("first", "second", "always")
KINDS = (*UPLOAD_FAULTS, *ASSET_FAULTS, *RELEASE_FAULTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(Path(folder), kind, at) for kind in KINDS for at in POSITIONS]
        print(f"{'kind':<16} {'attempt':<7} {'outcome':<9} {'others':<8} {'requests':>8} {'uploads':>7} {'sent':>5}")
        for row in rows:
            print(
                "{kind:<16} {attempt:<7} {outcome:<9} {others:<8} {requests:>8} {uploads:>7} {ratio:>5.2f}".format(
                    **row
                )
            )
        release_twelve(Path(folder))
        release_many(Path(folder))
        kill_releases(Path(folder))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def measure(folder: Path, kind: str, at: str) -> dict[str, object]:
    files = make_files(folder, {"a.bin": 1000, "victim.bin": SIZE, "z.bin": SIZE + 1})
    faults = {
        "first": [Fault(kind, "victim.bin", attempt=1)],
        "second": [Fault("502-middle", "victim.bin", attempt=1), Fault(kind, "victim.bin", attempt=2)],
        "always": [Fault(kind, "victim.bin", times=0)],
    }[at]
    with Site(clock=VirtualClock(), faults=faults) as site:
        record = run(site, *files)
        check_server(site, record, files)
        mine = [entry for entry in site.uploads() if entry["name"] == "victim.bin"]
        others = all(a.live for a in record.assets if a.name in {"a.bin", "z.bin"})
        return {
            "kind": kind, "attempt": at, "outcome": outcomes(record)["victim.bin"],
            "others": "uploaded" if others else "missing", "requests": len(site.state.log), "uploads": len(mine),
            "ratio": sum(entry["bytes"] for entry in mine) / SIZE,
        }  # fmt: skip


def release_twelve(folder: Path) -> None:
    good = make_files(folder / "twelve", {f"w{n:02}.bin": 8 << 20 for n in range(11)})
    fat = folder / "twelve" / "w99.bin"
    with fat.open("wb") as file:
        file.truncate(1 << 31)
    faults = [Fault("rst", "w03.bin", at=0.5), Fault("502-committed", "w05.bin")]
    with Site(clock=VirtualClock(), faults=faults) as site:
        site.state.add_asset(site.state.add_release("v1"), "w07.bin")
        record = run(site, *good, fat)
        check_server(site, record, good)
        needed = sum(asset.size or 0 for asset in record.assets if asset.live)
        cost = sum(entry["bytes"] for entry in site.uploads() if entry["fault"] == "rst")
        sent = sum(entry["bytes"] for entry in site.uploads())
        show(record, f"twelve assets: sent {(sent - cost) / needed:.3f} times the necessary bytes, resets excluded")


def release_many(folder: Path) -> None:
    files = make_files(folder / "many", {f"f{n:03}.bin": 100 for n in range(300)})
    files += make_files(folder / "many", {f"f{n:03}.bin.sig": 10 for n in range(300)})
    for say in (True, False):
        with Site(clock=VirtualClock(), limits={"minute": 60, "hour": 400, "say": say}) as site:
            start = time.perf_counter()
            record = run(site, *files)
            check_server(site, record, files)
            hours = (site.clock.wall() - START) / 3600
            show(
                record,
                f"300 assets with sidecars, at most 60 writes per minute and 400 per hour, "
                f"{'with' if say else 'without'} Retry-After: {site.limiter.refused} requests rejected, "
                f"{hours:.1f} h on the virtual clock, {time.perf_counter() - start:.0f} s",
            )


def kill_releases(folder: Path) -> None:
    for replacing in (False, True):
        for after in (False, True):
            at = 1
            while survive(folder, at, after=after, replacing=replacing):
                at += 1
            kind, when = (
                ("a replacement" if replacing else "a release"),
                ("after its response" if after else "before it is sent"),
            )
            print(
                f"{kind} killed at each of {at - 1} requests, {when}: nothing lost, the next run published everything"
            )
    at = 1
    while really(folder, at):
        at += 1
    print(f"process killed at each of {at - 1} requests: --resume published everything, in one release each time")


def show(record: ReleaseRecord, text: str) -> None:
    uploaded = sum(asset.live for asset in record.assets)
    missing = ", ".join(asset.name for asset in record.assets if not asset.live) or "none"
    state = "published" if record.published else "not published"
    print(f"{text}; {uploaded} of {len(record.assets)} uploaded, missing: {missing}; {state}")


if __name__ == "__main__":
    main()
