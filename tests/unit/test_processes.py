"""A command with all its children: output as it comes, and nothing left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fatwheel.processes import NOT_STARTED, describe_exit, run_group
from fatwheel.pythons import interpreter, make_venv


def run(*command, env=None, grace=5.0):
    output = bytearray()
    status = run_group(command, env=env or dict(os.environ), cwd=Path.cwd(), sink=output.extend, grace=grace)
    return status, output.decode()


def gone(pid: int) -> bool:
    """Whether a process has ended, within ten seconds; a zombie has."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.1)
    return False


def test_output_and_errors_come_in_their_order():
    assert run("sh", "-c", "echo a; echo b >&2; echo c") == (0, "a\nb\nc\n")


def test_the_status_is_the_commands():
    assert run("sh", "-c", "exit 7")[0] == 7
    assert run("sh", "-c", "kill -KILL $$")[0] == -9


def test_standard_input_is_empty():
    assert run("cat") == (0, "")


@pytest.mark.parametrize("command", ["no-such-program", "/etc/passwd"])
def test_a_program_that_cannot_start_is_named_as_shells_do(command):
    status, output = run(command)
    assert status == NOT_STARTED
    assert output.startswith(f"cannot start '{command}': ")


def test_endings_are_told_in_words():
    assert describe_exit(1) == "exited with code 1"
    assert describe_exit(-9) == "was killed by SIGKILL"
    assert describe_exit(-99) == "was killed by signal 99"
    assert describe_exit(None) == "timed out"


def test_a_tick_comes_while_the_command_runs_and_may_end_it(tmp_path):
    def tick(pid):
        if (tmp_path / "child").exists():
            raise TimeoutError(pid)

    with pytest.raises(TimeoutError) as caught:
        run_group(
            ["sh", "-c", "sleep 300 & echo $! > made; mv made child; exec >/dev/null 2>&1; wait"],
            env=dict(os.environ), cwd=tmp_path, sink=lambda _: None, tick=tick,
        )  # fmt: skip
    assert gone(caught.value.args[0])
    assert gone(int((tmp_path / "child").read_text()))


def test_a_child_left_behind_is_ended_and_not_waited_for():
    status, output = run("sh", "-c", "sleep 300 & echo $!")
    assert status == 0
    assert gone(int(output))


def test_a_child_that_ignores_term_is_killed(tmp_path):
    child = f"(trap '' TERM; touch {tmp_path}/ready; sleep 300)"
    wait = f"until [ -e {tmp_path}/ready ]; do sleep 0.05; done"
    status, output = run("sh", "-c", f"{child} & echo $!; {wait}", grace=0.2)
    assert status == 0
    assert gone(int(output))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_whole_tree(number, tmp_path):
    code = """
import os, sys
from pathlib import Path
from fatwheel.processes import run_group, terminable
script = "sh -c 'sleep 300 & echo $! > grandchild; mv grandchild ready; wait' & wait"
with terminable():
    run_group(["sh", "-c", script], env=os.environ, cwd=Path(sys.argv[1]), sink=lambda _: None)
"""
    caller = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE)
    ready = tmp_path / "ready"
    for _ in range(200):
        if ready.exists():
            break
        time.sleep(0.05)
    caller.send_signal(number)
    said = caller.communicate(timeout=30)[1]
    assert b"KeyboardInterrupt" in said
    assert gone(int(ready.read_text()))


def test_an_environment_is_made_where_a_relative_path_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("users").mkdir()
    assert make_venv(sys.executable, Path("users/one"), pip=False, environ=os.environ) is None
    assert interpreter(tmp_path / "users/one").exists()
