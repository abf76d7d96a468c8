"""The command `smoke`: one wheel or several, each told, and one status at the end."""

import json

from fatwheel.__main__ import run
from tests.unit.wheels.synthetic import demo, stamp

TAGS = "py3-none-manylinux_2_28_riscv64"  # for no machine that runs these tests: nothing is installed


def test_json_is_an_array_for_one_wheel_and_for_several(tmp_path, capsys):
    wheel = demo(tmp_path, tags=TAGS, stamped=stamp())
    assert run(["smoke", str(wheel), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one["import"]["outcome"] == "skipped"
    assert run(["smoke", str(wheel), str(wheel), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [one, one]


def test_a_wheel_that_is_not_there_keeps_no_other_from_being_tried(tmp_path, capsys):
    wheel = demo(tmp_path, tags=TAGS, stamped=stamp())
    assert run(["smoke", str(tmp_path / "x.whl"), str(wheel)]) == 2
    told = capsys.readouterr()
    assert f"{wheel.name}\n  import: skipped" in told.out
    assert "wheel not found" in told.err
