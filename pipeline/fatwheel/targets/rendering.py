"""Format targets for compilers and projects. Targets that a format cannot express are errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fatwheel.errors import UsageError
from fatwheel.targets.target import Capability, Target


def _gencode(target: Target) -> str:
    code = {
        "real": f"sm_{target.undotted}",
        "virtual": f"compute_{target.undotted}",
        "both": f"[compute_{target.undotted},sm_{target.undotted}]",
    }[target.kind]
    return f"-gencode=arch=compute_{target.undotted},code={code}"


def _flashinfer(target: Target) -> str:
    if target.kind != "real":
        raise UsageError(
            f"FLASHINFER_CUDA_ARCH_LIST cannot express PTX ({target})", help=f"declare {target.code} without PTX"
        )
    if not target.suffix and target.major >= 9:
        # FlashInfer 0.6 adds a suffix to targets from 9.0 on: f to 12.0, a to all others.
        read = f"{target}f" if target.capability == (12, 0) else f"{target}a"
        raise UsageError(f"FlashInfer reads {target} without a suffix as {read}", help=f"write the suffix, e.g. {read}")
    return str(target)


def _torch(target: Target) -> str:
    if target.suffix == "f":
        raise UsageError(
            f"TORCH_CUDA_ARCH_LIST cannot express a family target ({target})",
            help=f"declare {target.capability}a or {target.capability}",
        )
    if target.kind == "virtual":
        raise UsageError(f"TORCH_CUDA_ARCH_LIST cannot express PTX alone ({target})", help=f"declare {target.code}+PTX")
    if target.capability in {(8, 8), (10, 1)}:  # not in the tables of PyTorch 2.9 and later
        raise UsageError(f"PyTorch does not support {target}", help="remove it")
    return str(target)


def _cmake(target: Target) -> str:
    return target.undotted + {"real": "-real", "virtual": "-virtual", "both": ""}[target.kind]


def _provider(target: Target) -> str:
    if target.kind != "real":
        raise UsageError(f"provider wheels cannot contain PTX ({target})", help=f"declare {target.code}")
    return f"sm{target.undotted}"


# Name of the format -> (separator, function that formats one target).
_SPELLINGS: dict[str, tuple[str, Callable[[Target], str]]] = {
    "dotted": (" ", str),
    "flashinfer": (" ", _flashinfer),
    "torch": (";", _torch),
    "cmake": (";", _cmake),
    "nvcc": (" ", _gencode),
    "provider": (" ", _provider),
}
SPELLINGS: tuple[str, ...] = tuple(_SPELLINGS)


def dotted(values: Iterable[Target | Capability]) -> str:
    """Targets or capabilities as text, in the given order: ``8.0 9.0a 12.0+PTX``."""
    return " ".join(map(str, values))


def render(targets: Iterable[Target], spelling: str) -> str:
    """Format targets, ascending, in one of `SPELLINGS`. Raises `UsageError` for a target that it cannot express."""
    if spelling not in _SPELLINGS:
        raise UsageError(f"unknown target format '{spelling}'", help=f"formats: {', '.join(SPELLINGS)}")
    separator, write = _SPELLINGS[spelling]
    return separator.join(write(t) for t in sorted(set(targets)))
