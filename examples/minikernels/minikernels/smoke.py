"""Check the results of every kernel on this GPU: ``python -m minikernels.smoke [--json]``. Exit code 0 or 1."""

import argparse
import json
import math
import sys

import numpy as np

import minikernels
from minikernels import native, reference

# Allowed difference from the float64 reference, absolute for values up to 1 and relative above. float16 keeps 11 bits,
# so rounding the result alone costs 2**-11 = 0.0005; float32 sums of some thousand terms cost about 1e-6.
TOLERANCE = {"float32": 1e-5, "float16": 1e-3}


def cases(random):
    """Yield (kernel, arguments, keywords) of each check: sizes for packed and single loads, one or many rows."""
    for dtype in (np.float32, np.float16):

        def normal(*shape, scale=1.0, dtype=dtype):
            return (random.standard_normal(shape) * scale).astype(dtype)

        for shape in ((1, 8), (3, 7), (5, 33, 128), (17, 4096), (2, 10001), (1000, 256)):
            yield "rms_norm", (normal(*shape), normal(shape[-1])), {}
            yield "silu_and_mul", (normal(*shape[:-1], 2 * shape[-1], scale=3.0),), {}
            yield "softmax", (normal(*shape, scale=4.0),), {}
        yield "rms_norm", (normal(4, 64, scale=1e-3), normal(64)), {"eps": 1e-5}
        yield "silu_and_mul", (np.array([[-200.0, -20.0, 0.0, 20.0, 200.0, 1.0, 1.0, 1.0, 1.0, 1.0]], dtype),), {}
        rows = [[1e4, 1e4 - 8, -1e4, -np.inf], [-3e4] * 4, [-np.inf] * 4, [np.inf, 0, 0, 0], [np.nan, 0, 0, 0]]
        yield "softmax", (np.array(rows, dtype),), {}
        for tokens, heads, dim in ((1, 1, 2), (7, 3, 10), (33, 8, 128), (5, 40, 64)):
            positions = random.integers(0, 131072, tokens)
            for interleaved in (False, True):
                yield "rotary_embedding", (normal(tokens, heads, dim), positions), {"interleaved": interleaved}
        yield "rotary_embedding", (normal(4, 2, 128), np.arange(4)), {"base": 500000.0}


def error_of(got, wanted):
    """Return the largest difference: absolute for values up to 1, relative above; infinite if shapes or NaN differ."""
    if got.shape != wanted.shape or not np.array_equal(np.isnan(got), np.isnan(wanted)):
        return float("inf")
    difference = np.abs(got.astype(np.float64) - wanted) / np.maximum(1.0, np.abs(wanted))
    return float(np.nanmax(difference))


def check():
    """Return the results as --json prints them, with ``error`` if a call failed."""
    answer = {"device": None, "capability": None, "kernels": [], "ok": False}
    worst = {}
    try:
        answer["device"], answer["capability"] = native.device()
        native.probe()
        for kernel, arguments, keywords in cases(np.random.default_rng(0)):
            got = getattr(minikernels, kernel)(*arguments, **keywords)
            wanted = getattr(reference, kernel)(*arguments, **keywords)
            dtype = arguments[0].dtype.name
            error = error_of(got, wanted) if got.dtype == arguments[0].dtype else float("inf")
            errors = worst.setdefault(kernel, {})
            errors[dtype] = max(errors.get(dtype, 0.0), error)
    except minikernels.MinikernelsError as error:
        answer["error"] = str(error)
    for kernel, errors in worst.items():
        ok = all(error <= TOLERANCE[dtype] for dtype, error in errors.items())
        # JSON has no infinity: null means that shapes, types or NaN differ from the reference.
        shown = {dtype: error if math.isfinite(error) else None for dtype, error in errors.items()}
        largest = None if None in shown.values() else max(shown.values())
        answer["kernels"].append({"name": kernel, "max_error": largest, "ok": ok, "max_error_by_dtype": shown})
    answer["ok"] = "error" not in answer and len(worst) == 4 and all(kernel["ok"] for kernel in answer["kernels"])
    return answer


def show(answer):
    """Print the results as text."""
    print(f"minikernels {minikernels.__version__}")
    if answer["device"]:
        print(f"device: {answer['device']}, compute capability {answer['capability']}")
    for kernel in answer["kernels"]:
        errors = ", ".join(
            f"{dtype} {'infinite' if error is None else format(error, '.1e')}"
            for dtype, error in kernel["max_error_by_dtype"].items()
        )
        print(f"{'ok    ' if kernel['ok'] else 'WRONG '} {kernel['name']:<18} max error: {errors}")
    if "error" in answer:
        print(f"failed: {answer['error']}")
    print("passed" if answer["ok"] else "failed")


def main(arguments=None):
    """Return 0 if every kernel agrees with the reference, else 1."""
    parser = argparse.ArgumentParser(prog="python -m minikernels.smoke", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    answer = check()
    if options.json:
        print(json.dumps(answer, indent=2))
    else:
        show(answer)
    return 0 if answer["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
