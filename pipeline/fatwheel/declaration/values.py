"""The value types of matrix.yaml: targets, versions, sizes, durations, labels and names."""

from __future__ import annotations

import re
from typing import Annotated, Any

from packaging.version import Version
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from fatwheel.declaration.lists import invalid, read_capabilities, read_targets
from fatwheel.targets import Capability, Target, toolkits


class Pattern:
    """A regular expression that text must match, for validation and for the JSON Schema."""

    def __init__(self, pattern: str, what: str, help: str) -> None:
        self._form, self._what, self._help = pattern, what, help  # compiled on first use
        self.schema = WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})
        self.check = AfterValidator(self._check)

    def _check(self, value: str) -> str:
        if not re.fullmatch(self._form, value):
            raise invalid(f"invalid {self._what} '{value}'", self._help)
        return value


def _release(value: str) -> str:
    if value not in toolkits():
        raise invalid(f"unknown CUDA toolkit '{value}'", f"known: {', '.join(toolkits())}")
    return value


def _version(value: str) -> str:
    try:
        version = Version(value)
    except ValueError:  # InvalidVersion, or Python's limit on digits
        raise invalid(f"invalid version '{value}'", "e.g. 0.6.13 or 1.0rc1") from None
    if version.local:
        raise invalid(f"'{value}' has a local version label", "remove the label; each cell adds its own") from None
    return str(version)


def _requirement(value: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement  # importing its parser takes 20 ms

    try:
        Requirement(value)
    except InvalidRequirement:
        raise invalid(f"invalid requirement '{value}'", "e.g. numpy or numpy>=1.24") from None
    return value


def _templated(value: str) -> str:
    _requirement(re.sub(r"\{[a-z_]+\}", "1", value))
    return value


def _secret(value: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", value):  # the value may be a token, so do not print it
        raise invalid("invalid name of a secret", "write its name, e.g. WHL_TOKEN, never its value")
    return value


_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_size(value: Any) -> int:
    """Parse a size such as ``2 GiB`` or ``500 MiB`` into bytes. Raises `ValueError`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", value) if isinstance(value, str) else None
    if not match or match[2].upper() not in _UNITS or not float(match[1]):
        raise invalid(f"invalid size '{value}'", "write a number and a unit, e.g. 2 GiB or 500 MiB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


_SPANS = {"S": 1, "MIN": 60, "H": 3600}


def parse_duration(value: Any) -> float:
    """Parse a duration such as ``90 s``, ``45 min`` or ``6 h`` into seconds. Raises `ValueError`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)", value) if isinstance(value, str) else None
    if not match or not float(match[1]):
        raise invalid(f"invalid duration '{value}'", "write a number and a unit, e.g. 90 min, 6 h or 30 s")
    return float(match[1]) * _SPANS[match[2].upper()]


def _share(value: Any) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", value) if isinstance(value, str) else None
    if not match:
        raise invalid(f"invalid percentage '{value}'", "write a number and %, e.g. 95%")
    return float(match[1]) / 100


_LIST = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
_SIZE = WithJsonSchema({"type": "string", "examples": ["2 GiB"]})
_SPAN = WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(s|min|h)$", "examples": ["90 min"]})
_PERCENT = WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$"})

Targets = Annotated[tuple[Target, ...], BeforeValidator(read_targets), _LIST]
Capabilities = Annotated[tuple[Capability, ...], BeforeValidator(read_capabilities), _LIST]
Bytes = Annotated[int, BeforeValidator(parse_size), _SIZE]
Duration = Annotated[float, BeforeValidator(parse_duration), _SPAN]
Share = Annotated[float, BeforeValidator(_share), _PERCENT]
PublicVersion = Annotated[str, AfterValidator(_version)]
Release = Annotated[str, AfterValidator(_release), Field(json_schema_extra={"enum": list(toolkits())})]
Dependency = Annotated[str, AfterValidator(_requirement)]
TemplatedDependency = Annotated[str, AfterValidator(_templated)]
Secret = Annotated[str, AfterValidator(_secret), WithJsonSchema({"type": "string", "pattern": "^[A-Z_][A-Z0-9_]*$"})]

_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
_axis_name = Pattern(r"[a-z][a-z0-9_]*", "axis name", "use lowercase letters, digits and _")
_axis_value = Pattern(r"[A-Za-z0-9][A-Za-z0-9._]{0,63}", "axis value", "use up to 64 letters, digits, . and _")
_label = Pattern(r"[a-z][a-z0-9]*", "label", "use lowercase letters and digits, e.g. cu130 or sm9x")
_prefix = Pattern(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", "ID prefix", "use lowercase letters, digits and -")
_repository = Pattern(rf"{_NAME}/{_NAME}", "repository", "write OWNER/REPO")
_python_tag = Pattern(r"[a-z0-9_.{}]+-[a-z0-9_.{}]+", "Python and ABI tag", "e.g. cp39-abi3 or cp{python_nodot}-none")
_glibc = Pattern(r"2_([5-9]|[1-9][0-9])", "glibc version", "write it as in the platform tag, e.g. 2_28")
_variable = Pattern(r"[A-Za-z_][A-Za-z0-9_]*", "environment variable name", "use letters, digits and _")
_module = Pattern(
    r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", "module name", "write the name used in `import`"
)
_inside = Pattern(
    r"(?!/)(?!.*(^|/)\.\.(/|$)).+",
    "path in the wheel",
    "write it relative to the root of the wheel, e.g. mylib/_build.py",
)

AxisName = Annotated[str, _axis_name.check, _axis_name.schema]
AxisValue = Annotated[str, _axis_value.check, _axis_value.schema]
Label = Annotated[str, _label.check, _label.schema]
IdPrefix = Annotated[str, _prefix.check, _prefix.schema]
Repository = Annotated[str, _repository.check, _repository.schema]
PythonTag = Annotated[str, _python_tag.check, _python_tag.schema]
Glibc = Annotated[str, _glibc.check, _glibc.schema]
Variable = Annotated[str, _variable.check, _variable.schema]
ModuleName = Annotated[str, _module.check, _module.schema]
PathInside = Annotated[str, _inside.check, _inside.schema]
