"""Several stores read as one."""

import json
import os
from urllib.parse import unquote

import pytest

from fatwheel.__main__ import run
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.multi import MultiStore
from tests.unit.release.wheels import make_wheel


def filled(place, tag, version):
    wheel = make_wheel(place / "dist", "sm9x", version=version)
    store = DirectoryStore(place / "store")
    release(store, ReleaseRequest(tag=tag, files=(wheel,)))
    os.utime(wheel)
    return store


def test_all_releases_of_all_stores_with_their_assets(tmp_path):
    both = MultiStore([filled(tmp_path / "a", "v1", "1.0"), filled(tmp_path / "b", "v1", "1.1.dev20261201")])
    found = both.releases()
    assert [one.tag for one in found] == ["v1", "v1"]
    assert len({one.id for one in found}) == 2
    names = {a.name for one in found for a in both.assets(one) if a.name.endswith(".whl")}
    assert names == {f"demo-{v}+cu130.sm9x-cp39-abi3-manylinux_2_28_x86_64.whl" for v in ("1.0", "1.1.dev20261201")}
    assert len(both.find("v1")) == 2
    for one in found:
        assert both.by_id(one.id).id == one.id
        for asset in both.assets(one):
            content = b"".join(both.read(asset))
            assert len(content) == asset.size
            assert both.digest(asset).prefixed.startswith("sha256:")


def test_hidden_releases_are_hidden_in_their_own_store_alone(tmp_path):
    both = MultiStore([filled(tmp_path / "a", "v1", "1.0"), filled(tmp_path / "b", "v1", "1.1")])
    gone, kept = both.releases()
    assert [one.id for one in both.without(frozenset({gone.id})).releases()] == [kept.id]
    assert both.by_id("0/none") is None
    assert both.rules() == DirectoryStore(tmp_path).rules()
    assert both.spec.count("dir:") == 2


@pytest.mark.parametrize("command", ["deliver", "index"])
@pytest.mark.parametrize("base_url", [None, "https://wheels.example/files"])
def test_two_folders_become_one_index(tmp_path, command, base_url):
    for name, version in (("a", "1.0"), ("b", "1.1")):
        filled(tmp_path / name, f"v{version}", version)
    stores = [part for name in "ab" for part in ("--store", f"dir:{tmp_path / name / 'store'}")]
    extra = ["--base-url", base_url] if base_url else []
    assert run([command, *stores, "-o", str(tmp_path / "index"), *extra]) == 0
    wheels = json.loads((tmp_path / "index/index.json").read_text())["wheels"]
    assert sorted(wheel["tag"] for wheel in wheels) == ["v1.0", "v1.1"]
    for wheel in wheels:
        folder = tmp_path / ("a" if wheel["tag"] == "v1.0" else "b") / "store"
        if base_url:
            assert wheel["url"].startswith(f"{base_url}/{wheel['tag']}/demo-")
        else:
            assert (tmp_path / "index" / unquote(wheel["url"])).resolve().parent.parent == folder.resolve()
            assert (tmp_path / "index" / unquote(wheel["url"])).is_file()


def test_a_multi_store_knows_where_its_assets_are(tmp_path):
    both = MultiStore([filled(tmp_path / "a", "v1", "1.0"), filled(tmp_path / "b", "v1", "1.1")])
    assert both.folders() == (tmp_path / "a/store", tmp_path / "b/store")
    for one in both.releases():
        for asset in both.assets(one):
            path = both.local_path(asset)
            assert path.name == asset.name
            assert path.stat().st_size == asset.size
            assert (tmp_path / unquote(both.link(one, asset, tmp_path))) == path


def test_an_invalid_repository_is_rejected_before_anything_is_read(tmp_path, capsys):
    assert run(["deliver", "--store", f"dir:{tmp_path}", "--to", "dir:out"]) == 2
    assert capsys.readouterr().err == "error: --to: invalid repository 'dir:out'\n  help: write OWNER/REPO\n"
