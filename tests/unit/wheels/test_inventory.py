import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.inventory import Inventory
from fatwheel.wheels.reading.inventory import read_inventory
from tests.unit.wheels.synthetic import ElfFile, container, demo, entry, library


def two_modules() -> dict[str, bytes]:
    first = ElfFile(
        sections={
            ".nv_fatbin": container(
                entry(90, "a", payload=bytes(80)),
                entry(120, "f", packed="zstd", payload=bytes(32), raw=200),
                entry(120, "f", kind=1, packed="lz4", payload=bytes(16), raw=90),
            ),
            "__nv_relfatbin": container(entry(90, "a", payload=bytes(8))),
        }
    ).build()
    second = ElfFile(
        sections={".nv_fatbin": container(entry(80, payload=bytes(40)), entry(90, "a", payload=bytes(16)))}
    ).build()
    return {"demo_jit/b.so": first, "demo_jit/a.so": second, "demo_jit/host.so": library(), "demo_jit/__init__.py": b""}


def test_modules_are_sorted_by_name_and_targets_ascending_with_sums(tmp_path):
    files = two_modules()
    found = json.loads(read_inventory(demo(tmp_path, files)).to_json())
    assert list(found) == ["wheel", "modules", "targets"]
    assert found["wheel"].endswith(".whl")
    assert [m["name"] for m in found["modules"]] == ["demo_jit/a.so", "demo_jit/b.so", "demo_jit/host.so"]
    assert [m["file_bytes"] for m in found["modules"]] == [len(files[m["name"]]) for m in found["modules"]]
    assert all(0 < m["wheel_bytes"] <= m["file_bytes"] for m in found["modules"])
    assert found["modules"][1]["targets"] == {
        "9.0a": {"sass": {"stored": 88, "raw": 88}},
        "12.0f": {"sass": {"stored": 32, "raw": 200}, "ptx": {"stored": 16, "raw": 90}},
    }
    assert found["modules"][2]["targets"] == {}
    assert found["targets"] == {
        "8.0": {"sass": {"stored": 40, "raw": 40}},
        "9.0a": {"sass": {"stored": 104, "raw": 104}},
        "12.0f": {"sass": {"stored": 32, "raw": 200}, "ptx": {"stored": 16, "raw": 90}},
    }
    assert list(found["targets"]) == ["8.0", "9.0a", "12.0f"]


def test_relocatable_device_code_is_counted_separately(tmp_path):
    path = tmp_path / "k.so"
    path.write_bytes(ElfFile(sections={"__nv_relfatbin": container(entry(90, kind=8, payload=bytes(24)))}).build())
    assert json.loads(read_inventory(path).to_json())["targets"] == {"9.0": {"other": {"stored": 24, "raw": 24}}}


def test_a_standalone_library_has_equal_sizes_on_disk_and_in_the_wheel(tmp_path):
    path = tmp_path / "k.so"
    path.write_bytes(library("90a", ptx=["90"]))
    (module,) = read_inventory(path).modules
    assert (module.name, module.file_bytes, module.wheel_bytes) == ("k.so", path.stat().st_size, path.stat().st_size)
    assert list(map(str, module.targets)) == ["9.0", "9.0a"]


def test_a_standalone_fat_binary(tmp_path):
    path = tmp_path / "k.fatbin"
    path.write_bytes(container(entry(75)))
    assert list(map(str, read_inventory(path).targets)) == ["7.5"]


def test_libraries_are_recognized_by_contents_not_names(tmp_path):
    wheel = demo(
        tmp_path,
        {"demo_jit/k.bin": library("80"), "demo_jit/text.so": b"not a library", "demo_jit/libk.so.1": library("90")},
    )
    assert [m.name for m in read_inventory(wheel).modules] == ["demo_jit/k.bin", "demo_jit/libk.so.1"]


def test_every_unreadable_module_is_reported(tmp_path):
    broken = bytearray(library("80"))
    at = broken.find(b"\x50\xed\x55\xba")
    broken[at + 8] ^= 0xFF
    wheel = demo(
        tmp_path, {"demo_jit/a.so": bytes(broken), "demo_jit/b.so": library("90"), "demo_jit/c.so": b"\x7fELF"}
    )
    with pytest.raises(VerificationError) as error:
        read_inventory(wheel)
    assert "demo_jit/a.so: the entry" in str(error.value)
    assert "demo_jit/c.so: truncated ELF header" in str(error.value)
    assert "b.so" not in str(error.value)


def test_a_file_of_another_type_is_an_error(tmp_path):
    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(VerificationError, match="invalid zip"):
        read_inventory(tmp_path / "x")
    with pytest.raises(UsageError):
        read_inventory(tmp_path / "nowhere")


def test_printed_json_can_be_read(tmp_path):
    path = tmp_path / "k.inventory.json"
    found = read_inventory(demo(tmp_path, two_modules()))
    path.write_text(found.to_json().replace('"wheel":', '"of a later version": 1,\n  "wheel":', 1), encoding="utf-8")
    assert Inventory.read(path) == found
    path.write_text("{}")
    with pytest.raises(UsageError, match="invalid Inventory: wheel"):
        Inventory.read(path)
    with pytest.raises(UsageError, match="file not found"):
        Inventory.read(tmp_path / "nowhere")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_reading_a_library_imports_few_modules(tmp_path, options):
    path = tmp_path / "k.so"
    path.write_bytes(library("90a"))
    watch = "import sys; from fatwheel.__main__ import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", watch, "inventory", str(path), *options], capture_output=True, text=True, check=True
    )
    heavy = {"pydantic", "rich", "httpx", "packaging", "fatwheel.wheels.reading.archive"}
    assert not heavy & set(done.stderr.split())
    assert "9.0a" in done.stdout


def test_a_pipe_is_rejected():
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb"), pytest.raises(UsageError, match="a pipe"):
        read_inventory(Path(f"/dev/fd/{reading}"))
