"""Run a build command with an sccache server of its own: with_cache.py --stats FILE -- COMMAND...

The server starts before the command and ends after it, and what it counted goes to FILE as JSON. A server that does
not start, does not answer or dies makes the build slower: the command runs all the same, and its status is this
script's. Variables that FATWHEEL_CACHE_SECRETS names, separated by commas, are for the server alone.

Standard library only, Python 3.9 and later: this runs in build containers.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

START = 30  # seconds that the server has to start, with a look at its storage
ANSWER = 20  # seconds for a question


def ask(program: str, *arguments: str, timeout: float = ANSWER) -> tuple[bool, str]:
    """What sccache answers; whether it did well. One that hangs is killed."""
    try:
        answer = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"it did not answer in {timeout} s"
    except OSError as error:
        return False, f"it cannot be started: {error.strerror}"
    said = answer.stdout.decode(errors="replace").strip()
    return answer.returncode == 0, said or f"it ended with status {answer.returncode}"


def start(program: str) -> str:
    """Start the server; why it is not there, or nothing."""
    ask(program, "--stop-server", timeout=5)  # of a build that was killed
    fine, said = ask(program, "--start-server", timeout=START)
    if fine:
        fine, said = ask(program, "--show-stats", "--stats-format=json")
    return "" if fine else (said.splitlines() or ["it failed"])[-1]


def statistics(program: str, reason: str) -> dict[str, Any]:
    """What the server counted, and why there is no server, if there is none."""
    if not reason:
        fine, said = ask(program, "--show-stats", "--stats-format=json")
        if fine:
            try:
                return {"reason": "", "sccache": json.loads(said[said.index("{") :])}
            except ValueError:
                said = "it wrote statistics that cannot be read"
        reason = f"it was gone at the end: {said.splitlines()[-1]}"
    return {"reason": reason, "sccache": None}


def main(arguments: list[str] | None = None) -> int:
    """The status of the command; 128 and the signal's number if one ended it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stats", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    program = os.environ["FATWHEEL_SCCACHE"]
    reason = start(program)
    for name in filter(None, os.environ.get("FATWHEEL_CACHE_SECRETS", "").split(",")):
        os.environ.pop(name, None)
    if reason:
        print(f"warning: compiling without the cache: {reason}", flush=True)
        os.environ["FATWHEEL_SCCACHE"] = ""
    try:
        try:
            process = subprocess.Popen(options.command)
        except OSError as error:
            print(f"'{options.command[0]}' cannot be started: {error.strerror}", flush=True)
            return 127
        told = []

        def pass_on(number: int, _frame: object) -> None:
            told.append(number)
            process.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, pass_on)
        status = process.wait()
        if not told:
            options.stats.write_text(json.dumps(statistics(program, reason)), encoding="utf-8")
    finally:
        if not reason:
            ask(program, "--stop-server", timeout=5)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
