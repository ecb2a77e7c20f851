"""Linear systems over GF(2) on packed bits, batched over systems and right-hand sides."""

import jax
import jax.numpy as jnp
from jax import Array

_WORD = 32


def solve(rows: Array, right: Array, unknowns: int) -> tuple[Array, Array, Array]:
    """Gauss-Jordan elimination of S systems with shared right-hand-side words; free unknowns are 0.

    Blocks of 32 unknowns: elimination runs on one word per row and records in a second word which pivots were added to
    the row; one pass then updates all other words. The pivot of an unknown is the first row that can be one.

    Args:
      rows: ``uint32[L, r, S]``, r >= 0, 32 L >= unknowns; unknown i is bit i % 32 of limb L - 1 - i // 32.
      right: ``uint32[T, r, S]``; right-hand side j is bit j % 32 of word j // 32.
      unknowns: static, >= 1.

    Returns:
      solution ``uint32[unknowns, T, S]``, the value of each unknown, packed as ``right``;
      consistent ``bool[S]``, whether all right-hand sides have a solution; rank ``int32[S]``.
    """
    lacking = max(0, 1 - rows.shape[1])  # a zero row is no constraint
    rows, right = (jnp.pad(part, ((0, 0), (0, lacking), (0, 0))) for part in (rows, right))
    limbs, count, systems = rows.shape
    words, blocks = right.shape[0], -(-unknowns // _WORD)
    last = (1 << (unknowns - _WORD * (blocks - 1))) - 1  # bits of the last block; higher bits are ignored
    index = jax.lax.broadcasted_iota(jnp.int32, (count, systems), 0)

    def pivot_of(bit: int | Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        limb, taken, used, pivots = state  # uint32, uint32, bool [r, S]; int32[32, S]
        shift = jnp.asarray(bit).astype(jnp.uint32)
        ones = (limb >> shift) & jnp.uint32(1) != 0
        pivot = jnp.min(jnp.where(ones & ~used, index, count), axis=0)  # count, a no-op, if there is no pivot
        here = index == pivot
        of_pivot = [jnp.sum(jnp.where(here, part, jnp.uint32(0)), axis=0, dtype=jnp.uint32) for part in (limb, taken)]
        moved = ones & ~here & (pivot < count)
        limb = limb ^ jnp.where(moved, of_pivot[0], jnp.uint32(0))
        taken = taken ^ jnp.where(moved, of_pivot[1] ^ (jnp.uint32(1) << shift), jnp.uint32(0))
        return limb, taken, used | here, pivots.at[bit].set(pivot)

    def block(number: int | Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        matrix, used, pivots = state  # uint32[L + T, r, S], bool[r, S], int32[32 blocks, S]
        limb = jax.lax.dynamic_index_in_dim(matrix, limbs - 1 - number, 0, keepdims=False)
        limb = limb & jnp.where(number < blocks - 1, jnp.uint32(0xFFFFFFFF), jnp.uint32(last))
        start = limb, jnp.zeros_like(limb), used, jnp.full((_WORD, systems), count, jnp.int32)
        _, taken, used, solved = jax.lax.fori_loop(0, _WORD, pivot_of, start)
        of_pivots = jnp.take_along_axis(matrix, jnp.minimum(solved, count - 1)[None], axis=1)  # [L + T, 32, S]
        for bit in range(_WORD):
            taken_up = (taken >> jnp.uint32(bit)) & jnp.uint32(1) != 0
            matrix = matrix ^ jnp.where(taken_up, of_pivots[:, bit, None], jnp.uint32(0))
        return matrix, used, jax.lax.dynamic_update_slice_in_dim(pivots, solved, _WORD * number, 0)

    no_pivots = jnp.full((_WORD * blocks, systems), count, jnp.int32)
    start = jnp.concatenate([rows, right]), jnp.zeros((count, systems), bool), no_pivots
    matrix, used, pivots = jax.lax.fori_loop(0, blocks, block, start)
    solved, pivots = matrix[limbs:], pivots[:unknowns]
    wrong = jnp.any((solved != 0) & ~used, axis=(0, 1))
    free = pivots == count
    values = jnp.take_along_axis(solved, jnp.minimum(pivots, count - 1)[None], axis=1)  # [T, unknowns, S]
    solution = jnp.where(free[:, None], jnp.uint32(0), jnp.swapaxes(values, 0, 1)).reshape(unknowns, words, systems)
    return solution, ~wrong, jnp.sum(~free, axis=0, dtype=jnp.int32)
