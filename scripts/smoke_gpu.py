"""Load every fat binary of an installed wheel eagerly with the CUDA driver, and print the results as JSON.

    python -I smoke_gpu.py < [{"path": "lib.so", "containers": [offset, ...]}, ...]

Each fat binary is loaded independently from the file, whatever the package exports: either all its kernels load on the
device, or the driver reports that it has no code for the device (error 209). The script runs on the GPU machine and
requires only the standard library of Python 3.9 or later. `fatwheel.smoke` evaluates the results.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
from typing import Any

_NO_BINARY = 209  # CUDA_ERROR_NO_BINARY_FOR_GPU


class DriverError(Exception):
    """A CUDA driver call failed that must work."""


def describe_error(cuda: Any, code: int) -> str:
    """Format an error code with the driver's name for it."""
    name = ctypes.c_char_p()
    cuda.cuGetErrorName(code, ctypes.byref(name))
    return f"error {code}" + (f" ({name.value.decode()})" if name.value else "")


def open_driver() -> Any:
    """Return the CUDA driver, with a context on the first visible device. Raises `DriverError`."""
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DriverError(str(error)) from None
    device, context = ctypes.c_int(), ctypes.c_void_p()
    steps: list[tuple[Any, ...]] = [
        ("cuInit", 0),
        ("cuDeviceGet", ctypes.byref(device), 0),
        ("cuDevicePrimaryCtxRetain", ctypes.byref(context), device),
        ("cuCtxSetCurrent", context),
    ]
    for name, *arguments in steps:
        code = getattr(cuda, name)(*arguments)
        if code:
            raise DriverError(f"{name}: {describe_error(cuda, code)}")
    return cuda


def load_library(cuda: Any, path: str, containers: list[int]) -> dict[str, Any]:
    """Count the fat binaries of a library that load and those without code for the device; lists other errors."""
    loaded, without, errors = 0, 0, []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as data:
        view = (ctypes.c_char * len(data)).from_buffer(data)
        for offset in containers:
            module = ctypes.c_void_p()
            code = cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_void_p(ctypes.addressof(view) + offset))
            if not code:
                loaded += 1
                cuda.cuModuleUnload(module)
            elif code == _NO_BINARY:
                without += 1
            else:
                errors.append(f"fat binary at {offset}: {describe_error(cuda, code)}")
        del view
    return {"loaded": loaded, "without": without, "errors": errors}


def main() -> None:
    """Print one report for all libraries listed on standard input."""
    libraries = json.load(sys.stdin)
    try:
        cuda = open_driver()
        report = {one["path"]: load_library(cuda, one["path"], one["containers"]) for one in libraries}
        json.dump({"error": None, "libraries": report}, sys.stdout)
    except DriverError as error:
        json.dump({"error": str(error), "libraries": {}}, sys.stdout)


if __name__ == "__main__":
    main()
