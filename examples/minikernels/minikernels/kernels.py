"""The public functions: check arguments, and copy arrays to the GPU and back."""

import math

import numpy as np

from minikernels import native

# The numbers of element types in kernels/common.cuh.
_DTYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}
_MAX_HEAD_DIM = 4096  # kMaxDim in kernels/rotary_embedding.cu
_MAX = 2**31 - 1


def rms_norm(x, weight, *, eps=1e-6):
    """Scale each row to a root mean square of 1, then by ``weight``: ``x / sqrt(mean(x**2) + eps) * weight``.

    ``x`` is (..., n) and ``weight`` (n,), both float32 or both float16; sums are float32. ``eps`` is at least 0.
    Returns an array like ``x``. Raises `TypeError` for other types, `ValueError` for other shapes,
    `MinikernelsError` for what goes wrong on the GPU.
    """
    x, weight = _checked("x", x), _checked("weight", weight)
    if weight.dtype != x.dtype:
        raise TypeError(f"weight is {weight.dtype}, but x is {x.dtype}")
    _need_axis(x)
    if weight.shape != x.shape[-1:]:
        raise ValueError(f"weight has shape {weight.shape}, but the last axis of x has {x.shape[-1]} elements")
    if not 0 <= eps < math.inf:
        raise ValueError(f"eps is {eps}, not a finite number of at least 0")
    y = np.empty_like(x)
    if x.size:
        rows, columns = _rows(x)
        with native.Buffer(x) as dx, native.Buffer(weight) as dw, native.Buffer(y.nbytes) as dy:
            native.call(
                "rms_norm", "mk_rms_norm", dx.address, dw.address, dy.address, rows, columns, float(eps),
                _DTYPES[x.dtype],
            )  # fmt: skip
            dy.read(y)
    return y


def silu_and_mul(x):
    """The gated activation of a feed-forward layer: ``silu(x[..., :n]) * x[..., n:]`` with silu(v) = v / (1 + exp(-v)).

    ``x`` is (..., 2n), float32 or float16. Returns (..., n) of the same type. Raises `TypeError` for other types,
    `ValueError` for other shapes, `MinikernelsError` for what goes wrong on the GPU.
    """
    x = _checked("x", x)
    _need_axis(x)
    if x.shape[-1] % 2:
        raise ValueError(f"the last axis of x has {x.shape[-1]} elements, which cannot be halved")
    y = np.empty((*x.shape[:-1], x.shape[-1] // 2), x.dtype)
    if x.size:
        rows, columns = _rows(y)
        with native.Buffer(x) as dx, native.Buffer(y.nbytes) as dy:
            native.call("silu_and_mul", "mk_silu_and_mul", dx.address, dy.address, rows, columns, _DTYPES[x.dtype])
            dy.read(y)
    return y


def rotary_embedding(x, positions, *, base=10000.0, interleaved=False):
    """Rotate pair i of each head by the angle ``position * base**(-2i/d)``, in radians.

    ``x`` is (tokens, heads, d), float32 or float16, d even and at most 4096; ``positions`` is (tokens,) of integers
    that fit into 32 bits, beyond which angles would lose their precision. A pair is elements i and i + d/2 or,
    ``interleaved``, elements 2i and 2i + 1. ``base`` is above 0.
    Returns an array like ``x``. Raises `TypeError` for other types, `ValueError` for other shapes,
    `MinikernelsError` for what goes wrong on the GPU.
    """
    x, positions = _checked("x", x), np.asarray(positions)
    if not np.issubdtype(positions.dtype, np.integer):
        raise TypeError(f"positions are {positions.dtype}, not integers")
    if x.ndim != 3:
        raise ValueError(f"x has shape {x.shape}, not (tokens, heads, d)")
    tokens, heads, dim = x.shape
    if dim % 2 or not 2 <= dim <= _MAX_HEAD_DIM:
        raise ValueError(f"a head has {dim} elements, not an even number up to {_MAX_HEAD_DIM}")
    if tokens > _MAX or heads > _MAX // 2 // dim:
        raise ValueError(f"x has shape {x.shape}, which is more than one launch can take")
    if positions.shape != (tokens,):
        raise ValueError(f"positions have shape {positions.shape}, but x has {tokens} tokens")
    if not 0 < base < math.inf:
        raise ValueError(f"base is {base}, not a finite number above 0")
    if tokens and not -_MAX <= int(positions.min()) <= int(positions.max()) <= _MAX:
        raise ValueError(f"positions reach from {positions.min()} to {positions.max()}, beyond 32 bits")
    positions = np.ascontiguousarray(positions, np.int64)
    y = np.empty_like(x)
    if x.size:
        with native.Buffer(x) as dx, native.Buffer(positions) as dp, native.Buffer(y.nbytes) as dy:
            native.call(
                "rotary_embedding", "mk_rotary_embedding", dx.address, dp.address, dy.address, tokens, heads, dim,
                math.log2(base), int(interleaved), _DTYPES[x.dtype],
            )  # fmt: skip
            dy.read(y)
    return y


def softmax(x):
    """Softmax over the last axis. No input overflows, because the maximum of each row is subtracted first.

    ``x`` is (..., n), float32 or float16; sums are float32. Returns an array like ``x``. -inf counts as 0; a row that
    holds NaN or +inf, or nothing but -inf, is NaN. Raises `TypeError` for other types, `ValueError` for other shapes,
    `MinikernelsError` for what goes wrong on the GPU.
    """
    x = _checked("x", x)
    _need_axis(x)
    y = np.empty_like(x)
    if x.size:
        rows, columns = _rows(x)
        with native.Buffer(x) as dx, native.Buffer(y.nbytes) as dy:
            native.call("softmax", "mk_softmax", dx.address, dy.address, rows, columns, _DTYPES[x.dtype])
            dy.read(y)
    return y


def _checked(name, array):
    """Return the argument as a contiguous array of a supported type."""
    array = np.asarray(array)
    if array.dtype not in _DTYPES:
        raise TypeError(f"{name} is {array.dtype}, not float32 or float16")
    return np.ascontiguousarray(array) if array.ndim else array


def _need_axis(x):
    if x.ndim < 1 or x.shape[-1] < 1:
        raise ValueError(f"x has shape {x.shape}; its last axis must exist and hold elements")


def _rows(x):
    """Return the rows and columns of an array, viewed as two-dimensional."""
    columns = x.shape[-1]
    rows = x.size // columns
    if rows > _MAX or columns > _MAX // 2:
        raise ValueError(f"x has shape {x.shape}, which is more than one launch can take")
    return rows, columns
