"""The jobs up to the wheels: plan, estimate, build, GPU test and dry run."""

from __future__ import annotations

import shlex
from typing import Any

from fatwheel.records.files import BUILD, SMOKE
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.registry_secrets import registry_secrets
from fatwheel.workflows.steps import (
    PLAN_ARTIFACT,
    Steps,
    action_step,
    command_line,
    command_step,
    hook_steps,
    permissions,
    setup_steps,
    token_variables,
    upload_step,
)

JobData = dict[Any, Any]

TEMP = "${{ runner.temp }}"
_FILES = "".join(f"{TEMP}/dist/*{ending}\n" for ending in (".whl", ".tar.gz", BUILD, SMOKE))
DIST = '"$RUNNER_TEMP"/dist'
"""The output folder, outside the checkout so that build outputs are not mistaken for sources."""

PLANNED = "!cancelled() && needs.plan.result == 'success'"
COMMIT = "${{ needs.plan.outputs.commit }}"
READ = ("read", "to check out the sources")


def matrix_arguments(context: WorkflowContext) -> tuple[str, str]:
    """Return ``--matrix FILE``, for commands that read a matrix.yaml only if one is given."""
    return "--matrix", shlex.quote(context.matrix)


def plan_job(
    context: WorkflowContext, channel: str, arguments: tuple[str, ...], env: dict[str, str], *, ref: str | None = None,
    condition: str | None = None, check: bool = False,
) -> JobData:  # fmt: skip
    """Compute the matrices of the following jobs from the checked-out matrix.yaml."""
    steps = setup_steps(context, ref)
    if check:
        steps.append(_check_step(context))
    plan = command_step(context, "Plan", "plan", "--channel", channel, *arguments, "--actions",
                        '"$RUNNER_TEMP/plan.json"', env=env)  # fmt: skip
    steps += [
        {"name": plan.pop("name"), "id": "plan", **plan},
        upload_step(context, PLAN_ARTIFACT, f"{TEMP}/plan.json"),
    ]
    names = ("build", "smoke", "tag", "commit", "date")
    return {
        "name": "Plan",
        **({"if": condition} if condition else {}),
        "runs-on": context.options.runner,
        "timeout-minutes": 15,
        "permissions": permissions(contents=READ),
        "outputs": {name: f"${{{{ steps.plan.outputs.{name} }}}}" for name in names},
        "steps": steps,
    }


def _check_step(context: WorkflowContext) -> dict[Any, Any]:
    return command_step(context, "Check matrix.yaml and generated files", "check")


def estimate_job(context: WorkflowContext) -> JobData:
    """Estimate how a pull request changes wheel sizes, in the step summary; no other job depends on it."""
    channels = context.declaration.document.channels
    name, channel = ("nightly", channels.nightly) if channels.nightly else ("release", channels.release)
    checkout, *others = setup_steps(context)
    checkout["with"]["fetch-depth"] = 2  # the first parent of the merge commit is the target branch
    return {
        "name": "Estimate wheel sizes",
        "if": "github.event_name == 'pull_request'",
        "runs-on": context.options.runner,
        "timeout-minutes": 30,
        "permissions": permissions(contents=READ),
        "steps": [
            checkout,
            *others,
            command_step(context, "Compare with the target branch", "plan", "--channel", name, "--diff", "HEAD^1",
                         "--store", '"$STORE"', env={"STORE": context.store(channel), **token_variables(context)}),
        ],
    }  # fmt: skip


def build_job(context: WorkflowContext, channel: str, *, attest: bool, more: str = "") -> JobData:
    """Build one wheel per job; a wheel that fails its import test is uploaded too, with its smoke record."""
    granted = {"contents": READ}
    if attest:
        granted |= {
            "id_token": ("write", "to sign the attestation"),
            "attestations": ("write", "to store the attestation"),
        }
    env = {"SESSION": "${{ matrix.session }}"} if context.nox else {"CELL": "${{ matrix.id }}"}
    env["ENGINE"] = "${{ matrix.engine }}"
    cell = [] if context.nox else ['"$CELL"']
    arguments = [*cell, "--channel", channel, "--engine", '"$ENGINE"', "--output", DIST]
    if channel == "nightly":  # the planned date, even if the build starts after midnight
        env["DATE"] = "${{ needs.plan.outputs.date }}"
        arguments += ["--date", '"$DATE"']
    build = command_line(context, '"$SESSION"' if context.nox else "build", *arguments)
    built = "!cancelled() && steps.build.outcome == 'success'"
    steps: Steps = [
        *setup_steps(context, COMMIT),
        *_login_steps(context, channel),
        *hook_steps(context, "before-build"),
        {"name": "Build", "id": "build", "env": env, "run": build},
        {
            "name": "Import in a clean environment",
            "if": "matrix.import",
            "env": {"WHEEL": "${{ matrix.wheel }}"},
            "run": command_line(context, "smoke", f'{DIST}/"$WHEEL"', *matrix_arguments(context)),
        },
        upload_step(context, "${{ matrix.artifact }}", _FILES, condition=f"${{{{ {built} }}}}"),
    ]
    if attest:
        wheel = f"{TEMP}/dist/${{{{ matrix.wheel }}}}"
        steps.append({"if": f"${{{{ {built} }}}}", **action_step(context, "actions/attest", subject_path=wheel)})
    steps += hook_steps(context, "after-build")
    return {
        "name": "Build ${{ matrix.id }}",
        "needs": "plan",
        "if": f"needs.plan.outputs.build != '[]'{more}",
        "strategy": _strategy("build"),
        "runs-on": "${{ matrix.runner }}",
        "timeout-minutes": context.options.build_minutes,
        "permissions": permissions(**granted),
        "steps": steps,
    }


def smoke_job(context: WorkflowContext, more: str = "") -> JobData:
    """Test one wheel per job on a GPU of its family; cells without a GPU runner are reported as untested."""
    record = f"{TEMP}/dist/${{{{ matrix.wheel }}}}{SMOKE}"
    return {
        "name": "GPU test ${{ matrix.id }}",
        "needs": ("plan", "build"),
        "if": f"${{{{ {PLANNED} && needs.plan.outputs.smoke != '[]'{more} }}}}",
        "strategy": _strategy("smoke"),
        "runs-on": "${{ matrix.runner }}",
        "timeout-minutes": context.options.smoke_minutes,
        "permissions": permissions(contents=READ),
        "steps": [
            *setup_steps(context, COMMIT),
            action_step(context, "actions/download-artifact", name="${{ matrix.artifact }}", path=f"{TEMP}/dist"),
            *hook_steps(context, "before-smoke"),
            command_step(context, "Load all modules and run the GPU test", "smoke", f'{DIST}/"$WHEEL"', "--gpu",
                         *matrix_arguments(context), env={"WHEEL": "${{ matrix.wheel }}"}),
            upload_step(context, "${{ matrix.artifact }}-smoke", record, condition="${{ !cancelled() }}"),
            *hook_steps(context, "after-smoke"),
        ],
    }  # fmt: skip


def _strategy(output: str) -> dict[str, Any]:
    return {
        "fail-fast": False,
        "matrix": {"include": f"${{{{ fromJSON(needs.plan.outputs.{output}) }}}}"},
    }


def _login_steps(context: WorkflowContext, channel: str) -> Steps:
    """Log in to each registry of the channel's images for which a secret is declared."""
    steps: Steps = []
    for registry, secret in registry_secrets(context.declaration, channel).items():
        step = action_step(
            context, "docker/login-action", registry=registry,
            username=f"${{{{ vars.{secret}_USER || github.actor }}}}", password=f"${{{{ secrets.{secret} }}}}",
        )  # fmt: skip
        steps.append({"if": "matrix.engine == 'docker'", **step})
    return steps


def rehearse_job(context: WorkflowContext) -> JobData:
    """Run the whole pipeline with placeholder wheels, for pull requests that change it; nothing is uploaded."""
    return {
        "name": "Dry run",
        "if": "github.event_name == 'pull_request'",
        "runs-on": context.options.runner,
        "timeout-minutes": 60,
        "permissions": permissions(contents=READ),
        "steps": [
            *setup_steps(context),
            _check_step(context),
            command_step(context, "Run the pipeline with placeholder wheels", "rehearse", "--fake-build",
                         *matrix_arguments(context)),
        ],
    }  # fmt: skip


def verdict_job(context: WorkflowContext) -> JobData:
    """A single check to require for merging, whatever the cells are called."""
    passed = "contains(fromJSON('[\"success\", \"skipped\"]'), needs.build.result) && needs.plan.result == 'success'"
    return {
        "name": "All builds passed",
        "needs": ("plan", "build"),
        "if": "always()",
        "runs-on": context.options.runner,
        "timeout-minutes": 5,
        "permissions": {},
        "steps": [
            {
                "name": "Check the results",
                "env": {"PASSED": f"${{{{ {passed} }}}}"},
                "run": 'test "$PASSED" = true',
            }
        ],
    }
