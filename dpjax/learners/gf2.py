"""Linear equations over GF(2) on packed bits, many systems and many right-hand sides at once."""

import jax
import jax.numpy as jnp
from jax import Array


def solve(rows: Array, right: Array, unknowns: int) -> tuple[Array, Array, Array]:
    """Gauss-Jordan elimination of one system, all right-hand sides together; free unknowns are 0.

    Args:
      rows: ``uint32[r, L]``, r >= 0, L = ceil(unknowns / 32); unknown i is bit i % 32 of limb L - 1 - i // 32.
      right: ``uint32[r, T]``; right-hand side j is bit j % 32 of word j // 32.
      unknowns: static, >= 1.

    Returns:
      solution ``uint32[unknowns, T]``, the value of each unknown, packed as ``right``;
      consistent ``bool[]``, whether all right-hand sides have a solution; rank ``int32[]``.
    """
    lacking = max(0, 1 - rows.shape[0])  # a row of zeros says nothing
    rows, right = (jnp.pad(part, ((0, lacking), (0, 0))) for part in (rows, right))
    count, limbs = rows.shape
    index = jnp.arange(count, dtype=jnp.int32)

    def step(unknown, state):
        matrix, used, pivots = state  # uint32[L + T, r], bool[r], int32[unknowns]
        limb = jax.lax.dynamic_index_in_dim(matrix, limbs - 1 - unknown // 32, 0, keepdims=False)
        bit = ((limb >> (unknown % 32).astype(jnp.uint32)) & jnp.uint32(1)).astype(bool)
        pivot = jnp.min(jnp.where(bit & ~used, index, count))  # count where there is none: then nothing happens
        here = index == pivot
        row = jnp.sum(jnp.where(here, matrix, jnp.uint32(0)), axis=1, dtype=jnp.uint32)
        matrix = matrix ^ jnp.where(bit & ~here, row[:, None], jnp.uint32(0))
        return matrix, used | here, pivots.at[unknown].set(pivot)

    start = jnp.concatenate([rows, right], axis=1).T, jnp.zeros(count, bool), jnp.zeros(unknowns, jnp.int32)
    matrix, used, pivots = jax.lax.fori_loop(0, unknowns, step, start)
    found = matrix[limbs:].T
    wrong = jnp.any((found != 0) & ~used[:, None])
    free = pivots == count
    solution = jnp.where(free[:, None], jnp.uint32(0), found[jnp.minimum(pivots, count - 1)])
    return solution, ~wrong, jnp.sum(~free, dtype=jnp.int32)
