"""What matrix.yaml may hold. The JSON Schema, the reference page and the checks all come from these models."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from pipeline.errors import UsageError
from pipeline.targets import SPELLINGS, Capability, Target, parse_target, parse_targets, toolkits

Arch = Literal["x86_64", "aarch64"]
ChannelName = Literal["release", "nightly", "pull-request"]


def wrong(what: str, remedy: str | None = None, path: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """An error of a validator: what is wrong, how to mend it, and where below the field it is."""
    return PydanticCustomError("fatwheel", "{what}", {"what": what, "remedy": remedy, "path": path})


def _number_in_list(value: Any) -> None:
    """Refuse lists of targets in which YAML has read a number."""
    if isinstance(value, list):
        for place, item in enumerate(value):
            if not isinstance(item, str):
                raise wrong(f"{item!r} is a number here", f'put it in quotes: "{item}"', (place,))
    elif not isinstance(value, str):
        raise wrong(f"{value!r} is not text", f'put it in quotes: "{value}"')


def _targets(value: Any) -> tuple[Target, ...]:
    _number_in_list(value)
    try:
        if isinstance(value, str):
            return parse_targets(value)
    except UsageError as error:
        raise wrong(error.what, error.remedy) from None
    found = []
    for place, item in enumerate(value):
        try:
            found.append(parse_target(item))
        except UsageError as error:
            raise wrong(error.what, error.remedy, (place,)) from None
    if not found:
        raise wrong("the list of targets is empty", "name at least one")
    return tuple(sorted(set(found)))


def _capabilities(value: Any) -> tuple[Capability, ...]:
    _number_in_list(value)
    found = []
    for place, item in enumerate(value.split() if isinstance(value, str) else value):
        try:
            found.append(Capability.parse(item))
        except UsageError as error:
            raise wrong(error.what, error.remedy, (place,) if isinstance(value, list) else ()) from None
    if not found:
        raise wrong("the list of capabilities is empty", "name at least one")
    return tuple(sorted(set(found)))


def _matching(pattern: str, what: str, remedy: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise wrong(f"'{value}' is not {what}", remedy)
        return value

    return AfterValidator(check)


def _release(value: str) -> str:
    if value not in toolkits():
        raise wrong(f"CUDA toolkit '{value}' is not in the table", f"known: {', '.join(toolkits())}")
    return value


def _version(value: str) -> str:
    try:
        version = Version(value)
    except InvalidVersion:
        raise wrong(f"'{value}' is not a version", "write it like 0.6.13 or 1.0rc1") from None
    if version.local:
        raise wrong(f"'{value}' holds a local label", "leave the label out: it comes from each cell") from None
    return str(version)


def _requirement(value: str) -> str:
    try:
        Requirement(value)
    except InvalidRequirement as error:
        raise wrong(
            f"'{value}' is not a requirement: {str(error).splitlines()[0]}", "write it like numpy>=1.24"
        ) from None
    return value


_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def _bytes(value: Any) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", value) if isinstance(value, str) else None
    if not match or match[2].upper() not in _UNITS:
        raise wrong(f"'{value}' is not a size", "write it with its unit, like 2 GiB or 500 MB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _share(value: Any) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", value) if isinstance(value, str) else None
    if not match:
        raise wrong(f"'{value}' is not a share", "write it in percent, like 95 %")
    return float(match[1]) / 100


def _schema(check: Callable[[Any], Any], schema: dict[str, Any]) -> tuple[BeforeValidator, WithJsonSchema]:
    return BeforeValidator(check), WithJsonSchema(schema)


_TEXT_OR_LIST = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_before_targets, _targets_schema = _schema(_targets, _TEXT_OR_LIST)
_before_capabilities, _capabilities_schema = _schema(_capabilities, _TEXT_OR_LIST)
_before_bytes, _bytes_schema = _schema(_bytes, {"type": "string", "examples": ["2 GiB"]})
_before_share, _share_schema = _schema(_share, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$"})

Targets = Annotated[tuple[Target, ...], _before_targets, _targets_schema]
Capabilities = Annotated[tuple[Capability, ...], _before_capabilities, _capabilities_schema]
Bytes = Annotated[int, _before_bytes, _bytes_schema]
Share = Annotated[float, _before_share, _share_schema]
PublicVersion = Annotated[str, AfterValidator(_version)]
Release = Annotated[str, AfterValidator(_release), Field(json_schema_extra={"examples": ["13.0"]})]
Dependency = Annotated[str, AfterValidator(_requirement)]
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
AxisName = Annotated[str, _matching(r"[a-z][a-z0-9_]*", "a name for an axis", "use small letters, digits and _")]
AxisValue = Annotated[
    str, _matching(r"[A-Za-z0-9][A-Za-z0-9._]*", "a value of an axis", "use letters, digits, . and _")
]
Label = Annotated[str, _matching(r"[a-z][a-z0-9]*", "a label", "use small letters and digits, like cu130 or sm9x")]
Repository = Annotated[str, _matching(rf"{NAME}/{NAME}", "a repository", "write it like OWNER/REPO")]
PythonTag = Annotated[
    str, _matching(r"[a-z0-9_.{}]+-[a-z0-9_.{}]+", "a Python and ABI tag", "write it like cp39-abi3 or py3-none")
]
Glibc = Annotated[str, _matching(r"2_[0-9]{1,2}", "a glibc floor", "write it like 2_28, as in manylinux_2_28")]
Secret = Annotated[
    str,
    _matching(r"[A-Z_][A-Z0-9_]*", "the name of a secret", "give its name, like WHL_TOKEN, and never its value"),
]


class Model(BaseModel):
    """Strict and frozen: text is text, and a key that means nothing is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class Origin(Model):
    """Where a package's sources come from: exactly one of these. Foreign versions are literals."""

    checkout: str | None = Field(None, description="A folder of this repository, relative to matrix.yaml.")
    index: Annotated[str, AfterValidator(_requirement)] | None = Field(
        None,
        description="A distribution on the Python package index, with its exact version: flashinfer-python==0.6.13.",
    )
    git: str | None = Field(None, description="The URL of a git repository; needs ref.")
    ref: str | None = Field(None, description="The commit or tag of git that is built.")


class Build(Model):
    """How a wheel is made."""

    kind: Literal["tree", "wheel"] = Field(
        description="tree: the command fills {out} with the wheel's contents, and fatwheel packs them. "
        "wheel: the command leaves one finished wheel in {out}."
    )
    command: list[str] = Field(min_length=1, description="Program and arguments; fields in braces are filled in.")
    requires: list[Dependency] = Field([], description="Installed into the build environment with what they need.")
    no_deps: list[Dependency] = Field([], description="Installed into the build environment without what they need.")
    env: dict[str, str] = Field({}, description="Environment variables; fields in braces are filled in.")
    spelling: Literal[SPELLINGS] = Field("dotted", description="How {targets} is written.")  # type: ignore[valid-type]


class Smoke(Model):
    """The package's own proof on a GPU: it launches kernels of this very wheel."""

    command: list[str] = Field(min_length=1, description="Program and arguments; {python} is the test environment's.")
    requires: list[Dependency] = Field([], description="Installed beside the wheel for the test.")
    env: dict[str, str] = Field({}, description="Environment variables of the test.")
    provided: list[str] = Field(
        [], description="Globs of library names that whatever loads this package brings along: libcudart.so.*."
    )


class Metadata(Model):
    """Core metadata of the wheels that fatwheel packs."""

    summary: str | None = None
    license: str | None = Field(None, description="An SPDX expression.")
    license_files: list[str] = Field([], description="Relative to the sources.")
    requires_python: str | None = None
    dependencies: list[Dependency] = []
    readme: str | None = Field(None, description="A Markdown file, relative to the sources.")
    urls: dict[str, str] = {}


class Package(Model):
    """One distribution of the set."""

    name: str = Field(description="Distribution name; may hold {cuda}, {cuda_major} and further axes.")
    import_name: str | None = Field(None, alias="import", description="The module that users import.")
    id: str = Field("", description="Put before the ids of this package's cells, where two packages share their axes.")
    per: list[str] = Field(
        description="The axes it is built over: cuda, arch and those under axes; [] for one pure wheel."
    )
    layout: Literal["family", "provider", "fat"] | None = Field(
        None,
        description="How GPU targets are divided over wheels: one wheel for each family; one for each target, with a "
        "shim that requires them; or one wheel for all. Needed where per holds cuda.",
    )
    local: str | None = Field(None, description="Local version label; by default {cuda}.{family}, or {cuda}.")
    tag: PythonTag = Field("py3-none", description="Python and ABI tag; may hold axes: cp{python}-cp{python}.")
    manylinux: Glibc | None = Field(None, description="glibc floor of the platform tag; needed where per holds arch.")
    source: Origin = Field(default_factory=lambda: Origin(checkout="."), validate_default=True)
    build: Build
    stamp: list[str] = Field([], description="Files inside the wheel that repeat its version or targets.")
    smoke: Smoke | None = None
    metadata: Metadata = Metadata()
    publish: Literal["store", "pypi"] = Field("store", description="Where its wheels go. PyPI takes no local labels.")


class Cuda(Model):
    """One CUDA label: its toolkit and what is compiled for each CPU architecture."""

    toolkit: Release = Field(description='The toolkit release, in quotes: "13.0".')
    targets: dict[Arch, Targets] = Field(min_length=1, description="GPU targets for each CPU architecture.")
    image: dict[Arch, str] = Field({}, description="Container image for each CPU architecture, by digest.")
    compress: Literal["size", "balance", "speed", "none"] | None = Field(
        None, description="nvcc's --compress-mode; needs toolkit 12.8 or later."
    )


class Family(Model):
    """A family of GPUs that share one wheel."""

    majors: list[int] = Field(min_length=1, description="Majors of the compute capabilities that it holds.")
    base: Targets | None = Field(None, description="Targets added where there is a native one.")


class Promise(Model):
    """Capabilities that must stay covered."""

    cells: str = Field(
        "*", description="Glob over cell ids; cells that differ only in family keep the promise together."
    )
    capabilities: Capabilities


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

    releases: int | None = Field(None, ge=1)
    days: int | None = Field(None, ge=1)


class Channel(Model):
    """One way of releasing: which cells, where to, under which tag."""

    select: list[str] = Field(["*"], min_length=1, description="Globs over cell ids.")
    repository: Repository | None = Field(None, description="OWNER/REPO that the release goes to.")
    tag: str = Field("v{version}", description="May hold {version} and {date}.")
    completeness: Literal["complete", "partial"] = Field(
        "complete", description="complete: published only whole. partial: published with what passed."
    )
    immutable: bool = Field(False, description="Whether the repository has immutable releases.")
    retention: Retention | None = None


class Channels(Model):
    """The channels of a project."""

    release: Channel = Channel()
    nightly: Channel | None = None
    pull_request: Channel | None = Field(None, alias="pull-request")


class Document(Model):
    """The whole of matrix.yaml."""

    version: PublicVersion | None = Field(None, description="The version of the whole set, in quotes.")
    version_file: str | None = Field(None, description="In the place of version: a file that holds it.")
    next_version: PublicVersion | None = Field(None, description="What nightlies lead to; by default the next patch.")
    packages: list[Package] = Field(min_length=1, description="The set, in the order of publishing.")
    cuda: dict[Label, Cuda] = Field({}, description="CUDA labels: cu130.")
    families: dict[Label, Family] = Field({}, description="GPU families: sm9x.")
    axes: dict[AxisName, list[AxisValue]] = Field({}, description="Further axes: python, torch, abi ...")
    must_cover: list[Promise] = []
    exclude: list[Exclude] = []
    runners: Runners = Runners()
    secrets: dict[str, Secret] = Field({}, description="Names of secrets, by what they open: a repository, a cache.")
    size: Size = Size()
    channels: Channels = Channels()
