"""GPU product names by compute capability, for users who know only the name of their GPU."""

from __future__ import annotations

from fatwheel.targets import Capability

# From NVIDIA's list of CUDA GPUs (developer.nvidia.com/cuda-gpus): data center GPUs and well-known others.
PRODUCTS: dict[Capability, tuple[str, tuple[str, ...]]] = {
    Capability(12, 1): ("Blackwell", ("DGX Spark (GB10)",)),
    Capability(12, 0): (
        "Blackwell",
        ("RTX 5090", "RTX 5080", "RTX 5070", "RTX 5060", "RTX PRO 6000 Blackwell", "RTX PRO 5000 Blackwell"),
    ),
    Capability(11, 0): ("Blackwell", ("Jetson AGX Thor",)),
    Capability(10, 3): ("Blackwell", ("B300", "GB300")),
    Capability(10, 0): ("Blackwell", ("B200", "GB200")),
    Capability(9, 0): ("Hopper", ("H100", "H200", "H20", "GH200")),
    Capability(8, 9): ("Ada", ("L4", "L40", "L40S", "RTX 6000 Ada", "RTX 4090", "RTX 4080", "RTX 4070", "RTX 4060")),
    Capability(8, 7): ("Ampere", ("Jetson AGX Orin", "Jetson Orin NX", "Jetson Orin Nano")),
    Capability(8, 6): (
        "Ampere",
        ("A2", "A10", "A16", "A40", "RTX A6000", "RTX 3090", "RTX 3080", "RTX 3070", "RTX 3060"),
    ),
    Capability(8, 0): ("Ampere", ("A100", "A30")),
    Capability(7, 5): ("Turing", ("T4", "RTX 2080", "RTX 2070", "RTX 2060", "Quadro RTX 8000", "GTX 1660")),
    Capability(7, 2): ("Volta", ("Jetson AGX Xavier", "Jetson Xavier NX")),
    Capability(7, 0): ("Volta", ("V100", "Titan V")),
    Capability(6, 1): ("Pascal", ("P4", "P40", "GTX 1080", "GTX 1070", "GTX 1060")),
    Capability(6, 0): ("Pascal", ("P100",)),
}


def name_gpus(capability: Capability, count: int = 3) -> str:
    """Name up to ``count`` products of a capability, ``H100, H200, H20``, or the capability if none is known."""
    _, names = PRODUCTS.get(capability, ("", ()))
    return ", ".join(names[:count]) or f"capability {capability}"
