"""What outlives a rebuild: yanked files, and names that stand for certain bytes; and what is read only once."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from fatwheel.__main__ import run
from fatwheel.errors import UsageError
from fatwheel.index import make_index, unyank, yank
from fatwheel.index.schema import generate_schema, read_schema
from fatwheel.stores import open_store
from tests.unit.index.assets import Shelf

SM9X, SM12X = (f"demo_kernels-1.0+cu130.{f}-cp39-abi3-manylinux_2_28_x86_64.whl" for f in ("sm9x", "sm12x"))


@pytest.fixture
def shelf(tmp_path):
    made = Shelf(tmp_path)
    made.wheel("1.0+cu130.sm9x")
    made.wheel("1.0+cu130.sm12x")
    made.index()
    return made


def yanked(shelf, page="cu130/demo-kernels"):
    return {a.text: a.attributes["data-yanked"] for a in shelf.links(page) if "data-yanked" in a.attributes}


def test_a_yanked_file_is_marked_on_every_page_and_in_the_data_with_its_reason(shelf):
    report = yank(shelf.out, [SM12X], 'crashes on "12.1" & more')
    assert report.files == [SM12X]
    for page in ("cu130/demo-kernels", "cu130/sm12x/demo-kernels"):
        assert yanked(shelf, page) == {SM12X: 'crashes on "12.1" & more'}
    assert {row.file: row.yanked for row in shelf.data().wheels} == {SM9X: None, SM12X: 'crashes on "12.1" & more'}


def test_yanking_survives_a_rebuild_and_is_taken_back(shelf):
    before = (shelf.out / "index.json").read_bytes()
    yank(shelf.out, ["demo_kernels-*sm12x*"], "wrong")
    shelf.wheel("1.1+cu130.sm9x", "v2")
    shelf.index()
    assert yanked(shelf) == {SM12X: "wrong"}
    assert shelf.index().changed == []
    (shelf.store / "v2").rename(shelf.root / "away")
    assert unyank(shelf.out, ["*sm12x*"]).files == [SM12X]
    shelf.index()
    assert yanked(shelf) == {}
    assert (shelf.out / "index.json").read_bytes() == before
    assert not (shelf.out / "index-state.json").exists()


def test_a_yanked_file_that_left_the_store_is_yanked_when_it_returns(shelf):
    yank(shelf.out, [SM12X], "wrong")
    place = shelf.store / "v1" / SM12X
    place.rename(shelf.root / "aside")
    shelf.index()
    (shelf.root / "aside").rename(place)
    shelf.index()
    assert yanked(shelf) == {SM12X: "wrong"}


@pytest.mark.parametrize(("what", "count"), [("demo-kernels==1.0", 2), ("Demo.Kernels == 1.0+cu130.sm9x", 1), ("*", 2)])
def test_a_version_without_a_label_stands_for_all_of_its_labels(shelf, what, count):
    assert len(yank(shelf.out, [what], "bad").files) == count


def test_what_names_nothing_is_an_error_and_nothing_changes(shelf):
    before = (shelf.out / "index.json").read_bytes()
    with pytest.raises(UsageError, match="matches no file in the index; did you mean") as error:
        yank(shelf.out, [SM9X, SM12X.replace("sm12x", "sm12"), "other==1"], "bad")
    assert "'other==1' matches no file in the index" in str(error.value)
    assert (shelf.out / "index.json").read_bytes() == before


def test_the_commands_yank_and_take_it_back(shelf, capsys):
    where = ["--index", str(shelf.out)]
    assert run(["yank", "demo-kernels==1.0", "--reason", "bad", *where]) == 0
    assert f"yanked: {SM9X}" in capsys.readouterr().out
    assert run(["yank", "--undo", SM9X, *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [SM9X]
    capsys.readouterr()
    assert run(["yank", "--undo", SM9X, "nothing.whl", *where]) == 2
    shown = capsys.readouterr().err
    assert f"'{SM9X}' matches no yanked file" in shown
    assert "'nothing.whl' matches no file in the index" in shown
    assert run(["yank", "x", "--reason", "bad"]) == 2


def test_bytes_that_changed_in_place_are_left_out_for_good_until_they_are_replaced(shelf):
    first = (shelf.store / "v1" / SM9X).read_bytes()
    shelf.wheel("1.0+cu130.sm9x", body="changed = True\n")
    for _ in range(2):
        (problem,) = shelf.index().problems
        assert "differs from the file that the index listed before, and is excluded" in problem
        assert shelf.files("cu130/demo-kernels") == [SM12X]
    (shelf.store / "v1" / SM9X).write_bytes(first)
    assert shelf.index().problems == []
    assert not (shelf.out / "index-state.json").exists()
    shelf.wheel("1.0+cu130.sm9x", body="changed = True\n")
    assert make_index(open_store(f"dir:{shelf.store}"), shelf.out, replace=["*sm9x*"]).problems == []
    assert shelf.index().problems == []
    assert len(shelf.files("cu130/demo-kernels")) == 2


def test_a_replaced_name_stands_for_the_newest_bytes_from_then_on(shelf):
    shelf.wheel("1.0+cu130.sm9x", "v2", body="changed = True\n")
    assert len(shelf.index().problems) == 1
    command = ["index", "--store", f"dir:{shelf.store}", "-o", str(shelf.out), "--replace", SM9X]
    assert run(command) == 0
    assert shelf.index().problems == []
    assert {row.file: row.tag for row in shelf.data().wheels} == {SM9X: "v2", SM12X: "v1"}
    shelf.wheel("1.0+cu130.sm9x", "v3", body="changed = 3\n")
    (problem,) = shelf.index().problems
    assert problem.startswith(f"v3/{SM9X}")


def test_replacing_what_is_not_published_is_said(shelf):
    report = make_index(open_store(f"dir:{shelf.store}"), shelf.out, replace=["nothing.whl"])
    assert report.problems == ["nothing.whl: no published file has this name"]


def test_index_json_follows_its_published_schema(shelf):
    yank(shelf.out, [SM12X], "bad")
    shelf.wheel("1.0+cu129.sm9x", tags="cp39-abi3-manylinux_2_28_aarch64", stamped=False)
    shelf.index()
    schema = json.loads((shelf.out / "index.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads((shelf.out / "index.json").read_text())
    jsonschema.validate(document, schema)
    assert document["missing"]
    assert "covers" in schema["$defs"]["IndexedFile"]["required"]
    assert len((shelf.out / "index.json").read_text().splitlines()) > len(document["wheels"])


def test_the_schema_is_that_of_the_records():
    assert read_schema().decode() == generate_schema(), "run python pipeline/fatwheel/index/schema.py"


def test_with_a_cache_the_bytes_are_the_same_whatever_came_in_between(shelf, tmp_path):
    def build(out, cache=None):
        return make_index(open_store(f"dir:{shelf.store}"), out, cache=cache)

    out, cache = tmp_path / "cached", tmp_path / "cache"
    for step in (
        lambda: None,
        lambda: None,
        lambda: shelf.wheel("1.1+cu130.sm9x", "v2", metadata=True),
        lambda: shelf.wheel("1.1+cu130.sm12x", "v2"),
        lambda: shelf.manifest("v2", absent=[{"name": "x.whl", "outcome": "withheld", "reason": "2 GiB"}]),
        (shelf.store / "v1" / SM9X).unlink,
        (shelf.store / "v2" / "manifest.json").unlink,
        (out / "index.json").unlink,
        lambda: [place.write_text("{") for place in cache.rglob("*.json")],
        lambda: (shelf.store / "v2").rename(shelf.root / "away"),
    ):
        step()
        build(out, cache)
        build(tmp_path / "fresh")
        for file in ("index.json", "index.html", "cu130/demo-kernels/index.html"):
            assert (out / file).read_bytes() == (tmp_path / "fresh" / file).read_bytes()


def test_a_release_that_is_as_it_was_is_not_read_again(shelf, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    store = open_store(f"dir:{shelf.store}")
    make_index(store, shelf.out, cache=cache)
    shelf.wheel("1.1+cu130.sm9x", "v2")
    asked, real = [], store.assets
    monkeypatch.setattr(store, "assets", lambda release: asked.append(release.tag) or real(release))
    assert make_index(store, shelf.out, cache=cache).wheels == 3
    assert asked == ["v2"]
    shelf.wheel("1.0+cu130.sm9x", "v1", body="changed in place\n")
    assert len(make_index(store, shelf.out, cache=cache).problems) == 1


def test_what_is_yanked_is_read_from_the_state_also_where_nothing_else_is_new(shelf, tmp_path):
    store, cache = open_store(f"dir:{shelf.store}"), tmp_path / "cache"
    make_index(store, shelf.out, cache=cache)
    state = shelf.out / "index-state.json"
    state.write_text(json.dumps({"version": 1, "yanked": {SM12X: "bad"}, "digests": {}}))
    make_index(store, shelf.out, cache=cache)
    assert {row.file: row.yanked for row in shelf.data().wheels} == {SM9X: None, SM12X: "bad"}
    state.unlink()
    make_index(store, shelf.out, cache=cache)
    assert [row.yanked for row in shelf.data().wheels] == [None, None]


def test_a_cache_that_cannot_be_written_is_only_a_warning(shelf):
    report = make_index(open_store(f"dir:{shelf.store}"), shelf.out, cache=Path("/proc/fatwheel"))
    assert report.wheels == 2
    (warning,) = [note for note in report.notes if note.startswith("warning: ")]
    assert re.fullmatch(r"warning: cannot write the cache in /proc/fatwheel/\S+: .+; continuing without it", warning)
