"""sccache around a build: what it saves, and that nothing it does makes a build red."""

import json
import os
import shutil
from pathlib import Path

import pytest

from fatwheel.building.build_cell import build_cell
from fatwheel.building.job import BuildOverrides
from tests.unit.building.samples import environment, program, pure

pytestmark = pytest.mark.integration

# Three C++ files, compiled as a project does that knows launchers.
SCRIPT = """
import hashlib, os, subprocess
launcher = sys.argv[4:]
place = pathlib.Path(out, "demo")
place.mkdir()
for name in "abc":
    path = pathlib.Path(os.environ["TMPDIR"], name + ".cc")
    path.write_text(f"int {name}() {{ return 1; }}\\n")
    line = [part for part in launcher if part] + ["g++", "-O2", "-c", str(path), "-o", str(path) + ".o"]
    assert subprocess.run(line).returncode == 0, line
    (place / name).write_text(hashlib.sha256(pathlib.Path(str(path) + ".o").read_bytes()).hexdigest())
    assert "AWS_SECRET_ACCESS_KEY" not in os.environ
"""

needs_sccache = pytest.mark.skipif(shutil.which("sccache") is None, reason="there is no sccache on PATH")


def build(tmp_path, cache="auto", script=SCRIPT, out="dist", **environ):
    declaration, planned = pure(tmp_path / "project", script, more=', "{launcher}"')
    said = []
    record = build_cell(
        declaration, planned, tmp_path / out, environ=environment(tmp_path / "cache", **environ), notify=said.append,
        tuning=BuildOverrides(cache=cache),
    )  # fmt: skip
    return record, said


@needs_sccache
def test_a_second_build_takes_everything_from_the_cache_and_gives_the_same_bytes(tmp_path):
    cold, said = build(tmp_path)
    warm, _ = build(tmp_path, out="again")
    assert (cold.cache.hits, cold.cache.misses, cold.cache.errors, cold.cache.kind) == (0, 3, 0, "local")
    assert (warm.cache.hits, warm.cache.misses, warm.cache.mode) == (3, 0, "write")
    assert cold.sha256 == warm.sha256
    assert said[-1].endswith("; cache: write")
    figures = json.loads((tmp_path / "again" / f"{warm.wheel}.cache.json").read_text())
    assert figures["sccache"]["stats"]["compile_requests"] == 3
    assert not [one for one in Path("/proc").glob("[0-9]*/comm") if is_ours(one, tmp_path)]


def is_ours(comm, tmp_path):
    """Whether a process is an sccache of this test's builds."""
    try:
        return comm.read_text() == "sccache\n" and str(tmp_path).encode() in (comm.parent / "environ").read_bytes()
    except OSError:
        return False


@needs_sccache
def test_who_may_only_read_writes_nothing(tmp_path):
    shared = {"SCCACHE_DIR": tmp_path / "shared"}
    build(tmp_path, "read", **shared)
    assert build(tmp_path, "read", out="two", **shared)[0].cache.hits == 0
    build(tmp_path, "write", out="three", **shared)
    assert build(tmp_path, "read", out="four", **shared)[0].cache.hits == 3


def test_without_sccache_and_with_off_there_is_no_cache(tmp_path):
    assert build(tmp_path, "off")[0].cache is None
    assert build(tmp_path, FATWHEEL_SCCACHE=tmp_path / "nothing", out="two")[0].cache is None


@needs_sccache
def test_a_place_that_cannot_be_written_costs_only_time(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    record, _ = build(tmp_path, SCCACHE_DIR=tmp_path / "file")
    assert record.cache.hits == 0
    assert record.cache.reason or record.cache.errors or record.cache.misses


@needs_sccache
def test_a_shared_cache_that_is_not_reached_costs_only_time(tmp_path):
    bucket = {"SCCACHE_BUCKET": "b", "SCCACHE_ENDPOINT": "http://127.0.0.1:1", "SCCACHE_REGION": "auto",
              "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "hidden-key"}  # fmt: skip
    record, _ = build(tmp_path, **bucket)
    assert (record.cache.kind, record.cache.hits) == ("s3", 0)
    assert record.cache.reason
    assert "hidden-key" not in record.to_json()


@pytest.mark.parametrize("words", ["echo 'sccache: error: disk on fire' >&2; exit 1", "kill -SEGV $$"])
def test_an_sccache_that_always_fails_costs_only_time(tmp_path, words):
    broken = program(tmp_path / "bin" / "sccache", words)
    record, _ = build(tmp_path, FATWHEEL_SCCACHE=broken)
    assert (record.cache.hits, record.cache.misses) == (0, 0)
    assert record.cache.reason


def test_an_sccache_that_starts_and_then_fails_is_left_out_after_the_third_time(tmp_path):
    text = f"""
case "$1" in
  --start-server|--stop-server) ;;
  --show-stats) echo '{{"stats": {{}}}}' ;;
  *) echo x >> {tmp_path}/tries; echo 'sccache: error: Connection reset by peer' >&2; exit 2 ;;
esac
"""
    script = SCRIPT.replace('"abc"', '"abcde"')
    record, _ = build(tmp_path, FATWHEEL_SCCACHE=program(tmp_path / "bin" / "sccache", text), script=script)
    assert (record.cache.errors, (tmp_path / "tries").read_text().count("x")) == (3, 3)
    assert record.cache.reason == "3 compilations bypassed the cache: sccache: error: Connection reset by peer"


def test_a_compiler_that_fails_is_the_compilers_own_failure(tmp_path):
    from fatwheel.errors import BuildError

    text = 'case "$1" in --show-stats) echo "{}";; --*) ;; *) shift; exit 1;; esac'
    broken = program(tmp_path / "bin" / "sccache", text)
    script = SCRIPT.replace("return 1;", "return x;")
    with pytest.raises(BuildError, match="was not declared in this scope"):
        build(tmp_path, FATWHEEL_SCCACHE=broken, script=script)


@needs_sccache
def test_a_shared_cache_on_s3(tmp_path):
    moto = pytest.importorskip("moto.server", reason="there is no moto server here")
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        import urllib.request

        urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/bucket", method="PUT")).close()
        place = {"SCCACHE_BUCKET": "bucket", "SCCACHE_ENDPOINT": f"http://{host}:{port}", "SCCACHE_REGION": "us-east-1",
                 "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}  # fmt: skip
        assert build(tmp_path, **place)[0].cache.misses == 3
        found = build(tmp_path, "read", out="again", **place)[0].cache
        assert (found.kind, found.mode, found.hits) == ("s3", "read", 3)
    finally:
        server.stop()


def test_no_server_stays_of_a_build_that_is_ended(tmp_path):
    from fatwheel.errors import BuildTimeout

    if shutil.which("sccache") is None:
        pytest.skip("there is no sccache on PATH")
    declaration, planned = pure(tmp_path / "project", "import time\ntime.sleep(300)", more=', "{launcher}"')
    with pytest.raises(BuildTimeout) as caught:
        build_cell(
            declaration, planned, tmp_path / "dist", environ=environment(tmp_path / "cache"), notify=lambda _: None,
            tuning=BuildOverrides(silence=1.0),
        )  # fmt: skip
    where = str(caught.value.help).partition("diagnostics: ")[2].partition(";")[0]
    assert "Compile requests" in Path(where).read_text()
    assert not [one for one in Path("/proc").glob("[0-9]*/comm") if is_ours(one, tmp_path)]
    assert os.environ.get("FATWHEEL_SCCACHE") is None
