"""What matrix.yaml may say of the workflows that are generated from it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fatwheel.declaration.base import Model
from fatwheel.declaration.values import Pattern, Repository

_cron = Pattern(
    r"[0-9*,/-]+ [0-9*,/-]+ [0-9*,/-]+ [0-9*,/-]+ [0-9*,/A-Z-]+", "a cron schedule", "write five fields: 17 3 * * *"
)
_path = Pattern(
    r"(?!/)(?!.*(^|/)\.\.(/|$))[A-Za-z0-9._/-]+", "a path in the repository", "write it from the repository's root"
)
_file = Pattern(r"[A-Za-z0-9._-]+\.ya?ml", "the file of a workflow", "write its name alone, like docs.yml")
_label = Pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*", "a runner's label", "write one label, like ubuntu-24.04")
_branch = Pattern(r"[A-Za-z0-9][A-Za-z0-9._/-]*", "a branch", "write it like gh-pages")
_name = Pattern(r"[A-Za-z0-9][A-Za-z0-9 ._-]*", "the name of an environment", "use letters, digits, . _ and -")
_python = Pattern(r"3\.[0-9]+", "a Python version", 'write it in quotes, like "3.13"')

RepositoryPath = Annotated[str, _path.check, _path.schema]
Minutes = Annotated[int, Field(ge=1, le=7200)]


class IndexHost(Model):
    """Where the index goes: a branch of a repository, or this repository's Pages."""

    repository: Repository | None = Field(None, description="OWNER/REPO that it is pushed to; by default this one.")
    branch: Annotated[str, _branch.check, _branch.schema] = Field("gh-pages", description="The branch there.")
    path: RepositoryPath = Field(".", description="The folder in that branch.")
    pages: bool = Field(False, description="In the place of a branch: deployed as this repository's Pages.")


class Workflows(Model):
    """GitHub Actions: what `fatwheel generate` writes."""

    run: Literal["nox", "uvx"] | None = Field(
        None,
        description="How jobs call fatwheel. By default nox where the noxfile takes its sessions from fatwheel, else "
        "uvx.",
    )
    requirements: RepositoryPath | None = Field(
        None,
        description="A requirements file with hashes that jobs install: nox, and whatever the noxfile imports. By "
        "default they install the fatwheel that wrote them.",
    )
    python: Annotated[str, _python.check, _python.schema] = Field("3.13", description="What jobs run on.")
    runner: Annotated[str, _label.check, _label.schema] = Field(
        "ubuntu-24.04", description="The label of the machine that plans, publishes and indexes."
    )
    environment: Annotated[str, _name.check, _name.schema] = Field(
        "release", description="The environment of the job that publishes; its rules and secrets hold there."
    )
    schedule: Annotated[str, _cron.check, _cron.schema] = Field("17 3 * * *", description="When nightlies are made.")
    build_minutes: Minutes = Field(350, description="Most minutes of one build; GitHub's own runners end at 360.")
    smoke_minutes: Minutes = Field(60, description="Most minutes of one GPU test.")
    publish_minutes: Minutes = Field(300, description="Most minutes of publishing.")
    attest: bool = Field(True, description="Whether builds attest their wheels; private repositories may not.")
    paths: list[str] = Field(
        [], description="Pull requests that touch none of these globs build nothing; without them, each one builds."
    )
    index: IndexHost | None = Field(None, description="Where the index goes; without it none is made.")
    dispatch: list[Annotated[str, _file.check, _file.schema]] = Field(
        [], description="Workflows of this repository that are started when a release is published."
    )
