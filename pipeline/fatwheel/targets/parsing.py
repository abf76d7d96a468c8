"""Parse targets in all formats that compilers and projects use."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fatwheel.errors import UsageError
from fatwheel.targets.target import Kind, Suffix, Target

_SPELLING = re.compile(
    r"""(?P<prefix>sm_|compute_|sm|)
        (?:(?P<major>[1-9][0-9]?)\.(?P<minor>[0-9])|(?P<undotted>[1-9][0-9]{1,2}))
        (?P<suffix>[af]?)
        (?P<tail>|-real|-virtual|\+PTX)""",
    re.VERBOSE,
)
_GENCODE = re.compile(
    r"""(?:-gencode|--generate-code)[=\ ]arch=compute_(?P<arch>[0-9]+[af]?),
        code=(?:\[(?P<list>[^\]]+)\]|(?P<code>\S+))""",
    re.VERBOSE,
)

# Architecture names that PyTorch accepts, and the targets they can mean.
_NAMES: dict[str, str] = {
    "maxwell": "5.0 or 5.2",
    "pascal": "6.0 or 6.1",
    "volta": "7.0",
    "turing": "7.5",
    "ampere": "8.0 or 8.6",
    "ada": "8.9",
    "hopper": "9.0 or 9.0a",
    "blackwell": "10.0, 10.3, 12.0 or 12.1",
    "rubin": "10.7",
}
_OPEN = {"native", "all", "all-major", "off", "common", "arch-all", "arch-native"}


def parse_target(text: str) -> Target:
    """Parse a target in any format: ``9.0a``, ``90a``, ``sm_90a``, ``sm90a``, ``compute_90``, ``9.0+PTX`` ...

    Without a dot, the last digit is the minor (``121`` is 12.1). Without a prefix or tail, it is machine code.
    Raises `UsageError`.
    """
    match = _SPELLING.fullmatch(text)
    if not match:
        raise UsageError(f"invalid GPU target '{text}'", help=_hint(text))
    digits = match["undotted"]
    major, minor = (int(digits[:-1]), int(digits[-1])) if digits else (int(match["major"]), int(match["minor"]))
    suffix: Suffix = "a" if match["suffix"] == "a" else "f" if match["suffix"] == "f" else ""
    kind: Kind = "real"
    if match["tail"] == "+PTX":
        kind = "both"
    elif match["tail"] == "-virtual" or (match["prefix"] == "compute_" and not match["tail"]):
        kind = "virtual"
    if match["prefix"] == "compute_" and match["tail"] in ("-real", "+PTX"):
        raise UsageError(
            f"'{text}' mixes PTX (compute_) and machine code",
            help=f"write sm_{text.removeprefix('compute_').removesuffix('-real')}",
        )
    if match["prefix"] in ("sm_", "sm") and match["tail"] == "-virtual":
        raise UsageError(f"'{text}' mixes machine code (sm_) and PTX", help="use the prefix compute_ for PTX")
    return Target(major, minor, suffix, kind)


def _hint(text: str) -> str:
    lowered = text.strip().lower()
    near = lowered.replace("+ptx", "+PTX")
    if near != text and _SPELLING.fullmatch(near):
        return f"write '{near}'"
    if lowered in _OPEN:
        return "list the targets; the meaning of this name depends on the machine and toolkit"
    name = re.split(r"[+-]", lowered)[0]
    if name in _NAMES:
        return f"write {_NAMES[name]}"
    return "e.g. 9.0a, 90a, sm_90a, 12.0f or 9.0+PTX"


def split_targets(text: str) -> list[str]:
    """Split a list separated by spaces, commas or semicolons.

    Raises `UsageError` for an empty list and for an empty item (``9.0,,10.0``).
    """
    parts = re.split(r"\s*[,;]\s*|\s+", text.strip())
    if "" in parts:
        raise UsageError(
            f"'{text}' has an empty item" if text.strip() else "the list of targets is empty",
            help="separate targets with a space, comma or semicolon",
        )
    return parts


def parse_targets(text: str, spelling: str = "dotted") -> tuple[Target, ...]:
    """Parse a list separated by spaces, commas or semicolons into ascending, unique targets.

    ``spelling``: the format of a consumer. To ``cmake`` a bare ``90`` is machine code and PTX; ``nvcc`` is a list of
    flags. Raises `UsageError` for an empty list and for an invalid item.
    """
    if spelling == "nvcc":
        return _flags(text)
    read = _cmake if spelling == "cmake" else parse_target
    return tuple(sorted({read(item) for item in split_targets(text)}))


def _cmake(text: str) -> Target:
    target = parse_target(text)
    return (
        Target(target.major, target.minor, target.suffix, "both") if text[:1].isdigit() and "-" not in text else target
    )


def _flags(text: str) -> tuple[Target, ...]:
    found: set[Target] = set()
    for match in _GENCODE.finditer(text):
        found |= set(_one_flag(match["arch"], (match["list"] or match["code"]).split(",")))
    if not found or _GENCODE.sub("", text).strip():
        raise UsageError(f"invalid -gencode flags '{text}'", help="e.g. -gencode arch=compute_90a,code=sm_90a")
    return tuple(sorted(found))


def _one_flag(arch: str, codes: list[str]) -> Iterable[Target]:
    plain = parse_target(arch)
    kinds = {"virtual" if code.startswith("compute_") else "real" for code in codes}
    if {parse_target(code).code for code in codes} != {plain}:
        raise UsageError(
            f"-gencode flag compiles compute_{arch} to {', '.join(codes)}; both must name the same target",
            help=f"write arch=compute_{arch},code=sm_{arch}",
        )
    kind: Kind = "both" if len(kinds) == 2 else "virtual" if "virtual" in kinds else "real"
    return [Target(plain.major, plain.minor, plain.suffix, kind)]
