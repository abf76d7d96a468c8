"""Steps that jobs are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fatwheel import __version__
from fatwheel.stores.github.tokens import token_variable
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.text import Noted, Remark, Verbatim

Step = dict[Any, Any]
Steps = list[Any]

_LINE = 100  # characters that a command may have on one line

PLAN_ARTIFACT = "fatwheel-plan"
RELEASE_ARTIFACT = "fatwheel-release"


def uses(setting: WorkflowContext, action: str, **inputs: Any) -> Step:
    """A step that runs an action at its pin."""
    step: Step = {"uses": setting.pins[action].uses}
    return step | {"with": {key.replace("_", "-"): value for key, value in inputs.items()}} if inputs else step


def called(setting: WorkflowContext, verb: str, *arguments: str) -> str:
    """The command line of one verb: a nox session, or fatwheel by itself. A long one has an option a line."""
    words = ["nox", "-s", verb, *(["--"] if arguments else [])]
    words = words if setting.nox else ["uvx", f"fatwheel=={__version__}", verb]
    line = " ".join([*words, *arguments])
    if len(line) <= _LINE:
        return line
    lines = [" ".join(words)]
    for word in arguments:
        if word.startswith("--") or lines[-1].startswith("nox") or len(lines) == 1:
            lines.append(f"  {word}")
        else:
            lines[-1] += f" {word}"
    return " \\\n".join(lines) + "\n"


def runs(setting: WorkflowContext, name: str, verb: str, *arguments: str, env: Mapping[str, Any] | None = None) -> Step:
    """A step that calls one verb, with its variables."""
    step: Step = {"name": name}
    if env:
        step["env"] = dict(env)
    return step | {"run": called(setting, verb, *arguments)}


def start(setting: WorkflowContext, ref: str | None = None) -> Steps:
    """The checkout, and what calls fatwheel."""
    checkout: dict[str, Any] = {"persist-credentials": False}
    if ref:
        checkout["ref"] = ref
    steps: Steps = [uses(setting, "actions/checkout") | {"with": checkout}]
    if not setting.nox:
        return [*steps, uses(setting, "astral-sh/setup-uv", python_version=setting.options.python, enable_cache=False)]
    steps.append(uses(setting, "actions/setup-python", python_version=setting.options.python))
    wanted = setting.options.requirements
    install = f"--require-hashes --requirement {wanted}" if wanted else f"fatwheel=={__version__}"
    return [*steps, {"name": "Install nox", "run": f"python -m pip install {install}"}]


def slot(setting: WorkflowContext, name: str) -> Steps:
    """The repository's own steps at a place, if it has some."""
    if name not in setting.slots:
        return []
    return [Remark(f"Steps of .github/fatwheel/{name}.yml."), Verbatim(setting.slots[name]), Remark("End of these.")]


def take_plan(setting: WorkflowContext) -> Step:
    """Download the plan, which is whole whatever the run builds of it."""
    return uses(setting, "actions/download-artifact", name=PLAN_ARTIFACT, path="${{ runner.temp }}/plan")


def upload(setting: WorkflowContext, name: str, path: str, *, condition: str | None = None) -> Step:
    """Upload an artifact; a second attempt of a job takes the place of its first."""
    step = uses(
        setting, "actions/upload-artifact", name=name, path=path, compression_level=0, if_no_files_found="error",
        overwrite=True,
    )  # fmt: skip
    return {"if": condition, **step} if condition else step


def tokens(setting: WorkflowContext, *repositories: str | None) -> dict[str, Any]:
    """Variables with the run's own token, and with that of each repository that has one of its own."""
    held: dict[str, Any] = {"GITHUB_TOKEN": "${{ github.token }}"}
    for repository in dict.fromkeys(repositories):
        secret = setting.token(repository)
        if repository and secret:
            held[token_variable(repository)] = f"${{{{ secrets.{secret} }}}}"
    return held


def permissions(**granted: tuple[str, str]) -> dict[str, Noted]:
    """What a job may do, each with its reason."""
    return {key.replace("_", "-"): Noted(access, reason) for key, (access, reason) in granted.items()}
