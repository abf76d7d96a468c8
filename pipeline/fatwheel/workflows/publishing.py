"""The jobs after the wheels: publish, PyPI, index, pruning, and starting other workflows."""

from __future__ import annotations

import shlex
from typing import Any

from fatwheel.declaration.model import Channel
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.jobs import COMMIT, PLANNED, READ, TEMP, Job, matrix_argument
from fatwheel.workflows.steps import (
    RELEASE_ARTIFACT,
    Steps,
    permissions,
    runs,
    slot,
    start,
    take_plan,
    tokens,
    upload,
    uses,
)

PLAN = '"$RUNNER_TEMP"/plan/plan.json'
TAG = "${{ needs.plan.outputs.tag }}"
WRITERS = "fatwheel-publish-${{ needs.plan.outputs.tag }}"
"""The concurrency group of everything that writes to one release."""
DONE = f"{PLANNED} && (needs.publish.result == 'success' || needs.publish.result == 'failure')"
"""Publishing came to its end: what passed is there, even if something is missing."""


def alone(group: str) -> dict[str, Any]:
    """One job of a group at a time; none is ended for another."""
    return {"group": group, "cancel-in-progress": False}


def publish_job(setting: WorkflowContext, channel: Channel, run: str) -> Job:
    """The one writer of a release. It fails at the end if anything planned is not live, and names it."""
    own = setting.token(channel.repository) is not None
    contents = READ if own else ("write", "to make the release and its tag")
    env: dict[str, Any] = {"STORE": setting.store(channel), "TAG": TAG, "RUN": run}
    commit: tuple[str, ...] = ()
    if channel.repository in {None, setting.home}:  # another repository has no such commit
        env["COMMIT"], commit = COMMIT, ("--commit", '"$COMMIT"')
    steps: Steps = [
        *start(setting, COMMIT),
        take_plan(setting),
        *slot(setting, "before-publish"),
        runs(
            setting, "Publish what passed", "release", "--store", '"$STORE"', "--tag", '"$TAG"', *commit,
            "--plan", PLAN, "--from", '"run:$RUN"', *matrix_argument(setting), "--record",
            '"$RUNNER_TEMP/release.json"', env=env | tokens(setting, channel.repository),
        ),
        upload(setting, RELEASE_ARTIFACT, f"{TEMP}/release.json", condition="${{ !cancelled() }}"),
        *slot(setting, "after-publish"),
    ]  # fmt: skip
    return {
        "name": "Publish",
        "needs": ("plan", "build", "smoke"),
        "if": f"${{{{ {PLANNED} }}}}",
        "runs-on": setting.options.runner,
        "timeout-minutes": setting.options.publish_minutes,
        "environment": setting.options.environment,
        "concurrency": alone(WRITERS),
        "permissions": permissions(contents=contents, actions=("read", "to take the wheels from the run's artifacts")),
        "steps": steps,
    }


def pypi_job(setting: WorkflowContext, channel: Channel, run: str) -> Job:
    """Trusted publishing, which works only from the workflow that was started: no reusable one."""
    ready = f"{PLANNED} && needs.publish.result == 'success'" if channel.completeness == "complete" else DONE
    picked = runs(
        setting, "Take what passed from the run", "pick", "--plan", PLAN, "--from", '"run:$RUN"',
        "--commit", '"$COMMIT"', "--output", '"$RUNNER_TEMP/upload"', *matrix_argument(setting),
        env={"RUN": run, "COMMIT": COMMIT} | tokens(setting),
    )  # fmt: skip
    return {
        "name": "Publish to PyPI",
        "needs": ("plan", "build", "smoke", "publish"),
        "if": f"${{{{ {ready} }}}}",
        "runs-on": setting.options.runner,
        "timeout-minutes": 60,
        "environment": "pypi",
        "concurrency": alone(WRITERS.replace("publish", "pypi", 1)),
        "permissions": permissions(
            contents=READ,
            actions=("read", "to take the files from the run's artifacts"),
            id_token=("write", "to be known to PyPI without a password"),
        ),
        "steps": [
            *start(setting, COMMIT),
            take_plan(setting),
            picked,
            uses(setting, "pypa/gh-action-pypi-publish", packages_dir=f"{TEMP}/upload", skip_existing=True),
        ],
    }


def index_job(setting: WorkflowContext, channel_name: str) -> Job:
    """The one writer of the index, over all tags of all channels: run again, it makes the same."""
    host = setting.options.index
    assert host is not None  # noqa: S101  (asked before)
    channels = setting.declaration.document.channels
    named = [channels.release, channels.nightly]
    stores = list(dict.fromkeys(setting.store(channel) for channel in named if channel))
    variables = {f"STORE_{number}": store for number, store in enumerate(stores, 1)}
    asked = [part for name in variables for part in ("--store", f'"${name}"')]
    channel = channels.nightly if channel_name == "nightly" else channels.release
    if channel and channel.retention:
        asked += ["--retire", channel_name, *matrix_argument(setting)]
    env: dict[str, Any] = {
        **variables,
        **tokens(setting, *(c.repository for c in named if c), None if host.pages else host.repository),
    }
    steps: Steps = [*start(setting, COMMIT), *slot(setting, "before-index")]
    if host.pages:
        steps += [
            runs(setting, "Make the index", "deliver", *asked, "--output", '"$RUNNER_TEMP/index"', env=env),
            uses(setting, "actions/upload-pages-artifact", path=f"{TEMP}/index"),
            {"id": "deploy", **uses(setting, "actions/deploy-pages")},
        ]
        granted = permissions(
            contents=READ, pages=("write", "to deploy the index"), id_token=("write", "to prove where it comes from")
        )
        place: Any = {"name": "github-pages", "url": "${{ steps.deploy.outputs.page_url }}"}
    else:
        env = {**env, "INDEX": host.repository or "${{ github.repository }}"}
        where = ["--to", '"$INDEX"', "--branch", shlex.quote(host.branch), "--path", shlex.quote(host.path)]
        steps.append(runs(setting, "Make the index and push it", "deliver", *asked, *where, env=env))
        own = setting.token(host.repository) is not None
        granted = permissions(contents=READ if own else ("write", "to push the index to its branch"))
        place = "index"
    return {
        "name": "Index",
        "needs": ("plan", "publish"),
        "if": f"${{{{ {DONE} }}}}",
        "runs-on": setting.options.runner,
        "timeout-minutes": 60,
        "environment": place,
        "concurrency": alone("fatwheel-index"),
        "permissions": granted,
        "steps": steps,
    }


def prune_job(setting: WorkflowContext, channel: Channel, channel_name: str) -> Job:
    """What the channel keeps no longer goes, after its rows have left the index."""
    own = setting.token(channel.repository) is not None
    contents = READ if own else ("write", "to remove old releases")
    return {
        "name": "Prune",
        "needs": ("plan", "index" if setting.options.index else "publish"),
        "runs-on": setting.options.runner,
        "timeout-minutes": 60,
        "environment": setting.options.environment,
        "concurrency": alone(WRITERS),
        "permissions": permissions(contents=contents),
        "steps": [
            *start(setting, COMMIT),
            runs(
                setting, "Remove releases that are past their time", "prune", "--channel", channel_name, "--store",
                '"$STORE"', "--apply", *matrix_argument(setting),
                env={"STORE": setting.store(channel)} | tokens(setting, channel.repository),
            ),
        ],
    }  # fmt: skip


def dispatch_job(setting: WorkflowContext) -> Job:
    """Start workflows by hand: a release that the run's own token made starts none."""
    return {
        "name": "Start what follows",
        "needs": ("plan", "publish"),
        "runs-on": setting.options.runner,
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
            for name in setting.options.dispatch
        ],
    }
