"""`check`, `init`, `toolkits` and the JSON Schema."""

import json
import shutil
import stat
import subprocess
import sys

import pytest
import yaml
from jsonschema import Draft202012Validator

from fatwheel.__main__ import run
from fatwheel.declaration import load
from fatwheel.declaration.schema import schema, schema_text
from fatwheel.plan import find_errors, make_plan
from fatwheel.targets import toolkit
from tests.unit.declaration.bad_declarations import GOOD, broken
from tests.unit.plan.matrices import EXAMPLES, ROOT
from tests.unit.test_targets import RECORDINGS


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FATWHEEL_MATRIX", raising=False)


def test_check_ends_with_0_2_or_3(tmp_path, capsys):
    path = tmp_path / "matrix.yaml"
    path.write_text(GOOD)
    assert run(["check"]) == 0
    assert run(["schema", "-o", "matrix.schema.json"]) == 0
    assert run(["check"]) == 0
    (tmp_path / "matrix.schema.json").write_text("{}\n")
    assert run(["check"]) == 3
    assert "fatwheel schema -o matrix.schema.json" in capsys.readouterr().err
    assert run(["check", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["errors"], found["error"]) == (False, [], None)
    assert "+++ matrix.schema.json (generated)" in found["drift"]
    path.write_text(broken("unknown-toolkit"))
    assert run(["check"]) == 2


def test_check_gives_mistakes_and_notes_as_data(tmp_path, capsys):
    (tmp_path / "matrix.yaml").write_text(GOOD)
    assert run(["check", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["errors"], answer["drift"], answer["error"]) == (True, [], None, None)
    assert [note["line"] for note in answer["warnings"]] == [8]
    (tmp_path / "matrix.yaml").write_text(broken("wrong-targets"))
    assert run(["check", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["errors"]
    assert [(p["line"], p["column"], p["text"]) for p in found] == [
        (32, 19, "9"), (32, 21, "0a"), (32, 24, "Hopper"), (32, 31, "native")
    ]  # fmt: skip


def test_check_of_a_file_that_is_not_there_is_data_too(capsys):
    assert run(["check", "--json"]) == 2
    assert "fatwheel init" in json.loads(capsys.readouterr().out)["error"]["help"]


def test_the_schema_is_one_and_takes_every_example():
    Draft202012Validator.check_schema(schema())
    validator = Draft202012Validator(schema())
    for path in EXAMPLES.values():
        assert not list(validator.iter_errors(yaml.safe_load(path.read_text())))


def test_check_jsonschema_takes_every_declaration_of_the_repository_by_the_schema_beside_it():
    declarations = [ROOT / "matrix.yaml", *sorted((ROOT / "examples").rglob("matrix.yaml"))]
    assert len(declarations) >= 6
    tool = [sys.executable, "-m", "check_jsonschema", "--schemafile", ROOT / "matrix.schema.json"]
    done = subprocess.run([*tool, *declarations], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "ok -- validation done")


def _models(part):
    """Every object of a schema whose keys have names."""
    if isinstance(part, dict):
        yield from [part] if "properties" in part else []
        part = list(part.values())
    for inner in part if isinstance(part, list) else ():
        yield from _models(inner)


def test_an_editor_has_something_to_say_of_every_key_and_offers_none_without_a_value():
    held = schema()
    keys = [(name, key) for model in _models(held) for name, key in model["properties"].items()]
    assert len(keys) > 90
    for name, key in keys:
        target = held["$defs"][key["$ref"].rsplit("/", 1)[1]] if "$ref" in key else key
        assert key.get("description") or target.get("description"), name
        assert key.get("default", "") is not None, name
    assert '"null"' not in schema_text()


@pytest.mark.parametrize(
    "name", ["unknown-key-near", "unknown-key-inside", "unquoted-toolkit", "unknown-toolkit", "wrong-choice",
             "wrong-arch", "number-as-key", "glibc-floor-form", "secret-with-its-value", "missing-key",
             "text-for-list", "empty-value"],
)  # fmt: skip
def test_an_editor_with_the_schema_sees_mistakes_of_form(name):
    document = yaml.safe_load(broken(name))
    assert list(Draft202012Validator(schema()).iter_errors(json.loads(json.dumps(document))))


@pytest.mark.parametrize("layout", ["family", "provider", "fat"])
@pytest.mark.parametrize("spelling", ["torch", "cmake", "flashinfer", "nvcc", "dotted"])
def test_init_writes_a_declaration_that_holds(layout, spelling, tmp_path):
    arguments = ["--yes", "--name", "My.Lib", "--cuda", "12.6", "--cuda", "13.4", "--layout", layout]
    assert run(["init", *arguments, "--spelling", spelling]) == 0
    declaration = load(tmp_path / "matrix.yaml")
    assert not find_errors(declaration)
    assert declaration.packages[0].import_name == "My_Lib"
    assert {cell.cuda for cell in make_plan(declaration).cells} == {"cu126", "cu134"}
    assert declaration.path.read_text().count("#") > 10


def test_init_takes_name_and_version_from_the_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "fast-kernels"\nversion = "3.2"\n')
    assert run(["init", "--yes", "--repository", "example/fast"]) == 0
    declaration = load(tmp_path / "matrix.yaml")
    assert (declaration.packages[0].name, declaration.version) == ("fast-kernels", "3.2")
    assert make_plan(declaration).repository == "example/fast"


@pytest.mark.parametrize(("name", "module"), [("try", "try_"), ("3d-kernels", "_3d_kernels"), ("a.b-c", "a_b_c")])
def test_init_names_a_module_that_python_can_import(tmp_path, name, module):
    assert run(["init", "--yes", "--name", name]) == 0
    assert load(tmp_path / "matrix.yaml").packages[0].import_name == module


def test_init_writes_the_schema_that_its_first_line_names_and_says_so(tmp_path, capsys):
    assert run(["init", "--yes"]) == 0
    assert "$schema=matrix.schema.json" in (tmp_path / "matrix.yaml").read_text()
    assert (tmp_path / "matrix.schema.json").read_text() == schema_text()
    assert "matrix.schema.json: written (schema for editors)" in capsys.readouterr().out
    assert run(["check"]) == 0


def test_init_never_overwrites(tmp_path, capsys):
    (tmp_path / "matrix.yaml").write_text("mine\n")
    assert run(["init", "--yes"]) == 2
    assert (tmp_path / "matrix.yaml").read_text() == "mine\n"
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--targets", "9.0 x"], "invalid GPU target 'x'"),
        (["--cuda", "13.9"], "unknown CUDA toolkit '13.9'"),
        (["--cuda", "12.6", "--targets", "12.0"], "CUDA 12.6 cannot compile 12.0"),
        (["--name", "my lib"], "invalid distribution name"),
        (["--targets", "9.0 99.9"], "CUDA 13.0 cannot compile 99.9"),
        (["--spelling", "flashinfer", "--targets", "9.0"], "FlashInfer reads 9.0 without a suffix as 9.0a"),
    ],
)
def test_init_writes_nothing_that_would_not_hold(arguments, said, tmp_path, capsys):
    assert run(["init", "--yes", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def _ptxas(folder, release):
    """A program that prints what the ptxas of a release printed."""
    recorded = RECORDINGS / toolkit(release).ptxas
    path = folder / "ptxas"
    path.write_text(f'#!/bin/sh\nexec cat "{recorded}.${{1#--}}.txt"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_toolkits_agree_with_a_ptxas_or_differ_with_3(tmp_path, capsys, monkeypatch):
    assert run(["toolkits", "--ptxas", _ptxas(tmp_path, "13.4")]) == 0
    assert "107a" in capsys.readouterr().out
    monkeypatch.setattr("fatwheel.targets.toolkits", lambda: {"13.4": toolkit("13.0")})
    assert run(["toolkits", "--ptxas", _ptxas(tmp_path, "13.4")]) == 3
    assert "it compiles 107 107f 107a" in capsys.readouterr().err
    monkeypatch.setattr("fatwheel.targets.toolkits", dict)
    assert run(["toolkits", "--ptxas", _ptxas(tmp_path, "13.4")]) == 3
    assert "the toolkit table has no row for CUDA 13.4" in capsys.readouterr().err


def test_toolkits_are_written_back_byte_for_byte(tmp_path, monkeypatch):
    from fatwheel.targets.table import DATA

    copy = tmp_path / "toolkits.json"
    rows = json.loads(DATA.read_text())
    rows.pop("13.0")
    copy.write_text(json.dumps(rows))
    monkeypatch.setattr("fatwheel.targets.table.DATA", copy)
    assert run(["toolkits", "--ptxas", _ptxas(tmp_path, "13.0"), "--write"]) == 0
    assert copy.read_text() == DATA.read_text()


def test_toolkits_as_data(capsys):
    assert run(["toolkits", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["12.6"]["targets"][-1] == "90a"


@pytest.mark.parametrize("program", ["/nonexistent/ptxas", shutil.which("true") or "/bin/true"])
def test_what_is_no_ptxas_is_a_usage_error(program, capsys):
    assert run(["toolkits", "--ptxas", program]) == 2
    assert "ptxas" in capsys.readouterr().err


def test_write_without_a_ptxas_is_a_usage_error():
    assert run(["toolkits", "--write"]) == 2


def test_init_says_what_it_guessed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--yes", "--version", "2.0"]) == 0
    assert "not in pyproject.toml, so guessed: name\n" in capsys.readouterr().err


def test_a_declaration_in_a_folder_above_is_named_and_not_taken(tmp_path, monkeypatch, capsys):
    (tmp_path / "matrix.yaml").write_text("version: 1\n")
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path / "kernels")
    assert run(["check"]) == 2
    assert (
        "matrix.yaml not found\n  help: to use the one in a parent folder, pass --matrix ../matrix.yaml"
        in capsys.readouterr().err
    )
