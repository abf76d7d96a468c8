"""`fatwheel report`: input, output, the HTML report and exit codes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.records.report import Report
from fatwheel.report.history import read_history
from fatwheel.stores import open_store
from fatwheel.stores.directory import DirectoryStore
from tests.unit.report.samples import MIB, august, build_record, cell, module, put_release, wheel


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal wide enough for every line."""
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("store")
    august(place)
    return place


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Records of two wheels that are not in the folder."""
    folder = tmp_path / "records"
    for family, targets in (("sm9x", "8.0 9.0a"), ("sm12x", "8.0 12.0f")):
        made = cell("cu130", "x86_64", targets, family=family)
        held = wheel(made, [module(name, dict.fromkeys(made.targets, 30 * MIB), host=MIB) for name in ("rope", "norm")])
        build_record(made, held.bytes).write(folder / family / f"{made.wheel}.build.json")
        assert held.inventory
        (folder / family / f"{made.wheel}.inventory.json").write_text(held.inventory.to_json(), encoding="utf-8")
    return folder


def test_a_wheel_over_the_limit_exits_with_5_and_suggestions(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--store", f"dir:{store}"]) == 5
    said = capsys.readouterr()
    assert re.search(r"cu129-aarch64-all +2\.143 GiB +107\.2% +\+302 MiB, \+16\.0% +OVER", said.out)
    assert re.search(r"drop 12\.1a +1\.893 GiB +-", said.out)
    assert "the report found 2 errors:" in said.err


def test_the_json_is_the_record_and_nothing_else(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--store", f"dir:{store}", "--json"]) == 5
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (report.now, report.before) == ("nightly-20260814", "nightly-20260811")


def test_records_are_compared_with_the_newest_release(
    store: Path, records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--store", f"dir:{store}", "--records", str(records), "--json"]) == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert report.before == "nightly-20260814"
    assert [row.label for row in report.wheels] == ["cu130-x86_64-sm12x", "cu130-x86_64-sm9x"]
    assert {str(one.target) for one in report.unused_code} == {"8.0"}


def test_records_need_no_store(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--records", str(records)]) == 0
    shown = capsys.readouterr().out
    assert "no device of sm12x loads code for 8.0" in " ".join(shown.split())


def test_a_dispatch_table_finds_unused_and_missing_code(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "dispatch.json"
    table.write_text(json.dumps({"rope": {"rope": ["8.0"], "rope_sm90": ["9.0"]}}), encoding="utf-8")
    assert run(["report", "--records", str(records), "--dispatch", str(table), "--json"]) == 5
    report = Report.model_validate_json(capsys.readouterr().out)
    assert report.errors == ["cu130-x86_64-sm9x: covers 9.0, but rope has no code for it: no module matches"]
    assert ("rope", "9.0a") in {
        (one.module, str(one.target)) for one in report.unused_code if one.label == "cu130-x86_64-sm9x"
    }


def test_the_declared_limit_and_dispatch_apply(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(
        """\
version: "0.6.13"
packages:
  - name: flashinfer-jit-cache
    per: [cuda, arch]
    layout: family
    manylinux: "2_28"
    dispatch:
      - {modules: "norm*", capabilities: "9.0"}
    build: {kind: wheel, command: [make]}
cuda:
  cu130:
    toolkit: "13.0"
    targets: {x86_64: 8.0 9.0a 12.0f}
families:
  sm9x: {majors: [8, 9]}
  sm12x: {majors: [12], base: "8.0"}
size: {limit: 100 MiB, warn: 50 %}
""",
        encoding="utf-8",
    )
    assert run(["report", "--records", str(records), "--matrix", str(matrix), "--json"]) == 5
    report = Report.model_validate_json(capsys.readouterr().out)
    assert {row.level for row in report.wheels} == {"over"}
    unused = {(one.label, one.module, str(one.target)) for one in report.unused_code}
    assert ("cu130-x86_64-sm12x", "norm", "12.0f") in unused
    assert ("cu130-x86_64-sm9x", "norm", "9.0a") not in unused


def test_a_store_without_releases_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--store", f"dir:{tmp_path}"]) == 2
    assert "no published release with wheels in the store" in capsys.readouterr().err
    assert run(["report", "--no-matrix"]) == 2
    assert run(["report", "--records", str(tmp_path / "none")]) == 2
    assert run(["report", "--store", f"dir:{tmp_path}", "--channel", "nightly"]) == 2


def test_releases_without_a_manifest_still_have_sizes_and_a_history(tmp_path: Path) -> None:
    for day in range(1, 5):
        sizes = [(cell("cu130", "x86_64", "9.0a", f"1.0.dev2026080{day}"), 1000 + 10 * day)]
        put_release(tmp_path, f"n{day}", "", sizes, manifest=False)
    history = read_history(open_store(f"dir:{tmp_path}"))
    assert [snapshot.wheels[0].bytes for snapshot in history.snapshots] == [1010, 1020, 1030, 1040]
    days = [snapshot.day for snapshot in history.snapshots]
    assert [later - days[0] for later in days] == [0, 1, 2, 3]  # from the versions, since the store has no time
    assert history.snapshots[0].wheels[0].targets is None


def test_a_foreign_manifest_is_ignored_with_a_note(tmp_path: Path) -> None:
    put_release(tmp_path, "v1", "2026-08-01T00:00:00+00:00", [(cell("cu130", "x86_64", "9.0a"), 1000)])
    (tmp_path / "v1" / "manifest.json").write_text("[]", encoding="utf-8")
    history = read_history(open_store(f"dir:{tmp_path}"))
    assert history.notes == ("v1/manifest.json: ignored, since it is not a fatwheel manifest",)
    assert len(history.snapshots) == 1


def test_drafts_other_files_and_other_channels_are_ignored(tmp_path: Path) -> None:
    made = [(cell("cu130", "x86_64", "9.0a"), 1000)]
    put_release(tmp_path, "v1", "2026-08-01T00:00:00+00:00", made)
    put_release(tmp_path, ".draft-v2", "2026-08-02T00:00:00+00:00", made)
    put_release(tmp_path, "notes", "2026-08-03T00:00:00+00:00", [])
    put_release(tmp_path, "other-1", "2026-08-04T00:00:00+00:00", made)
    (tmp_path / "v1" / "not-a-wheel.whl").write_bytes(b"x")
    found = read_history(DirectoryStore(tmp_path), tags=re.compile("v.*"))
    assert [snapshot.tag for snapshot in found.snapshots] == ["v1"]
    assert len(found.snapshots[0].wheels) == 1
    assert read_history(DirectoryStore(tmp_path), most=1).notes == ("read only the newest 1 of 3 releases",)


def test_the_step_summary_has_errors_and_tables(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(["report", "--store", f"dir:{store}"]) == 5
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("## Wheel sizes\n\n- **cu129-aarch64-all: 153,545,082 bytes too large")
    assert "| cu129-aarch64-all | 2.143 GiB | 107.2% | +302 MiB, +16.0% | OVER |" in text


class _Page(HTMLParser):
    """The tags of a page, each closed, and its links."""

    VOID = frozenset({"meta", "br", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_report_is_self_contained(
    store: Path, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    assert run(["report", "--store", f"dir:{store}", "-o", str(out)]) == 5
    assert run(["report", "--records", str(records), "-o", str(tmp_path / "new")]) == 0
    capsys.readouterr()
    assert sorted(path.name for path in out.iterdir()) == ["index.html", "report.json"]
    for text in ((out / "index.html").read_text("utf-8"), (tmp_path / "new" / "index.html").read_text("utf-8")):
        page = _Page(text)
        assert page.open == []
        tags = [tag for tag, _ in page.seen]
        assert tags.count("svg") % 2 == 0  # one for wide pages, one for phones
        assert not {"script", "img", "link", "iframe"} & set(tags)
        assert {attrs["href"] for tag, attrs in page.seen if tag == "a"} == {"report.json"}
        ids = [attrs["id"] for _, attrs in page.seen if "id" in attrs]
        assert len(ids) == len(set(ids))
        assert "#0101" not in text  # all colors come from the style sheet
        assert "#0102" not in text
        assert all(attrs.get("aria-label") for tag, attrs in page.seen if tag == "figure")


def test_equal_reports_give_identical_pages(store: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a", "b"):
        run(["report", "--store", f"dir:{store}", "-o", str(tmp_path / name)])
    assert (tmp_path / "a" / "index.html").read_bytes() == (tmp_path / "b" / "index.html").read_bytes()


def test_only_the_html_report_requires_matplotlib(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fatwheel.report.plots.find_spec", lambda _: None)
    assert run(["report", "--store", f"dir:{store}", "-o", str(tmp_path / "out")]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert run(["report", "--store", f"dir:{store}"]) == 5
