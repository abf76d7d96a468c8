"""Measure `fatwheel --help`, and `fatwheel plan --json` of 240 cells; compare with Python importing only PyYAML.

``python benchmarks/plan.py [--rounds 10]`` prints seconds of whole processes, the best of all rounds, and ratios. As in
an installed package, modules are compiled to bytecode once, before the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLKITS = {
    "cu126": "12.6", "cu128": "12.8", "cu129": "12.9", "cu130": "13.0", "cu131": "13.1",
    "cu132": "13.2", "cu133": "13.3", "cu134": "13.4", "cu135": "13.5", "cu1352": "13.5",
}  # fmt: skip
OLD = ["5.0", "5.2", "6.0", "6.1", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0"]
NEW = ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1", "8.8"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "matrix.yaml"
        matrix.write_text(big_matrix())
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        commands = {
            "import yaml": ["-c", "import yaml"],
            "--help": ["-m", "fatwheel", "--help"],
            "plan --json": ["-m", "fatwheel", "plan", "--matrix", str(matrix), "--json"],
        }
        cells = json.loads(output(environment, *commands["plan --json"]))["cells"]
        took = best(rounds, environment, commands)
    print(f"planned {sum(not cell['shim'] for cell in cells)} cells and {sum(cell['shim'] for cell in cells)} shims")
    for name, seconds in took.items():
        print(f"{name:12} {seconds:.3f} s   {seconds / took['import yaml']:5.1f} x import yaml")


def output(environment: dict[str, str], *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def best(rounds: int, environment: dict[str, str], commands: dict[str, list[str]]) -> dict[str, float]:
    """Return the least seconds of ``rounds`` processes per command; more time means that the machine was busy."""
    took = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds):
        for name, arguments in commands.items():
            start = time.perf_counter()
            output(environment, *arguments)
            took[name] = min(took[name], time.perf_counter() - start)
    return took


def big_matrix() -> str:
    """A matrix.yaml with a wheel for each of 10 CUDA versions x 2 CPU architectures x 12 targets."""
    lines = [
        'version: "1.0"',
        "packages:",
        "  - {name: mylib, per: [cuda, arch], layout: provider, tag: cp39-abi3, manylinux: '2_28',",
        "     build: {kind: wheel, command: [make]}}",
        "cuda:",
    ]
    for label, toolkit in TOOLKITS.items():
        targets = " ".join(OLD if toolkit.startswith("12.") else NEW)
        lines.append(f"  {label}: {{toolkit: '{toolkit}', targets: {{x86_64: {targets}, aarch64: {targets}}}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
