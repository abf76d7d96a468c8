"""nox sessions follow the plan: one for each cell of any channel, each with a name of its own."""

import importlib
import importlib.metadata
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import nox
import pytest

from fatwheel import __version__, sessions
from fatwheel.sessions import cells, register, session_id, session_ids
from tests.unit.plan.matrices import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_cell_of_every_channel_has_a_session_of_its_own(name):
    found = cells(EXAMPLES[name])
    names = session_ids(found)
    assert len(set(names)) == len({cell.id for cell in found}) == len(found)


def test_names_say_the_axes():
    by_id = {cell.id: session_id(cell) for name in EXAMPLES for cell in cells(EXAMPLES[name])}
    assert by_id["cu130-aarch64-sm12x"] == "cuda=130,arch=aarch64,family=sm12x"
    assert by_id["cu130-x86_64-sm90a"] == "cuda=130,arch=x86_64,family=sm90a"
    assert by_id["cu130-shim"] == "cuda=130,family=shim"
    assert by_id["flashinfer-cubin"] == "package=flashinfer-cubin"
    assert by_id["cu126-x86_64-all-python3.12-torch2.13"] == "cuda=126,arch=x86_64,python=3.12,torch=2.13"


def test_two_packages_of_the_same_axes_are_told_apart():
    first = cells(EXAMPLES["flashinfer-split"])[0]
    second = first.model_copy(update={"id": "other-cu129-x86_64-sm9x", "package": "other"})
    assert session_ids([first, second]) == [
        "package=flashinfer-jit-cache,cuda=129,arch=x86_64,family=sm9x",
        "package=other,cuda=129,arch=x86_64,family=sm9x",
    ]


def calls(monkeypatch, verb, *arguments):
    """What the session of a verb runs, and in which environment, where another declaration is registered."""
    sessions, ran = {}, []
    monkeypatch.delenv("FATWHEEL_MATRIX", raising=False)
    monkeypatch.setattr(nox, "session", lambda name, **_: lambda function: sessions.setdefault(name, function))
    register("other.yaml", rehearse="small.yaml")
    run = SimpleNamespace(posargs=arguments, run=lambda *command, env, **_: ran.append((command, env)))
    sessions[verb](run)
    return ran[0]


def verbs_of_a_declaration():
    """Those whose --matrix is the registered one unless it is given."""
    found = []
    for path in sorted(Path(importlib.import_module("fatwheel.commands").__file__).parent.glob("[a-z]*.py")):
        command = importlib.import_module(f"fatwheel.commands.{path.stem}").command
        if any(option.name == "matrix" and option.envvar == "FATWHEEL_MATRIX" for option in command.params):
            found.append(path.stem)
    return found


@pytest.mark.parametrize("verb", ["check", "plan", "verify", "generate", "pick", "prune"])
def test_a_session_holds_to_the_declaration_that_is_registered(monkeypatch, verb):
    assert verb in verbs_of_a_declaration()
    command, env = calls(monkeypatch, verb, "X")
    assert command[-2:] == (verb, "X")
    assert env["FATWHEEL_MATRIX"] == "other.yaml"


def test_the_rehearsal_has_its_own_declaration_and_a_given_one_comes_first(monkeypatch):
    assert calls(monkeypatch, "rehearse")[1]["FATWHEEL_MATRIX"] == "small.yaml"
    assert "FATWHEEL_MATRIX" not in calls(monkeypatch, "plan", "--matrix", "third.yaml")[1]


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        (None, f"fatwheel[report]=={__version__}"),
        ('{"url": "file:///w/fatwheel.whl", "archive_info": {}}', "fatwheel[report] @ file:///w/fatwheel.whl"),
        (
            '{"url": "https://example.org/f", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            "fatwheel[report] @ git+https://example.org/f@abc",
        ),
    ],
)
def test_the_report_session_installs_the_fatwheel_that_runs_it(direct_url, requirement, tmp_path, monkeypatch):
    class Distribution:
        def read_text(self, name):
            assert name == "direct_url.json"
            return direct_url

    monkeypatch.setattr(sessions, "__file__", str(tmp_path / "site-packages/fatwheel/sessions.py"))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Distribution())
    assert sessions._requirement("report") == requirement


def test_the_report_session_installs_with_no_module_of_the_project(monkeypatch, tmp_path):
    found = {}
    monkeypatch.setattr(sessions.nox, "session", lambda **options: lambda f: found.setdefault(options["name"], f))
    sessions._register_report(tmp_path / "matrix.yaml")
    session = mock.Mock(posargs=[])
    found["report"](session)
    assert session.install.call_args.kwargs["env"] == {"PYTHONSAFEPATH": "1"}
    assert session.run.call_args.args == ("fatwheel", "report", "-o", "report")
