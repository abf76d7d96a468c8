"""Start-up and planning: `fatwheel --help`, and `plan --json` of 240 cells, beside a Python that imports only PyYAML.

``python benchmarks/plan.py [--rounds 10]`` prints seconds (the best of the rounds, whole processes) and ratios.
"""

from __future__ import annotations

import argparse
import json
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
        planned = json.loads(output("-m", "pipeline", "plan", "--matrix", str(matrix), "--json"))
        yaml = best(rounds, "-c", "import yaml")
        results = {
            "cells": len(planned["cells"]),
            "import yaml": yaml,
            "--help": best(rounds, "-m", "pipeline", "--help"),
            "plan --json": best(rounds, "-m", "pipeline", "plan", "--matrix", str(matrix), "--json"),
        }
    print(f"cells planned: {results['cells']}")
    for name in ("import yaml", "--help", "plan --json"):
        print(f"{name:12} {results[name]:.3f} s   {results[name] / yaml:5.1f} x import yaml")


def output(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def best(rounds: int, *arguments: str) -> float:
    """Seconds of the fastest of ``rounds`` processes: the others waited for somebody else."""
    took: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        output(*arguments)
        took.append(time.perf_counter() - start)
    return min(took)


def big_matrix() -> str:
    """Ten CUDA labels x two CPUs x twelve targets, a wheel for each."""
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
