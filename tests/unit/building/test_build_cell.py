"""One cell becomes one verified wheel and its record, or nothing at all and an error that says why."""

import json
import platform
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from fatwheel.building.build_cell import build_cell, can_build
from fatwheel.declaration import load
from fatwheel.errors import BuildError, UsageError, VerificationError
from fatwheel.plan import make_plan
from fatwheel.records.build import BuildRecord
from fatwheel.records.smoke import Check, SmokeRecord
from tests.unit.building.samples import GOOD_TREE, cell, environment, fake_nvcc, pure
from tests.unit.building.test_environment import wheel
from tests.unit.building.test_variables import declared
from tests.unit.test_processes import gone

WHEEL = "demo-1.0-py3-none-any.whl"
RECORD = f"{WHEEL}.build.json"
STALE = GOOD_TREE + "(place / 'about.txt').write_text('nothing')"


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One cache for all, so that the build environment is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where builds work, to see what they leave."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def build(tmp_path, cache, script, *, out="dist", modules=None, fake_size=None, **about):
    declaration, planned = pure(tmp_path / "project", script, **about)
    return build_cell(
        declaration, planned, tmp_path / out, environ=environment(cache), modules=modules, fake_size=fake_size,
        notify=lambda _: None,
    )  # fmt: skip


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_a_tree_becomes_a_wheel_and_its_record(tmp_path, cache, temporary):
    report = '{"modules": [], "excluded_modules": [{"name": "norm", "reason": "no target"}]}'
    record = build(tmp_path, cache, GOOD_TREE + f"pathlib.Path(report).write_text('{report}')")
    assert names(tmp_path / "dist") == [WHEEL, RECORD]
    assert BuildRecord.read(tmp_path / "dist" / RECORD) == record
    assert record.bytes == (tmp_path / "dist" / WHEEL).stat().st_size
    assert (record.engine, record.toolchain.kind, record.slice, record.placeholder) == ("host", "none", None, False)
    assert [row.reason for row in record.excluded_modules] == ["no target"]
    with zipfile.ZipFile(tmp_path / "dist" / WHEEL) as archive:
        stamp = json.loads(archive.read("demo-1.0.dist-info/fatwheel.json"))
    assert (stamp["distribution"], stamp["version"], stamp["slice"]) == ("demo", "1.0", None)
    assert names(temporary) == []


def test_the_same_sources_give_the_same_bytes(tmp_path, cache):
    assert build(tmp_path, cache, GOOD_TREE).sha256 == build(tmp_path, cache, GOOD_TREE, out="again").sha256


def test_a_projects_own_wheel_is_taken_and_stamped(tmp_path, cache):
    folder = wheel(tmp_path / "made", "demo")
    record = build(tmp_path, cache, f"import shutil\nshutil.copy('{folder}/{WHEEL}', out)", kind="wheel")
    assert names(tmp_path / "dist") == [WHEEL, RECORD]
    with zipfile.ZipFile(tmp_path / "dist" / WHEEL) as archive:
        assert "demo-1.0.dist-info/fatwheel.json" in archive.namelist()
    assert record.wheel == WHEEL


def failing(tmp_path, cache, script, kind=BuildError, **about):
    """The error of a build that fails, after which nothing new is in the folder for wheels."""
    with pytest.raises(kind) as caught:
        build(tmp_path, cache, script, **about)
    assert names(tmp_path / "dist") == []
    return caught.value


def test_a_command_that_fails_shows_its_last_words_and_where_the_rest_is(tmp_path, cache, temporary):
    error = failing(tmp_path, cache, "for i in range(50): print('line', i)\nsys.exit('kernel.cu: no such thing')")
    assert error.exit_code == 4
    assert error.what.startswith("the build command exited with code 1; its last lines:")
    shown = error.what.splitlines()[1:]
    assert (len(shown), shown[0], shown[-1]) == (20, "  | line 31", "  | kernel.cu: no such thing")
    log = Path(str(error.help).rpartition(" ")[2])
    assert log == cache / "failed" / f"{WHEEL}.build.log"
    assert len(log.read_text().splitlines()) == 51
    assert names(temporary) == []


def test_a_cache_that_takes_no_output_does_not_hide_the_failure(tmp_path):
    own = tmp_path / "cache"
    own.mkdir()
    (own / "failed").touch()
    error = failing(tmp_path, own, "sys.exit('the reason')")
    assert "the reason" in error.what
    assert f"not kept (cannot write to {own}/failed: File exists)" in str(error.help)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("ld: cannot write: No space left on device", "the disk is full: free disk space, or set TMPDIR"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "out of memory: use fewer jobs"),
    ],
)
def test_a_cause_outside_the_code_is_told(tmp_path, cache, words, advice):
    assert str(failing(tmp_path, cache, f"sys.exit({words!r})").help).startswith(advice)


def test_a_command_that_is_killed_says_so(tmp_path, cache):
    error = failing(tmp_path, cache, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert "was killed by SIGKILL; its last lines:\n  | (no output)" in error.what
    assert "probably out of memory" in str(error.help)


def test_a_disk_that_fills_up_under_the_wheel_is_said_so(tmp_path, cache, small_disk):
    script = GOOD_TREE + "import os\n(place / 'big').write_bytes(os.urandom(2 << 20))"
    with pytest.raises(BuildError, match="the disk is full") as caught:
        build(tmp_path, cache, script, out=small_disk / "dist")
    assert caught.value.exit_code == 4
    assert str(small_disk) in str(caught.value.where)
    assert names(small_disk) == []


def test_too_little_room_for_a_build_is_said_before_it_begins(tmp_path, cache, small_disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    error = failing(tmp_path, cache, GOOD_TREE)
    assert error.what.startswith("the build of demo needs 191 MiB, and ")
    assert "set TMPDIR to a folder on another disk" in str(error.help)


def test_a_command_that_leaves_nothing(tmp_path, cache):
    error = failing(tmp_path, cache, "pathlib.Path(out, 'empty').mkdir()")
    assert (error.exit_code, error.what) == (4, "the build command succeeded but produced no files")
    assert "to {out}" in str(error.help)
    assert f"output of the build command: {cache}/failed/{WHEEL}.build.log" in str(error.help)


def test_a_command_that_leaves_no_wheel(tmp_path, cache):
    assert "produced no wheel" in failing_wheel(tmp_path, cache, "").what


def test_a_command_that_leaves_two_wheels(tmp_path, cache):
    script = "for n in 'ab': pathlib.Path(out, f'{n}-1.0-py3-none-any.whl').touch()"
    error = failing_wheel(tmp_path, cache, script)
    assert "produced 2 wheels: a-1.0-py3-none-any.whl, b-1.0-py3-none-any.whl" in error.what


def test_a_wheel_of_another_name(tmp_path, cache):
    error = failing_wheel(tmp_path, cache, "pathlib.Path(out, 'demo-1.1-py3-none-any.whl').touch()")
    start, _, rest = error.what.partition(":\n")
    assert start == f"the build command made demo-1.1-py3-none-any.whl, but the wheel of this cell is {WHEEL}"
    assert "version 1.1, but `version` is 1.0" in rest


def test_a_wheel_that_is_no_wheel(tmp_path, cache):
    script = f"pathlib.Path(out, {WHEEL!r}).write_text('not a zip file')"
    assert failing_wheel(tmp_path, cache, script, VerificationError).exit_code == 5


def failing_wheel(tmp_path, cache, script, kind=BuildError):
    with pytest.raises(kind) as caught:
        build(tmp_path, cache, script, kind="wheel")
    assert names(tmp_path / "dist") == []
    return caught.value


def test_a_report_that_cannot_be_read(tmp_path, cache):
    error = failing(tmp_path, cache, GOOD_TREE + "pathlib.Path(report).write_text('{\"modules\": 3}')")
    assert "an invalid report: modules" in error.what


def test_a_tree_that_no_wheel_can_hold(tmp_path, cache):
    error = failing(tmp_path, cache, GOOD_TREE + "pathlib.Path(out, 'link').symlink_to('/etc/passwd')")
    assert "a symbolic link" in error.what
    assert error.exit_code == 4


def test_what_stamp_files_say_is_made_to_agree(tmp_path, cache):
    record = build(tmp_path, cache, GOOD_TREE.replace("{version}", "0.9"), stamp="demo/*.py")
    with zipfile.ZipFile(tmp_path / "dist" / record.wheel) as archive:
        assert archive.read("demo/__init__.py") == b"__version__ = '1.0'\n"


def test_a_projects_own_wheel_is_made_to_agree_too(tmp_path, cache):
    script = f"""
import zipfile
with zipfile.ZipFile(pathlib.Path(out, {WHEEL!r}), "w") as archive:
    archive.writestr("demo/__init__.py", "__version__ = '0.0.0'")
    archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.4\\nName: demo\\nVersion: 1.0\\n")
    archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    archive.writestr("demo-1.0.dist-info/RECORD", "")
"""
    record = build(tmp_path, cache, script, kind="wheel", stamp="demo/__init__.py")
    with zipfile.ZipFile(tmp_path / "dist" / record.wheel) as archive:
        assert archive.read("demo/__init__.py") == b"__version__ = '1.0'"


def test_a_wheel_without_a_licence_text_is_not_packed(tmp_path, cache):
    declaration, planned = pure(tmp_path / "project", GOOD_TREE)
    (tmp_path / "project" / "LICENSE").unlink()
    with pytest.raises(BuildError, match="demo: no license file found in the sources") as caught:
        build_cell(declaration, planned, tmp_path / "dist", environ=environment(cache), notify=lambda _: None)
    assert "declare `metadata.license_files`" in str(caught.value.help)


def test_a_stamp_file_that_the_build_does_not_leave(tmp_path, cache):
    error = failing(tmp_path, cache, GOOD_TREE, stamp="demo/_build.py")
    assert error.what == "the build made no file that matches `stamp: demo/_build.py`"


def test_a_wheel_that_does_not_match_its_cell_is_not_left_under_its_name(tmp_path, cache):
    error = failing(tmp_path, cache, STALE, VerificationError, stamp="demo/about.txt")
    assert error.exit_code == 5
    assert "1 error\n  stamp-stale: demo/about.txt: it contains neither a version nor a list of targets" in error.what
    kept = Path(str(error.help).rpartition(" ")[2])
    assert kept == cache / "failed" / f"rejected-{WHEEL}"
    assert zipfile.is_zipfile(kept)


def test_what_was_finished_stays_when_a_later_build_fails(tmp_path, cache):
    build(tmp_path, cache, GOOD_TREE)
    before = {path.name: path.read_bytes() for path in (tmp_path / "dist").iterdir()}
    with pytest.raises(BuildError):
        build(tmp_path, cache, "sys.exit(1)")
    with pytest.raises(VerificationError):
        build(tmp_path, cache, STALE, stamp="demo/about.txt")
    assert {path.name: path.read_bytes() for path in (tmp_path / "dist").iterdir()} == before


@pytest.mark.parametrize("same", [True, False])
def test_a_smoke_record_goes_with_the_bytes_that_it_is_of(tmp_path, cache, same):
    record = build(tmp_path, cache, GOOD_TREE)
    smoke = SmokeRecord(wheel=WHEEL, sha256=record.sha256, import_=Check(outcome="passed"))
    smoke.write(tmp_path / "dist" / f"{WHEEL}.smoke.json")
    build(tmp_path, cache, GOOD_TREE if same else GOOD_TREE + "(place / 'more.py').touch()")
    assert (f"{WHEEL}.smoke.json" in names(tmp_path / "dist")) is same


def test_a_slice_is_marked_in_its_record_and_its_wheel(tmp_path, cache):
    record = build(tmp_path, cache, GOOD_TREE, modules=["rope", "page"], more=', "{modules}"')
    assert record.slice == ["rope", "page"]
    with zipfile.ZipFile(tmp_path / "dist" / WHEEL) as archive:
        assert json.loads(archive.read("demo-1.0.dist-info/fatwheel.json"))["slice"] == ["rope", "page"]


def test_a_package_that_has_no_modules_builds_no_slice(tmp_path, cache):
    error = failing(tmp_path, cache, GOOD_TREE, UsageError, modules=["rope"])
    assert error.exit_code == 2


def test_a_fake_build_makes_a_placeholder_of_the_size_without_the_command(tmp_path, cache):
    record = build(tmp_path, cache, "sys.exit(1)", fake_size=5_000_000, stamp="demo/__init__.py")
    assert (record.bytes, record.placeholder, record.toolchain.kind) == (5_000_000, True, "none")
    assert (tmp_path / "dist" / WHEEL).stat().st_size == 5_000_000


SDIST = "demo-1.0.tar.gz"
GOOD_SDIST = """
import io, tarfile
with tarfile.open(pathlib.Path(out, f"{NAME}-{version}.tar.gz"), "w:gz") as archive:
    info = tarfile.TarInfo(f"{NAME}-{version}/PKG-INFO")
    text = f"Metadata-Version: 2.4\\nName: demo\\nVersion: {SAID}\\n".encode()
    info.size = len(text)
    archive.addfile(info, io.BytesIO(text))
"""


def sdist_script(name="demo", said="1.0"):
    return f"NAME, SAID = {name!r}, {said!r}\n{GOOD_SDIST}"


def test_an_sdist_is_taken_as_it_is_under_its_cells_name(tmp_path, cache):
    record = build(tmp_path, cache, sdist_script(), kind="sdist")
    assert names(tmp_path / "dist") == [SDIST, f"{SDIST}.build.json"]
    assert (record.wheel, record.bytes) == (SDIST, (tmp_path / "dist" / SDIST).stat().st_size)
    assert not record.placeholder


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        ("", BuildError, "produced no sdist"),
        (
            sdist_script("other"),
            BuildError,
            r"made other-1\.0\.tar\.gz, but the sdist of this cell is demo-1\.0\.tar\.gz",
        ),
        (sdist_script(said="2.0"), VerificationError, r"PKG-INFO has demo 2\.0, but the cell is demo 1\.0"),
        (
            "pathlib.Path(out, 'demo-1.0.tar.gz').write_bytes(b'no archive')",
            VerificationError,
            r"cannot read it as \.tar\.gz",
        ),
    ],
)
def test_an_sdist_that_is_not_its_cells_is_not_left(tmp_path, cache, script, kind, words):
    with pytest.raises(kind, match=words):
        build(tmp_path, cache, script, kind="sdist")
    assert names(tmp_path / "dist") == []


def test_a_fake_sdist_has_its_size_and_is_one(tmp_path, cache):
    record = build(tmp_path, cache, "sys.exit(1)", kind="sdist", fake_size=5_000_000)
    assert (record.bytes, record.placeholder) == (5_000_000, True)
    with tarfile.open(tmp_path / "dist" / SDIST) as archive:
        assert archive.getnames() == ["demo-1.0/PKG-INFO"]
    with pytest.raises(UsageError, match="10 bytes are too few for a placeholder"):
        build(tmp_path, cache, "", kind="sdist", fake_size=10)


PROVIDERS = """
version: "1.0"
packages:
  - name: demo
    import: demo
    per: [cuda, arch]
    layout: provider
    manylinux: "2_28"
    build: {{kind: tree, command: [make], requires: [nothing-of-the-kind], env: {{T: "{{targets}}"}}{shim}}}
    stamp: [demo/_build.py]
cuda:
  cu130: {{toolkit: "13.0", targets: {{x86_64: "9.0a 12.0f"}}}}
"""


def shim(tmp_path, cache, command=""):
    """A shim, built: the names in its wheel, its METADATA, and its record."""
    (tmp_path / "matrix.yaml").write_text(PROVIDERS.format(shim=command))
    (tmp_path / "LICENSE").write_text("free")
    (tmp_path / "make.py").write_text("import sys, pathlib\nout, version = sys.argv[1:]\n" + GOOD_TREE)
    declaration = load(tmp_path / "matrix.yaml")
    planned = next(one for one in make_plan(declaration).cells if one.shim)
    record = build_cell(
        declaration, planned, tmp_path / "dist", environ=environment(cache), notify=lambda _: None, modules=["x"]
    )
    with zipfile.ZipFile(tmp_path / "dist" / record.wheel) as archive:
        metadata = archive.read("demo-1.0+cu130.dist-info/METADATA").decode()
        return archive.namelist(), metadata, record


def test_a_shim_without_a_command_is_metadata_with_exact_requirements_and_extras(tmp_path, cache):
    members, metadata, record = shim(tmp_path, cache)
    assert all(name.startswith("demo-1.0+cu130.dist-info/") for name in members)
    assert "demo-1.0+cu130.dist-info/licenses/LICENSE" in members
    assert "Requires-Dist: demo-sm90a==1.0+cu130\n" in metadata
    assert "Requires-Dist: demo-sm120f==1.0+cu130 ; extra == 'sm120f'\n" in metadata
    assert "Provides-Extra: sm90a\n" in metadata
    assert (record.wheel, record.slice, record.toolchain.kind) == ("demo-1.0+cu130-py3-none-any.whl", None, "none")


def test_a_shim_holds_what_its_own_command_makes_and_needs_no_compiler(tmp_path, cache):
    command = ', shim: ["{python}", make.py, "{out}", "{full_version}"]'
    members, _, record = shim(tmp_path, cache, command)
    assert "demo/__init__.py" in members
    assert record.seconds > 0


EXTRA = """(place / "notes.txt").write_text("notes " * 2000)
(place / "tests").mkdir()
(place / "tests" / "data.bin").write_bytes(bytes(5000))
"""


def test_what_pack_says_is_done_to_a_tree_at_the_end(tmp_path, cache):
    pack = "level: 0, exclude: [demo/tests], sbom: true, strip_debug: true"
    record = build(tmp_path, cache, GOOD_TREE + EXTRA, pack=pack)
    made = tmp_path / "dist" / WHEEL
    with zipfile.ZipFile(made) as archive:
        held = {info.filename: info.compress_type for info in archive.infolist()}
    assert "demo/tests/data.bin" not in held
    assert "demo-1.0.dist-info/sboms/fatwheel.cdx.json" in held
    assert held["demo/notes.txt"] == zipfile.ZIP_STORED
    assert record.bytes == made.stat().st_size
    assert record.excluded_modules == []  # it was no module
    assert BuildRecord.read(tmp_path / "dist" / RECORD) == record


def test_what_pack_leaves_out_must_be_there_and_a_slice_need_not_hold_it(tmp_path, cache):
    with pytest.raises(BuildError, match=r"no file in the wheel matches 'demo/nowhere'"):
        build(tmp_path, cache, GOOD_TREE, pack="exclude: [demo/nowhere]")
    assert names(tmp_path / "dist") == []
    more = ', "{modules}"'
    record = build(tmp_path, cache, GOOD_TREE, pack="exclude: [demo/nowhere]", more=more, modules=["norm"])
    assert record.slice == ["norm"]


def test_what_cannot_be_billed_is_said_with_its_cell(tmp_path, cache):
    broken = """(place / "broken.so").write_bytes(b"\\x7fELF")
"""
    with pytest.raises(BuildError, match=r"^demo: demo/broken\.so: truncated ELF header"):
        build(tmp_path, cache, GOOD_TREE + broken, pack="sbom: true")


def test_a_strip_that_is_not_here_is_said_before_the_build(tmp_path, cache, monkeypatch):
    declaration, planned = pure(tmp_path / "project", "raise SystemExit('was run')", pack="strip_debug: true")
    planned = planned.model_copy(update={"arch": platform.machine()})
    environ = environment(cache, STRIP="no-such-strip")
    monkeypatch.setenv("STRIP", "no-such-strip")
    with pytest.raises(BuildError, match="STRIP='no-such-strip' not found"):
        build_cell(declaration, planned, tmp_path / "dist", environ=environ, notify=lambda _: None)


def test_an_interrupt_ends_the_command_and_leaves_nothing(tmp_path, cache):
    script = f"""
import subprocess
child = subprocess.Popen(["sleep", "300"])
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
child.wait()
"""
    pure(tmp_path / "project", script)
    code = """
import sys
from pathlib import Path
from fatwheel.building.build_cell import build_cell
from fatwheel.declaration import load
from fatwheel.plan import make_plan
declaration = load(Path(sys.argv[1]))
build_cell(declaration, make_plan(declaration).cells[0], Path(sys.argv[2]))
"""
    (tmp_path / "temporary").mkdir()
    environ = environment(cache, TMPDIR=tmp_path / "temporary")
    command = [sys.executable, "-c", code, str(tmp_path / "project" / "matrix.yaml"), str(tmp_path / "dist")]
    caller = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE)
    pid = tmp_path / "pid"
    for _ in range(600):
        if pid.exists() and pid.read_text():
            break
        time.sleep(0.05)
    caller.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in caller.communicate(timeout=60)[1]
    assert gone(int(pid.read_text()))
    assert names(tmp_path / "dist") == []
    assert names(tmp_path / "temporary") == []


def test_what_this_machine_cannot_build_is_told_with_its_reason(tmp_path):
    declaration = declared()
    planned = make_plan(declaration).cells[0]
    tools = environment(tmp_path / "cache", CUDA_HOME=fake_nvcc(tmp_path / "cuda", "13.0"))
    assert can_build(declaration, planned, environ=tools) is None
    other = cell(arch="aarch64")
    assert str(can_build(declaration, other, environ=tools)).startswith("the cell is for aarch64")
    assert "PyPI has no nvcc for CUDA 12" in str(can_build(declaration, cell("cu129", "12.9"), environ=tools))
    nowhere = tools | {"PATH": "/nonexistent"}
    assert "docker does not respond" in str(can_build(declaration, planned, engine="docker", environ=nowhere))
    old = fake_nvcc(tmp_path / "old", "12.9")
    reason = can_build(declaration, planned, toolchain="system", environ=tools | {"CUDA_HOME": str(old)})
    assert "is CUDA 12.9, but the cell needs CUDA 13.0" in str(reason)
    assert not (tmp_path / "cache").exists()


def test_a_cell_for_another_cpu_names_the_runner(tmp_path):
    with pytest.raises(BuildError, match="the cell is for aarch64, but this machine is") as caught:
        build_cell(declared(), cell(arch="aarch64", runner="ubuntu-24.04-arm"), tmp_path / "dist")
    help = str(caught.value.help)
    assert help == "build it on ubuntu-24.04-arm; if its command supports cross compilation, declare `cross: true`"
    assert not (tmp_path / "dist").exists()


def test_what_setuptools_compiles_goes_with_the_build_and_not_into_the_sources(tmp_path, cache):
    script = """
import os
place = pathlib.Path(out, "demo")
place.mkdir()
(place / "__init__.py").write_text(pathlib.Path(os.environ["DIST_EXTRA_CONFIG"]).read_text())
"""
    record = build(tmp_path, cache, script)
    with zipfile.ZipFile(tmp_path / "dist" / record.wheel) as archive:
        said = archive.read("demo/__init__.py").decode()
    assert said.startswith("[build]\nbuild_base = /")
    assert not Path(said.partition("= ")[2].strip()).exists()
