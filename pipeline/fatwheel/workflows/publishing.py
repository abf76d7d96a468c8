"""The jobs after the wheels: publish, PyPI, index, prune, and starting other workflows."""

from __future__ import annotations

import shlex
from typing import Any

from fatwheel.declaration.model import Channel
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.jobs import COMMIT, PLANNED, READ, TEMP, JobData, matrix_arguments
from fatwheel.workflows.steps import (
    RELEASE_ARTIFACT,
    Steps,
    action_step,
    command_step,
    download_plan_step,
    hook_steps,
    permissions,
    setup_steps,
    token_variables,
    upload_step,
)

PLAN = '"$RUNNER_TEMP"/plan/plan.json'
TAG = "${{ needs.plan.outputs.tag }}"
_PUBLISH_GROUP = "fatwheel-publish-${{ needs.plan.outputs.tag }}"
"""The concurrency group of all jobs that write to one release."""
_PYPI_GROUP = "fatwheel-pypi-${{ needs.plan.outputs.tag }}"
PUBLISHED = f"{PLANNED} && (needs.publish.result == 'success' || needs.publish.result == 'failure')"
"""Publishing has finished; assets that passed are published even if others are missing."""


def _one_at_a_time(group: str) -> dict[str, Any]:
    """Run the jobs of a concurrency group one after another, and cancel none of them."""
    return {"group": group, "cancel-in-progress": False}


def publish_job(context: WorkflowContext, channel: Channel, run: str) -> JobData:
    """The only job that writes to a release. It fails if a planned asset was not uploaded, and names it."""
    has_token = context.token(channel.repository) is not None
    contents = READ if has_token else ("write", "to create the release and its tag")
    env: dict[str, Any] = {"STORE": context.store(channel), "TAG": TAG, "RUN": run}
    commit: tuple[str, ...] = ()
    if channel.repository in {None, context.home}:  # another repository does not have this commit
        env["COMMIT"], commit = COMMIT, ("--commit", '"$COMMIT"')
    steps: Steps = [
        *setup_steps(context, COMMIT),
        download_plan_step(context),
        *hook_steps(context, "before-publish"),
        command_step(
            context, "Publish the wheels that passed", "release", "--store", '"$STORE"', "--tag", '"$TAG"', *commit,
            "--plan", PLAN, "--from", '"run:$RUN"', *matrix_arguments(context), "--record",
            '"$RUNNER_TEMP/release.json"', env=env | token_variables(context, channel.repository),
        ),
        upload_step(context, RELEASE_ARTIFACT, f"{TEMP}/release.json", condition="${{ !cancelled() }}"),
        *hook_steps(context, "after-publish"),
    ]  # fmt: skip
    return {
        "name": "Publish",
        "needs": ("plan", "build", "smoke"),
        "if": f"${{{{ {PLANNED} }}}}",
        "runs-on": context.options.runner,
        "timeout-minutes": context.options.publish_minutes,
        "environment": context.options.environment,
        "concurrency": _one_at_a_time(_PUBLISH_GROUP),
        "permissions": permissions(contents=contents, actions=("read", "to download the wheels of the run")),
        "steps": steps,
    }


def pypi_job(context: WorkflowContext, channel: Channel, run: str) -> JobData:
    """Upload to PyPI by trusted publishing, which does not work from a reusable workflow."""
    ready = f"{PLANNED} && needs.publish.result == 'success'" if channel.completeness == "complete" else PUBLISHED
    pick = command_step(
        context, "Download the files for PyPI", "pick", "--plan", PLAN, "--from", '"run:$RUN"',
        "--commit", '"$COMMIT"', "--output", '"$RUNNER_TEMP/upload"', *matrix_arguments(context),
        env={"RUN": run, "COMMIT": COMMIT} | token_variables(context),
    )  # fmt: skip
    return {
        "name": "Publish to PyPI",
        "needs": ("plan", "build", "smoke", "publish"),
        "if": f"${{{{ {ready} }}}}",
        "runs-on": context.options.runner,
        "timeout-minutes": 60,
        "environment": "pypi",
        "concurrency": _one_at_a_time(_PYPI_GROUP),
        "permissions": permissions(
            contents=READ,
            actions=("read", "to download the files of the run"),
            id_token=("write", "for trusted publishing"),
        ),
        "steps": [
            *setup_steps(context, COMMIT),
            download_plan_step(context),
            pick,
            action_step(context, "pypa/gh-action-pypi-publish", packages_dir=f"{TEMP}/upload", skip_existing=True),
        ],
    }


def index_job(context: WorkflowContext, channel_name: str) -> JobData:
    """The only job that writes the index, from all releases of all channels; running it again is harmless."""
    host = context.options.index
    assert host is not None  # noqa: S101  (the caller checks)
    channels = context.declaration.document.channels
    published = [channels.release, channels.nightly]
    stores = list(dict.fromkeys(context.store(channel) for channel in published if channel))
    variables = {f"STORE_{number}": store for number, store in enumerate(stores, 1)}
    arguments = [part for name in variables for part in ("--store", f'"${name}"')]
    channel = channels.nightly if channel_name == "nightly" else channels.release
    if channel and channel.retention:
        arguments += ["--retire", channel_name, *matrix_arguments(context)]
    env: dict[str, Any] = {
        **variables,
        **token_variables(context, *(c.repository for c in published if c), None if host.pages else host.repository),
    }
    steps: Steps = [*setup_steps(context, COMMIT), *hook_steps(context, "before-index")]
    if host.pages:
        steps += [
            command_step(
                context, "Build the index", "deliver", *arguments, "--output", '"$RUNNER_TEMP/index"', env=env
            ),
            action_step(context, "actions/upload-pages-artifact", path=f"{TEMP}/index"),
            {"id": "deploy", **action_step(context, "actions/deploy-pages")},
        ]
        granted = permissions(
            contents=READ, pages=("write", "to deploy the index"), id_token=("write", "to authenticate the deployment")
        )
        environment: Any = {"name": "github-pages", "url": "${{ steps.deploy.outputs.page_url }}"}
    else:
        env = {**env, "INDEX": host.repository or "${{ github.repository }}"}
        target = ["--to", '"$INDEX"', "--branch", shlex.quote(host.branch), "--path", shlex.quote(host.path)]
        steps.append(command_step(context, "Build and push the index", "deliver", *arguments, *target, env=env))
        has_token = context.token(host.repository) is not None
        granted = permissions(contents=READ if has_token else ("write", "to push the index to its branch"))
        environment = "index"
    return {
        "name": "Index",
        "needs": ("plan", "publish"),
        "if": f"${{{{ {PUBLISHED} }}}}",
        "runs-on": context.options.runner,
        "timeout-minutes": 60,
        "environment": environment,
        "concurrency": _one_at_a_time("fatwheel-index"),
        "permissions": granted,
        "steps": steps,
    }


def prune_job(context: WorkflowContext, channel: Channel, channel_name: str) -> JobData:
    """Delete expired releases, after their entries were removed from the index."""
    has_token = context.token(channel.repository) is not None
    contents = READ if has_token else ("write", "to delete expired releases")
    return {
        "name": "Prune",
        "needs": ("plan", "index" if context.options.index else "publish"),
        "runs-on": context.options.runner,
        "timeout-minutes": 60,
        "environment": context.options.environment,
        "concurrency": _one_at_a_time(_PUBLISH_GROUP),
        "permissions": permissions(contents=contents),
        "steps": [
            *setup_steps(context, COMMIT),
            command_step(
                context, "Delete expired releases", "prune", "--channel", channel_name, "--store",
                '"$STORE"', "--apply", *matrix_arguments(context),
                env={"STORE": context.store(channel)} | token_variables(context, channel.repository),
            ),
        ],
    }  # fmt: skip


def dispatch_job(context: WorkflowContext) -> JobData:
    """Start other workflows explicitly, since a release created with the workflow's own token starts none."""
    return {
        "name": "Start other workflows",
        "needs": ("plan", "publish"),
        "runs-on": context.options.runner,
        "timeout-minutes": 5,
        "permissions": permissions(actions=("write", "to start workflows")),
        "steps": [
            {
                "name": f"Start {name}",
                "env": {
                    "GH_TOKEN": "${{ github.token }}",
                    "REF": "${{ github.event.repository.default_branch }}",
                    "TAG": TAG,
                },
                "run": f'gh workflow run {name} --repo "$GITHUB_REPOSITORY" --ref "$REF" --field "tag=$TAG"',
            }
            for name in context.options.dispatch
        ],
    }
