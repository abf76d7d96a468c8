"""The first matrix.yaml of a project: few answers, and comments that say what the rest is for."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass

from fatwheel.errors import UsageError
from fatwheel.targets import USUAL_FAMILIES, Capability, Target, covers, parse_targets, toolkit

# What most CUDA projects of 2026 are built for; a toolkit gets those of them that it compiles.
_TARGETS = "7.5 8.0 8.6 8.9 9.0 10.0 12.0"
_SUFFIXED = "7.5 8.0 8.9 9.0a 10.0a 12.0f"  # FlashInfer wants the suffix said
# How sources learn their targets: spelling -> the variable that holds them, and its value.
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
    """What `fatwheel init` asks. ``targets``: any spelling; ``toolkits``: releases, as 13.0."""

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
        """The module that users import, by the usual rule; ``_`` where that would be no name in Python."""
        name = re.sub(r"\W", "_", self.name)
        name = f"_{name}" if name[:1].isdigit() else name
        return f"{name}_" if keyword.iskeyword(name) else name


def default_targets(spelling: str) -> str:
    """The targets to begin with, for sources that take them in this spelling."""
    return _SUFFIXED if spelling == "flashinfer" else _TARGETS


def render_matrix(answers: Answers) -> str:
    """The text of a commented matrix.yaml. Raises `UsageError` for targets and toolkits that are none."""
    if answers.spelling not in VARIABLES:
        raise UsageError(f"there is no spelling '{answers.spelling}'", help=f"there are: {', '.join(VARIABLES)}")
    wanted = parse_targets(answers.targets)
    lists = {release: [t for t in wanted if toolkit(release).compiles(t)] for release in answers.toolkits}
    unknown = [str(t) for t in wanted if not any(t in targets for targets in lists.values())]
    if unknown and answers.targets != default_targets(answers.spelling):  # of the usual ones it gets what it compiles
        what = f"CUDA {' and '.join(answers.toolkits)} does not compile {' '.join(unknown)}"
        raise UsageError(what, help="`fatwheel toolkits` shows what each release compiles")
    for release, targets in lists.items():
        if not targets:
            raise UsageError(f"CUDA {release} compiles none of {answers.targets}", help="name others with --targets")
    parts = [_head(answers), _package(answers), _cuda(answers, lists), _families(lists, answers.layout)]
    parts += [_promises(lists), _runners(answers), _channels(answers)]
    return "\n".join(part for part in parts if part)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _head(answers: Answers) -> str:
    return f"""\
# yaml-language-server: $schema=matrix.schema.json
# What is built, for whom, and where it goes: the one place where that is said.
# `fatwheel check` checks this file, `fatwheel plan` shows what follows from it. Editors complete
# it by matrix.schema.json; `fatwheel schema -o matrix.schema.json` writes that anew.

version: {_quoted(answers.version)}          # or, in its place, version_file: version.txt
"""


def _package(answers: Answers) -> str:
    variable, value = VARIABLES[answers.spelling]
    return f"""\
packages:
  - name: {_quoted(answers.name)}
    import: {_quoted(answers.module)}
    per: [cuda, arch]       # what it is built over; further axes (python, torch ...) go under axes:
    layout: {answers.layout:<15} # family: one wheel a GPU family; provider: one a target, and a shim; fat: one wheel
    tag: cp39-abi3          # as your build names its wheels: py3-none without extension modules; a wheel for each
                            # Python: per: [cuda, arch, python], tag: "cp{{python_nodot}}-cp{{python_nodot}}", and
                            # at the left margin axes: {{python: ["3.11", "3.12"]}}
    manylinux: "2_28"       # the oldest glibc that they run on is 2.28
    build:
      kind: wheel           # the command leaves one wheel in {{out}}; tree: its contents, and fatwheel packs them
      command: ["{{python}}", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "{{out}}", "{{source}}"]
      requires: [setuptools, wheel]
      spelling: {answers.spelling:<12}# how {{targets}} is written
      env:
        {variable}: {_quoted(value)}
    # smoke:                # launched on a GPU runner, against the finished wheel
    #   command: ["{{python}}", "-m", "{answers.module}.smoke"]
"""


def _cuda(answers: Answers, lists: dict[str, list[Target]]) -> str:
    lines = ["cuda:"]
    for release, targets in lists.items():
        lines += [
            f"  cu{release.replace('.', '')}:",
            f"    toolkit: {_quoted(release)}",
            "    # image: {x86_64: quay.io/pypa/manylinux_2_28_x86_64@sha256:...}  # by digest, with --engine docker",
        ]
        if toolkit(release).version >= (13, 0):
            lines.append("    compress: size        # machine code compressed; CUDA 13's drivers all read it")
        lines.append("    targets:")
        lines += [f"      {arch}: {_quoted(' '.join(map(str, targets)))}" for arch in answers.arches]
    return "\n".join(lines) + "\n"


def _families(lists: dict[str, list[Target]], layout: str) -> str:
    if layout != "family":
        return ""
    held = {target.major for targets in lists.values() for target in targets}
    rows = [f"  {n}: {{majors: [{_joined(held & set(ms))}]}}" for n, ms in USUAL_FAMILIES.items() if held & set(ms)]
    return "\n".join(["families:", *rows]) + "\n"


def _joined(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _promises(lists: dict[str, list[Target]]) -> str:
    promised: set[Capability] | None = None
    for release, targets in lists.items():
        covered = set(covers(targets, None, release))
        promised = covered if promised is None else promised & covered
    if not promised:
        return ""
    return f"""\
# GPUs that stay covered: dropping a target that one of these needs is an error.
must_cover:
  - capabilities: {_quoted(" ".join(map(str, sorted(promised))))}
"""


def _runners(answers: Answers) -> str:
    rows = [f"    {arch}: {_RUNNERS[arch]}" for arch in answers.arches]
    return (
        "\n".join(["runners:", "  build:", *rows, "  # smoke: {sm9x: {x86_64: gpu-h100}}  # GPU runners that prove"])
        + "\n"
    )


def _channels(answers: Answers) -> str:
    repository = f"    repository: {answers.repository}\n" if answers.repository else ""
    note = "" if answers.repository else "    # repository: OWNER/REPO\n"
    return f"""\
channels:
  release:
{repository}{note}    tag: "v{{version}}"
    completeness: complete  # published only whole; partial: with what passed
  # nightly: {{tag: "nightly-{{date}}", completeness: partial}}
  # pull-request: {{select: ["*-x86_64-*"]}}
"""
