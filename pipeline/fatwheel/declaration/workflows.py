"""The models of `workflows` in matrix.yaml: options of the generated GitHub Actions workflows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fatwheel.declaration.base import Model
from fatwheel.declaration.values import Pattern, Repository

_cron = Pattern(
    r"[0-9*,/-]+ [0-9*,/-]+ [0-9*,/-]+ [0-9*,/-]+ [0-9*,/A-Z-]+",
    "a cron schedule",
    "write five fields, e.g. 17 3 * * *",
)
_path = Pattern(
    r"(?!/)(?!.*(^|/)\.\.(/|$))[A-Za-z0-9._/-]+",
    "a path in the repository",
    "write it relative to the root of the repository",
)
_file = Pattern(r"[A-Za-z0-9._-]+\.ya?ml", "workflow file", "write the file name only, e.g. docs.yml")
_label = Pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*", "runner label", "write one label, e.g. ubuntu-24.04")
_branch = Pattern(r"[A-Za-z0-9][A-Za-z0-9._/-]*", "branch name", "e.g. gh-pages")
_name = Pattern(r"[A-Za-z0-9][A-Za-z0-9 ._-]*", "environment name", "use letters, digits, . _ and -")
_python = Pattern(r"3\.[0-9]+", "Python version", 'write it in quotes, e.g. "3.13"')

RepositoryPath = Annotated[str, _path.check, _path.schema]
Minutes = Annotated[int, Field(ge=1, le=7200)]


class IndexHost(Model):
    """Where to publish the package index: on a branch, or on the GitHub Pages of this repository."""

    repository: Repository | None = Field(None, description="OWNER/REPO to push to. Default: this repository.")
    branch: Annotated[str, _branch.check, _branch.schema] = Field("gh-pages", description="Branch to push to.")
    path: RepositoryPath = Field(".", description="Folder on that branch.")
    pages: bool = Field(False, description="Deploy to the GitHub Pages of this repository instead of a branch.")


class Workflows(Model):
    """Options of the GitHub Actions workflows that `fatwheel generate` writes."""

    run: Literal["nox", "uvx"] | None = Field(
        None,
        description="How jobs run fatwheel. Default: nox if the noxfile registers the sessions of fatwheel, else uvx.",
    )
    requirements: RepositoryPath | None = Field(
        None,
        description="Requirements file with hashes for jobs to install: nox, and the imports of the noxfile. Default: "
        "the fatwheel version that generated the workflows.",
    )
    python: Annotated[str, _python.check, _python.schema] = Field("3.13", description="Python version of the jobs.")
    runner: Annotated[str, _label.check, _label.schema] = Field(
        "ubuntu-24.04", description="Runner of the jobs that plan, publish and index."
    )
    environment: Annotated[str, _name.check, _name.schema] = Field(
        "release", description="Environment of the publishing job, with its protection rules and secrets."
    )
    schedule: Annotated[str, _cron.check, _cron.schema] = Field("17 3 * * *", description="When nightly builds start.")
    build_minutes: Minutes = Field(
        350, description="Time limit of a build job in minutes; at most 360 on GitHub-hosted runners."
    )
    smoke_minutes: Minutes = Field(60, description="Time limit of a GPU test job in minutes.")
    publish_minutes: Minutes = Field(300, description="Time limit of the publishing job in minutes.")
    attest: bool = Field(True, description="Whether builds attest their wheels. Some private repositories cannot.")
    paths: list[str] = Field(
        [],
        description="Build only pull requests that change a file matching one of these globs. Default: all.",
    )
    index: IndexHost | None = Field(None, description="Where to publish the package index. Without it, none is built.")
    dispatch: list[Annotated[str, _file.check, _file.schema]] = Field(
        [], description="Workflows of this repository to start after a release is published."
    )
