"""The fixed words of declarations, plans and options: CPU architectures and channels."""

from __future__ import annotations

from typing import Literal, get_args

Arch = Literal["x86_64", "aarch64"]
"""A CPU architecture that CUDA wheels are built for, as platform tags spell it."""
ChannelName = Literal["release", "nightly", "pull-request"]
"""What a plan is made for."""
ARCHES: tuple[Arch, ...] = get_args(Arch)
CHANNELS: tuple[ChannelName, ...] = get_args(ChannelName)
