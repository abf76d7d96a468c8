"""Steps of the generated jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fatwheel import __version__
from fatwheel.stores.github.tokens import token_variable
from fatwheel.workflows import step_hooks
from fatwheel.workflows.context import WorkflowContext
from fatwheel.workflows.text import Comment, Commented, Verbatim

Step = dict[Any, Any]
Steps = list[Any]

_LINE = 100  # maximum length of a command on one line

PLAN_ARTIFACT = "fatwheel-plan"
RELEASE_ARTIFACT = "fatwheel-release"


def action_step(context: WorkflowContext, action: str, **inputs: Any) -> Step:
    """A step that runs a pinned action."""
    step: Step = {"uses": context.pins[action].uses}
    return step | {"with": {key.replace("_", "-"): value for key, value in inputs.items()}} if inputs else step


def command_line(context: WorkflowContext, command: str, *arguments: str) -> str:
    """The command line of one fatwheel command, through nox or uvx; a long one has one option per line."""
    words = ["nox", "-s", command, *(["--"] if arguments else [])]
    words = words if context.nox else ["uvx", f"fatwheel=={__version__}", command]
    line = " ".join([*words, *arguments])
    if len(line) <= _LINE:
        return line
    lines = [" ".join(words)]
    for word in arguments:
        if word.startswith("--") or len(lines) == 1:
            lines.append(f"  {word}")
        else:
            lines[-1] += f" {word}"
    return " \\\n".join(lines) + "\n"


def command_step(
    context: WorkflowContext, name: str, command: str, *arguments: str, env: Mapping[str, Any] | None = None
) -> Step:
    """A step that runs one fatwheel command with its environment variables."""
    step: Step = {"name": name}
    if env:
        step["env"] = dict(env)
    return step | {"run": command_line(context, command, *arguments)}


def setup_steps(context: WorkflowContext, ref: str | None = None) -> Steps:
    """Check out the repository (at ``ref``, if given) and install nox or uv."""
    checkout: dict[str, Any] = {"persist-credentials": False}
    if ref:
        checkout["ref"] = ref
    steps: Steps = [action_step(context, "actions/checkout") | {"with": checkout}]
    python = context.options.python
    if not context.nox:
        return [*steps, action_step(context, "astral-sh/setup-uv", python_version=python, enable_cache=False)]
    steps.append(action_step(context, "actions/setup-python", python_version=python))
    requirements = context.options.requirements
    install = f"--require-hashes --requirement {requirements}" if requirements else f"fatwheel=={__version__}"
    return [*steps, {"name": "Install nox", "run": f"python -m pip install {install}"}]


def hook_steps(context: WorkflowContext, hook: str) -> Steps:
    """The repository's own steps for a hook, between comments; empty without any."""
    if hook not in context.hooks:
        return []
    file = f"{step_hooks.FOLDER}/{hook}.yml"
    return [Comment(f"Steps from {file}:"), Verbatim(context.hooks[hook]), Comment(f"End of {file}.")]


def download_plan_step(context: WorkflowContext) -> Step:
    """Download the plan, which contains all cells even if only some of them are built."""
    return action_step(context, "actions/download-artifact", name=PLAN_ARTIFACT, path="${{ runner.temp }}/plan")


def upload_step(context: WorkflowContext, name: str, path: str, *, condition: str | None = None) -> Step:
    """Upload a workflow artifact; when a job is run again, its artifact is overwritten."""
    step = action_step(
        context, "actions/upload-artifact", name=name, path=path, compression_level=0, if_no_files_found="error",
        overwrite=True,
    )  # fmt: skip
    return {"if": condition, **step} if condition else step


def token_variables(context: WorkflowContext, *repositories: str | None) -> dict[str, Any]:
    """Environment variables with the workflow's own token, and the tokens declared for other repositories."""
    variables: dict[str, Any] = {"GITHUB_TOKEN": "${{ github.token }}"}
    for repository in dict.fromkeys(repositories):
        secret = context.token(repository)
        if repository and secret:
            variables[token_variable(repository)] = f"${{{{ secrets.{secret} }}}}"
    return variables


def permissions(**granted: tuple[str, str]) -> dict[str, Commented]:
    """The permissions of a job, each (access, reason), with the reason as a comment."""
    return {key.replace("_", "-"): Commented(access, reason) for key, (access, reason) in granted.items()}
