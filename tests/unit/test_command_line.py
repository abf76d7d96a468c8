"""The command, its verbs and its statuses."""

import importlib
import json
import subprocess
import sys

import pytest

from fatwheel.__main__ import VERBS, run


@pytest.mark.parametrize("verb", VERBS)
def test_the_summary_in_the_list_is_the_commands_own(verb):
    command = importlib.import_module(f"fatwheel.commands.{verb}").command
    assert command.help == VERBS[verb]


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_shows_its_help(verb, capsys):
    assert run([verb, "--help"]) == 0
    assert "--help" in capsys.readouterr().out


def test_help_imports_none_of_the_heavy_libraries():
    watch = "import sys; from fatwheel.__main__ import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, check=True)
    loaded = set(found.stderr.split())
    assert not loaded & {"pydantic", "yaml", "rich", "githubkit", "httpx", "nox", "tenacity", "packaging"}


def test_an_unknown_command_is_a_usage_error_with_a_suggestion(capsys):
    assert run(["bulid"]) == 2
    assert "did you mean 'build'?" in capsys.readouterr().err


def test_no_command_shows_the_help_and_is_a_usage_error(capsys):
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_an_unknown_cell_is_a_usage_error_with_near_misses(capsys):
    assert run(["plan", "--only", "cu130-x86_64-sm9"]) == 2
    assert "did you mean cu130-x86_64-sm9x" in capsys.readouterr().err


def test_a_missing_declaration_says_how_to_begin(capsys, tmp_path):
    assert run(["check", "--matrix", str(tmp_path / "matrix.yaml")]) == 2
    assert "fatwheel init" in capsys.readouterr().err


def test_mistakes_come_as_data_with_their_places(capsys, tmp_path):
    (tmp_path / "matrix.yaml").write_text("version: 0.6\npackages: []\nfamlies: {}\n")
    assert run(["check", "--json", "--matrix", str(tmp_path / "matrix.yaml")]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ok"]
    assert [(p["line"], p["column"]) for p in answer["problems"]] == [(1, 10), (2, 11), (3, 1)]
    assert answer["problems"][2]["help"] == "did you mean 'families'?"


def test_a_schema_that_has_drifted_is_shown_with_status_3(capsys, tmp_path):
    minimal = {
        "version": "1.0",
        "packages": [{"name": "x", "per": [], "build": {"kind": "wheel", "command": ["true"]}}],
    }
    (tmp_path / "matrix.yaml").write_text(json.dumps(minimal))
    (tmp_path / "matrix.schema.json").write_text("{}\n")
    assert run(["check", "--matrix", str(tmp_path / "matrix.yaml")]) == 3
    said = capsys.readouterr().err
    assert "+++ matrix.schema.json (generated)" in said
    assert "fatwheel schema -o matrix.schema.json" in said


def test_the_plan_of_the_release_channel_has_its_twelve_cells(capsys):
    assert run(["plan", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["channel"] == "release"
    assert len(plan["cells"]) == 12
    assert {"id", "package", "cuda", "toolkit", "arch", "family", "targets", "covers"} <= set(plan["cells"][0])
    assert {"local_version", "wheel", "artifact", "image", "runner", "smoke"} <= set(plan["cells"][0])
    by_id = {cell["id"]: cell for cell in plan["cells"]}
    assert by_id["cu130-aarch64-sm10x"]["targets"] == ["8.0", "10.0a", "10.3a", "11.0a"]
    assert [(row["id"], row["what"]) for row in plan["excluded"]] == [("cu129-aarch64-sm12x", "12.1a")]
