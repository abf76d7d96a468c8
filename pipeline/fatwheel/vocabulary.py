"""Fixed names in matrix.yaml, plans and options: CPU architectures, channels, engines, toolchains, cache modes."""

from __future__ import annotations

from typing import Literal, get_args

Arch = Literal["x86_64", "aarch64"]
"""A CPU architecture for which CUDA wheels exist, named as in platform tags."""
ChannelName = Literal["release", "nightly", "pull-request"]
"""The name of a channel."""
ARCHES: tuple[Arch, ...] = get_args(Arch)
CHANNELS: tuple[ChannelName, ...] = get_args(ChannelName)
ENGINES = ("host", "docker", "podman")
"""The values of --engine: where builds run."""
ToolchainChoice = Literal["auto", "system", "pypi"]
"""A value of --toolchain: where the CUDA toolkit comes from."""
TOOLCHAINS: tuple[ToolchainChoice, ...] = get_args(ToolchainChoice)
