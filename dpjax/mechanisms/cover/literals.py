"""The family of literals over the cube: coordinates, their negations, and the two constants."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.exponential import scaled

MOST_COORDINATES = 4096
_SWAPS = ((16, 0x0000FFFF), (8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555))


@register_dataclass
@dataclass(frozen=True)
class Columns:
    """Rows of bits, stored by coordinate. words: ``uint32[ceil(n / 32), d]``, row j in bit j % 32 of word j // 32.

    rows: n, static.
    """

    words: Array
    rows: int = field(metadata={"static": True})


@dataclass(frozen=True)
class Literals(Family):
    """H = {v_0, ..., v_{d-1}, not v_0, ..., not v_{d-1}} and the two constants, 2 d + 2 functions of measure 1 each.

    A function is its number, ``int32[]``: i for v_i, d + i for not v_i, 2 d for the constant that hits no row, 2 d + 1
    for the one that hits every row.

    Args:
      dimension: d in [1, 4096].
      label: of the rows that are hit; False for conjunctions (ANDs), True for disjunctions (ORs).

    Rows are elements of the cube, ``uint32[n, ceil(d / 32)]``; bits beyond d are ignored.
    """

    dimension: int
    label: bool

    def __post_init__(self):
        checks.integer("dimension", self.dimension, 1, MOST_COORDINATES)

    @property
    def size(self) -> int:
        """2 d + 2."""
        return 2 * self.dimension + 2

    def prepare(self, x: Array | Columns) -> Columns:
        """The rows, stored by coordinate."""
        return x if isinstance(x, Columns) else by_coordinate(x, self.dimension)

    def counts(self, x: Array | Columns, rows: Array) -> Array:
        """How many of ``rows``, ``bool[n]``, each function hits, ``int32[2 d + 2]``."""
        words, chosen = self.prepare(x).words, pack(rows)
        both = jax.lax.population_count(words & chosen[:, None]).astype(jnp.int32)
        ones = jnp.sum(both, axis=0, dtype=jnp.int32)
        every = jnp.sum(rows, dtype=jnp.int32)
        positive, negative = (ones, every - ones) if self.label else (every - ones, ones)
        return jnp.concatenate([positive, negative, jnp.stack([jnp.int32(0), every])])

    def law(self, x: Array | Columns, target: Array, other: Array, score: Score) -> Categorical:
        """The law of the function's number that `select` draws."""
        rows = self.prepare(x)
        with jax.enable_x64(True):
            scores = score.quality(self.counts(rows, target), self.counts(rows, other))
            return scaled(asked(scores, "set_cover", score.sensitivity), score.coefficient)

    def select(self, key: Array, x: Array | Columns, target: Array, other: Array, score: Score) -> Array:
        """See `Family.select`: the exponential mechanism over all functions, sampled exactly."""
        drawn = self.law(x, target, other, score).sample(key)
        return jnp.where(drawn < 0, jnp.int32(2 * self.dimension), drawn)

    def hits(self, h: Array, x: Array | Columns) -> Array:
        """``bool[n]``."""
        rows = self.prepare(x)
        d = jnp.int32(self.dimension)
        column = jax.lax.dynamic_index_in_dim(rows.words, h % d, 1, keepdims=False)
        bits = unpack(column, rows.rows)
        of_literal = bits == ((h < d) == self.label)
        return jnp.where(h >= 2 * d, h == 2 * d + 1, of_literal)


def pack(rows: Array) -> Array:
    """``bool[n]`` -> ``uint32[ceil(n / 32)]``, row j in bit j % 32 of word j // 32."""
    blocks = jnp.pad(rows, (0, -rows.shape[0] % 32)).reshape(-1, 32)
    weights = jnp.asarray(1 << np.arange(32), jnp.uint32)[None]
    return jnp.sum(jnp.where(blocks, weights, jnp.uint32(0)), axis=1, dtype=jnp.uint32)


def unpack(words: Array, rows: int) -> Array:
    """The inverse of `pack` for n = ``rows``."""
    shifts = jnp.asarray(np.arange(32), jnp.uint32)[None]
    return ((words[:, None] >> shifts) & jnp.uint32(1)).astype(bool).reshape(-1)[:rows]


def by_coordinate(x: Array, dimension: int) -> Columns:
    """Elements of the cube ``uint32[n, limbs]``, most significant limb first, as `Columns`.

    Transposes blocks of 32 rows and 32 coordinates by recursively swapping halves.
    """
    rows, limbs = x.shape
    if limbs != -(-dimension // 32):
        raise InputError("x", f"elements of {-(-dimension // 32)} limbs", f"{limbs} limbs", "encode them with the cube")
    blocks = jnp.pad(x, ((0, -rows % 32), (0, 0))).reshape(-1, 32, limbs)
    for shift, mask in _SWAPS:
        halves = blocks.reshape(blocks.shape[0], 16 // shift, 2, shift, limbs)
        low, high = halves[:, :, 0], halves[:, :, 1]
        swapped = ((low >> jnp.uint32(shift)) ^ high) & jnp.uint32(mask)
        halves = jnp.stack([low ^ (swapped << jnp.uint32(shift)), high ^ swapped], axis=2)
        blocks = halves.reshape(-1, 32, limbs)
    columns = jnp.moveaxis(blocks[:, :, ::-1], 2, 1).reshape(blocks.shape[0], 32 * limbs)
    return Columns(columns[:, :dimension], rows)
