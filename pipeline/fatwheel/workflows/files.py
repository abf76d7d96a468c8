"""The workflow files: their triggers, settings and jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fatwheel.declaration.model import Channel
from fatwheel.workflows.context import FOLDER, WorkflowContext
from fatwheel.workflows.jobs import JobData, build_job, estimate_job, plan_job, rehearse_job, smoke_job, verdict_job
from fatwheel.workflows.publishing import dispatch_job, index_job, prune_job, publish_job, pypi_job
from fatwheel.workflows.text import BlankLine, Comment, dump

RELEASE, NIGHTLY, PULL_REQUEST = "release.yml", "nightly.yml", "pull-request.yml"
_UNLESS_EARLIER_RUN = " && !inputs.run"
_RUN = "${{ inputs.run || github.run_id }}"
_CELLS = {
    "description": "Build only cells whose ID matches this glob; publishing still expects every cell",
    "type": "string",
}
_EARLIER_RUN = {"description": "ID of an earlier run whose artifacts to publish instead of building", "type": "string"}

_ABOUT_TOKENS = (
    "GitHub starts no workflows for events caused by a workflow's own token: a release created here does not\n"
    "trigger `on: release`. List workflows to start afterwards in `workflows.dispatch`."
)


def make_files(context: WorkflowContext) -> dict[str, str]:
    """Write the text of every workflow that matrix.yaml requires, by file name."""
    channels = context.declaration.document.channels
    files = {RELEASE: _release(context, channels.release)}
    if channels.nightly:
        files[NIGHTLY] = _nightly(context, channels.nightly)
    if channels.pull_request:
        files[PULL_REQUEST] = _pull_request(context)
    return files


def _release(context: WorkflowContext, channel: Channel) -> str:
    tag = re.sub(r"\{[a-z]+\}", "*", re.sub(r"[+?!\[\]*\\]", r"\\\g<0>", channel.tag))
    inputs = {
        "tag": {
            "description": "Tag to release again; default: the tag of the current version, at this commit",
            "type": "string",
        },
        "cells": _CELLS,
        "run": _EARLIER_RUN,
    }
    on = {
        "push": {"tags": [tag, f"!{tag}.dev*"]},
        "workflow_dispatch": {"inputs": inputs},
        "pull_request": {"paths": _pipeline_paths(context)},
    }
    env = {
        "TAG": "${{ inputs.tag || (github.ref_type == 'tag' && github.ref_name) || '' }}",
        "CELLS": "${{ inputs.cells }}",
    }
    jobs: dict[str, JobData] = {
        "rehearse": rehearse_job(context),
        "plan": plan_job(
            context, "release", ("--tag", '"$TAG"', "--only", '"$CELLS"'), env,
            ref="${{ inputs.tag && format('refs/tags/{0}', inputs.tag) || github.sha }}",
            condition="github.event_name != 'pull_request'",
        ),
        "build": build_job(context, "release", attest=context.options.attest, more=_UNLESS_EARLIER_RUN),
        "smoke": smoke_job(context, _UNLESS_EARLIER_RUN),
        "publish": publish_job(context, channel, _RUN),
    }  # fmt: skip
    if any(package.publish == "pypi" and "release" in package.channels for package in context.declaration.packages):
        jobs["pypi"] = pypi_job(context, channel, _RUN)
    _add_final_jobs(context, channel, "release", jobs)
    return _write(context, "Release", "release", on, jobs, cancel=False)


def _nightly(context: WorkflowContext, channel: Channel) -> str:
    inputs = {
        "date": {"description": "Date as YYYYMMDD; empty: today (UTC)", "type": "string"},
        "cells": _CELLS,
        "run": _EARLIER_RUN,
    }
    on = {"schedule": [{"cron": context.options.schedule}], "workflow_dispatch": {"inputs": inputs}}
    env = {"DATE": "${{ inputs.date }}", "CELLS": "${{ inputs.cells }}"}
    jobs: dict[str, JobData] = {
        "plan": plan_job(context, "nightly", ("--date", '"$DATE"', "--only", '"$CELLS"'), env),
        "build": build_job(context, "nightly", attest=context.options.attest, more=_UNLESS_EARLIER_RUN),
        "smoke": smoke_job(context, _UNLESS_EARLIER_RUN),
        "publish": publish_job(context, channel, _RUN),
    }
    _add_final_jobs(context, channel, "nightly", jobs)
    return _write(context, "Nightly", "nightly", on, jobs, cancel=False)


def _pull_request(context: WorkflowContext) -> str:
    paths = context.options.paths
    on = {"pull_request": {"paths": [*_pipeline_paths(context)]} if paths else None, "workflow_dispatch": None}
    jobs: dict[str, JobData] = {
        "plan": plan_job(context, "pull-request", (), {}, check=True),
        "estimate": estimate_job(context),
        "build": build_job(context, "pull-request", attest=False),
        "verdict": verdict_job(context),
    }
    return _write(context, "Pull request", "pull-request", on, jobs, cancel=True)


def _add_final_jobs(context: WorkflowContext, channel: Channel, name: str, jobs: dict[str, JobData]) -> None:
    """Add the jobs after publishing that matrix.yaml requires."""
    if context.options.index:
        jobs["index"] = index_job(context, name)
    if channel.retention:
        jobs["prune"] = prune_job(context, channel, name)
    if context.options.dispatch and name == "release":
        jobs["dispatch"] = dispatch_job(context)


def _pipeline_paths(context: WorkflowContext) -> list[str]:
    """Globs of the files that determine how wheels are built and released."""
    own = [context.matrix, f"{FOLDER.as_posix()}/**", ".github/fatwheel/**"]
    more = [path for path in (context.options.requirements, "noxfile.py" if context.nox else None) if path]
    return list(dict.fromkeys([*own, *more, *context.options.paths]))


_ABOUT = {
    "release": "Builds, tests and publishes a release when its tag is pushed, or on demand. Pull requests that change\n"
    "the pipeline get a dry run with placeholder wheels.\n" + _ABOUT_TOKENS,
    "nightly": "Builds, tests and publishes a nightly version, with the date in its name. This workflow has its own\n"
    "file because GitHub disables scheduled workflows after 60 days without repository activity.",
    "pull-request": "Builds and imports the wheels of the pull-request channel. It has no access to secrets or GPU\n"
    "runners and publishes nothing. `Re-run failed jobs` rebuilds only the cells that failed.",
}


def _write(
    context: WorkflowContext, name: str, key: str, on: Mapping[str, Any], jobs: Mapping[str, JobData], *, cancel: bool
) -> str:
    """Write one workflow. ``cancel``: whether a new run cancels an earlier one on the same ref."""
    document: dict[Any, Any] = {
        Comment(context.header(_ABOUT[key])): None,
        "name": name,
        BlankLine(1): None,
        "on": dict(on),
        BlankLine(2): None,
        "permissions": {},
        BlankLine(3): None,
        "concurrency": {"group": f"{key}-${{{{ github.ref }}}}", "cancel-in-progress": cancel},
        BlankLine(4): None,
    }
    if env := _environment(context):
        document |= {"env": env, BlankLine(5): None}
    body: dict[Any, Any] = {}
    for number, (job_id, job) in enumerate(jobs.items()):
        if number:
            body[BlankLine(number)] = None
        body[job_id] = job
    return dump(document | {"jobs": body})


def _environment(context: WorkflowContext) -> dict[str, str]:
    """Variables for all jobs: the path of matrix.yaml, and that nox must not create its own environment."""
    env = {} if context.matrix == "matrix.yaml" else {"FATWHEEL_MATRIX": context.matrix}
    if context.nox and context.options.requirements:
        env["NOX_SCRIPT_MODE"] = "none"
    return env
