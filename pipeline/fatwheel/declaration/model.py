"""The models of matrix.yaml. The JSON Schema and the reference page are generated from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fatwheel.declaration.base import Model
from fatwheel.declaration.values import (
    AxisName,
    AxisValue,
    Bytes,
    Capabilities,
    Dependency,
    Duration,
    Glibc,
    IdPrefix,
    Label,
    ModuleName,
    PathInside,
    PublicVersion,
    PythonTag,
    Release,
    Repository,
    Secret,
    Share,
    Targets,
    TemplatedDependency,
    Variable,
)
from fatwheel.declaration.workflows import Workflows
from fatwheel.targets import SPELLINGS
from fatwheel.vocabulary import CHANNELS, Arch, ChannelName


class SourceSpec(Model):
    """The sources of a package: a folder, a distribution or a Git repository. Versions are exact."""

    checkout: str | None = Field(None, description="A folder of this repository, relative to matrix.yaml.")
    index: Dependency | None = Field(
        None,
        description="A distribution on PyPI with an exact version, e.g. flashinfer-python==0.6.13.",
    )
    git: str | None = Field(None, description="URL of a Git repository; requires ref.")
    ref: str | None = Field(None, description="Commit or tag of the Git repository to build.")


class Build(Model):
    """How to build a wheel."""

    kind: Literal["tree", "wheel", "sdist"] = Field(
        description="tree: the command writes the contents of the wheel to {out}, and fatwheel packs them. "
        "wheel, sdist: the command writes one finished wheel or sdist to {out}."
    )
    command: list[str] = Field(min_length=1, description="Program and arguments. Fields in braces are replaced.")
    shim: list[str] = Field(
        [],
        description="With layout: provider, the command that writes the contents of the shim to {out}. Without it, "
        "the shim contains metadata only.",
    )
    requires: list[TemplatedDependency] = Field(
        [], description="Requirements installed into the build environment, with their dependencies. May use axes."
    )
    no_deps: list[TemplatedDependency] = Field(
        [], description="Requirements installed into the build environment without their dependencies."
    )
    env: dict[Variable, str] = Field({}, description="Environment variables. Fields in braces are replaced.")
    spelling: Literal[SPELLINGS] = Field("dotted", description="Format of {targets}.")  # type: ignore[valid-type]
    suffix_from: int | None = Field(
        None,
        ge=1,
        description="From this major on, every target must have the suffix a or f, because the sources require it.",
    )
    cross: bool = Field(
        False,
        description="Whether the command can cross-compile, i.e. passes {arch} and NVCC_CCBIN on to the compilers.",
    )
    split: bool = Field(
        False,
        description="Build once for all GPU targets of a CUDA label and CPU architecture, then split the result into "
        "wheels.",
    )
    disk: Bytes | None = Field(None, description="Disk space that a build requires; checked before it starts.")
    job_memory: Bytes | None = Field(
        None, description="Memory that one compiler thread requires; determines {jobs}. Default: 2 GiB."
    )
    silence: Duration | None = Field(None, description="Kill a build after this long without output, e.g. 90 min.")
    time_limit: Duration | None = Field(None, description="Kill a build that takes longer than this.")


class Packing(Model):
    """How to post-process a built wheel, as `fatwheel repack` does."""

    level: int | None = Field(
        None,
        ge=0,
        le=12,
        description="Compression level, 0 (none) to 12 (smallest). Default: 6 for kind: tree; finished wheels are "
        "kept.",
    )
    strip_debug: bool = Field(False, description="Strip debug information from libraries.")
    exclude: list[str] = Field([], description="Files and folders to remove from the wheel, as globs.")
    sbom: bool = Field(False, description="Add an SBOM (CycloneDX) to the wheel (PEP 770).")


class Smoke(Model):
    """The GPU test of a package, which launches kernels of the installed wheel."""

    command: list[str] = Field(
        min_length=1, description="Program and arguments. {python} is the interpreter of the test environment."
    )
    requires: list[TemplatedDependency] = Field([], description="Requirements installed with the wheel for the test.")
    env: dict[Variable, str] = Field({}, description="Environment variables of the test.")


class Dispatch(Model):
    """The devices on which a package loads a module. The report uses it to find unused device code."""

    modules: str = Field(min_length=1, description="Glob that matches library names without their extension.")
    capabilities: Capabilities = Field(description="Compute capabilities of the devices that load them.")
    feature: str | None = Field(
        None,
        description="Name of the feature that these modules implement. If several rows name one feature, a device "
        "loads the first module that has code for it.",
    )


class Metadata(Model):
    """Core metadata of wheels that fatwheel packs."""

    summary: str | None = Field(None, description="One-line description.")
    license: str | None = Field(None, description="SPDX license expression.")
    license_files: list[str] = Field([], description="License files, relative to the sources.")
    requires_python: str | None = Field(None, description="Supported Python versions, e.g. >=3.9.")
    dependencies: list[TemplatedDependency] = Field(
        [], description="Requirements of the wheel. May use axes, e.g. torch=={torch}.*."
    )
    readme: str | None = Field(None, description="Markdown file with the long description, relative to the sources.")
    urls: dict[str, str] = Field({}, description="Project URLs by label.")


class Package(Model):
    """A distribution, built as one or more wheels."""

    name: str = Field(description="Distribution name. May use {cuda}, {cuda_major} and further axes.")
    import_name: ModuleName | None = Field(None, alias="import", description="The module that users import.")
    id: IdPrefix | None = Field(
        None, description="Prefix of this package's cell IDs, required if two packages have the same axes."
    )
    per: list[str] = Field(
        description="Axes to build over: cuda, arch, and names defined under axes. Use [] for a single pure Python "
        "wheel."
    )
    layout: Literal["family", "provider", "fat"] | None = Field(
        None,
        description="How GPU targets are split across wheels. family: one wheel per GPU family. provider: one wheel "
        "per target, and a shim that requires them. fat: one wheel with all targets. Required if per contains cuda.",
    )
    empty_modules: Literal["keep", "drop"] = Field(
        "keep",
        description="When a fat wheel is split, what to do with a library without device code for the new wheel. "
        "keep: it can still be imported. drop: remove it, for packages that check which libraries exist.",
    )
    shim: Literal["all", "extras"] = Field(
        "all",
        description="With layout: provider, what a plain install of the shim installs. all: every provider wheel. "
        "extras: none; users select them with extras such as sm90a.",
    )
    needs: list[str] = Field(
        [],
        description="Other packages of this file that it requires at exactly the same version. They are published "
        "first.",
    )
    extras: dict[IdPrefix, list[str]] = Field({}, description="The same for extras: packages by extra.")
    local: str | None = Field(
        None, description="Local version label. Default: {cuda}.{family} with layout: family, else {cuda}."
    )
    tag: PythonTag = Field(
        "py3-none", description="Python and ABI tag. May use axes, e.g. cp{python_nodot}-cp{python_nodot}."
    )
    manylinux: Glibc | None = Field(
        None, description="glibc version of the platform tag, e.g. 2_28. Required if per contains arch."
    )
    source: SourceSpec = Field(default_factory=lambda: SourceSpec(checkout="."), validate_default=True)
    build: Build
    stamp: list[PathInside] = Field(
        [], description="Files inside the wheel that contain its version or targets and are rewritten for each wheel."
    )
    pack: Packing = Field(default_factory=Packing)
    guard: PathInside | None = Field(
        None,
        description="Path of a module that fatwheel adds to the wheel, e.g. mylib/_fits.py. Its function fits() "
        "returns whether the wheel has code for the GPUs of the machine.",
    )
    provided: list[str] = Field(
        [],
        description="Globs of shared libraries that other packages provide at run time, e.g. libcudart.so.*.",
    )
    dispatch: list[Dispatch] = Field(
        [], description="Which devices load which modules. Modules that no row matches are loaded on all devices."
    )
    smoke: Smoke | None = Field(None, description="GPU test command. Without one, kernels are loaded but not run.")
    metadata: Metadata = Field(default_factory=Metadata)
    publish: Literal["store", "pypi"] = Field(
        "store", description="Where to publish the wheels. PyPI rejects local version labels."
    )
    channels: list[ChannelName] = Field(list(CHANNELS), min_length=1, description="Channels that include this package.")


class Cuda(Model):
    """A CUDA label: its toolkit, and the GPU targets for each CPU architecture."""

    toolkit: Release = Field(description='CUDA toolkit release, in quotes, e.g. "13.0".')
    targets: dict[Arch, Targets] = Field(
        min_length=1,
        description="GPU targets for each CPU architecture, in any format: 9.0a, 90a, sm_90a. Append +PTX to include "
        "PTX.",
    )
    image: dict[Arch, str] = Field({}, description="Container image for each CPU architecture, pinned by digest.")
    compress: Literal["size", "balance", "speed", "none"] | None = Field(
        None, description="nvcc --compress-mode; requires CUDA 12.8 or later."
    )


class Family(Model):
    """A GPU family: GPUs that share one wheel."""

    majors: list[int] = Field(min_length=1, description="Majors of its compute capabilities.")
    base: Targets | None = Field(None, description="Targets of other families to add to its wheels.")


class RequiredCoverage(Model):
    """Compute capabilities that the wheels must cover."""

    cells: str = Field("*", description="Glob that matches cell IDs. Cells that differ only in family count together.")
    capabilities: Capabilities = Field(description="Compute capabilities, as a list or as text, e.g. 9.0 12.1.")


class Exclude(Model):
    """Cells, or targets of cells, to exclude."""

    cells: str = Field(description="Glob that matches cell IDs.")
    targets: Targets | None = Field(None, description="Targets to exclude. Without it, whole cells are excluded.")
    reason: str = Field(min_length=1, description="Reason, shown with the plan.")


class Runners(Model):
    """Labels of the runners that build and test."""

    build: dict[Arch, str] = Field({}, description="Runner that builds, for each CPU architecture.")
    smoke: dict[str, dict[Arch, str]] = Field(
        {}, description="GPU runner for each family and CPU architecture. Without one, the family is untested."
    )


class Size(Model):
    """Limits on wheel sizes."""

    limit: Bytes = Field("2 GiB", validate_default=True, description="Wheels must be smaller than this.")
    warn: Share = Field(
        "95%", validate_default=True, description="Warn about wheels of this share of the limit or more."
    )
    growth: Share = Field("10%", validate_default=True, description="Allowed growth since the last release.")
    over: Literal["withhold", "fail", "elsewhere"] = Field(
        "withhold",
        description="What to do with a wheel over the limit. withhold: release the rest. fail: release nothing. "
        "elsewhere: upload it to the fallback store.",
    )
    elsewhere: str | None = Field(
        None, description="The fallback store for wheels over the limit, e.g. dir:PATH or github:OWNER/REPO."
    )


class Retention(Model):
    """How many releases of a channel to keep. With both keys, a release is deleted if it exceeds both."""

    releases: int | None = Field(None, ge=1, description="Keep this many of the newest releases.")
    days: int | None = Field(None, ge=1, description="Keep releases of the last N days.")


class Channel(Model):
    """A release channel: which cells to build, and where to publish them."""

    select: list[str] = Field(["*"], min_length=1, description="Globs that match cell IDs.")
    repository: Repository | None = Field(None, description="OWNER/REPO to publish releases in.")
    tag: str = Field("v{version}", description="Tag of a release. May use {version} and {date}.")
    completeness: Literal["complete", "partial"] = Field(
        "complete",
        description="complete: publish only if all wheels are uploaded. partial: publish the wheels that passed.",
    )
    immutable: bool = Field(False, description="Whether the repository has immutable releases enabled.")
    wait: Duration | None = Field(None, description="How long a build waits for a dependency to appear on the index.")
    retention: Retention | None = Field(None, description="Which releases to keep. Without it, all.")


class Channels(Model):
    """The release channels of a project."""

    release: Channel = Field(default_factory=Channel)
    nightly: Channel | None = Field(None, description="Nightly builds of the next version, as .devYYYYMMDD.")
    pull_request: Channel | None = Field(
        None, alias="pull-request", description="Builds of pull requests; never published."
    )

    @property
    def declared(self) -> dict[ChannelName, Channel]:
        """The channels that matrix.yaml declares, by name; ``release`` always exists."""
        found = {"release": self.release, "nightly": self.nightly, "pull-request": self.pull_request}
        return {name: channel for name in CHANNELS if (channel := found[name]) is not None}


class Document(Model):
    """The contents of matrix.yaml."""

    version: PublicVersion | None = Field(None, description="Version of all packages, in quotes.")
    version_file: str | None = Field(None, description="File that contains the version; an alternative to version.")
    next_version: PublicVersion | None = Field(
        None, description="Version that nightlies lead up to. Default: the next patch release."
    )
    packages: list[Package] = Field(min_length=1, description="Packages, in the order of publishing.")
    cuda: dict[Label, Cuda] = Field({}, description="CUDA labels, e.g. cu130.")
    families: dict[Label, Family] = Field({}, description="GPU families, e.g. sm9x.")
    axes: dict[AxisName, list[AxisValue]] = Field(
        {}, description="Further axes with their values: python, torch, abi ..."
    )
    must_cover: list[RequiredCoverage] = Field([], description="Required coverage; dropping any of it is an error.")
    exclude: list[Exclude] = Field([], description="Exclusions, each with its reason.")
    runners: Runners = Field(default_factory=Runners)
    secrets: dict[str, Secret] = Field(
        {}, description="Names of secrets by what they give access to: a repository, a cache."
    )
    size: Size = Field(default_factory=Size)
    channels: Channels = Field(default_factory=Channels)
    workflows: Workflows = Field(default_factory=Workflows)
