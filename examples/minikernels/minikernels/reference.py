"""Reference implementations in NumPy and float64, with which the results of the kernels are compared."""

import numpy as np


def rms_norm(x, weight, *, eps=1e-6):
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last axis; float64."""
    x = np.asarray(x, np.float64)
    mean = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean + eps) * np.asarray(weight, np.float64)


def silu_and_mul(x):
    """``silu(first half) * second half`` along the last axis; float64."""
    gate, up = np.split(np.asarray(x, np.float64), 2, axis=-1)
    with np.errstate(over="ignore"):  # exp(-gate) is inf for a very negative gate, which makes the quotient 0
        return gate / (1.0 + np.exp(-gate)) * up


def rotary_embedding(x, positions, *, base=10000.0, interleaved=False):
    """Each pair of (tokens, heads, d) rotated by ``position * base**(-2i/d)`` radians; float64."""
    x = np.asarray(x, np.float64)
    dim = x.shape[-1]
    frequencies = float(base) ** (-2.0 * np.arange(dim // 2) / dim)
    angles = np.asarray(positions, np.float64)[:, None, None] * frequencies
    pairs = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, dim // 2), slice(dim // 2, None))
    u, v = x[..., pairs[0]], x[..., pairs[1]]
    result = np.empty_like(x)
    result[..., pairs[0]] = u * np.cos(angles) - v * np.sin(angles)
    result[..., pairs[1]] = v * np.cos(angles) + u * np.sin(angles)
    return result


def softmax(x):
    """``exp(x - max) / sum(exp(x - max))`` over the last axis; float64."""
    x = np.asarray(x, np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, the defined result
        powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return powers / np.sum(powers, axis=-1, keepdims=True)
