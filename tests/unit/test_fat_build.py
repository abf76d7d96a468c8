"""Cells that one build makes together, and the cell of that build."""

import dataclasses
from pathlib import Path

import pytest

from fatwheel.declaration import load
from fatwheel.pipelines import fat_build
from fatwheel.pipelines.fat_build import group_cells, make_fat_cell
from fatwheel.plan import make_plan
from fatwheel.records.plan import Cell
from fatwheel.targets import dotted
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from tests.unit.wheels.synthetic import built, demo

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels" / "matrix.yaml"


def test_a_fat_cell_has_the_targets_and_coverage_of_all_its_cells_in_order():
    declaration = load(EXAMPLE)
    cells = [cell for cell in make_plan(declaration).cells if cell.cuda == "cu130" and cell.arch == "x86_64"]
    fat = make_fat_cell(declaration.packages[0], cells)
    assert (fat.id, fat.family, fat.full_version) == ("cu130-x86_64-all", None, f"{cells[0].version}+cu130")
    assert set(fat.targets) == {target for cell in cells for target in cell.targets}
    assert fat.targets == sorted(fat.targets)
    assert fat.covers == sorted({capability for cell in cells for capability in cell.covers})
    assert dotted(fat.covers).split()[-2:] == ["12.0", "12.1"]
    assert Cell.model_validate_json(fat.to_json()) == fat


def test_cells_of_a_package_that_is_not_split_are_built_one_by_one():
    declaration = load(EXAMPLE)
    cells = make_plan(declaration).cells
    assert list(group_cells(declaration, cells, cells)) == [[cell] for cell in cells]


@pytest.mark.parametrize(("declared", "used"), [(0, 0), (9, 9), (None, DEFAULT_LEVEL)])
def test_parts_are_packed_at_the_declared_level(tmp_path, monkeypatch, declared, used):
    declaration = load(EXAMPLE)
    (package,) = declaration.packages
    pack = package.pack.model_copy(update={"level": declared})
    document = declaration.document.model_copy(update={"packages": [package.model_copy(update={"pack": pack})]})
    levels = []
    monkeypatch.setattr(fat_build, "make_specs", lambda *_: [])
    monkeypatch.setattr(fat_build, "split", lambda *_, level, **__: levels.append(level) or [])
    cells = make_plan(declaration).cells
    done = fat_build.build_and_split(
        dataclasses.replace(declaration, document=document), cells[:1], cells[:1], tmp_path / "out",
        lambda cell, _: built(demo(tmp_path), cell=cell),
    )  # fmt: skip
    assert (list(done), levels) == ([], [used])
