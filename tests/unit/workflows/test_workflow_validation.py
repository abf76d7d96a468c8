"""Workflows that GitHub would reject, or that would be unsafe, are errors and are not written."""

from __future__ import annotations

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import UsageError
from fatwheel.workflows.context import read_context
from fatwheel.workflows.generate import generate_files
from fatwheel.workflows.workflow_validation import check_workflow
from tests.unit.workflows.repositories import changed, copied


@pytest.fixture
def context(tmp_path):
    from fatwheel.declaration import load

    return read_context(load(copied("minikernels", tmp_path)))


def check(context, file, old, new):
    text = generate_files(context)[file]
    assert old in text
    return list(check_workflow(context, file, text.replace(old, new, 1)))


@pytest.mark.parametrize(("file", "old", "new", "message"), [
    ("release.yml", "      fail-fast: false\n", "", "build: fail-fast must be false"),
    ("release.yml", "    timeout-minutes: 15\n", "", "plan: timeout-minutes is missing"),
    ("release.yml", "permissions: {}\n", "permissions: write-all\n", "top-level permissions must be {}"),
    ("nightly.yml", "  schedule:\n", "  pull_request_target:\n  schedule:\n", "gives unreviewed code access"),
    ("nightly.yml", "    runs-on: ubuntu-24.04\n", "    runs-on: mystery\n", "mystery is not a declared runner"),
    ("pull-request.yml", "run: uvx fatwheel", "run: echo ${{ github.ref }} ", "an expression in `run`"),
    ("release.yml", "@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7", "is not pinned to a full commit"),
    ("release.yml", "        run: uvx", "        continue-on-error: true\n        run: uvx", "continue-on-error would"),
    ("release.yml", "name: Publish\n", f"name: ${{{{ '{'x' * 21_000}' }}}}\n", "an expression has 21,0"),
    ("release.yml", "name: Release\n", f"name: {'x' * 1_048_576}\n", "GitHub allows at most 1,048,576"),
])  # fmt: skip
def test_an_invalid_workflow_is_an_error(context, file, old, new, message):
    assert any(message in error for error in check(context, file, old, new))


@pytest.mark.parametrize(("changes", "where", "message"), [
    ([("    aarch64: ubuntu-24.04-arm\n", "")], ":79:5: error: ", "no runner for aarch64"),
    ([("  release:                   # all cells\n", "  release:\n    repository: octo/mini\n"),
      ("  nightly:                   #", "  nightly:\n    repository: octo/other\n    #")],
     "octo/other is not octo/mini", "requires its own token"),
    ([("runners:\n", "workflows:\n  index: {repository: octo/pages}\n\nrunners:\n")],
     "octo/pages", "requires its own token"),
    ([("runners:\n", "secrets: {a-b/c: ONE, a/b-c: TWO}\n\nrunners:\n")],
     "FATWHEEL_TOKEN_A_B_C", "would use the same variable"),
])  # fmt: skip
def test_errors_in_the_configuration_have_a_line(tmp_path, capsys, changes, where, message):
    matrix = copied("minikernels", tmp_path)
    try:
        changed(matrix, *changes)
    except UsageError:
        pytest.fail("the declaration itself is refused")
    assert run(["generate", "--matrix", str(matrix)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert where in error
    assert "matrix.yaml:" in error
    assert not (tmp_path / ".github").exists()


def test_more_cells_than_jobs_in_a_matrix_are_an_error(tmp_path, capsys):
    matrix = copied("torch", tmp_path)
    many = ", ".join(f'"2.{minor}"' for minor in range(13, 113))
    matrix.write_text(matrix.read_text().replace('torch: ["2.13", "2.14"]', f"torch: [{many}]"))
    assert run(["generate", "--matrix", str(matrix)]) == 2
    assert "256" in capsys.readouterr().err
