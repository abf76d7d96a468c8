"""A repository's own steps stand where they belong, and are checked before that."""

from __future__ import annotations

import pytest
import yaml

from fatwheel.declaration import load
from fatwheel.errors import UsageError
from fatwheel.workflows.context import context_of
from fatwheel.workflows.generate import generated
from fatwheel.workflows.step_hooks import SLOTS
from tests.unit.workflows.repositories import copied

STEPS = """\
# Why this is here.
- name: Own {slot}
  env:
    TAG: ${{{{ needs.plan.outputs.tag }}}}
  run: |
    if true; then
      echo "$TAG"
    fi

- uses: actions/cache@0123456789012345678901234567890123456789 # v9.9.9
  with: {{path: x}}
"""


def with_slots(place, **slots):
    matrix = copied("minikernels", place)
    (place / ".github/fatwheel").mkdir(parents=True)
    for name, text in slots.items():
        (place / f".github/fatwheel/{name.replace('_', '-')}.yml").write_text(text)
    return context_of(load(matrix))


def test_each_slot_has_its_place(tmp_path):
    texts = {slot: STEPS.format(slot=slot) for slot in SLOTS if slot != "before-index"}
    files = generated(with_slots(tmp_path, **texts))
    for file in ("release.yml", "nightly.yml"):
        jobs = yaml.safe_load(files[file])["jobs"]
        where = {
            step["name"].removeprefix("Own "): job
            for job, body in jobs.items() for step in body["steps"] if str(step.get("name")).startswith("Own ")
        }  # fmt: skip
        assert where == {slot: slot.partition("-")[2] for slot in texts}
    steps = [s for s in yaml.safe_load(files["release.yml"])["jobs"]["build"]["steps"] if "Own" in s.get("name", "")]
    assert steps[0]["run"] == 'if true; then\n  echo "$TAG"\nfi\n'


def test_remarks_and_the_comments_of_pins_stay(tmp_path):
    text = generated(with_slots(tmp_path, before_build=STEPS.format(slot="x")))["release.yml"]
    assert "      # Why this is here.\n" in text
    assert "@0123456789012345678901234567890123456789 # v9.9.9\n" in text


def test_they_change_the_header(tmp_path):
    assert with_slots(tmp_path / "a").digest != with_slots(tmp_path / "b", before_build="- run: echo\n").digest


@pytest.mark.parametrize(("name", "text", "said"), [
    ("before-bild", "- run: echo\n", "no such slot; there are: before-build"),
    ("before-build", "run: echo\n", "not a list of steps"),
    ("before-build", "", "not a list of steps"),
    ("before-build", "- [\n", "not YAML"),
    ("before-build", "  - run: echo\n", "does not begin at the start of a line"),
    ("before-build", "- name: x\n", "step 1 has neither run nor uses, or both"),
    ("before-build", "- uses: actions/cache@v4\n", "actions/cache@v4 is not pinned by its full commit"),
    ("before-build", "- run: echo ${{ github.head_ref }}\n", "an expression in `run`"),
])  # fmt: skip
def test_steps_that_cannot_be_taken_are_told(tmp_path, name, text, said):
    with pytest.raises(UsageError) as caught:
        with_slots(tmp_path, **{name: text})
    assert said in str(caught.value)
    assert f".github/fatwheel/{name}.yml" in str(caught.value)


def test_what_only_github_would_break_is_refused_in_them_too(tmp_path):
    with pytest.raises(UsageError, match="continue-on-error would make a loss look like a success"):
        generated(with_slots(tmp_path, after_build="- run: echo\n  continue-on-error: true\n"))
