"""The names of CPU architectures and channels in matrix.yaml, plans and options."""

from __future__ import annotations

from typing import Literal, get_args

Arch = Literal["x86_64", "aarch64"]
"""A CPU architecture for which CUDA wheels exist, named as in platform tags."""
ChannelName = Literal["release", "nightly", "pull-request"]
"""The name of a channel."""
ARCHES: tuple[Arch, ...] = get_args(Arch)
CHANNELS: tuple[ChannelName, ...] = get_args(ChannelName)
