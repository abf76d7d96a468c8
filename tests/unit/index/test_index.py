"""The index of a store: its pages, its data, excluded files, and atomic replacement."""

import json
import re
import threading
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import UsageError
from fatwheel.index import atomic_write, make_index
from fatwheel.records.build import BuildRecord, ToolchainRecord
from fatwheel.records.manifest import Absence, ManifestAsset
from fatwheel.records.plan import Cell
from fatwheel.records.smoke import Check, Device, SmokeRecord
from fatwheel.stores import open_store
from fatwheel.targets import dotted
from tests.unit.index.assets import Shelf, make_wheel


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_every_folder_has_a_page_and_families_share_the_cuda_page(shelf):
    for version in ("1.0+cu130.sm9x", "1.0+cu130.sm12x", "1.0+cu129", "1.1.dev20260508+cu130.sm9x"):
        shelf.wheel(version)
    shelf.wheel("1.0", project="pure.Helper", tags="py3-none-any")
    report = shelf.index()
    assert shelf.pages() == {
        ".", "cu129", "cu129/demo-kernels", "cu130", "cu130/demo-kernels", "cu130/sm9x", "cu130/sm9x/demo-kernels",
        "cu130/sm12x", "cu130/sm12x/demo-kernels", "nightly", "nightly/cu130", "nightly/cu130/demo-kernels",
        "nightly/cu130/sm9x", "nightly/cu130/sm9x/demo-kernels", "pure-helper",
    }  # fmt: skip
    assert report.pages == len(shelf.pages())
    assert len(shelf.files("cu130/demo-kernels")) == 2
    assert [text.split("-")[1] for text in shelf.files("cu130/sm12x/demo-kernels")] == ["1.0+cu130.sm12x"]
    assert shelf.files("cu130") == ["demo-kernels", "sm12x", "sm9x"]


def test_a_legacy_wheel_is_listed_beside_the_families_with_no_family(shelf):
    shelf.wheel("1.0+cu130", stamped=False)
    shelf.wheel("1.0+cu130.sm9x")
    shelf.index()
    assert [text.split("-")[1] for text in shelf.files("cu130/demo-kernels")] == ["1.0+cu130", "1.0+cu130.sm9x"]
    legacy = next(row for row in shelf.data().wheels if row.version == "1.0+cu130")
    assert (legacy.family, legacy.toolkit, legacy.targets, legacy.covers, legacy.proof) == (None,) * 5
    assert (legacy.cuda, legacy.arch) == ("cu130", "x86_64")


def test_links_have_the_plus_sign_escaped_once_and_the_hash(shelf):
    shelf.wheel(tag="v1.0+build")
    shelf.index("https://example.org/releases/download/")
    (anchor,) = shelf.links("cu130/sm9x/demo-kernels")
    assert anchor.text == "demo_kernels-1.0+cu130.sm9x-cp39-abi3-manylinux_2_28_x86_64.whl"
    row = shelf.data().wheels[0]
    file = anchor.text.replace("+", "%2B")
    assert anchor.href == f"https://example.org/releases/download/v1.0%2Bbuild/{file}#sha256={row.sha256}"
    assert row.url == anchor.href.partition("#")[0]


@pytest.mark.parametrize("page", ["cu130/demo-kernels", "cu130/sm9x/demo-kernels"])
def test_relative_links_lead_from_every_page_to_the_file(shelf, page):
    place = shelf.wheel()
    shelf.index()
    (anchor,) = shelf.links(page)
    assert shelf.target(page, anchor) == place


def test_an_index_may_share_its_folder_with_the_store(shelf):
    place = shelf.wheel()
    shelf.index(out=shelf.store)
    assert json.loads((shelf.store / "index.json").read_text())["wheels"][0]["url"].startswith("v1/")
    assert place.is_file()
    assert shelf.index(out=shelf.store).changed == []


def test_metadata_is_announced_under_both_names_where_its_file_exists(shelf):
    shelf.wheel("1.0+cu130.sm9x", metadata=True)
    shelf.wheel("1.0+cu130.sm12x")
    shelf.index()
    by_family = {anchor.text.split(".")[2].split("-")[0]: anchor for anchor in shelf.links("cu130/demo-kernels")}
    with_it, without = by_family["sm9x"].attributes, by_family["sm12x"].attributes
    assert with_it["data-core-metadata"] == with_it["data-dist-info-metadata"]
    assert with_it["data-core-metadata"].startswith("sha256=")
    assert not {"data-core-metadata", "data-dist-info-metadata"} & set(without)


@pytest.mark.parametrize("metadata", [True, False])
def test_requires_python_comes_from_the_metadata(shelf, metadata):
    shelf.wheel(metadata=metadata, requires_python=">=3.9,<4")
    shelf.index()
    (anchor,) = shelf.links("cu130/sm9x/demo-kernels")
    assert anchor.attributes["data-requires-python"] in {">=3.9,<4", "<4,>=3.9"}


def test_the_stamp_inside_a_wheel_says_what_it_covers(shelf):
    shelf.wheel(covers=("8.0", "9.0"))
    shelf.index()
    row = shelf.data().wheels[0]
    assert (row.toolkit, row.family, dotted(row.covers)) == ("13.0", "sm9x", "8.0 9.0")


def _records(place: Path, sha256: str) -> ManifestAsset:
    cell = Cell(
        id="cu130-x86_64-sm9x", package="demo-kernels", version="1.0", cuda="cu130", toolkit="13.0", arch="x86_64",
        family="sm9x", targets=["9.0a"], covers=["9.0"], local_version="cu130.sm9x", wheel=place.name, artifact="a",
        image=None, runner=None, smoke=None,
    )  # fmt: skip
    tools = ToolchainRecord(kind="none", release=None, nvcc=None, host_compiler=None)
    size = place.stat().st_size
    return ManifestAsset(
        name=place.name,
        size=size,
        sha256=sha256,
        build=BuildRecord(
            wheel=place.name, bytes=size, sha256=sha256, cell=cell, engine="host", toolchain=tools, commit=None
        ),
        smoke=SmokeRecord(
            wheel=place.name, sha256=sha256, import_=Check(outcome="passed"), gpu=Check(outcome="passed"),
            device=Device(name="H200", capability="9.0"), executed=["9.0"],
        ),
    )  # fmt: skip


def test_the_manifest_says_what_was_proven_and_what_is_missing(shelf):
    place = shelf.wheel(stamped=False)
    shelf.index()
    sha256 = shelf.data().wheels[0].sha256
    missing = Absence(name="demo_kernels-1.0+cu130.sm12x-py3-none-any.whl", outcome="withheld", reason="2 GiB")
    shelf.manifest(assets=[_records(place, sha256)], absent=[missing])
    shelf.index()
    row = shelf.data().wheels[0]
    assert (dotted(row.covers), row.proof.import_, row.proof.gpu, row.proof.device) == (
        "9.0",
        "passed",
        "passed",
        "H200",
    )
    assert [(one.file, one.outcome) for one in shelf.data().absent] == [(missing.name, "withheld")]
    page = (shelf.out / "index.html").read_text()
    assert "GPU-tested on H200 (9.0)" in page
    assert missing.name in page


def test_a_manifest_of_other_bytes_is_not_believed(shelf):
    place = shelf.wheel(stamped=False)
    about = _records(place, "0" * 64)
    shelf.manifest(assets=[about.model_copy(update={"size": about.size + 1})])
    shelf.index()
    row = shelf.data().wheels[0]
    assert row.sha256 != "0" * 64
    assert row.covers is None


def test_drafts_and_broken_off_uploads_are_not_listed(shelf):
    shelf.wheel()
    shelf.wheel("1.0+cu130.sm12x", ".draft-v2")
    half = shelf.wheel("1.0+cu130.sm10x")
    half.rename(half.with_name(f".part-{half.name}"))
    assert shelf.index().wheels == 1


def test_the_same_bytes_in_two_releases_are_listed_once(shelf):
    shelf.wheel(tag="v1")
    shelf.wheel(tag="v2")
    report = shelf.index()
    assert report.problems == []
    assert [row.tag for row in shelf.data().wheels] == ["v1"]
    assert len(shelf.links("cu130/demo-kernels")) == 1


def test_a_name_that_returns_with_other_bytes_stays_the_first_and_is_reported(shelf):
    shelf.wheel(tag="v1")
    shelf.wheel(tag="v2", body="changed = True\n")
    (problem,) = shelf.index().problems
    assert problem.startswith("v2/demo_kernels-1.0+cu130.sm9x")
    assert "differs from v1/" in problem
    assert [row.tag for row in shelf.data().wheels] == ["v1"]


def test_every_bad_file_is_reported_and_the_good_ones_are_indexed(shelf):
    good = shelf.wheel()
    shelf.put(good, name="demo-1.0.cu130-py3-none-any.whl")
    shelf.put(good, name="demo_kernels-2.0+cu130.sm9x-py3-none-any.whl")
    shelf.put(Path(__file__), name="broken-1.0-py3-none-any.whl")
    report = shelf.index()
    assert report.wheels == 1
    assert len(report.problems) == 3
    said = "\n".join(report.problems)
    assert "invalid wheel file name" in said
    assert "METADATA contains demo-kernels 1.0+cu130.sm9x, but the file name demo-kernels 2.0+cu130.sm9x" in said
    assert "invalid zip archive" in said


def test_an_sdist_is_on_the_projects_page_at_the_root(shelf):
    shelf.put(Path(__file__), name="demo_kernels-1.0.tar.gz")
    report = shelf.index()
    assert (report.wheels, report.sdists) == (0, 1)
    assert shelf.files("demo-kernels") == ["demo_kernels-1.0.tar.gz"]


def test_the_installer_lies_beside_the_pages(shelf):
    shelf.wheel()
    shelf.index()
    own = Path(__file__).resolve().parents[3] / "scripts" / "install_wheel.py"
    assert (shelf.out / "install_wheel.py").read_bytes() == own.read_bytes()


def test_an_empty_store_makes_an_empty_index(shelf):
    report = shelf.index()
    assert (report.wheels, report.pages) == (0, 1)
    assert shelf.data().wheels == []


def test_rebuilt_from_zero_it_has_the_same_bytes(shelf, tmp_path):
    for version in ("1.0+cu130.sm9x", "1.0+cu130.sm12x", "1.0+cu129"):
        shelf.wheel(version)
        shelf.index()
    shelf.index("https://example.org")
    shelf.index("https://example.org", tmp_path / "again")
    assert snapshot(shelf.out) == snapshot(tmp_path / "again")


def test_nothing_is_written_where_nothing_changed(shelf):
    shelf.wheel()
    assert shelf.index().changed == [
        "cu130",
        "index.html",
        "index.json",
        "index.schema.json",
        "install_wheel.py",
    ]
    before = {path: path.stat().st_mtime_ns for path in shelf.out.rglob("*")}
    assert shelf.index().changed == []
    assert {path: path.stat().st_mtime_ns for path in shelf.out.rglob("*")} == before


def test_what_left_the_store_leaves_the_index_and_other_files_stay(shelf):
    gone = shelf.wheel("1.0+cu129")
    shelf.wheel("1.0+cu130.sm9x")
    shelf.index()
    (shelf.out / "CNAME").write_text("wheels.example.org")
    (shelf.out / "docs").mkdir()
    (shelf.out / "docs" / "index.html").write_text("mine")
    gone.unlink()
    assert shelf.index().changed == ["cu129", "index.html", "index.json"]
    assert not (shelf.out / "cu129").exists()
    assert (shelf.out / "CNAME").is_file()
    assert (shelf.out / "docs" / "index.html").read_text() == "mine"
    assert not list(shelf.out.glob(".new-*"))


def test_a_foreign_folder_with_the_name_of_a_tree_is_an_error_and_nothing_changes(shelf):
    shelf.index()
    (shelf.out / "cu130").mkdir()
    (shelf.out / "cu130" / "notes.txt").write_text("mine")
    before = snapshot(shelf.out)
    shelf.wheel()
    with pytest.raises(UsageError, match="fatwheel did not write the existing cu130"):
        shelf.index()
    assert snapshot(shelf.out) == before


def test_a_folder_that_is_not_empty_and_contains_no_index_is_refused(shelf, capsys):
    shelf.wheel()
    (shelf.out / "src").mkdir(parents=True)
    (shelf.out / "index.html").write_text("my home page")
    command = ["index", "--store", f"dir:{shelf.store}", "-o", str(shelf.out)]
    assert run(command) == 2
    shown = capsys.readouterr().err
    assert "the output folder is not empty and contains no index" in shown
    assert "help: choose an empty folder, or one that `fatwheel index` wrote" in shown
    assert snapshot(shelf.out) == {"index.html": b"my home page"}


@pytest.mark.parametrize("lost", ["index.json", "index.html"])
def test_an_index_that_lost_a_root_file_is_rebuilt(shelf, lost):
    shelf.wheel()
    shelf.index()
    (shelf.out / lost).unlink()
    assert shelf.index().changed == [lost]


def test_hidden_files_do_not_make_a_folder_foreign(shelf):
    shelf.wheel()
    shelf.out.mkdir()
    (shelf.out / ".nojekyll").touch()
    assert shelf.index().wheels == 1


def test_a_branch_may_contain_other_files(shelf):
    shelf.wheel()
    shelf.out.mkdir()
    (shelf.out / "CNAME").write_text("wheels.example.org")
    make_index(open_store(f"dir:{shelf.store}"), shelf.out, among_files=True)
    assert (shelf.out / "CNAME").is_file()
    assert shelf.data().wheels


def test_an_interrupted_run_leaves_whole_trees_and_the_next_run_finishes(shelf, monkeypatch):
    shelf.wheel("1.0+cu130.sm9x")
    shelf.wheel("1.0+cu129")
    shelf.index()
    before = snapshot(shelf.out)
    shelf.wheel("1.1+cu130.sm9x", "v2")
    shelf.wheel("1.1+cu129", "v2")
    real, calls = atomic_write._exchange, []

    def breaks(new, place):
        calls.append(place.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(new, place)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_write, "_exchange", breaks)
        with pytest.raises(KeyboardInterrupt):
            shelf.index()
    after = snapshot(shelf.out)
    assert after.keys() == before.keys()
    changed = {path.split("/")[0] for path in after if after[path] != before[path]}
    assert changed == {"cu129"}
    shelf.index()
    assert len(shelf.files("cu130/demo-kernels")) == len(shelf.files("cu129/demo-kernels")) == 2


def test_without_an_exchange_in_one_step_trees_are_still_replaced(shelf, monkeypatch):
    monkeypatch.setattr("fatwheel.index.atomic_write.ctypes.CDLL", lambda _name: object())
    shelf.wheel("1.0+cu130.sm9x")
    shelf.index()
    shelf.wheel("1.1+cu130.sm9x", "v2")
    assert "cu130" in shelf.index().changed
    assert len(shelf.files("cu130/sm9x/demo-kernels")) == 2
    assert not list(shelf.out.glob(".new-*"))


def test_two_writers_at_once_leave_the_union(shelf):
    shelf.wheel("1.0+cu130.sm9x")
    wheels = [make_wheel(shelf.root, f"1.{n}+cu130.sm9x") for n in range(1, 5)]

    def work(wheel):
        shelf.put(wheel, "v1")
        shelf.index()

    threads = [threading.Thread(target=work, args=(wheel,)) for wheel in wheels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shelf.files("cu130/sm9x/demo-kernels")) == len(shelf.data().wheels) == 5


@pytest.mark.parametrize("url", ["example.org/whl", "ftp://example.org", "https://example.org/#x"])
def test_an_invalid_base_url_is_refused(shelf, url):
    shelf.wheel()
    with pytest.raises(UsageError, match="invalid base URL"):
        shelf.index(url)
    assert not list(shelf.out.iterdir())


def test_an_output_that_is_a_file_is_refused(shelf):
    shelf.out.write_text("")
    with pytest.raises(UsageError, match="cannot write the index"):
        shelf.index()


def test_the_landing_page_fetches_nothing_and_lists_everything(shelf):
    shelf.wheel()
    shelf.index()
    page = (shelf.out / "index.html").read_text()
    assert not re.search(r"<script[^>]*src|<link|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert "<a href='cu130/'>" in page
    assert "demo_kernels" in page.partition("<script")[0]


def test_the_picker_gets_dotted_capabilities_and_gpu_names(shelf):
    shelf.wheel(covers=("9.0", "12.0"))
    shelf.index()
    page = (shelf.out / "index.html").read_text()
    data = json.loads(page.partition('id="wheels">')[2].partition("</script>")[0])
    assert data["wheels"][0]["covers"] == ["9.0", "12.0"]
    assert {gpu["capability"]: gpu["names"] for gpu in data["gpus"]}["9.0"][:2] == ["H100", "H200"]


def test_metadata_cannot_inject_html_into_the_page(shelf):
    shelf.wheel(requires=("x==1.0 ; extra == '</script><b>'",))
    shelf.index()
    assert "</script><b>" not in (shelf.out / "index.html").read_text()


def test_the_command_reports_in_json_and_ends_with_5_when_files_are_left_out(shelf, capsys):
    good = shelf.wheel()
    shelf.put(good, name="demo-1.0.cu130-py3-none-any.whl")
    status = run(["index", "--store", f"dir:{shelf.store}", "-o", str(shelf.out), "--json"])
    shown = capsys.readouterr()
    assert status == 5
    assert json.loads(shown.out)["wheels"] == 1
    assert "demo-1.0.cu130-py3-none-any.whl" in shown.err


def test_the_command_says_what_it_wrote(shelf, capsys):
    shelf.wheel()
    assert run(["index", "--store", f"dir:{shelf.store}", "-o", str(shelf.out)]) == 0
    assert "1 wheel, 5 pages; changed: cu130, index.html" in capsys.readouterr().out


def test_the_schema_version_is_the_first_thing_in_the_data(shelf):
    shelf.index()
    assert next(iter(json.loads((shelf.out / "index.json").read_text()))) == "version"
