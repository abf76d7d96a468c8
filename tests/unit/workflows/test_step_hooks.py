"""Step hooks: where a repository's own steps are inserted, and how they are checked."""

from __future__ import annotations

import pytest
import yaml

from fatwheel.declaration import load
from fatwheel.errors import UsageError
from fatwheel.workflows.context import read_context
from fatwheel.workflows.generate import generate_files
from fatwheel.workflows.step_hooks import HOOKS
from tests.unit.workflows.repositories import copied

STEPS = """\
# Why this is here.
- name: Own {hook}
  env:
    TAG: ${{{{ needs.plan.outputs.tag }}}}
  run: |
    if true; then
      echo "$TAG"
    fi

- uses: actions/cache@0123456789012345678901234567890123456789 # v9.9.9
  with: {{path: x}}
"""


def with_hooks(place, **hooks):
    matrix = copied("minikernels", place)
    (place / ".github/fatwheel").mkdir(parents=True)
    for name, text in hooks.items():
        (place / f".github/fatwheel/{name.replace('_', '-')}.yml").write_text(text)
    return read_context(load(matrix))


def test_each_hook_is_in_its_job(tmp_path):
    texts = {hook: STEPS.format(hook=hook) for hook in HOOKS if hook != "before-index"}
    files = generate_files(with_hooks(tmp_path, **texts))
    for file in ("release.yml", "nightly.yml"):
        jobs = yaml.safe_load(files[file])["jobs"]
        where = {
            step["name"].removeprefix("Own "): job
            for job, body in jobs.items() for step in body["steps"] if str(step.get("name")).startswith("Own ")
        }  # fmt: skip
        assert where == {hook: hook.partition("-")[2] for hook in texts}
    steps = [s for s in yaml.safe_load(files["release.yml"])["jobs"]["build"]["steps"] if "Own" in s.get("name", "")]
    assert steps[0]["run"] == 'if true; then\n  echo "$TAG"\nfi\n'


def test_comments_stay(tmp_path):
    text = generate_files(with_hooks(tmp_path, before_build=STEPS.format(hook="x")))["release.yml"]
    assert "      # Why this is here.\n" in text
    assert "@0123456789012345678901234567890123456789 # v9.9.9\n" in text


def test_hooks_change_the_header(tmp_path):
    assert with_hooks(tmp_path / "a").digest != with_hooks(tmp_path / "b", before_build="- run: echo\n").digest


@pytest.mark.parametrize(("name", "text", "message"), [
    ("before-bild", "- run: echo\n", "unknown hook; use one of: before-build"),
    ("before-build", "run: echo\n", "not a list of steps"),
    ("before-build", "", "not a list of steps"),
    ("before-build", "- [\n", "invalid YAML"),
    ("before-build", "  - run: echo\n", "the list must not be indented"),
    ("before-build", "- name: x\n", "step 1 needs either run or uses"),
    ("before-build", "- uses: actions/cache@v4\n", "actions/cache@v4 is not pinned to a full commit"),
    ("before-build", "- run: echo ${{ github.head_ref }}\n", "an expression in `run` allows code injection"),
])  # fmt: skip
def test_invalid_steps_are_errors(tmp_path, name, text, message):
    with pytest.raises(UsageError) as caught:
        with_hooks(tmp_path, **{name: text})
    assert message in str(caught.value)
    assert f".github/fatwheel/{name}.yml" in str(caught.value)


def test_unsafe_steps_are_errors(tmp_path):
    with pytest.raises(UsageError, match="continue-on-error would hide a failure"):
        generate_files(with_hooks(tmp_path, after_build="- run: echo\n  continue-on-error: true\n"))
