"""Small declarations for tests of plans."""

from pathlib import Path

from fatwheel.declaration import Declaration, parse

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {
    "flashinfer-split": ROOT / "matrix.yaml",
    "flashinfer-providers": ROOT / "examples/sets/flashinfer/matrix.yaml",
    "torch": ROOT / "examples/sets/torch/matrix.yaml",
    "cmake": ROOT / "examples/sets/cmake/matrix.yaml",
}

ONE = """\
version: "{version}"
packages:
  - name: mylib
    per: [cuda, arch]
    layout: {layout}
    tag: cp39-abi3
    manylinux: "2_28"
    build: {{kind: wheel, command: [make]}}
cuda:
  cu130:
    toolkit: "13.0"
    targets: {{x86_64: {x86_64}, aarch64: {aarch64}}}
families:
  sm9x: {{majors: [7, 8, 9]}}
  sm12x: {{majors: [12], base: "8.0"}}
"""


def one(
    folder: Path,
    more: str = "",
    *,
    version: str = "1.0",
    layout: str = "family",
    x86_64: str = "8.0 9.0a 12.0f",
    aarch64: str = "8.0 9.0a 12.0f",
) -> Declaration:
    """A declaration of one package for CUDA 13.0; ``more`` is added at its end."""
    text = ONE.format(version=version, layout=layout, x86_64=x86_64, aarch64=aarch64) + more
    return parse(text, folder / "matrix.yaml")
