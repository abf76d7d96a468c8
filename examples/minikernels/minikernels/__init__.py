"""minikernels: four CUDA kernels for NumPy arrays.

Importing needs neither a GPU nor a driver; the first call does.
"""

from minikernels.errors import MinikernelsError, NoDevice, NoMachineCode
from minikernels.kernels import rms_norm, rotary_embedding, silu_and_mul, softmax

try:
    from minikernels._version import __version__
except ImportError:  # a source checkout without a build
    __version__ = "0+source"

__all__ = [
    "MinikernelsError",
    "NoDevice",
    "NoMachineCode",
    "__version__",
    "rms_norm",
    "rotary_embedding",
    "silu_and_mul",
    "softmax",
]
