"""Run a build command with its own sccache server: with_cache.py --stats FILE -- COMMAND...

The server runs as long as the command, and its statistics are written to FILE as JSON. If the server does not start,
does not respond or crashes, the command still runs, only slower. The script exits with the exit code of the command.
Only the server receives the variables that FATWHEEL_CACHE_SECRETS names, separated by commas.

The script runs in build containers and requires only the standard library of Python 3.9 or later.
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

START = 30  # seconds for the server to start and to check its storage
ANSWER = 20  # seconds for sccache to respond


def call_sccache(program: str, *arguments: str, timeout: float = ANSWER) -> tuple[bool, str]:
    """Run sccache; returns whether it succeeded, and its output. It is killed after ``timeout`` seconds."""
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
        return False, f"sccache did not respond within {timeout:.0f} s"
    except OSError as error:
        return False, f"cannot start sccache: {error.strerror}"
    output = answer.stdout.decode(errors="replace").strip()
    return answer.returncode == 0, output or f"sccache exited with code {answer.returncode}"


def start_server(program: str) -> str:
    """Start the server; returns why it failed, or an empty string."""
    call_sccache(program, "--stop-server", timeout=5)  # left over from a killed build
    succeeded, output = call_sccache(program, "--start-server", timeout=START)
    if succeeded:
        succeeded, output = call_sccache(program, "--show-stats", "--stats-format=json")
    return "" if succeeded else (output.splitlines() or ["sccache failed"])[-1]


def collect_statistics(program: str, reason: str) -> dict[str, Any]:
    """Return the server's statistics, or the reason why there are none."""
    if not reason:
        succeeded, output = call_sccache(program, "--show-stats", "--stats-format=json")
        if succeeded:
            try:
                return {"reason": "", "sccache": json.loads(output[output.index("{") :])}
            except ValueError:
                output = "cannot parse its statistics"
        reason = f"the sccache server did not survive the build: {output.splitlines()[-1]}"
    return {"reason": reason, "sccache": None}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code, or 128 plus the number of the signal that killed it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stats", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    program = os.environ["FATWHEEL_SCCACHE"]
    reason = start_server(program)
    for name in filter(None, os.environ.get("FATWHEEL_CACHE_SECRETS", "").split(",")):
        os.environ.pop(name, None)
    if reason:
        print(f"warning: compiling without a cache: {reason}", flush=True)
        os.environ["FATWHEEL_SCCACHE"] = ""
    try:
        try:
            process = subprocess.Popen(options.command)
        except OSError as error:
            print(f"error: cannot start '{options.command[0]}': {error.strerror}", flush=True)
            return 127
        received = []

        def forward_signal(number: int, _frame: object) -> None:
            received.append(number)
            process.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, forward_signal)
        code = process.wait()
        if not received:
            options.stats.write_text(json.dumps(collect_statistics(program, reason)), encoding="utf-8")
    finally:
        if not reason:
            call_sccache(program, "--stop-server", timeout=5)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
