"""Cells that one build makes together, and the cell of that build."""

from pathlib import Path

from fatwheel.declaration import load
from fatwheel.pipelines.fat_build import group_cells, make_fat_cell
from fatwheel.plan import make_plan
from fatwheel.records.plan import Cell
from fatwheel.targets import dotted

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
