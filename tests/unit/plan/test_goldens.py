"""Whole plans, and what runs where: tests/golden/ holds what was right."""

import contextlib
import datetime as dt
import io

import click
import pytest

from fatwheel.console.plan_tables import show_plan
from fatwheel.declaration import load
from fatwheel.plan import make_plan
from fatwheel.targets import Capability, jits, loads
from tests.golden import same_as_golden
from tests.unit.plan.matrices import EXAMPLES

DAY = dt.date(2026, 12, 1)
DEVICES = ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "10.7", "11.0", "12.0", "12.1"]
CASES = [(name, channel) for name, path in EXAMPLES.items() for channel in load(path).channels]


@pytest.mark.parametrize(("name", "channel"), CASES, ids=lambda value: value)
def test_each_example_plans_as_it_did(name, channel, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("NO_COLOR", "1")
    plan = make_plan(load(EXAMPLES[name]), channel, date=DAY)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        show_plan(plan)
    lines = [click.unstyle(shown.getvalue()).rstrip(), "", "files, with what they require:"]
    for cell in plan.cells:
        lines.append(f"  {cell.id}: {cell.wheel}")
        lines += [f"      {line}" for line in cell.requires_dist]
    same_as_golden(f"plans/{name}-{channel}.txt", "\n".join(lines) + "\n")


def test_what_runs_where():
    """`yes`: machine code loads, and the cell covers it; `base`: it loads, but the family is another's; `PTX`: compiled
    by the driver; `-`: refused."""
    rows = ["cell".ljust(22) + "".join(device.rjust(6) for device in DEVICES)]
    for cell in make_plan(load(EXAMPLES["flashinfer-split"]), "nightly", date=DAY).cells:
        marks = []
        for device in map(Capability.parse, DEVICES):
            fits = any(loads(target, device, cell.toolkit) for target in cell.targets)
            compiled = any(jits(target, device, cell.toolkit) for target in cell.targets)
            marks.append("yes" if device in cell.covers else "base" if fits else "PTX" if compiled else "-")
        rows.append(cell.id.ljust(22) + "".join(mark.rjust(6) for mark in marks))
    same_as_golden("what_runs_where.txt", "\n".join(rows) + "\n")
