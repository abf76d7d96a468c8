"""The jobs up to the wheels: plan, build, and GPU tests."""

from __future__ import annotations

import shlex
from typing import Any

from fatwheel.records.files import BUILD, SMOKE
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.images import registries
from fatwheel.workflows.steps import PLAN_ARTIFACT, Steps, called, permissions, runs, slot, start, tokens, upload, uses

Job = dict[Any, Any]

TEMP = "${{ runner.temp }}"
_FILES = "".join(f"{TEMP}/dist/*{ending}\n" for ending in (".whl", ".tar.gz", BUILD, SMOKE))
DIST = '"$RUNNER_TEMP"/dist'
"""Where wheels are made: outside the checkout, so that none is taken for a source."""

PLANNED = "!cancelled() && needs.plan.result == 'success'"
COMMIT = "${{ needs.plan.outputs.commit }}"
READ = ("read", "to check the sources out")


def matrix_argument(setting: WorkflowContext) -> tuple[str, str]:
    """``--matrix FILE``, for verbs that take one only when it is given."""
    return "--matrix", shlex.quote(setting.matrix)


def plan_job(
    setting: WorkflowContext, channel: str, arguments: tuple[str, ...], env: dict[str, str], *, ref: str | None = None,
    condition: str | None = None, check: bool = False,
) -> Job:  # fmt: skip
    """The matrix of the jobs that follow, computed from the declaration as it is checked out."""
    steps = start(setting, ref)
    if check:
        steps.append(runs(setting, "Check the declaration and what was generated from it", "check"))
    made = runs(setting, "Plan", "plan", "--channel", channel, *arguments, "--actions",
                '"$RUNNER_TEMP/plan.json"', env=env)  # fmt: skip
    steps += [{"name": made.pop("name"), "id": "plan", **made}, upload(setting, PLAN_ARTIFACT, f"{TEMP}/plan.json")]
    names = ("build", "smoke", "tag", "commit", "date")
    return {
        "name": "Plan",
        **({"if": condition} if condition else {}),
        "runs-on": setting.options.runner,
        "timeout-minutes": 15,
        "permissions": permissions(contents=READ),
        "outputs": {name: f"${{{{ steps.plan.outputs.{name} }}}}" for name in names},
        "steps": steps,
    }


def price_job(setting: WorkflowContext) -> Job:
    """What a pull request does to the sizes of wheels, on its page; nothing waits for it."""
    channels = setting.declaration.document.channels
    name, channel = ("nightly", channels.nightly) if channels.nightly else ("release", channels.release)
    checkout, *others = start(setting)
    checkout["with"]["fetch-depth"] = 2  # the commit that is merged into is the first parent
    return {
        "name": "Price the change",
        "if": "github.event_name == 'pull_request'",
        "runs-on": setting.options.runner,
        "timeout-minutes": 30,
        "permissions": permissions(contents=READ),
        "steps": [
            checkout,
            *others,
            runs(setting, "Price the change by what is released", "plan", "--channel", name, "--diff", "HEAD^1",
                 "--store", '"$STORE"', env={"STORE": setting.store(channel), **tokens(setting)}),
        ],
    }  # fmt: skip


def build_job(setting: WorkflowContext, channel: str, *, attest: bool, more: str = "") -> Job:
    """One wheel a job; a wheel whose smoke test fails is uploaded too, with the record that says so."""
    granted = {"contents": READ}
    if attest:
        granted |= {
            "id_token": ("write", "to sign the attestation"),
            "attestations": ("write", "to store it"),
        }
    env = {"SESSION": "${{ matrix.session }}"} if setting.nox else {"CELL": "${{ matrix.id }}"}
    env["ENGINE"] = "${{ matrix.engine }}"
    named = [] if setting.nox else ['"$CELL"']
    arguments = [*named, "--channel", channel, "--engine", '"$ENGINE"', "--output", DIST]
    if channel == "nightly":  # the day that was planned, whatever day it is by now
        env["DATE"] = "${{ needs.plan.outputs.date }}"
        arguments += ["--date", '"$DATE"']
    build = called(setting, '"$SESSION"' if setting.nox else "build", *arguments)
    built = "!cancelled() && steps.build.outcome == 'success'"
    steps: Steps = [
        *start(setting, COMMIT),
        *_logins(setting, channel),
        *slot(setting, "before-build"),
        {"name": "Build", "id": "build", "env": env, "run": build},
        {
            "name": "Import it in a bare environment",
            "if": "matrix.import",
            "env": {"WHEEL": "${{ matrix.wheel }}"},
            "run": called(setting, "smoke", f'{DIST}/"$WHEEL"', *matrix_argument(setting)),
        },
        upload(setting, "${{ matrix.artifact }}", _FILES, condition=f"${{{{ {built} }}}}"),
    ]
    if attest:
        wheel = f"{TEMP}/dist/${{{{ matrix.wheel }}}}"
        steps.append({"if": f"${{{{ {built} }}}}", **uses(setting, "actions/attest", subject_path=wheel)})
    steps += slot(setting, "after-build")
    return {
        "name": "Build ${{ matrix.id }}",
        "needs": "plan",
        "if": f"needs.plan.outputs.build != '[]'{more}",
        "strategy": _strategy("build"),
        "runs-on": "${{ matrix.runner }}",
        "timeout-minutes": setting.options.build_minutes,
        "permissions": permissions(**granted),
        "steps": steps,
    }


def smoke_job(setting: WorkflowContext, more: str = "") -> Job:
    """One wheel a job, on a machine with a GPU of its family; what has no such machine is marked "not proven"."""
    record = f"{TEMP}/dist/${{{{ matrix.wheel }}}}{SMOKE}"
    return {
        "name": "Try ${{ matrix.id }} on a GPU",
        "needs": ("plan", "build"),
        "if": f"${{{{ {PLANNED} && needs.plan.outputs.smoke != '[]'{more} }}}}",
        "strategy": _strategy("smoke"),
        "runs-on": "${{ matrix.runner }}",
        "timeout-minutes": setting.options.smoke_minutes,
        "permissions": permissions(contents=READ),
        "steps": [
            *start(setting, COMMIT),
            uses(setting, "actions/download-artifact", name="${{ matrix.artifact }}", path=f"{TEMP}/dist"),
            *slot(setting, "before-smoke"),
            runs(setting, "Load all of it, and run its kernels", "smoke", f'{DIST}/"$WHEEL"', "--gpu",
                 *matrix_argument(setting), env={"WHEEL": "${{ matrix.wheel }}"}),
            upload(setting, "${{ matrix.artifact }}-smoke", record, condition="${{ !cancelled() }}"),
            *slot(setting, "after-smoke"),
        ],
    }  # fmt: skip


def _strategy(output: str) -> dict[str, Any]:
    return {
        "fail-fast": False,
        "matrix": {"include": f"${{{{ fromJSON(needs.plan.outputs.{output}) }}}}"},
    }


def _logins(setting: WorkflowContext, channel: str) -> Steps:
    """A login at each registry of the channel's images that a secret is declared for."""
    steps: Steps = []
    for registry, secret in registries(setting.declaration, channel).items():
        step = uses(
            setting, "docker/login-action", registry=registry,
            username=f"${{{{ vars.{secret}_USER || github.actor }}}}", password=f"${{{{ secrets.{secret} }}}}",
        )  # fmt: skip
        steps.append({"if": "matrix.engine == 'docker'", **step})
    return steps


def rehearse_job(setting: WorkflowContext) -> Job:
    """The whole line with placeholder wheels, for pull requests that touch the pipeline: nothing is sent anywhere."""
    return {
        "name": "Dry run",
        "if": "github.event_name == 'pull_request'",
        "runs-on": setting.options.runner,
        "timeout-minutes": 60,
        "permissions": permissions(contents=READ),
        "steps": [
            *start(setting),
            runs(setting, "Check the declaration and what was generated from it", "check"),
            runs(setting, "Run the line with placeholder wheels", "rehearse", "--fake-build",
                 *matrix_argument(setting)),
        ],
    }  # fmt: skip


def verdict_job(setting: WorkflowContext) -> Job:
    """One check to require for a merge, whatever the cells are called."""
    passed = "contains(fromJSON('[\"success\", \"skipped\"]'), needs.build.result) && needs.plan.result == 'success'"
    return {
        "name": "All of it",
        "needs": ("plan", "build"),
        "if": "always()",
        "runs-on": setting.options.runner,
        "timeout-minutes": 5,
        "permissions": {},
        "steps": [
            {
                "name": "Nothing failed",
                "env": {"PASSED": f"${{{{ {passed} }}}}"},
                "run": 'test "$PASSED" = true',
            }
        ],
    }
