import json

import pytest

from fatwheel.__main__ import run
from fatwheel.wheels.making.placeholder import write_placeholder
from tests.unit.wheels.synthetic import TAGS, VERSION, demo, library, stamp

MATRIX = """
version: "1.0"
packages:
  - name: demo-jit
    import: demo_jit
    per: [cuda, arch]
    layout: family
    tag: cp39-abi3
    manylinux: "2_28"
    source: {checkout: .}
    build: {kind: tree, command: ["true"]}
cuda:
  cu130: {toolkit: "13.0", image: {}, compress: size, targets: {x86_64: 12.0f}}
families:
  sm12x: {majors: [12]}
"""


def test_verify_exits_with_0_for_a_valid_wheel(tmp_path, capsys):
    assert run(["verify", str(demo(tmp_path))]) == 0
    assert capsys.readouterr().out.endswith("whl: OK\n")


def test_verify_exits_with_5_and_prints_help(tmp_path, capsys):
    wheel = demo(tmp_path, {"demo_jit/k.so": library("120f", rpath="/opt/x")})
    assert run(["verify", str(wheel)]) == 5
    told = capsys.readouterr()
    assert "error rpath-absolute  demo_jit/k.so: RPATH contains the absolute path '/opt/x'" in told.out
    assert "  help: " in told.out
    assert "whl: verification failed" in told.err


def test_verify_prints_one_json_document_also_with_errors(tmp_path, capsys):
    wheel = tmp_path / f"demo_jit-{VERSION}-{TAGS}.whl"
    wheel.write_bytes(b"not a wheel")
    assert run(["verify", str(wheel), "--json"]) == 5
    (found,) = json.loads(capsys.readouterr().out)
    assert [f["kind"] for f in found["findings"]] == ["archive-unreadable"]
    assert set(found["findings"][0]) == {"kind", "severity", "member", "what", "help"}


def test_warnings_alone_exit_with_0(tmp_path, capsys):
    wheel = demo(tmp_path, {"demo_jit/k.so": library("120f", rpath="$ORIGIN/../../x")})
    assert run(["verify", str(wheel)]) == 0
    assert "OK, 1 warning" in capsys.readouterr().out


@pytest.mark.parametrize("held", ["120f", "90a"])
def test_verify_with_a_cell(tmp_path, held, capsys):
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    targets = {"120f": "12.0f", "90a": "9.0a"}[held]
    wheel = demo(tmp_path, {"demo_jit/k.so": library(held)}, stamped=stamp(targets=[targets]))
    status = run(["verify", str(wheel), "--cell", "cu130-x86_64-sm12x", "--matrix", str(tmp_path / "matrix.yaml")])
    told = capsys.readouterr().out
    assert (status, "target-missing" in told, "target-stray" in told) == (
        (0, False, False) if held == "120f" else (5, True, True)
    ), told


def test_several_wheels_are_all_verified_and_all_errors_reported(tmp_path, capsys):
    (tmp_path / "wrong").mkdir()
    wrong = demo(tmp_path / "wrong", {"demo_jit/k.so": library("120f", rpath="/opt/x")})
    sound, missing = demo(tmp_path), tmp_path / "x.whl"
    assert run(["verify", str(missing), str(wrong), str(sound)]) == 5
    told = capsys.readouterr()
    assert told.out.endswith("whl: OK\n")
    assert "No such file" in told.err
    assert "whl: verification failed" in told.err
    assert run(["verify", str(sound), str(sound), "--json"]) == 0
    assert [one["wheel"] for one in json.loads(capsys.readouterr().out)] == [sound.name] * 2


def test_each_wheel_is_compared_with_its_own_cell(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    wheel = str(demo(tmp_path, {"demo_jit/k.so": library("90a")}, stamped=stamp(targets=["9.0a"])))
    assert run(["verify", wheel, "--json"]) == 5
    (found,) = json.loads(capsys.readouterr().out)
    assert found["cell"] == "cu130-x86_64-sm12x"
    assert {"target-missing", "target-stray"} <= {one["kind"] for one in found["findings"]}
    assert run(["verify", wheel, "--no-matrix", "-v"]) == 0
    assert "using no matrix.yaml" in capsys.readouterr().err


def test_the_wheel_of_another_cell_gets_one_finding_that_names_it(tmp_path, capsys):
    (tmp_path / "matrix.yaml").write_text(MATRIX.replace("12.0f}", "9.0a 12.0f}") + "  sm9x: {majors: [9]}\n")
    wheel = str(demo(tmp_path))
    asked = ["verify", wheel, "--matrix", str(tmp_path / "matrix.yaml"), "--cell", "cu130-x86_64-sm9x", "--json"]
    assert run(asked) == 5
    (found,) = json.loads(capsys.readouterr().out)
    assert [(one["kind"], one["what"]) for one in found["findings"]] == [
        ("cell", "this is the wheel of cu130-x86_64-sm12x, not of cu130-x86_64-sm9x")
    ]


def test_a_wheel_of_another_version_is_compared_with_no_cell(tmp_path, capsys):
    (tmp_path / "matrix.yaml").write_text(MATRIX.replace('"1.0"', '"2.0"'))
    assert run(["verify", str(demo(tmp_path)), "--matrix", str(tmp_path / "matrix.yaml"), "-v"]) == 0
    assert "not a wheel of" in capsys.readouterr().err


def test_one_cell_is_for_one_wheel(tmp_path, capsys):
    wheel = str(demo(tmp_path))
    assert run(["verify", wheel, wheel, "--cell", "cu130-x86_64-sm12x"]) == 2
    assert "pass only the wheel of this cell" in capsys.readouterr().err


def test_a_placeholder_is_reported_as_one(tmp_path, capsys):
    wheel = write_placeholder(tmp_path, f"demo_jit-{VERSION}-{TAGS}.whl", embedded=stamp(), size=9000)
    assert run(["verify", str(wheel)]) == 0
    assert "placeholder" in capsys.readouterr().out


def test_a_missing_file_exits_with_2(tmp_path, capsys):
    for verb in ("verify", "inventory"):
        assert run([verb, str(tmp_path / "x.whl")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_inventory_prints_tables_of_80_columns(tmp_path, capsys):
    files = {
        f"demo_jit/a_rather_long_folder_name/and_a_long_module_name_{n}/module_{n}.so": library(
            "90a", "120f", ptx=["120"]
        )
        for n in range(3)
    }
    assert run(["inventory", str(demo(tmp_path, files))]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert "9.0a" in told
    assert "module_2" in told.replace("\n", "").replace(" ", "")


def test_inventory_prints_json(tmp_path, capsys):
    assert run(["inventory", str(demo(tmp_path)), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["targets"] == {"12.0f": {"sass": {"stored": 64, "raw": 64}}}


def test_inventory_of_an_invalid_wheel_exits_with_5(tmp_path, capsys):
    (tmp_path / "x.whl").write_bytes(b"x")
    assert run(["inventory", str(tmp_path / "x.whl")]) == 5
    assert "invalid zip" in capsys.readouterr().err


def test_inventory_reports_a_wheel_without_code(tmp_path, capsys):
    assert run(["inventory", str(demo(tmp_path, {"demo_jit/__init__.py": b""}))]) == 0
    assert "no device code" in capsys.readouterr().out


def test_a_placeholder_is_not_expected_to_contain_the_files_of_its_package(tmp_path, capsys):
    (tmp_path / "matrix.yaml").write_text(MATRIX.replace("    tag:", "    stamp: [demo_jit/_version.py]\n    tag:"))
    wheel = write_placeholder(tmp_path, f"demo_jit-{VERSION}-{TAGS}.whl", embedded=stamp(), size=9000)
    assert run(["verify", str(wheel), "--matrix", str(tmp_path / "matrix.yaml"), "-v"]) == 0
    assert "compared with cell cu130-x86_64-sm12x" in capsys.readouterr().err
