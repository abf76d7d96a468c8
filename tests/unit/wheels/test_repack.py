"""Repacking: equal contents give equal bytes, and only the requested changes are made."""

import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import zipfile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from fatwheel.__main__ import run
from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.build import BuildRecord, BuiltModule
from fatwheel.wheels.io import compression
from fatwheel.wheels.making.repack import Changes, repack
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.inventory import read_inventory
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import TAGS, VERSION, built, demo, library, rezip, stamp

FILES = {
    "demo_jit/__init__.py": b'__version__ = "1.0+cu130.sm12x"\n' * 40,
    "demo_jit/k.so": library("120f"),
    "demo_jit/more.so": library("120f"),
    "demo_jit/tests/big.bin": bytes(range(256)) * 64,
}


def members(wheel) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def errors(wheel) -> list[str]:
    return [finding.kind for finding in verify(wheel).errors]


@pytest.mark.parametrize("level", [0, 1, 6, 9, 12, None])
def test_contents_are_kept_at_every_level(tmp_path, level):
    wheel = demo(tmp_path, FILES)
    done = repack(wheel, tmp_path / "made", level=level)
    assert done.wheel == wheel.name
    made = tmp_path / "made" / done.wheel
    assert members(made) == members(wheel)
    assert errors(made) == []
    assert (done.bytes, done.sha256) == (made.stat().st_size, hashlib.sha256(made.read_bytes()).hexdigest())
    assert (done.from_bytes, done.level) == (wheel.stat().st_size, level)


def test_equal_contents_give_equal_bytes_whatever_tool_packed_them(tmp_path):
    one = demo(tmp_path / "a", FILES)
    with zipfile.ZipFile(one) as archive:
        other = tmp_path / "b" / one.name
        other.parent.mkdir()
        with zipfile.ZipFile(other, "w", zipfile.ZIP_STORED) as copy:  # another order, dates of today, no compression
            for name in reversed(archive.namelist()):
                copy.writestr(name, archive.read(name))
    results = {repack(wheel, wheel.parent / "made").sha256 for wheel in (one, other)}
    assert len(results) == 1


def test_repacking_again_changes_nothing(tmp_path):
    first = repack(demo(tmp_path, FILES), tmp_path / "one")
    again = repack(tmp_path / "one" / first.wheel, tmp_path / "two")
    assert again.sha256 == first.sha256


def test_repacked_members_have_the_source_date(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    done = repack(demo(tmp_path, FILES), tmp_path / "made")
    with zipfile.ZipFile(tmp_path / "made" / done.wheel) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_it_can_write_to_the_folder_of_the_wheel(tmp_path):
    wheel = demo(tmp_path, FILES)
    before = members(wheel)
    repack(wheel, wheel.parent, level=12)
    assert members(wheel) == before
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


def test_streamed_members_keep_their_contents(tmp_path):
    wheel = demo(tmp_path, FILES | {"demo_jit/large.bin": os.urandom(9 << 20) + bytes(3 << 20)})
    done = repack(wheel, tmp_path / "made", large=1 << 20)
    assert members(tmp_path / "made" / done.wheel) == members(wheel)
    assert repack(wheel, tmp_path / "again", large=1 << 20).sha256 == done.sha256


def test_zlib_is_used_without_libdeflate(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "libdeflate", None)
    wheel = demo(tmp_path, FILES)
    done = repack(wheel, tmp_path / "made")
    assert done.tool.startswith("zlib ")
    assert members(tmp_path / "made" / done.wheel) == members(wheel)


def test_executable_files_stay_executable(tmp_path):
    wheel = demo(tmp_path, FILES)

    def executable(info, data):
        if info.filename.endswith("__init__.py"):
            info.external_attr = (stat.S_IFREG | 0o775) << 16
        return info, data

    wheel = rezipped(wheel, executable)
    done = repack(wheel, tmp_path / "made", Changes(stamps=("demo_jit/__init__.py",), version="0.7+cu130.sm12x"))
    with zipfile.ZipFile(tmp_path / "made" / done.wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert modes["demo_jit/__init__.py"] == stat.S_IFREG | 0o755
    assert modes["demo_jit/k.so"] == stat.S_IFREG | 0o644


def rezipped(wheel, change):
    """The wheel with changed headers and data of members, and the old RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        held = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in held:
            archive.writestr(*change(info, data))
    return wheel


@pytest.mark.parametrize("level", [6, None])
def test_a_wheel_that_differs_from_its_record_is_rejected_and_nothing_is_left(tmp_path, level):
    def tampered(info, data):
        return info, data[:-1] + b"!" if info.filename.endswith("big.bin") else data

    wheel = rezipped(demo(tmp_path, FILES), tampered)
    with pytest.raises(VerificationError, match="do not match the digest in RECORD"):
        repack(wheel, tmp_path / "made", level=level)
    assert list((tmp_path / "made").glob("*")) == [] or not (tmp_path / "made").exists()


@pytest.mark.parametrize("digest", ["sha256=A", "sha256=!!!!", "sha256=\N{LATIN SMALL LETTER A WITH DIAERESIS}"])
@pytest.mark.parametrize("level", [6, None])
def test_an_invalid_digest_in_record_is_rejected(tmp_path, digest, level):
    def garbled(held):
        record = f"demo_jit-{VERSION}.dist-info/RECORD"
        lines = held[record].decode().splitlines()
        held[record] = "".join(f"{re.sub('sha256=[^,]*', digest, line)}\n" for line in lines).encode()

    with pytest.raises(VerificationError, match="do not match the digest in RECORD"):
        repack(rezip(demo(tmp_path, FILES), garbled), tmp_path / "made", level=level)


@pytest.mark.parametrize("file", ["METADATA", "WHEEL"])
def test_a_wheel_that_installers_would_reject(tmp_path, file):
    def without(held):
        name = f"demo_jit-{VERSION}.dist-info/{file}"
        del held[name]
        record = f"demo_jit-{VERSION}.dist-info/RECORD"
        held[record] = b"".join(line for line in held[record].splitlines(True) if not line.startswith(name.encode()))

    with pytest.raises(VerificationError, match=f"{file} not found"):
        repack(rezip(demo(tmp_path, FILES), without), tmp_path / "made")


def test_all_reasons_are_reported_at_once(tmp_path):
    wheel = demo(tmp_path, FILES)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("../outside.py", b"")
        archive.writestr("demo_jit/extra.py", b"")
    with pytest.raises(VerificationError) as told:
        repack(wheel, tmp_path / "made")
    assert "../outside.py: it would be written outside" in str(told.value)
    assert "demo_jit/extra.py: RECORD does not list it" in str(told.value)


def test_another_label_renames_folders_and_rewrites_texts(tmp_path):
    files = FILES | {f"demo_jit-{VERSION}.data/scripts/demo": b"#!python\n"}
    wheel = demo(tmp_path, files, metadata={"Summary": "x", "Requires-Dist": ["numpy"]}, stamped=stamp())
    done = repack(wheel, tmp_path / "made", Changes(label="cu130.blackwell", stamps=("demo_jit/__init__.py",)))
    assert done.wheel == f"demo_jit-1.0+cu130.blackwell-{TAGS}.whl"
    held = members(tmp_path / "made" / done.wheel)
    folder = "demo_jit-1.0+cu130.blackwell.dist-info"
    assert {name.split("/")[0] for name in held} == {
        "demo_jit", folder, "demo_jit-1.0+cu130.blackwell.data"
    }  # fmt: skip
    assert b"\nVersion: 1.0+cu130.blackwell\n" in held[f"{folder}/METADATA"]
    assert b"\nRequires-Dist: numpy\n" in held[f"{folder}/METADATA"]
    assert json.loads(held[f"{folder}/fatwheel.json"])["version"] == "1.0+cu130.blackwell"
    assert b'__version__ = "1.0+cu130.blackwell"' in held["demo_jit/__init__.py"]
    assert errors(tmp_path / "made" / done.wheel) == []
    assert "demo_jit/__init__.py" in done.rewritten
    assert done.outdated_texts == []


def test_only_texts_of_the_package_get_the_new_version(tmp_path):
    library_that_says_so = library("120f") + b'version = "1.0"'
    wheel = demo(tmp_path, FILES | {"demo_jit/more.so": library_that_says_so})
    done = repack(wheel, tmp_path / "made", Changes(version="2.0", stamps=("*",)))
    held = members(tmp_path / "made" / done.wheel)
    assert held["demo_jit/more.so"] == library_that_says_so
    assert b'__version__ = "2.0"' in held["demo_jit/__init__.py"]
    assert b"Metadata-Version: 2.4\n" in held["demo_jit-2.0.dist-info/METADATA"]
    assert b"Wheel-Version: 1.0\n" in held["demo_jit-2.0.dist-info/WHEEL"]
    assert errors(tmp_path / "made" / done.wheel) == []


def test_folders_with_different_forms_of_the_name_get_one_name(tmp_path):
    def spelt(held):
        info = [name for name in held if ".dist-info/" in name]
        for name in info:
            held[name.replace("demo_jit-", "Demo.Jit-")] = held.pop(name)
        record = f"Demo.Jit-{VERSION}.dist-info/RECORD"
        held[record] = held[record].replace(
            f"demo_jit-{VERSION}.dist-info".encode(), record.rpartition("/")[0].encode()
        )

    wheel = rezip(demo(tmp_path, FILES | {f"demo_jit-{VERSION}.data/scripts/demo": b"#!python\n"}), spelt)
    done = repack(wheel, tmp_path / "made", Changes(version="2.0"))
    tops = {name.split("/")[0] for name in members(tmp_path / "made" / done.wheel)}
    assert tops == {"demo_jit", "demo_jit-2.0.data", "demo_jit-2.0.dist-info"}


def test_another_platform_changes_only_name_and_tags(tmp_path):
    wheel = demo(tmp_path, FILES, tags="py3-none-linux_x86_64")
    done = repack(wheel, tmp_path / "made", Changes(platform="manylinux_2_28_x86_64.manylinux_2_34_x86_64"))
    assert done.wheel == f"demo_jit-{VERSION}-py3-none-manylinux_2_28_x86_64.manylinux_2_34_x86_64.whl"
    before, after = members(wheel), members(tmp_path / "made" / done.wheel)
    changed = {name.rpartition("/")[2] for name in before if before[name] != after[name]}
    assert changed == {"WHEEL", "RECORD"}
    assert done.rewritten == [f"demo_jit-{VERSION}.dist-info/WHEEL"]
    assert errors(tmp_path / "made" / done.wheel) == []


def test_files_that_still_contain_the_old_version_are_reported(tmp_path):
    done = repack(demo(tmp_path, FILES), tmp_path / "made", Changes(version="0.7"))
    assert done.wheel == f"demo_jit-0.7-{TAGS}.whl"
    assert done.outdated_texts == ["demo_jit/__init__.py"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (Changes(version="seven"), "invalid version 'seven'"),
        (Changes(label="no good"), "invalid version '1.0+no good'"),
        (Changes(version="1.0+a", label="b"), "has a label, and --label gives another"),
        (Changes(platform="Linux x86"), "invalid platform tag 'Linux x86'"),
        (Changes(stamps=("nowhere.py",)), "no text file in the wheel matches 'nowhere.py'"),
        (Changes(stamps=("demo_jit/k.so",)), "no text file in the wheel matches 'demo_jit/k.so'"),
        (Changes(exclude=("nothing/*",)), "no file in the wheel matches 'nothing/*'"),
        (Changes(exclude=(f"demo_jit-{VERSION}.dist-info/METADATA",)), "whose files cannot be removed"),
        (Changes(exclude=("*",)), "nothing but metadata would remain"),
        (Changes(exclude=("*.so",)), "removes all machine code for 12.0f, which its fatwheel.json declares"),
    ],
)
def test_impossible_changes_are_rejected(tmp_path, changes, told):
    with pytest.raises(UsageError) as refused:
        repack(demo(tmp_path, FILES, stamped=stamp(targets=["12.0f"])), tmp_path / "made", changes)
    assert told in str(refused.value)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("glob", ["demo_jit/tests", "demo_jit/tests/", "demo_jit/tests/*", "*.bin"])
def test_members_are_excluded_by_glob_or_folder(tmp_path, glob):
    done = repack(demo(tmp_path, FILES, stamped=stamp(targets=["12.0f"])), tmp_path / "made", Changes(exclude=(glob,)))
    made = tmp_path / "made" / done.wheel
    assert done.excluded == ["demo_jit/tests/big.bin"]
    assert "demo_jit/tests/big.bin" not in members(made)
    assert errors(made) == []


def test_one_of_two_libraries_can_be_excluded(tmp_path):
    wheel = demo(tmp_path, FILES, stamped=stamp(targets=["12.0f"]))
    done = repack(wheel, tmp_path / "made", Changes(exclude=("demo_jit/more.so",)))
    assert done.excluded == ["demo_jit/more.so"]


def test_an_invalid_level(tmp_path, capsys):
    wheel = demo(tmp_path, FILES)
    for level, told in (("13", "invalid compression level 13"), ("fast", "invalid compression level 'fast'")):
        assert run(["repack", str(wheel), "-o", str(tmp_path / "made"), "--level", level]) == 2
        assert told in capsys.readouterr().err
    assert run(["repack", str(wheel), "-o", str(tmp_path / "made"), "--stream-over", "large"]) == 2
    assert "'large' is not a size" in capsys.readouterr().err


def test_the_command_repacks_valid_wheels_and_reports_invalid_ones(tmp_path, capsys):
    good = demo(tmp_path, FILES)
    bad = tmp_path / f"broken-1.0-{TAGS}.whl"
    bad.write_bytes(b"no zip")
    assert run(["repack", str(bad), str(good), "-o", str(tmp_path / "made"), "--json"]) == 5
    told = capsys.readouterr()
    assert [done["wheel"] for done in json.loads(told.out)] == [good.name]
    assert "broken" in told.err


def test_two_wheels_that_would_get_the_same_name(tmp_path, capsys):
    one, other = (demo(tmp_path / label, FILES, version=f"1.0+{label}", stamped=stamp(version=f"1.0+{label}"))
                  for label in ("a", "b"))  # fmt: skip
    assert run(["repack", str(one), str(other), "-o", str(tmp_path / "made"), "--label", "c"]) == 2
    assert f"would both become demo_jit-1.0+c-{TAGS}.whl" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_an_invalid_output_folder(tmp_path, capsys):
    wheel = demo(tmp_path, FILES)
    (tmp_path / "file").touch()
    (tmp_path / "made" / wheel.name).mkdir(parents=True)
    for place, told in (("file", "file exists"), ("file/x", "not a directory"), ("made", "is a directory")):
        assert run(["repack", str(wheel), "-o", str(tmp_path / place)]) == 2
        assert told in capsys.readouterr().err.lower()
    assert [path.name for path in (tmp_path / "made").iterdir()] == [wheel.name]


@pytest.fixture(scope="module")
def with_debug(tmp_path_factory):
    """A library with debug information, compiled here."""
    if not (shutil.which("gcc") and shutil.which("strip")):
        pytest.skip("no gcc or no strip")
    folder = tmp_path_factory.mktemp("debug")
    (folder / "k.c").write_text("int answer(int x) { int y = x + 41; return y; }\n")
    subprocess.run(["gcc", "-g3", "-shared", "-fPIC", "-o", folder / "k.so", folder / "k.c"], check=True)
    return (folder / "k.so").read_bytes()


def test_a_stripped_library_still_loads(tmp_path, with_debug):
    wheel = demo(tmp_path, {"demo_jit/k.so": with_debug, "demo_jit/__init__.py": b""}, tags="py3-none-linux_x86_64")
    done = repack(wheel, tmp_path / "made", Changes(strip_debug=True))
    (stripped,) = done.stripped
    made = members(tmp_path / "made" / done.wheel)
    assert (stripped.name, stripped.before, stripped.after) == (
        "demo_jit/k.so", len(with_debug), len(made["demo_jit/k.so"])
    )  # fmt: skip
    assert stripped.after < stripped.before
    (tmp_path / "k.so").write_bytes(made["demo_jit/k.so"])
    code = f"import ctypes; print(ctypes.CDLL({str(tmp_path / 'k.so')!r}).answer(1))"
    said = subprocess.run(["python3", "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "42"
    assert repack(tmp_path / "made" / done.wheel, tmp_path / "again", Changes(strip_debug=True)).stripped == []


def test_data_appended_to_a_library_is_not_lost(tmp_path, with_debug):
    files = {"demo_jit/k.so": with_debug + b"an archive that it reads"}
    wheel = demo(tmp_path, files, tags="py3-none-linux_x86_64")
    with pytest.raises(UsageError, match="stripping would remove 24 bytes appended to the library"):
        repack(wheel, tmp_path / "made", Changes(strip_debug=True))
    assert (
        members(tmp_path / "made" / repack(wheel, tmp_path / "made").wheel)["demo_jit/k.so"] == files["demo_jit/k.so"]
    )


def test_stripping_does_not_change_device_code(tmp_path):
    wheel = demo(tmp_path, FILES)
    done = repack(wheel, tmp_path / "made", Changes(strip_debug=True))  # no library in it has debug information
    assert done.stripped == []
    assert read_inventory(tmp_path / "made" / done.wheel).targets == read_inventory(wheel).targets


def test_a_failing_strip_is_reported_with_its_output(tmp_path, with_debug, monkeypatch):
    program = tmp_path / "strip"
    program.write_text("#!/bin/sh\necho cannot do that >&2\nexit 3\n")
    program.chmod(0o755)
    wheel = demo(tmp_path, {"demo_jit/k.so": with_debug}, tags="py3-none-linux_x86_64")
    monkeypatch.setenv("STRIP", str(program))
    with pytest.raises(VerificationError, match="exited with code 3\n  cannot do that"):
        repack(wheel, tmp_path / "made", Changes(strip_debug=True))
    monkeypatch.setenv("STRIP", "no-such-strip")
    with pytest.raises(UsageError, match="STRIP='no-such-strip' not found"):
        repack(wheel, tmp_path / "made", Changes(strip_debug=True))
    assert not (tmp_path / "made").exists()


def test_a_bill_of_materials(tmp_path):
    requires = ["numpy>=2", "torch==2.9.1", 'cupy; extra == "cupy"']
    files = FILES | {
        "demo_jit.libs/libgomp-0a1b2c3d.so.1": library(needed=["libc.so.6"]),
        "demo_jit/k.so": library("120f", needed=["libgomp-0a1b2c3d.so.1", "libcudart.so.13"]),
    }
    wheel = demo(
        tmp_path, files, stamped=stamp(targets=["12.0f"]),
        metadata={"Summary": "Schöne Kernel", "Requires-Dist": requires, "License-Expression": "Apache-2.0",
                  "Provides-Extra": ["cupy"]},
    )  # fmt: skip
    done = repack(wheel, tmp_path / "made", Changes(sbom=True))
    made = tmp_path / "made" / done.wheel
    assert errors(made) == []
    held = members(made)
    text = held[done.sbom].decode()
    assert done.sbom == f"demo_jit-{VERSION}.dist-info/sboms/fatwheel.cdx.json"
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    by_ref = {part["bom-ref"]: part for part in bill["components"]}
    assert bill["metadata"]["component"]["description"] == "Schöne Kernel"
    assert bill["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0"}]
    own = by_ref["file:demo_jit/k.so"]
    assert own["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(held["demo_jit/k.so"]).hexdigest()}]
    assert {"name": "fatwheel:12.0f:sass:bytes", "value": "64"} in own["properties"]
    assert by_ref["file:demo_jit.libs/libgomp-0a1b2c3d.so.1"]["name"] == "libgomp.so.1"
    assert by_ref["requirement:torch==2.9.1"]["purl"] == "pkg:pypi/torch@2.9.1"
    assert by_ref['requirement:cupy; extra == "cupy"']["scope"] == "optional"
    assert by_ref["cuda-toolkit:13.0"]["version"] == "13.0"
    assert {ref for ref in by_ref if ref.startswith("soname:")} == {"soname:libc.so.6", "soname:libcudart.so.13"}
    assert repack(wheel, tmp_path / "again", Changes(sbom=True)).sha256 == done.sha256

    renamed = repack(made, tmp_path / "renamed", Changes(label="cu130.x"))  # the bill follows without being asked for
    again = json.loads(members(tmp_path / "renamed" / renamed.wheel)[renamed.sbom])
    assert again["metadata"]["component"]["version"] == "1.0+cu130.x"
    assert again["serialNumber"] != bill["serialNumber"]


def test_the_build_record_is_updated_unless_the_version_changes(tmp_path, capsys):
    wheel = demo(tmp_path, FILES, stamped=stamp(targets=["12.0f"]))
    modules = [BuiltModule(name="k", targets=["12.0f"]), BuiltModule(name="more", targets=["12.0f"])]
    built(wheel, modules=modules).write(wheel.with_name(wheel.name + ".build.json"))
    out = tmp_path / "made"
    assert run(["repack", str(wheel), "-o", str(out), "--exclude", "demo_jit/more.so"]) == 0
    found = BuildRecord.read(out / f"{wheel.name}.build.json")
    assert found.sha256 == hashlib.sha256((out / wheel.name).read_bytes()).hexdigest()
    assert [module.name for module in found.modules] == ["k"]
    assert [one.name for one in found.excluded_modules] == ["more"]
    assert run(["repack", str(wheel), "-o", str(tmp_path / "other"), "--version", "2.0"]) == 0
    assert [path.suffix for path in (tmp_path / "other").iterdir()] == [".whl"]
    assert "these files still contain the old version" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_partial_files(tmp_path, number):
    wheel = demo(tmp_path, {f"demo_jit/{name}.bin": os.urandom(6 << 20) for name in "ab"})
    made, temporary = tmp_path / "made", tmp_path / "temporary"
    temporary.mkdir()
    made.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "fatwheel", "repack", wheel, "-o", made, "--level", "12"],
        env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while process.poll() is None and not list(made.iterdir()):
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate()
    assert (process.returncode, "no partial files are left" in said) == (130, True)
    assert [*made.iterdir(), *temporary.iterdir()] == []


def test_a_build_record_of_a_different_file_is_rejected(tmp_path, capsys):
    wheel = demo(tmp_path, FILES, stamped=stamp(targets=["12.0f"]))
    built(wheel, sha256="0" * 64).write(wheel.with_name(wheel.name + ".build.json"))
    assert run(["repack", str(wheel), "-o", str(tmp_path / "made")]) == 2
    assert "the wheel differs from its build record" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_a_failed_write_leaves_no_archive(tmp_path, monkeypatch):
    wheel = demo(tmp_path, FILES)

    def compress(data, level):
        raise MemoryError(len(data), level)

    monkeypatch.setattr(compression, "compress", compress)
    with pytest.raises(MemoryError):
        repack(wheel, tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []
    with Archive.open(wheel) as archive:
        assert archive.members


def test_a_smoke_record_of_a_different_file_is_deleted(tmp_path):
    wheel = demo(tmp_path, FILES)
    smoke = wheel.with_name(f"{wheel.name}.smoke.json")
    smoke.write_text("{}")
    assert run(["repack", str(wheel)]) == 2  # no folder is guessed: it might be the wheel's own
    assert smoke.exists()
    assert run(["repack", str(wheel), "-o", str(wheel.parent)]) == 0
    assert not smoke.exists()
