"""Draw the pictures of an HTML report: FlashInfer's published wheel sizes of August 2026, with a made-up history.

``python docs/images/report_demo.py CHROMIUM`` writes report.png and report-phone.png to its own folder. The sizes of 11
and 14 August are public; earlier ones are extrapolated backwards at a steady rate, 2.8 MiB per day for cu129.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "pipeline")]

from tests.unit.report.samples import AUGUST, GIB, MIB, TARGETS, cell, put_release  # noqa: E402 - from this checkout

RATES = {"cu128": 1.2, "cu129": 2.8, "cu130": 1.9}  # MiB per day
GAPS = {8, 17, 18, 30}  # days without a nightly
LAST, PUBLISHED = 39, 36  # 14 and 11 August, in days from 6 July


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        fill(place / "store")
        page = place / "page"
        command = [sys.executable, "-m", "fatwheel", "report", "--store", f"dir:{place / 'store'}", "-o", str(page)]
        subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
        for name, size in (("report", "1200,1180"), ("report-phone", "390,1180")):
            subprocess.run(
                [sys.argv[1], "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 f"--user-data-dir={place / name}", f"--window-size={size}", f"--screenshot={HERE / name}.png",
                 f"file://{page}/index.html"],
                check=True, capture_output=True,
            )  # fmt: skip


def fill(store: Path) -> None:
    """Fill a store with one nightly per day."""
    noise = random.Random(7)  # noqa: S311  (not for security)
    for number in range(LAST + 1):
        if number not in GAPS:
            day = date(2026, 7, 6) + timedelta(days=number)
            sizes = [
                (cell(cuda, arch, targets(cuda, arch, number), f"0.6.16.dev{day:%Y%m%d}"), size)
                for (cuda, arch), gib in AUGUST.items()
                if (size := size_on(number, RATES[cuda], gib, noise))
            ]
            put_release(store, f"nightly-{day:%Y%m%d}", f"{day}T02:00:00+00:00", sizes)


def targets(cuda: str, arch: str, number: int) -> str:
    """The targets of a wheel; the last nightly adds 12.1a on aarch64."""
    added = " 12.1a" if number == LAST and arch == "aarch64" and cuda != "cu128" else ""
    return TARGETS + (" 12.0f" if cuda != "cu128" else "") + added


def size_on(number: int, rate: float, gib: tuple[float, float], noise: random.Random) -> int:
    """The size in bytes: as published on the two known days, else extrapolated with noise."""
    if number in (PUBLISHED, LAST):
        return round(gib[number == LAST] * GIB)
    return round(gib[0] * GIB - (rate * (PUBLISHED - number) + noise.gauss(0, 2.0)) * MIB)


if __name__ == "__main__":
    main()
