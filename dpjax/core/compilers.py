"""Refuses a device whose compiler is known to compute integers wrongly."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.checks import InputError

_TRIPLES = (np.arange(343) // np.array([[1], [7], [49]]) % 7 - 3).astype(np.int32)  # of -3, ..., 3


def require_sound(platform: str) -> None:
    """InputError for a platform whose compiler loses the sign of an integer; nothing is compiled for a CPU.

    ptxas of CUDA 12.6 to 13.3 compiles max(max(-a, -b), -c) of int32, for compute capability 9.0 (13.0 for 10.0,
    too), to one instruction that reads b in place of -b (github.com/pytorch/pytorch/issues/190973). The scores of a
    mechanism are often negated errors, so its law would be another than the one that is audited. The expression is
    computed once in a process, before its first draw.
    """
    if platform != "cpu" and not _sound(platform):
        actual = f"one that loses it ({platform}), as ptxas of CUDA 12.6 to 13.3 does"
        advice = 'pip install "nvidia-cuda-nvcc>=13.4", which JAX for CUDA 13 uses, or set JAX_PLATFORMS=cpu'
        raise InputError("device", "a compiler that keeps the sign of integers", actual, advice)


@cache
def _sound(platform: str) -> bool:
    with jax.default_device(jax.devices(platform)[0]):
        computed = jax.jit(extremes).lower(*_TRIPLES).compile()(*_TRIPLES)  # called by name it would join a trace
    return np.array_equal(np.stack(computed), expected())


def extremes(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The largest and the smallest of -a, -b and -c."""
    return jnp.maximum(jnp.maximum(-a, -b), -c), jnp.minimum(jnp.minimum(-a, -b), -c)


def expected() -> np.ndarray:
    """`extremes` of the test's integers by NumPy, ``int32[2, 343]``."""
    return np.stack([(-_TRIPLES).max(axis=0), (-_TRIPLES).min(axis=0)])
