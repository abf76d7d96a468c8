"""Nothing is lost between a file name and the pages, and the installer orders versions as packaging does."""

import importlib.util
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from fatwheel.index.file_names import parse_file_name
from fatwheel.index.make_index import render_index
from fatwheel.records.index import Index, IndexedFile

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "install_wheel.py"


def _installer():
    spec = importlib.util.spec_from_file_location("install_wheel_properties", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = _installer()

numbers = st.integers(0, 30)
parts = st.lists(numbers, min_size=1, max_size=4).map(lambda found: ".".join(map(str, found)))
publics = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "1!"]),
    parts,
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["a", "b", "rc"]), numbers)),
    st.one_of(st.just(""), numbers.map(".post{}".format)),
    st.one_of(st.just(""), numbers.map(".dev{}".format)),
)
labels = st.sampled_from(["", "+cu130", "+cu130.sm9x", "+cu129.sm120f", "+cpu", "+cu124torch2.4"])
tags = st.sampled_from(["py3-none-any", "cp39-abi3-manylinux_2_28_aarch64", "cp312-cp312-manylinux_2_28_x86_64"])
projects = st.sampled_from(["demo", "Demo_Kernels", "a.b-c"])
files = st.builds(
    lambda project, version, label, tag: f"{project.replace('-', '_')}-{version}{label}-{tag}.whl",
    projects, publics, labels, tags,
)  # fmt: skip


def row(file: str) -> IndexedFile:
    name = parse_file_name(file)
    url = f"https://example.org/v1/{file.replace('+', '%2B')}"
    return IndexedFile(
        file=file, project=name.project, version=str(name.version), nightly=name.nightly, page=name.pages[-1],
        cuda=name.cuda, family=name.family, arch=name.arch, bytes=1, sha256="a" * 64, url=url, tag="v1",
    )  # fmt: skip


@given(st.lists(files, max_size=8, unique=True))
def test_every_file_is_on_its_pages_once_and_the_order_of_reading_does_not_matter(found):
    rows = [row(file) for file in found]
    made = render_index(Index(wheels=rows))
    pages = {path: data for path, data in made.items() if path.endswith("/index.html")}
    again = render_index(Index(wheels=rows[::-1]))
    assert pages == {path: data for path, data in again.items() if path.endswith("/index.html")}
    for one in rows:
        listed = [path for path, data in pages.items() if f">{one.file}</a>".encode() in data]
        assert sorted(listed) == sorted(f"{page}index.html" for page in parse_file_name(one.file).pages)
        assert f"{one.page}index.html" in listed
        assert all(pages[path].count(f">{one.file}</a>".encode()) == 1 for path in listed)


@given(files)
def test_a_link_leads_to_the_very_name(file):
    page = render_index(Index(wheels=[row(file)]))[f"{row(file).page}index.html"].decode()
    href = page.partition('href="')[2].partition('"')[0]
    assert unquote(urlsplit(href).path).rpartition("/")[2] == file
    assert "%25" not in href
    assert "+" not in href


@given(publics, publics)
def test_the_installer_orders_versions_as_packaging_does(one, other):
    mine, theirs = tool.Version.parse(one).key, tool.Version.parse(other).key
    assert (mine < theirs, mine == theirs) == (Version(one) < Version(other), Version(one) == Version(other))
    assert tool.Version.parse(one).dev == Version(one).is_devrelease
