"""What GitHub would refuse, or take and break in silence, is told before anything is written."""

from __future__ import annotations

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import UsageError
from fatwheel.workflows.context import context_of
from fatwheel.workflows.generate import generated
from fatwheel.workflows.workflow_validation import generated_badly
from tests.unit.workflows.repositories import changed, copied


@pytest.fixture
def setting(tmp_path):
    from fatwheel.declaration import load

    return context_of(load(copied("minikernels", tmp_path)))


def broken(setting, file, old, new):
    text = generated(setting)[file]
    assert old in text
    return list(generated_badly(setting, file, text.replace(old, new, 1)))


@pytest.mark.parametrize(("file", "old", "new", "said"), [
    ("release.yml", "      fail-fast: false\n", "", "build: fail-fast is not false"),
    ("release.yml", "    timeout-minutes: 15\n", "", "plan: no timeout-minutes"),
    ("release.yml", "permissions: {}\n", "permissions: write-all\n", "permissions must be {} at the top"),
    ("nightly.yml", "  schedule:\n", "  pull_request_target:\n  schedule:\n", "pull_request_target gives secrets"),
    ("nightly.yml", "    runs-on: ubuntu-24.04\n", "    runs-on: mystery\n", "mystery is not among the declared"),
    ("pull-request.yml", "run: uvx fatwheel", "run: echo ${{ github.ref }} ", "an expression in `run`"),
    ("release.yml", "@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7", "is not pinned by its full commit"),
    ("release.yml", "        run: uvx", "        continue-on-error: true\n        run: uvx", "continue-on-error would"),
    ("release.yml", "name: Publish\n", f"name: ${{{{ '{'x' * 21_000}' }}}}\n", "an expression of 21,0"),
    ("release.yml", "name: Release\n", f"name: {'x' * 1_048_576}\n", "GitHub takes 1,048,576"),
])  # fmt: skip
def test_a_generated_file_that_breaks_is_not_written(setting, file, old, new, said):
    assert any(said in problem for problem in broken(setting, file, old, new))


@pytest.mark.parametrize(("changes", "where", "said"), [
    ([("    aarch64: ubuntu-24.04-arm\n", "")], ":8", "no runner builds for aarch64"),
    ([("  release:                   # all cells\n", "  release:\n    repository: octo/mini\n"),
      ("  nightly:                   #", "  nightly:\n    repository: octo/other\n    #")],
     "octo/other is another repository than octo/mini", "takes a token of its own"),
    ([("runners:\n", "workflows:\n  index: {repository: octo/pages}\n\nrunners:\n")],
     "octo/pages", "takes a token of its own"),
    ([("runners:\n", "secrets: {a-b/c: ONE, a/b-c: TWO}\n\nrunners:\n")], "FATWHEEL_TOKEN_A_B_C", "would share"),
])  # fmt: skip
def test_a_declaration_that_cannot_become_workflows_is_refused_at_its_line(tmp_path, capsys, changes, where, said):
    matrix = copied("minikernels", tmp_path)
    try:
        changed(matrix, *changes)
    except UsageError:
        pytest.fail("the declaration itself is refused")
    assert run(["generate", "--matrix", str(matrix)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert where in error
    assert "matrix.yaml:" in error
    assert not (tmp_path / ".github").exists()


def test_more_cells_than_a_matrix_has_jobs_are_refused(tmp_path, capsys):
    matrix = copied("torch", tmp_path)
    many = ", ".join(f'"2.{minor}"' for minor in range(13, 113))
    matrix.write_text(matrix.read_text().replace('torch: ["2.13", "2.14"]', f"torch: [{many}]"))
    assert run(["generate", "--matrix", str(matrix)]) == 2
    assert "256" in capsys.readouterr().err
