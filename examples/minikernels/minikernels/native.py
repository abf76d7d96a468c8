"""Load compiled modules at their first call, and check every CUDA error."""

import ctypes
import functools
import json
from pathlib import Path

from minikernels.errors import MinikernelsError, NoDevice, NoMachineCode

LIB = Path(__file__).parent / "lib"

_POINTER, _INT, _LONG, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_size_t
# Arguments of each function, as declared in the .cu files. All but the last two return a CUDA error number.
_FUNCTIONS = {
    "runtime": {
        "mk_probe": [],
        "mk_device": [ctypes.c_char_p, _INT, ctypes.POINTER(_INT), ctypes.POINTER(_INT)],
        "mk_alloc": [ctypes.POINTER(_POINTER), _SIZE],
        "mk_free": [_POINTER],
        "mk_upload": [_POINTER, _POINTER, _SIZE],
        "mk_download": [_POINTER, _POINTER, _SIZE],
        "mk_synchronize": [],
        "mk_error_name": [_INT],
        "mk_error_text": [_INT],
    },
    "rms_norm": {"mk_rms_norm": [_POINTER, _POINTER, _POINTER, _LONG, _LONG, ctypes.c_float, _INT]},
    "silu_and_mul": {"mk_silu_and_mul": [_POINTER, _POINTER, _LONG, _LONG, _INT]},
    "rotary_embedding": {
        "mk_rotary_embedding": [_POINTER, _POINTER, _POINTER, _LONG, _LONG, _LONG, ctypes.c_double, _INT, _INT]
    },
    "softmax": {"mk_softmax": [_POINTER, _POINTER, _LONG, _LONG, _INT]},
}

# CUDA error numbers, from the cudaError enumeration of driver_types.h.
_NO_MACHINE_CODE = {98, 209}  # InvalidDeviceFunction, NoKernelImageForDevice
_NO_DEVICE = {3, 34, 35, 36, 46, 100, 101, 803, 804}  # driver missing or too old, GPU missing or busy


@functools.cache
def module(name):
    """Return a compiled module by name. Raises `MinikernelsError` if the package does not contain it."""
    path = LIB / f"{name}.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        hint = "" if path.exists() else "; the package was not compiled, or without this module"
        raise MinikernelsError(f"cannot load module {name}: {error}{hint}") from None
    for function, arguments in _FUNCTIONS[name].items():
        found = getattr(library, function)
        found.argtypes = arguments
        found.restype = ctypes.c_char_p if function in ("mk_error_name", "mk_error_text") else _INT
    return library


def call(name, function, *arguments):
    """Call ``function`` of module ``name``. Raises `MinikernelsError` for CUDA errors."""
    code = getattr(module(name), function)(*arguments)
    if code != 0:
        raise _error(name, code)


def device():
    """Return the name and compute capability of the first GPU in CUDA_VISIBLE_DEVICES, which runs all calls."""
    shown, major, minor = ctypes.create_string_buffer(256), _INT(), _INT()
    call("runtime", "mk_device", shown, len(shown), ctypes.byref(major), ctypes.byref(minor))
    return shown.value.decode("utf-8", "replace"), f"{major.value}.{minor.value}"


def probe():
    """Launch a trivial kernel. Raises `NoMachineCode` if this build does not cover the device."""
    call("runtime", "mk_probe")


class Buffer:
    """Allocate device memory: a copy of an array, or a size in bytes. It is freed at the end of the block."""

    def __init__(self, source):
        self.source = source
        self.address = None

    def __enter__(self):
        size = self.source if isinstance(self.source, int) else self.source.nbytes
        address = _POINTER()
        call("runtime", "mk_alloc", ctypes.byref(address), size)
        self.address = address
        if not isinstance(self.source, int):
            try:
                call("runtime", "mk_upload", address, self.source.ctypes.data, size)
            except MinikernelsError as error:
                self.__exit__(error)
                raise
        return self

    def __exit__(self, *failure):
        address, self.address = self.address, None
        # After a failed kernel, every call fails, also freeing; report only the first error.
        code = module("runtime").mk_free(address)
        if code != 0 and not any(failure):
            raise _error("runtime", code)

    def read(self, array):
        """Copy device memory to ``array``, which is contiguous."""
        call("runtime", "mk_download", array.ctypes.data, self.address, array.nbytes)


def built_for():
    """(targets, covers) of this build as text, from ``fatwheel.json`` in the wheel; unknown values are empty."""
    from importlib import metadata

    try:
        from minikernels._version import __version__, targets
    except ImportError:
        return "", ""
    try:
        stamp = json.loads(metadata.distribution("minikernels").read_text("fatwheel.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        stamp = {}
    if stamp.get("version") != __version__:  # not installed, or another copy is installed
        return targets, ""
    return " ".join(stamp["targets"]), " ".join(stamp["covers"])


def _error(name, code):
    runtime = module("runtime")
    detail = f"CUDA error {code}, {runtime.mk_error_name(code).decode()}: {runtime.mk_error_text(code).decode()}"
    if code in _NO_MACHINE_CODE:
        return NoMachineCode(f"{name}: {_misfit()} ({detail})", code)
    if code in _NO_DEVICE:
        return NoDevice(f"{name}: no usable GPU found ({detail})", code)
    return MinikernelsError(f"{name}: {detail}", code)


def _misfit():
    from minikernels import __version__

    try:
        shown, capability = device()
    except MinikernelsError:
        shown, capability = "this device", "unknown"
    targets, covers = built_for()
    text = f"minikernels {__version__} contains no machine code for {shown}, compute capability {capability}"
    if targets:
        text += f"; it was compiled for {targets}"
    if covers:
        text += f" and covers compute capability {' or '.join(covers.split())}"
    return f"{text}; install the wheel whose GPU family has this device"
