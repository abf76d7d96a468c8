"""What GitHub would refuse, or take and break in silence: looked for in what was generated, before it is written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from fatwheel.errors import Diagnostic
from fatwheel.plan import channels, make_plan
from fatwheel.plan.plan_validation import MATRIX_JOBS
from fatwheel.records.plan import Cell
from fatwheel.stores.github.tokens import token_variable
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.matrix import artifact_names

# Limits of GitHub Actions, from its documentation and the constants of actions/runner.
FILE_CHARACTERS = 1_048_576
EXPRESSION_CHARACTERS = 21_000
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_PINNED = re.compile(r"\./.*|docker://.*@sha256:[0-9a-f]{64}|[^@]+@[0-9a-f]{40}")
_DYNAMIC = "${{ matrix.runner }}"


def declared_badly(setting: WorkflowContext) -> Iterator[Diagnostic]:
    """What the declaration must say before workflows can be made of it."""
    declaration = setting.declaration
    source, document = declaration.source, declaration.document
    for name in channels(declaration):
        cells = make_plan(declaration, name).cells
        if len(cells) > MATRIX_JOBS:
            what = f"the channel {name} has {len(cells)} cells, and a matrix at most {MATRIX_JOBS} jobs"
            yield source.problem(("channels", name, "select"), what, "select fewer, or divide the set")
        for arch in sorted({cell.arch or "" for cell in cells if cell.arch and not cell.runner}):
            what = f"no runner builds for {arch}, and the channel {name} has cells for it"
            yield source.problem(("runners", "build"), what, f"add {arch}: ubuntu-24.04-arm, or your own label")
        yield from _same_artifacts(setting, cells)
    for name, channel in channels(declaration).items():
        repository = channel.repository
        if repository and setting.home and repository != setting.home and not setting.token(repository):
            what = f"{repository} is another repository than {setting.home}: it takes a token of its own"
            help = f"add secrets: {{{repository}: NAME_OF_A_SECRET}}"
            yield source.problem(("channels", name, "repository"), what, help)
    host = document.workflows.index
    if host and host.repository and host.repository != setting.home and not setting.token(host.repository):
        what = f"the index goes to {host.repository}, which takes a token of its own"
        yield source.problem(("workflows", "index", "repository"), what, f"add secrets: {{{host.repository}: NAME}}")
    variables = Counter(token_variable(key) for key in document.secrets if "/" in key)
    for key in document.secrets:
        if "/" in key and variables[token_variable(key)] > 1:
            what = f"{key} and another repository would share the variable {token_variable(key)}"
            yield source.problem(("secrets", key), what, "give them one token under one name, or rename one", key=True)


def _same_artifacts(setting: WorkflowContext, cells: list[Cell]) -> Iterator[Diagnostic]:
    names = Counter(name.lower() for cell in cells for name in artifact_names(cell))
    names.update({"fatwheel-plan", "fatwheel-release", "github-pages"})
    for name, count in names.items():
        if count > 1:
            what = f"two things would be the workflow artifact {name}"
            yield setting.declaration.source.problem(("packages",), what, "give one package an id:")


def generated_badly(setting: WorkflowContext, name: str, text: str) -> Iterator[str]:
    """What is wrong with one generated file; its own steps of a repository can bring it in."""
    if len(text) > FILE_CHARACTERS:
        yield f"{name}: {len(text):,} characters; GitHub takes {FILE_CHARACTERS:,}"
    held: dict[Any, Any] = yaml.safe_load(text)
    triggers = held.get("on", held.get(True)) or {}
    if "pull_request_target" in triggers:
        yield f"{name}: pull_request_target gives secrets to code that nobody has read"
    if held.get("permissions") != {}:
        yield f"{name}: permissions must be {{}} at the top, and said for each job"
    for job, body in held["jobs"].items():
        yield from (f"{name}: {job}: {problem}" for problem in _job(setting, body))


def _job(setting: WorkflowContext, job: Mapping[str, Any]) -> Iterator[str]:
    if "timeout-minutes" not in job:
        yield "no timeout-minutes: it would wait for six hours"
    if "permissions" not in job:
        yield "no permissions of its own"
    strategy = job.get("strategy")
    if strategy is not None and strategy.get("fail-fast") is not False:
        yield "fail-fast is not false: one cell that fails would end the others"
    runners = setting.declaration.document.runners
    labels = {setting.options.runner, *runners.build.values()}
    labels |= {label for family in runners.smoke.values() for label in family.values()}
    if job["runs-on"] != _DYNAMIC and job["runs-on"] not in labels:
        yield f"runs-on: {job['runs-on']} is not among the declared runners"
    for step in job["steps"]:
        yield from (f"{step.get('name') or step.get('uses')}: {problem}" for problem in _step(step))
    for text in _strings(job):
        for match in _EXPRESSION.finditer(text):
            if len(match[1]) > EXPRESSION_CHARACTERS:
                yield f"an expression of {len(match[1]):,} characters; GitHub takes {EXPRESSION_CHARACTERS:,}"


def _step(step: Mapping[str, Any]) -> Iterator[str]:
    if "${{" in str(step.get("run", "")):
        yield "an expression in `run` can be code of somebody else's; pass it by env"
    if len(str(step.get("run", ""))) > EXPRESSION_CHARACTERS:
        yield f"a script of more than {EXPRESSION_CHARACTERS:,} characters; put it into a file"
    if "uses" in step and not _PINNED.fullmatch(step["uses"]):
        yield f"{step['uses']} is not pinned by its full commit"
    if step.get("continue-on-error"):
        yield "continue-on-error would make a loss look like a success"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
