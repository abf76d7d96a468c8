"""Check for workflows that GitHub would reject, or that would be unsafe or lose results, before writing them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from fatwheel.errors import Diagnostic
from fatwheel.plan import make_plan
from fatwheel.plan.plan_validation import MATRIX_JOBS
from fatwheel.records.plan import Cell
from fatwheel.stores.github.tokens import token_variable
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.matrix import artifact_names
from fatwheel.workflows.step_hooks import PINNED

# Limits of GitHub Actions, from its documentation and the constants of actions/runner.
FILE_CHARACTERS = 1_048_576
EXPRESSION_CHARACTERS = 21_000
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_MATRIX_RUNNER = "${{ matrix.runner }}"


def check_declaration(context: WorkflowContext) -> Iterator[Diagnostic]:
    """Find errors in matrix.yaml that matter only for workflows: job limits, runners, tokens, artifact names."""
    declaration = context.declaration
    source, document = declaration.source, declaration.document
    for name in declaration.channels:
        cells = make_plan(declaration, name).cells
        if len(cells) > MATRIX_JOBS:
            what = f"channel '{name}' has {len(cells)} cells, but GitHub allows at most {MATRIX_JOBS} jobs in a matrix"
            yield source.diagnostic(("channels", name, "select"), what, "select fewer cells, or split the set")
        for arch in sorted({cell.arch or "" for cell in cells if cell.arch and not cell.runner}):
            what = f"no runner for {arch}, but channel '{name}' has cells for it"
            help = f"add {arch}: ubuntu-24.04-arm, or the label of your own runner"
            yield source.diagnostic(("runners", "build"), what, help)
        yield from _check_artifact_names(context, cells)
    for name, channel in declaration.channels.items():
        repository = channel.repository
        if repository and context.home and repository != context.home and not context.token(repository):
            what = f"{repository} is not {context.home} and requires its own token"
            help = f"add secrets: {{{repository}: NAME_OF_A_SECRET}}"
            yield source.diagnostic(("channels", name, "repository"), what, help)
    host = document.workflows.index
    if host and host.repository and host.repository != context.home and not context.token(host.repository):
        what = f"pushing the index to {host.repository} requires its own token"
        yield source.diagnostic(("workflows", "index", "repository"), what, f"add secrets: {{{host.repository}: NAME}}")
    variables = Counter(token_variable(key) for key in document.secrets if "/" in key)
    for key in document.secrets:
        if "/" in key and variables[token_variable(key)] > 1:
            what = f"{key} and another repository would use the same variable {token_variable(key)}"
            help = "use one token for both under one name, or rename a repository"
            yield source.diagnostic(("secrets", key), what, help, key=True)


def _check_artifact_names(context: WorkflowContext, cells: list[Cell]) -> Iterator[Diagnostic]:
    names = Counter(name.lower() for cell in cells for name in artifact_names(cell))
    names.update({"fatwheel-plan", "fatwheel-release", "github-pages"})
    for name, count in names.items():
        if count > 1:
            what = f"several workflow artifacts would be named {name}"
            yield context.declaration.source.diagnostic(("packages",), what, "set `id` of a package")


def check_workflow(context: WorkflowContext, name: str, text: str) -> Iterator[str]:
    """Find errors in one generated file, which step hooks can cause."""
    if len(text) > FILE_CHARACTERS:
        yield f"{name}: {len(text):,} characters, but GitHub allows at most {FILE_CHARACTERS:,}"
    workflow: dict[Any, Any] = yaml.safe_load(text)
    triggers = workflow.get("on", workflow.get(True)) or {}
    if "pull_request_target" in triggers:
        yield f"{name}: pull_request_target gives unreviewed code access to secrets"
    if workflow.get("permissions") != {}:
        yield f"{name}: top-level permissions must be {{}}; grant them to each job"
    for job, body in workflow["jobs"].items():
        yield from (f"{name}: {job}: {error}" for error in _check_job(context, body))


def _check_job(context: WorkflowContext, job: Mapping[str, Any]) -> Iterator[str]:
    if "timeout-minutes" not in job:
        yield "timeout-minutes is missing; the default is six hours"
    if "permissions" not in job:
        yield "permissions are missing"
    strategy = job.get("strategy")
    if strategy is not None and strategy.get("fail-fast") is not False:
        yield "fail-fast must be false, or one failing cell would cancel the others"
    runners = context.declaration.document.runners
    labels = {context.options.runner, *runners.build.values()}
    labels |= {label for family in runners.smoke.values() for label in family.values()}
    if job["runs-on"] != _MATRIX_RUNNER and job["runs-on"] not in labels:
        yield f"runs-on: {job['runs-on']} is not a declared runner"
    for step in job["steps"]:
        yield from (f"{step.get('name') or step.get('uses')}: {error}" for error in _check_step(step))
    for text in _strings(job):
        for match in _EXPRESSION.finditer(text):
            if len(match[1]) > EXPRESSION_CHARACTERS:
                limit = f"GitHub allows at most {EXPRESSION_CHARACTERS:,}"
                yield f"an expression has {len(match[1]):,} characters, but {limit}"


def _check_step(step: Mapping[str, Any]) -> Iterator[str]:
    if "${{" in str(step.get("run", "")):
        yield "an expression in `run` allows code injection; pass the value through env"
    if len(str(step.get("run", ""))) > EXPRESSION_CHARACTERS:
        yield f"the script has more than {EXPRESSION_CHARACTERS:,} characters; move it to a file"
    if "uses" in step and not PINNED.fullmatch(step["uses"]):
        yield f"{step['uses']} is not pinned to a full commit"
    if step.get("continue-on-error"):
        yield "continue-on-error would hide a failure"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
