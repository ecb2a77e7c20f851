"""Functions on the host inside programs: any size of arguments, any batch, also on one core."""

import subprocess
import sys
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.host_calls import HostFunction, host_call

ON_ONE_CORE = """
import os

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from tests.core.test_host_calls import check

check(60_000, 3)
"""


@dataclass(frozen=True)
class Weighted(HostFunction):
    """The sum of a matrix by columns, times a number."""

    times: int

    def __call__(self, matrix, number):
        return ((matrix.sum(axis=0) * number * self.times).astype(np.int32), np.asarray(matrix.size, np.int32))


def called(matrix, number):
    results = jax.ShapeDtypeStruct((matrix.shape[1],), np.int32), jax.ShapeDtypeStruct((), np.int32)
    return host_call(Weighted(3), results, matrix, number)


def check(rows, count):
    matrices = jnp.arange(count * 4 * rows, dtype=jnp.int32).reshape(count, rows, 4) % 7
    numbers = jnp.arange(count, dtype=jnp.int32)
    expected = np.asarray(matrices).sum(axis=1) * np.arange(count)[:, None] * 3
    for program in (
        jax.vmap(called),
        jax.jit(jax.vmap(called)),
        jax.jit(lambda *both: jax.lax.map(lambda a: called(*a), both)),
    ):
        sums, sizes = program(matrices, numbers)
        assert np.array_equal(sums, expected) and sizes.tolist() == [4 * rows] * count
    assert np.array_equal(jax.jit(called)(matrices[1], numbers[1])[0], expected[1])


@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 4097, 50_000])
def test_arguments_of_any_size(rows):
    check(rows, 3)


def test_large_arguments_on_one_core(root):
    """It ends, with the same results, where no other thread can help the one that runs the callback."""
    found = subprocess.run([sys.executable, "-c", ON_ONE_CORE], cwd=root, timeout=120, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
