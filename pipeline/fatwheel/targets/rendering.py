"""Writing targets as one consumer wants them; what it cannot say is an error."""

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
            f"FLASHINFER_CUDA_ARCH_LIST cannot express PTX ({target})", help=f"declare {target.code}, machine code"
        )
    if not target.suffix and target.major >= 9:
        # FlashInfer 0.6 adds a suffix by itself: f to 12.0, a to everything else from 9.0 on.
        read = f"{target}f" if target.capability == (12, 0) else f"{target}a"
        raise UsageError(f"FlashInfer reads a bare {target} as {read}", help=f"declare what is meant, as {read}")
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
        raise UsageError(f"PyTorch does not know {target}", help="leave it out of this package's targets")
    return str(target)


def _cmake(target: Target) -> str:
    return target.undotted + {"real": "-real", "virtual": "-virtual", "both": ""}[target.kind]


def _provider(target: Target) -> str:
    if target.kind != "real":
        raise UsageError(f"a provider holds machine code only, not PTX ({target})", help=f"declare {target.code}")
    return f"sm{target.undotted}"


# Spelling -> (separator, how one target is written).
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
    """Targets or capabilities as people and records write them, in the given order: ``8.0 9.0a 12.0+PTX``."""
    return " ".join(map(str, values))


def render(targets: Iterable[Target], spelling: str) -> str:
    """Targets, ascending, as one consumer (of `SPELLINGS`) wants them. Raises `UsageError` where it cannot say one."""
    if spelling not in _SPELLINGS:
        raise UsageError(f"there is no spelling '{spelling}'", help=f"there are: {', '.join(SPELLINGS)}")
    separator, write = _SPELLINGS[spelling]
    return separator.join(write(t) for t in sorted(set(targets)))
