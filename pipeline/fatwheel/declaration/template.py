"""Render the commented matrix.yaml that `fatwheel init` creates."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass

from fatwheel.errors import UsageError
from fatwheel.targets import USUAL_FAMILIES, Capability, Target, covers, parse_targets, toolkit

# The usual targets of CUDA projects in 2026; each toolkit gets those that it compiles.
_TARGETS = "7.5 8.0 8.6 8.9 9.0 10.0 12.0"
_SUFFIXED = "7.5 8.0 8.9 9.0a 10.0a 12.0f"  # FlashInfer requires suffixes
# How a build receives its targets: format -> environment variable, and its value.
VARIABLES: dict[str, tuple[str, str]] = {
    "torch": ("TORCH_CUDA_ARCH_LIST", "{targets}"),
    "cmake": ("CMAKE_ARGS", "-DCMAKE_CUDA_ARCHITECTURES={targets}"),
    "flashinfer": ("FLASHINFER_CUDA_ARCH_LIST", "{targets}"),
    "nvcc": ("NVCC_APPEND_FLAGS", "{targets}"),
    "dotted": ("CUDA_ARCH_LIST", "{targets}"),
}
_RUNNERS: dict[str, str] = {"x86_64": "ubuntu-24.04", "aarch64": "ubuntu-24.04-arm"}


@dataclass(frozen=True)
class Answers:
    """The answers to `fatwheel init`. ``targets``: in any format; ``toolkits``: releases, e.g. 13.0."""

    name: str
    version: str
    toolkits: tuple[str, ...]
    arches: tuple[str, ...]
    targets: str
    spelling: str
    layout: str
    repository: str

    @property
    def module(self) -> str:
        """The import name, derived from the distribution name; ``_`` replaces invalid characters."""
        name = re.sub(r"\W", "_", self.name)
        name = f"_{name}" if name[:1].isdigit() else name
        return f"{name}_" if keyword.iskeyword(name) else name


def default_targets(spelling: str) -> str:
    """The default targets for builds that receive them in this format."""
    return _SUFFIXED if spelling == "flashinfer" else _TARGETS


def render_matrix(answers: Answers) -> str:
    """Render a commented matrix.yaml. Raises `UsageError` for invalid targets and unknown toolkits."""
    if answers.spelling not in VARIABLES:
        raise UsageError(f"unknown target format '{answers.spelling}'", help=f"formats: {', '.join(VARIABLES)}")
    targets = parse_targets(answers.targets)
    lists = {release: [t for t in targets if toolkit(release).compiles(t)] for release in answers.toolkits}
    unknown = [str(t) for t in targets if not any(t in supported for supported in lists.values())]
    if unknown and answers.targets != default_targets(answers.spelling):  # unsupported default targets are skipped
        what = f"CUDA {' and '.join(answers.toolkits)} cannot compile {' '.join(unknown)}"
        raise UsageError(what, help="see `fatwheel toolkits` for the targets of each release")
    for release, supported in lists.items():
        if not supported:
            raise UsageError(
                f"CUDA {release} cannot compile any of {answers.targets}", help="pass other targets with --targets"
            )
    parts = [_head(answers), _package(answers), _cuda(answers, lists), _families(lists, answers.layout)]
    parts += [_required_coverage(lists), _runners(answers), _channels(answers)]
    return "\n".join(part for part in parts if part)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _head(answers: Answers) -> str:
    return f"""\
# yaml-language-server: $schema=matrix.schema.json
# Which wheels to build, for which GPUs, and where to publish them.
# Run `fatwheel check` to validate this file, and `fatwheel plan` to list the wheels. Editors use
# matrix.schema.json for completion; `fatwheel schema -o matrix.schema.json` regenerates it.

version: {_quoted(answers.version)}          # or version_file: version.txt
"""


def _package(answers: Answers) -> str:
    variable, value = VARIABLES[answers.spelling]
    return f"""\
packages:
  - name: {_quoted(answers.name)}
    import: {_quoted(answers.module)}
    per: [cuda, arch]       # axes to build over; define more (python, torch ...) under axes:
    layout: {answers.layout:<15} # family: a wheel per GPU family; provider: per target, with a shim; fat: one wheel
    tag: cp39-abi3          # the tag of your wheels; py3-none without extension modules. For a wheel per Python
                            # version: per: [cuda, arch, python], tag: "cp{{python_nodot}}-cp{{python_nodot}}", and
                            # the top-level key axes: {{python: ["3.11", "3.12"]}}
    manylinux: "2_28"       # requires glibc 2.28 or later
    build:
      kind: wheel           # the command writes one wheel to {{out}}; tree: its contents, for fatwheel to pack
      command: ["{{python}}", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "{{out}}", "{{source}}"]
      requires: [setuptools, wheel]
      spelling: {answers.spelling:<12}# format of {{targets}}
      env:
        {variable}: {_quoted(value)}
    # smoke:                # GPU test of the installed wheel
    #   command: ["{{python}}", "-m", "{answers.module}.smoke"]
"""


def _cuda(answers: Answers, lists: dict[str, list[Target]]) -> str:
    lines = ["cuda:"]
    for release, targets in lists.items():
        lines += [
            f"  cu{release.replace('.', '')}:",
            f"    toolkit: {_quoted(release)}",
            "    # image: {x86_64: quay.io/pypa/manylinux_2_28_x86_64@sha256:...}  # by digest, for --engine docker",
        ]
        if toolkit(release).version >= (13, 0):
            lines.append("    compress: size        # compress machine code; all drivers for CUDA 13 support it")
        lines.append("    targets:")
        lines += [f"      {arch}: {_quoted(' '.join(map(str, targets)))}" for arch in answers.arches]
    return "\n".join(lines) + "\n"


def _families(lists: dict[str, list[Target]], layout: str) -> str:
    if layout != "family":
        return ""
    majors = {target.major for supported in lists.values() for target in supported}
    rows = [f"  {n}: {{majors: [{_joined(majors & set(ms))}]}}" for n, ms in USUAL_FAMILIES.items() if majors & set(ms)]
    return "\n".join(["families:", *rows]) + "\n"


def _joined(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _required_coverage(lists: dict[str, list[Target]]) -> str:
    required: set[Capability] | None = None
    for release, targets in lists.items():
        covered = set(covers(targets, None, release))
        required = covered if required is None else required & covered
    if not required:
        return ""
    return f"""\
# Required coverage: dropping a target that one of these needs is an error.
must_cover:
  - capabilities: {_quoted(" ".join(map(str, sorted(required))))}
"""


def _runners(answers: Answers) -> str:
    rows = [f"    {arch}: {_RUNNERS[arch]}" for arch in answers.arches]
    return "\n".join(["runners:", "  build:", *rows, "  # smoke: {sm9x: {x86_64: gpu-h100}}  # GPU runners"]) + "\n"


def _channels(answers: Answers) -> str:
    repository = f"    repository: {answers.repository}\n" if answers.repository else ""
    note = "" if answers.repository else "    # repository: OWNER/REPO\n"
    return f"""\
channels:
  release:
{repository}{note}    tag: "v{{version}}"
    completeness: complete  # publish only if all wheels are uploaded; partial: publish those that passed
  # nightly: {{tag: "nightly-{{date}}", completeness: partial}}
  # pull-request: {{select: ["*-x86_64-*"]}}
"""
