"""Take the screenshots of the landing page: wheels by GPU family, with sizes of FlashInfer wheels.

``python docs/images/index_demo.py [CHROMIUM]`` writes index.png, index-dark.png and index-phone.png to this folder. It
requires Playwright and Pillow; CHROMIUM defaults to the one on PATH. Names, versions and test results are made up.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "pipeline"))

from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, Route, sync_playwright  # noqa: E402

from fatwheel.index.make_index import render_index  # noqa: E402 - the checkout's own
from fatwheel.records.index import Index, IndexedFile, Missing, NotPublished, Proof  # noqa: E402

SITE = "https://wheels.example.org/"
FAMILIES = {
    "sm9x": (["7.5", "8.0", "9.0a"], ["7.5", "8.0", "8.6", "8.9", "9.0"], 820),
    "sm10x": (["10.0a", "10.3a"], ["10.0", "10.3"], 957),
    "sm12x": (["12.0f"], ["12.0", "12.1"], 437),
}
TOOLKITS = {"cu130": "13.0", "cu129": "12.9"}
TESTS = {
    ("sm9x", "x86_64"): Proof(import_="passed", gpu="passed", device="NVIDIA H200", executed=["9.0"]),
    ("sm10x", "x86_64"): Proof(import_="passed", gpu="passed", device="NVIDIA B200", executed=["10.0"]),
}


def list_entries(version: str, *, nightly: bool = False) -> Iterator[IndexedFile]:
    for cuda, toolkit in TOOLKITS.items():
        for family, (targets, covers, size) in FAMILIES.items():
            for arch in ("x86_64", "aarch64"):
                if (cuda, family, arch) == ("cu129", "sm10x", "aarch64"):
                    continue
                file = f"mykernels-{version}+{cuda}.{family}-cp39-abi3-manylinux_2_28_{arch}.whl"
                page = f"{'nightly/' if nightly else ''}{cuda}/{family}/mykernels/"
                yield IndexedFile(
                    file=file, project="mykernels", version=f"{version}+{cuda}.{family}", nightly=nightly, page=page,
                    cuda=cuda, toolkit=toolkit, arch=arch, family=family, targets=targets, covers=covers,
                    bytes=(size + (110 if arch == "aarch64" else 0)) * 1_000_000 - len(file) * 1234,
                    sha256=hashlib.sha256(file.encode()).hexdigest(), tag=f"v{version}",
                    url=f"{SITE}releases/v{version}/{file.replace('+', '%2B')}",
                    proof=TESTS.get((family, arch), Proof(import_="passed")),
                )  # fmt: skip


def render_files() -> dict[str, bytes]:
    wheels = [*list_entries("0.7.0"), *list_entries("0.6.16"), *list_entries("0.7.1.dev20261130", nightly=True)]
    withheld = "mykernels-0.7.0+cu129.sm10x-cp39-abi3-manylinux_2_28_aarch64.whl"
    absent = NotPublished(file=withheld, tag="v0.7.0", outcome="withheld", reason="2.044 GiB, over the limit of 2 GiB")
    missing = Missing(project="mykernels", version="0.6.16", cuda="cu129", family="sm10x", arch="aarch64")
    return dict(render_index(Index(wheels=wheels, absent=[absent], missing=[missing])))


def main() -> None:
    pages = render_files()

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(SITE).partition("#")[0] or "index.html"
        route.fulfill(body=pages.get(path, b""), content_type="text/html", status=200 if path in pages else 404)

    chromium = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shoot(browser, answer, "index", (1160, 1080), "light")
        shoot(browser, answer, "index-dark", (1160, 1080), "dark")
        shoot(browser, answer, "index-phone", (390, 1250), "light")


def shoot(browser: Browser, answer: object, name: str, size: tuple[int, int], scheme: str) -> None:
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.route("**/*", answer)  # type: ignore[arg-type]
    page.goto(f"{SITE}#cuda=cu130&arch=x86_64&gpu=RTX+5090")
    picture = HERE / f"{name}.png"
    page.screenshot(path=picture)
    page.close()
    with Image.open(picture) as image:
        image.convert("RGB").quantize(128).save(picture, optimize=True)


if __name__ == "__main__":
    main()
