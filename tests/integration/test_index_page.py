"""The landing page in a real browser: Chromium, driven by Playwright, over HTTP."""

import re
import shlex
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.unit.index.assets import Shelf

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("chromium")]

FAMILIES = {"sm9x": ("8.0", "9.0"), "sm12x": ("12.0", "12.1")}
PROVIDERS = {"sm90a": ("9.0",), "sm120f": ("12.0", "12.1")}
LINUX = "py3-none-manylinux_2_28_{}"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    shelf = Shelf(tmp_path_factory.mktemp("page"))
    for cuda in ("cu129", "cu130"):
        for family, covers in FAMILIES.items():
            for arch in ("x86_64", "aarch64"):
                if (cuda, family) != ("cu129", "sm12x"):
                    shelf.wheel(f"1.0+{cuda}.{family}", covers=covers, tags=LINUX.format(arch))
    shelf.wheel("0.9+cu129.sm12x", "v0.9", covers=("12.0",), tags=LINUX.format("x86_64"))
    shelf.wheel("1.1.dev20260508+cu130.sm9x", "nightly", tags=LINUX.format("x86_64"))
    needs = [f"many-{target}==1.0+cu130 ; extra == '{target}'" for target in PROVIDERS]
    shelf.wheel("1.0+cu130", project="many", covers=(), tags="py3-none-any", requires=tuple(needs))
    for target, covers in PROVIDERS.items():
        shelf.wheel("1.0+cu130", project=f"many-{target}", covers=covers, tags=LINUX.format("x86_64"))
    shelf.index()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(shelf.root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/index/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright here")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium here")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, site):
    """Open the page; what the browser complains of fails the test."""
    opened, complaints = [], []

    def call(fragment="", **options):
        context = chromium.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto(f"{site}{fragment}")
        opened.append(context)
        return page

    yield call
    for context in opened:
        context.close()
    assert [one for one in complaints if "favicon" not in one and "404" not in one] == []


def command(page):
    return page.inner_text("#command")


def test_a_gpu_by_its_name_gives_the_command_for_its_wheel(visit, tmp_path):
    page = visit()
    assert "Choose your GPU" in page.inner_text("#answer")
    page.select_option("#gpu", "RTX 5090")
    assert "demo_kernels-1.0+cu130.sm12x-" in page.inner_text("#answer")
    shown = command(page)
    assert re.search(
        r'"demo-kernels @ http://[^ ]*sm12x-py3-none-manylinux_2_28_x86_64\.whl#sha256=[0-9a-f]{64}"', shown
    )
    words = shlex.split(shown.replace("\\\n", " "))
    assert words[:4] == ["python", "-m", "pip", "install"]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", tmp_path / "env", "install", "--dry-run", "--no-index", *words[4:]]
    answer = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert "Would install demo-kernels-1.0+cu130.sm12x" in answer.stdout, answer.stderr


def test_cpu_cuda_and_version_change_it(visit):
    page = visit("#gpu=H100")
    page.get_by_label("aarch64", exact=True).check()
    assert "cu130.sm9x-py3-none-manylinux_2_28_aarch64" in command(page)
    page.locator("#cuda label").nth(1).click()
    assert "cu129.sm9x" in command(page)
    page.select_option("#version", "1.1.dev20260508")
    assert "1.1.dev20260508%2Bcu130.sm9x-py3-none-manylinux_2_28_x86_64" in command(page)


def test_the_other_ways_to_install_are_shown(visit, site):
    page = visit("#gpu=H100")
    page.get_by_label("uv", exact=True).check()
    assert command(page).startswith("uv pip install")
    page.get_by_label("install_wheel.py", exact=True).check()
    assert f"curl -fsSLO {site}install_wheel.py" in command(page)
    assert f"--index-url {site}" in command(page)
    page.get_by_label("requirement", exact=True).check()
    assert command(page).startswith("demo-kernels @ http")
    assert f"demo-kernels==1.0+cu130.sm9x from {site}cu130/sm9x/" in page.inner_text("#note")


def test_a_gpu_without_a_wheel_is_told_so_and_where_there_is_one(visit):
    page = visit("#gpu=V100")
    assert "No wheel for these choices covers V100 (compute capability 7.0)" in page.inner_text("#answer")
    assert "No version on this page covers it" in page.inner_text("#answer")
    assert not page.is_visible("#command")
    page = visit("#gpu=RTX+5090&cuda=cu129")
    assert "Covered by 1.0 for CUDA 13.0 on x86_64" in page.inner_text("#answer")


def test_a_shim_brings_the_provider_that_the_gpu_needs(visit):
    page = visit("#project=many&gpu=B200")
    assert "No wheel" in page.inner_text("#answer")
    page.select_option("#gpu", "DGX Spark (GB10)")
    assert [option.inner_text() for option in page.locator("#project option").all()] == ["demo-kernels", "many"]
    assert '"many[sm120f] @ http' in command(page)
    assert '"many-sm120f @ http' in command(page)
    assert "sm90a" not in command(page)


def test_the_address_keeps_the_choice(visit):
    page = visit()
    page.select_option("#gpu", "A100")
    page.get_by_label("aarch64", exact=True).check()
    page.goto("about:blank")
    page.go_back()
    assert "sm9x-py3-none-manylinux_2_28_aarch64" in command(page)


def test_all_of_it_works_by_keyboard(visit):
    page = visit()
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        focused = page.evaluate("({id: document.activeElement.id, name: document.activeElement.name ?? ''})")
        seen.append(focused["id"] or focused["name"])
        outline = page.evaluate(
            "(() => { const one = document.activeElement; const shown = one.type === 'radio' ? one.nextSibling : one;"
            " return getComputedStyle(shown).outlineStyle; })()"
        )
        assert outline != "none", seen
        if focused["name"] == "arch":
            page.keyboard.press("ArrowRight")
        if focused["id"] == "gpu":
            page.keyboard.type("H100")
        if focused["id"] == "copy":
            page.keyboard.press("Enter")
            break
    assert {"version", "cuda", "arch", "gpu", "tool", "copy"} <= set(seen)
    assert "sm9x-py3-none-manylinux_2_28_aarch64" in command(page)
    page.wait_for_function("['Copied', 'Selected'].includes(document.getElementById('copy').textContent)")


def test_without_javascript_the_table_and_the_advice_are_there(visit):
    page = visit(java_script_enabled=False)
    assert not page.is_visible("#picker")
    assert page.is_visible("table")
    assert page.get_by_role("link", name="demo_kernels-1.0+cu130.sm12x").first.is_visible()
    assert page.locator("noscript code").last.is_visible()


@pytest.mark.parametrize("width", [320, 390, 768, 1100])
def test_nothing_runs_off_the_screen(visit, width):
    page = visit("#gpu=H100", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 700:
        shown = "[...document.querySelectorAll('select, .pills span, button')].filter((one) => one.offsetParent)"
        sizes = page.evaluate(f"{shown}.map((one) => one.getBoundingClientRect().height)")
        assert min(sizes) >= 30


_CONTRAST = """
() => {
  const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return colour(getComputedStyle(document.body).backgroundColor);
  };
  const found = [];
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.offsetParent || ["SCRIPT", "OPTION", "STYLE", "NOSCRIPT"].includes(one.tagName)) continue;
    const [a, b] = [light(colour(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), one.textContent.trim().slice(0, 40)]);
  }
  return found;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["#gpu=H100", "#gpu=V100"])
def test_all_text_can_be_read_in_light_and_dark(visit, scheme, fragment):
    page = visit(fragment, color_scheme=scheme)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", paper)[0]) < 128) == (scheme == "dark")
    found = page.evaluate(_CONTRAST)
    assert len(found) > 40
    assert [text for ratio, text in found if ratio < 4.5] == []
