"""What matrix.yaml may hold. The JSON Schema, the reference page and the checks all come from these models."""

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
    """Where a package's sources come from: exactly one of these. Foreign versions are literals."""

    checkout: str | None = Field(None, description="A folder of this repository, relative to matrix.yaml.")
    index: Dependency | None = Field(
        None,
        description="A distribution on the Python package index, with its exact version: flashinfer-python==0.6.13.",
    )
    git: str | None = Field(None, description="The URL of a git repository; needs ref.")
    ref: str | None = Field(None, description="The commit or tag of git that is built.")


class Build(Model):
    """How a wheel is made."""

    kind: Literal["tree", "wheel", "sdist"] = Field(
        description="tree: the command fills {out} with the wheel's contents, and fatwheel packs them. "
        "wheel, sdist: the command leaves one finished wheel or sdist in {out}."
    )
    command: list[str] = Field(min_length=1, description="Program and arguments; fields in braces are filled in.")
    shim: list[str] = Field(
        [], description="With layout: provider, the command that fills {out} for the shim; without it, metadata only."
    )
    requires: list[TemplatedDependency] = Field(
        [], description="Installed into the build environment with what they need; may hold axes."
    )
    no_deps: list[TemplatedDependency] = Field(
        [], description="Installed into the build environment without what they need."
    )
    env: dict[Variable, str] = Field({}, description="Environment variables; fields in braces are filled in.")
    spelling: Literal[SPELLINGS] = Field("dotted", description="How {targets} is written.")  # type: ignore[valid-type]
    suffix_from: int | None = Field(
        None, ge=1, description="From this major on, every target must have an a or f: the sources need it there."
    )
    cross: bool = Field(
        False,
        description="Whether the command can build for another CPU: it gives {arch} and NVCC_CCBIN to the compilers.",
    )
    split: bool = Field(
        False, description="Build once for all GPU targets of a CUDA label and CPU, and divide that into the wheels."
    )
    disk: Bytes | None = Field(None, description="Free space that a build needs, checked before it starts.")
    job_memory: Bytes | None = Field(
        None, description="Memory that one compiler thread needs; decides {jobs}. By default 2 GiB."
    )
    silence: Duration | None = Field(None, description="A build that prints nothing for so long is ended; 90 min.")
    time_limit: Duration | None = Field(None, description="A build that takes longer is ended.")


class Packing(Model):
    """What a build does to its wheel at the end; so does `fatwheel repack`."""

    level: int | None = Field(
        None,
        ge=0,
        le=12,
        description="Compression of every member, 0 (store) to 12; by default 6 for trees, none for wheels.",
    )
    strip_debug: bool = Field(False, description="Take debug information out of libraries.")
    exclude: list[str] = Field([], description="Globs, or folders, of members to leave out.")
    sbom: bool = Field(False, description="Put a CycloneDX bill of materials into the wheel (PEP 770).")


class Smoke(Model):
    """The package's own proof on a GPU: it launches kernels of this very wheel."""

    command: list[str] = Field(min_length=1, description="Program and arguments; {python} is the test environment's.")
    requires: list[TemplatedDependency] = Field([], description="Installed beside the wheel for the test.")
    env: dict[Variable, str] = Field({}, description="Environment variables of the test.")


class Dispatch(Model):
    """Devices on which a package loads a module: what its own dispatch decides. The report finds dead code by it."""

    modules: str = Field(min_length=1, description="Glob over the names of libraries, without their ending.")
    capabilities: Capabilities = Field(description="The devices on which they are loaded.")
    feature: str | None = Field(
        None, description="What they do: of rows with the same feature, a device takes the first that has code for it."
    )


class Metadata(Model):
    """Core metadata of the wheels that fatwheel packs."""

    summary: str | None = Field(None, description="What it is, in one line.")
    license: str | None = Field(None, description="An SPDX expression.")
    license_files: list[str] = Field([], description="Relative to the sources.")
    requires_python: str | None = Field(None, description="The versions of Python that it runs on: >=3.9.")
    dependencies: list[TemplatedDependency] = Field([], description="May hold axes: torch=={torch}.*.")
    readme: str | None = Field(None, description="A Markdown file, relative to the sources.")
    urls: dict[str, str] = Field({}, description="Links that an index shows, by their labels.")


class Package(Model):
    """One distribution of the set."""

    name: str = Field(description="Distribution name; may hold {cuda}, {cuda_major} and further axes.")
    import_name: ModuleName | None = Field(None, alias="import", description="The module that users import.")
    id: IdPrefix | None = Field(
        None, description="Put before the ids of this package's cells, where two packages share their axes."
    )
    per: list[str] = Field(
        description="The axes it is built over: cuda, arch and those under axes; [] for one pure wheel."
    )
    layout: Literal["family", "provider", "fat"] | None = Field(
        None,
        description="How GPU targets are divided over wheels: one wheel for each family; one for each target, with a "
        "shim that requires them; or one wheel for all. Needed where per holds cuda.",
    )
    empty_modules: Literal["keep", "drop"] = Field(
        "keep",
        description="When a fat wheel is split: what becomes of a library whose device code all goes to other wheels. "
        "keep: it can still be imported; drop: it is not there, for packages that look which libraries they have.",
    )
    shim: Literal["all", "extras"] = Field(
        "all",
        description="With layout: provider, what a plain install of the shim brings: every provider, or none, so that "
        "an extra chooses (sm90a).",
    )
    needs: list[str] = Field(
        [], description="Packages of this set that it requires at exactly the set's version; published before it."
    )
    extras: dict[IdPrefix, list[str]] = Field({}, description="The same, each behind an extra.")
    local: str | None = Field(
        None, description="Local version label; by default {cuda}.{family} for layout: family, else {cuda}."
    )
    tag: PythonTag = Field(
        "py3-none", description="Python and ABI tag; may hold axes: cp{python_nodot}-cp{python_nodot}."
    )
    manylinux: Glibc | None = Field(None, description="glibc floor of the platform tag; needed where per holds arch.")
    source: SourceSpec = Field(default_factory=lambda: SourceSpec(checkout="."), validate_default=True)
    build: Build
    stamp: list[PathInside] = Field([], description="Files inside the wheel that repeat its version or targets.")
    pack: Packing = Field(default_factory=Packing)
    guard: PathInside | None = Field(
        None,
        description="A module that fatwheel puts into the wheel, as mylib/_fits.py: its fits() tells whether the wheel "
        "holds code for the GPUs that are there.",
    )
    provided: list[str] = Field(
        [], description="Globs of library names that whatever loads this package brings along: libcudart.so.*."
    )
    dispatch: list[Dispatch] = Field(
        [], description="Which devices load which modules; modules of no row are loaded by all."
    )
    smoke: Smoke | None = Field(
        None, description="Its own proof on a GPU; without one, its kernels are loaded and not run."
    )
    metadata: Metadata = Field(default_factory=Metadata)
    publish: Literal["store", "pypi"] = Field("store", description="Where its wheels go. PyPI takes no local labels.")
    channels: list[ChannelName] = Field(list(CHANNELS), min_length=1, description="The channels that it is part of.")


class Cuda(Model):
    """One CUDA label: its toolkit and what is compiled for each CPU architecture."""

    toolkit: Release = Field(description='The toolkit release, in quotes: "13.0".')
    targets: dict[Arch, Targets] = Field(
        min_length=1,
        description="GPU targets for each CPU architecture, in any spelling. Machine code alone, but for +PTX.",
    )
    image: dict[Arch, str] = Field({}, description="Container image for each CPU architecture, by digest.")
    compress: Literal["size", "balance", "speed", "none"] | None = Field(
        None, description="nvcc's --compress-mode; needs toolkit 12.8 or later."
    )


class Family(Model):
    """A family of GPUs that share one wheel."""

    majors: list[int] = Field(min_length=1, description="Majors of the compute capabilities that it holds.")
    base: Targets | None = Field(None, description="Targets added where there is a native one.")


class RequiredCoverage(Model):
    """Capabilities that must stay covered."""

    cells: str = Field(
        "*", description="Glob over cell ids; cells that differ only in family keep the promise together."
    )
    capabilities: Capabilities = Field(description="Compute capabilities, as a list or as one text: 9.0 12.1.")


class Exclude(Model):
    """Cells, or targets of cells, that are left out."""

    cells: str = Field(description="Glob over cell ids.")
    targets: Targets | None = Field(None, description="The targets left out; without it, the whole cells are.")
    reason: str = Field(min_length=1, description="Shown wherever the plan is.")


class Runners(Model):
    """Labels of the machines that build and prove."""

    build: dict[Arch, str] = Field({}, description="For each CPU architecture.")
    smoke: dict[str, dict[Arch, str]] = Field(
        {}, description="For each family, for each CPU architecture: a machine with such a GPU. None means: not proven."
    )


class Size(Model):
    """Limits on the size of a wheel."""

    limit: Bytes = Field("2 GiB", validate_default=True, description="A wheel must be smaller than this.")
    warn: Share = Field("95 %", validate_default=True, description="Of the limit, from which a wheel is warned about.")
    growth: Share = Field("10 %", validate_default=True, description="Allowed since the last release.")
    over: Literal["withhold", "fail", "elsewhere"] = Field("withhold", description="What becomes of a wheel over it.")
    elsewhere: str | None = Field(None, description="The store for wheels over the limit.")


class Retention(Model):
    """How much of a channel is kept."""

    releases: int | None = Field(None, ge=1, description="The newest, so many.")
    days: int | None = Field(None, ge=1, description="Those of the last days, so many.")


class Channel(Model):
    """One way of releasing: which cells, where to, under which tag."""

    select: list[str] = Field(["*"], min_length=1, description="Globs over cell ids.")
    repository: Repository | None = Field(None, description="OWNER/REPO that the release goes to.")
    tag: str = Field("v{version}", description="May hold {version} and {date}.")
    completeness: Literal["complete", "partial"] = Field(
        "complete", description="complete: published only whole. partial: published with what passed."
    )
    immutable: bool = Field(False, description="Whether the repository has immutable releases.")
    wait: Duration | None = Field(
        None, description="For so long a build waits for a requirement that the index does not have yet."
    )
    retention: Retention | None = Field(None, description="How many of its releases are kept; without it, all.")


class Channels(Model):
    """The channels of a project."""

    release: Channel = Field(default_factory=Channel)
    nightly: Channel | None = Field(None, description="Versions .devYYYYMMDD of what comes next.")
    pull_request: Channel | None = Field(
        None, alias="pull-request", description="What a pull request builds; it is not published."
    )

    @property
    def declared(self) -> dict[ChannelName, Channel]:
        """The channels that matrix.yaml declares, by name; ``release`` always exists."""
        found = {"release": self.release, "nightly": self.nightly, "pull-request": self.pull_request}
        return {name: channel for name in CHANNELS if (channel := found[name]) is not None}


class Document(Model):
    """The whole of matrix.yaml."""

    version: PublicVersion | None = Field(None, description="The version of the whole set, in quotes.")
    version_file: str | None = Field(None, description="In the place of version: a file that holds it.")
    next_version: PublicVersion | None = Field(None, description="What nightlies lead to; by default the next patch.")
    packages: list[Package] = Field(min_length=1, description="The set, in the order of publishing.")
    cuda: dict[Label, Cuda] = Field({}, description="CUDA labels: cu130.")
    families: dict[Label, Family] = Field({}, description="GPU families: sm9x.")
    axes: dict[AxisName, list[AxisValue]] = Field({}, description="Further axes: python, torch, abi ...")
    must_cover: list[RequiredCoverage] = Field([], description="What must stay covered: to break it is an error.")
    exclude: list[Exclude] = Field([], description="What is left out, each with its reason.")
    runners: Runners = Field(default_factory=Runners)
    secrets: dict[str, Secret] = Field({}, description="Names of secrets, by what they open: a repository, a cache.")
    size: Size = Field(default_factory=Size)
    channels: Channels = Field(default_factory=Channels)
    workflows: Workflows = Field(default_factory=Workflows)
