"""Have the CUDA driver load every fat binary of an installed wheel, eagerly; what it answered goes out as JSON.

    python -I smoke_gpu.py < [{"path": "lib.so", "containers": [offset, ...]}, ...]

Each fat binary is loaded by itself, from the file, so that nothing depends on what the package exports: all kernels in
it must load on the device, or the driver must say that it holds none for it (error 209). Runs on the GPU machine:
standard library only, Python 3.9 or later. Judging is left to `fatwheel.smoke`.
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
    """The CUDA driver refused something that must work."""


def described(cuda: Any, code: int) -> str:
    """An error code with the driver's own word for it."""
    name = ctypes.c_char_p()
    cuda.cuGetErrorName(code, ctypes.byref(name))
    return f"error {code}" + (f" ({name.value.decode()})" if name.value else "")


def start() -> Any:
    """The CUDA driver with a context on the first visible device. Raises `DriverError`."""
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
            raise DriverError(f"{name}: {described(cuda, code)}")
    return cuda


def loaded(cuda: Any, path: str, containers: list[int]) -> dict[str, Any]:
    """How many fat binaries of one library loaded, how many hold nothing for the device, and what else was said."""
    fine, without, errors = 0, 0, []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as data:
        view = (ctypes.c_char * len(data)).from_buffer(data)
        for offset in containers:
            module = ctypes.c_void_p()
            code = cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_void_p(ctypes.addressof(view) + offset))
            if not code:
                fine += 1
                cuda.cuModuleUnload(module)
            elif code == _NO_BINARY:
                without += 1
            else:
                errors.append(f"fat binary at {offset}: {described(cuda, code)}")
        del view
    return {"loaded": fine, "without": without, "errors": errors}


def main() -> None:
    """Print one report for all libraries on standard input."""
    wanted = json.load(sys.stdin)
    try:
        cuda = start()
        report = {one["path"]: loaded(cuda, one["path"], one["containers"]) for one in wanted}
        json.dump({"error": None, "libraries": report}, sys.stdout)
    except DriverError as error:
        json.dump({"error": str(error), "libraries": {}}, sys.stdout)


if __name__ == "__main__":
    main()
