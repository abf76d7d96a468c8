"""The command, its verbs and its statuses."""

import errno
import importlib
import json
import os
import subprocess
import sys

import click
import pytest

from fatwheel.__main__ import fatwheel as fatwheel_group
from fatwheel.__main__ import run
from fatwheel.console.failures import from_system
from fatwheel.console.output import allow_color
from fatwheel.console.summaries import GROUPS, LESS_USED, SUMMARIES


@pytest.mark.parametrize("verb", SUMMARIES)
def test_the_summary_in_the_list_is_the_commands_own(verb):
    command = importlib.import_module(f"fatwheel.commands.{verb}").command
    assert command.help.splitlines()[0] == SUMMARIES[verb]
    assert len(SUMMARIES[verb]) <= 65


@pytest.mark.parametrize("verb", SUMMARIES)
def test_every_command_shows_its_help(verb, capsys):
    assert run([verb, "--help"]) == 0
    assert "--help" in capsys.readouterr().out


def test_help_imports_none_of_the_heavy_libraries():
    watch = "import sys; from fatwheel.__main__ import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, check=True)
    loaded = set(found.stderr.split())
    assert not loaded & {"pydantic", "yaml", "rich", "githubkit", "httpx", "nox", "packaging"}


def test_an_unknown_command_is_a_usage_error_with_a_suggestion(capsys):
    assert run(["bulid"]) == 2
    assert "did you mean 'build'?" in capsys.readouterr().err


def test_no_command_shows_the_help_and_is_a_usage_error(capsys):
    assert run([]) == 2
    assert "Build:" in capsys.readouterr().err


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
    assert [(p["line"], p["column"]) for p in answer["errors"]] == [(1, 10), (2, 11), (3, 1)]
    assert answer["errors"][2]["help"] == "did you mean 'families'?"


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


def test_an_unknown_option_is_an_error_with_a_suggestion(capsys):
    assert run(["plan", "--chanel", "release"]) == 2
    assert capsys.readouterr().err == "error: unknown option '--chanel'\n  help: did you mean '--channel'?\n"


def test_errors_of_click_look_like_all_others(capsys):
    assert run(["verify"]) == 2
    assert capsys.readouterr().err == ("error: missing argument 'WHEEL...'\n  help: run `fatwheel verify --help`\n")
    assert run(["build", "x", "--engine", "lxc"]) == 2
    assert capsys.readouterr().err == (
        "error: invalid value for '--engine': 'lxc'\n  help: choose one of: host, docker, podman\n"
    )


def test_with_json_an_error_is_json_on_standard_output(capsys, tmp_path):
    assert run(["plan", "--json", "--matrix", str(tmp_path / "matrix.yaml")]) == 2
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert (error["kind"], error["exit_code"], error["errors"]) == ("usage-error", 2, [])
    assert error["message"] in said.err


def test_a_failed_command_writes_an_error_record(monkeypatch, tmp_path):
    (tmp_path / "matrix.yaml").write_text("version: 0.6\npackages: []\nfamlies: {}\n")
    record = tmp_path / "error.json"
    monkeypatch.setenv("FATWHEEL_ERROR_RECORD", str(record))
    assert run(["plan", "--matrix", str(tmp_path / "matrix.yaml")]) == 2
    error = json.loads(record.read_text())
    assert (error["kind"], error["message"]) == ("declaration-error", "Found 3 errors.")
    assert [(one["line"], one["column"]) for one in error["errors"]] == [(1, 10), (2, 11), (3, 1)]
    assert error["errors"][2]["message"] == "unknown key 'famlies'"


def test_no_error_record_is_written_on_success(monkeypatch, tmp_path):
    monkeypatch.setenv("FATWHEEL_ERROR_RECORD", str(tmp_path / "error.json"))
    assert run(["schema", "-o", str(tmp_path / "schema.json")]) == 0
    assert not (tmp_path / "error.json").exists()


def test_errors_have_no_color_where_it_is_not_wanted(monkeypatch):
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert allow_color() is False
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert allow_color() is None


def test_a_place_that_cannot_be_written_is_one_line(capsys):
    assert run(["schema", "-o", "/proc/fatwheel/schema.json"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: /proc/fatwheel: ")
    assert "Traceback" not in said


@pytest.mark.parametrize("command", ["check", "init --yes --name demo", "schema -o schema.json"])
def test_a_deleted_working_folder_is_one_line(tmp_path, command):
    folder = tmp_path / "gone"
    folder.mkdir()
    ask = f"cd {folder} && rmdir {folder} && {sys.executable} -m fatwheel {command}"
    found = subprocess.run(["sh", "-c", ask], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (
        2, "error: the working folder no longer exists\n  help: change to another folder\n",
    )  # fmt: skip


def test_an_interrupt_says_what_is_left(monkeypatch, capsys):
    def interrupted(**_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("fatwheel.__main__.fatwheel.main", interrupted)
    assert run(["plan"]) == 130
    assert capsys.readouterr().err == "interrupted: finished work is kept, no partial files are left\n"


def complete(words, incomplete=""):
    context = fatwheel_group.make_context("fatwheel", list(words), resilient_parsing=True)
    if not words:
        return [item.value for item in fatwheel_group.shell_complete(context, incomplete)]
    command = fatwheel_group.get_command(context, words[0])
    inner = command.make_context(words[0], [], resilient_parsing=True)
    parameter = next(one for one in command.params if one.name == words[1])
    return [item.value for item in parameter.shell_complete(inner, incomplete)]


def test_commands_cells_and_channels_are_completed(monkeypatch, tmp_path):
    assert complete([], "re") == ["rehearse", "repack", "report", "release"]
    assert complete(["build", "cell"], "cu130-x86_64-sm1") == ["cu130-x86_64-sm10x", "cu130-x86_64-sm12x"]
    assert complete(["verify", "cell"], "cu130-x86_64-sm9") == ["cu130-x86_64-sm9x"]
    assert complete(["plan", "channel"], "n") == ["nightly"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix.yaml").write_text("not: [valid")
    assert complete(["build", "cell"], "cu") == []


def test_the_shell_gets_completions_from_the_command():
    environment = os.environ | {
        "_FATWHEEL_COMPLETE": "bash_complete", "COMP_WORDS": "fatwheel build cu130-x86_64-sm9", "COMP_CWORD": "2",
    }  # fmt: skip
    found = subprocess.run(
        [sys.executable, "-m", "fatwheel"], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["plain,cu130-x86_64-sm9x"]


def test_help_names_every_command_once_in_its_group(capsys):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert [text.index(f"\n{title}:") for title in GROUPS] == sorted(text.index(f"\n{title}:") for title in GROUPS)
    for name, summary in SUMMARIES.items():
        assert (f"  {name} " in text and summary in text) or name in LESS_USED, name
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("verb", SUMMARIES)
def test_options_are_spelled_alike_and_have_help(verb):
    command = importlib.import_module(f"fatwheel.commands.{verb}").command
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    assert {"--quiet", "--verbose"} <= {name for one in options for name in one.opts}
    for option in options:
        assert option.help, (verb, option.name)
        assert option.help[0].isupper() or option.help.startswith("ptxas"), (verb, option.help)
    assert "tag" not in {one.name for one in command.params if isinstance(one, click.Argument)}


def test_quiet_prints_results_and_errors_only(capsys, tmp_path):
    asked = ["rehearse", "--fake-build", "--only", "cu130-x86_64-sm9x", "-o", str(tmp_path / "out")]
    assert run([*asked, "--quiet"]) == 0
    said = capsys.readouterr()
    assert (said.err, "cu130-x86_64-sm9x" in said.out) == ("", True)
    assert run(asked) == 0
    assert "build cu130-x86_64-sm9x" in capsys.readouterr().err


def test_check_reports_what_keeps_it_from_reading_as_an_error_record(capsys, tmp_path):
    assert run(["check", "--json", "--matrix", str(tmp_path / "matrix.yaml")]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["error"]["kind"], answer["error"]["exit_code"]) == (False, "usage-error", 2)


@pytest.mark.parametrize(
    ("number", "help"),
    [
        (errno.ENOSPC, "free some disk space, or use another disk (--output, TMPDIR, FATWHEEL_CACHE)"),
        (errno.EACCES, "check the path and its permissions, or choose another one"),
        (errno.EROFS, "check the path and its permissions, or choose another one"),
        (errno.ENOTDIR, "check the path and its permissions, or choose another one"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_usage_error_with_its_path(number, help):
    found = from_system(OSError(number, os.strerror(number), "/somewhere/file"))
    assert (found.exit_code, found.where, found.help) == (2, "/somewhere/file", help)
    assert found.what[0].islower()


def test_a_cache_that_cannot_be_written_names_its_variable(monkeypatch):
    monkeypatch.setenv("FATWHEEL_CACHE", "/nowhere/cache")
    found = from_system(PermissionError(errno.EACCES, "Permission denied", "/nowhere/cache/toolkits"))
    assert found.help == "set FATWHEEL_CACHE to a folder that you can write to"


@pytest.mark.parametrize("place", ["/", "/nowhere", "/nowhere/cache-of-others"])
def test_a_folder_outside_the_cache_is_not_said_to_be_the_cache(monkeypatch, place):
    monkeypatch.setenv("FATWHEEL_CACHE", "/nowhere/cache")
    found = from_system(PermissionError(errno.EACCES, "Permission denied", place))
    assert found.help == "check the path and its permissions, or choose another one"


def test_the_default_cache_is_a_folder_of_fatwheel_in_that_of_the_user(monkeypatch):
    monkeypatch.delenv("FATWHEEL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere/cache")
    own, other = (
        from_system(PermissionError(errno.EACCES, "x", f"/nowhere/cache/{name}")) for name in ("fatwheel", "pip")
    )
    assert "FATWHEEL_CACHE" in own.help
    assert "FATWHEEL_CACHE" not in other.help


def test_other_errors_of_the_system_keep_their_traceback():
    assert from_system(OSError(errno.EBADF, "Bad file descriptor")) is None
