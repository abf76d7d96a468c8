"""The workflow files: which there are, what starts them, and their jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fatwheel.declaration.model import Channel
from fatwheel.workflows.context import FOLDER, WorkflowContext
from fatwheel.workflows.jobs import Job, build_job, plan_job, price_job, rehearse_job, smoke_job, verdict_job
from fatwheel.workflows.publishing import dispatch_job, index_job, prune_job, publish_job, pypi_job
from fatwheel.workflows.text import Gap, Remark, write

RELEASE, NIGHTLY, PULL_REQUEST = "release.yml", "nightly.yml", "pull-request.yml"
_NOT_EARLIER = " && !inputs.run"
_RUN = "${{ inputs.run || github.run_id }}"
_CELLS = {"description": "Build only cells whose id matches this glob; all are published", "type": "string"}
_EARLIER = {"description": "Build nothing: publish the artifacts of this earlier run (its number)", "type": "string"}

_TOKENS = (
    "What the run's own token does starts no other workflow: a release made here does not trigger\n"
    "`on: release`. Name such workflows under workflows.dispatch, and they are started at the end."
)


def workflow_files(setting: WorkflowContext) -> dict[str, str]:
    """File name -> text of every workflow that the declaration asks for."""
    channels = setting.declaration.document.channels
    files = {RELEASE: _release(setting, channels.release)}
    if channels.nightly:
        files[NIGHTLY] = _nightly(setting, channels.nightly)
    if channels.pull_request:
        files[PULL_REQUEST] = _pull_request(setting)
    return files


def _release(setting: WorkflowContext, channel: Channel) -> str:
    tag = re.sub(r"\{[a-z]+\}", "*", re.sub(r"[+?!\[\]*\\]", r"\\\g<0>", channel.tag))
    inputs = {
        "tag": {"description": "A tag to release again; empty: the version's own, on this commit", "type": "string"},
        "cells": _CELLS,
        "run": _EARLIER,
    }
    on = {
        "push": {"tags": [tag, f"!{tag}.dev*"]},
        "workflow_dispatch": {"inputs": inputs},
        "pull_request": {"paths": _pipeline_paths(setting)},
    }
    env = {
        "TAG": "${{ inputs.tag || (github.ref_type == 'tag' && github.ref_name) || '' }}",
        "CELLS": "${{ inputs.cells }}",
    }
    jobs: dict[str, Job] = {
        "rehearse": rehearse_job(setting),
        "plan": plan_job(
            setting, "release", ("--tag", '"$TAG"', "--only", '"$CELLS"'), env,
            ref="${{ inputs.tag && format('refs/tags/{0}', inputs.tag) || github.sha }}",
            condition="github.event_name != 'pull_request'",
        ),
        "build": build_job(setting, "release", attest=setting.options.attest, more=_NOT_EARLIER),
        "smoke": smoke_job(setting, _NOT_EARLIER),
        "publish": publish_job(setting, channel, _RUN),
    }  # fmt: skip
    if any(package.publish == "pypi" and "release" in package.channels for package in setting.declaration.packages):
        jobs["pypi"] = pypi_job(setting, channel, _RUN)
    return _file(setting, "Release", "release", on, _ended(setting, channel, "release", jobs), waits=True)


def _nightly(setting: WorkflowContext, channel: Channel) -> str:
    inputs = {
        "date": {"description": "The day, as YYYYMMDD; empty: today in UTC", "type": "string"},
        "cells": _CELLS,
        "run": _EARLIER,
    }
    on = {"schedule": [{"cron": setting.options.schedule}], "workflow_dispatch": {"inputs": inputs}}
    env = {"DATE": "${{ inputs.date }}", "CELLS": "${{ inputs.cells }}"}
    jobs: dict[str, Job] = {
        "plan": plan_job(setting, "nightly", ("--date", '"$DATE"', "--only", '"$CELLS"'), env),
        "build": build_job(setting, "nightly", attest=setting.options.attest, more=_NOT_EARLIER),
        "smoke": smoke_job(setting, _NOT_EARLIER),
        "publish": publish_job(setting, channel, _RUN),
    }
    return _file(setting, "Nightly", "nightly", on, _ended(setting, channel, "nightly", jobs), waits=True)


def _pull_request(setting: WorkflowContext) -> str:
    paths = setting.options.paths
    on = {"pull_request": {"paths": [*_pipeline_paths(setting)]} if paths else None, "workflow_dispatch": None}
    jobs: dict[str, Job] = {
        "plan": plan_job(setting, "pull-request", (), {}, check=True),
        "price": price_job(setting),
        "build": build_job(setting, "pull-request", attest=False),
        "verdict": verdict_job(setting),
    }
    return _file(setting, "Pull request", "pull-request", on, jobs, waits=False)


def _ended(setting: WorkflowContext, channel: Channel, name: str, jobs: dict[str, Job]) -> dict[str, Job]:
    """The jobs with those behind them that the declaration asks for."""
    if setting.options.index:
        jobs["index"] = index_job(setting, name)
    if channel.retention:
        jobs["prune"] = prune_job(setting, channel, name)
    if setting.options.dispatch and name == "release":
        jobs["dispatch"] = dispatch_job(setting)
    return jobs


def _pipeline_paths(setting: WorkflowContext) -> list[str]:
    """Globs of what decides how wheels are made and released."""
    own = [setting.matrix, f"{FOLDER.as_posix()}/**", ".github/fatwheel/**"]
    more = [path for path in (setting.options.requirements, "noxfile.py" if setting.nox else None) if path]
    return list(dict.fromkeys([*own, *more, *setting.options.paths]))


_ABOUT = {
    "release": "Builds, tries and publishes a release: on its tag, or by hand. On pull requests that touch the\n"
    "pipeline, a dry run with placeholder wheels.\n" + _TOKENS,
    "nightly": "Builds, tries and publishes the version to come, with the day in its name. In a file of its\n"
    "own, since GitHub stops workflows with a schedule in repositories where nothing happens for 60 days.",
    "pull-request": "Builds and imports the wheels of the channel pull-request. It publishes nothing, runs\n"
    "nothing on GPU machines, and holds no secret. `Re-run failed jobs` builds only the cells that failed.",
}


def _file(
    setting: WorkflowContext, name: str, key: str, on: Mapping[str, Any], jobs: Mapping[str, Job], *, waits: bool
) -> str:
    """One workflow's text."""
    document: dict[Any, Any] = {
        Remark(setting.header(_ABOUT[key])): None,
        "name": name,
        Gap(1): None,
        "on": dict(on),
        Gap(2): None,
        "permissions": {},
        Gap(3): None,
        "concurrency": {"group": f"{key}-${{{{ github.ref }}}}", "cancel-in-progress": not waits},
        Gap(4): None,
    }
    if env := _environment(setting):
        document |= {"env": env, Gap(5): None}
    body: dict[Any, Any] = {}
    for number, (job, held) in enumerate(jobs.items()):
        if number:
            body[Gap(number)] = None
        body[job] = held
    return write(document | {"jobs": body})


def _environment(setting: WorkflowContext) -> dict[str, str]:
    """What holds in all jobs: where the declaration lies, and that nox uses what was installed from hashes."""
    env = {} if setting.matrix == "matrix.yaml" else {"FATWHEEL_MATRIX": setting.matrix}
    if setting.nox and setting.options.requirements:
        env["NOX_SCRIPT_MODE"] = "none"
    return env
