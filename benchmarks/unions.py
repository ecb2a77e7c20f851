"""One private piece of a union, of all triangles and rectangles: dpjax beside tables of running sums in NumPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks import halfplanes, peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.core import keys
from dpjax.mechanisms.cover import Pieces
from dpjax.mechanisms.cover.score import Score

_ROWS, _D, _MEMBERS, _COEFFICIENT = 6000, 2**10, 3, 0.05  # as in a round of `UnionLearner` at epsilon = 1
FAMILY = Pieces(_D)


def rows(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform rows ``int32[n, 2]``, which of them are inside of a polygon, and which outside."""
    x, outside, inside = (part[0] for part in halfplanes.rows(n))
    return x, inside, outside


def score(target: np.ndarray | Array) -> Score:
    """Of the first round."""
    return Score.of(jnp.sum(target).astype(jnp.float32), _MEMBERS, jnp.float32(_COEFFICIENT))


def chosen(key: Array, x: Array, target: Array, other: Array) -> Array:
    """dpjax: the rows that one choice hits, ``bool[n]``, from strips that are prepared."""
    return FAMILY.hits(FAMILY.select(key, x, target, other, score(target)), x)


def _ours() -> Work:
    x, *labels = map(jnp.asarray, rows(_ROWS))
    choose, strips = jax.jit(lambda trial, *data: chosen(keys.of_trial(keys.root(0), trial), *data)), FAMILY.prepare(x)
    turn = itertools.count()

    def work() -> int:
        jax.block_until_ready(choose(jnp.uint32(next(turn)), strips, *labels))
        return 1

    return work


def _numpy() -> Work:
    data = rows(_ROWS)
    choose = peers.numpy_pieces(FAMILY, *data, score(data[1]))

    def work() -> int:
        choose()
        return 1

    return work


def _against_numpy(seconds: float) -> Measured:
    return race(_ours(), _numpy(), seconds)


_TRIANGLES, _RECTANGLES = (family.size for family in FAMILY.families())
ROWS = (
    Row(
        "union-numpy",
        f"NumPy, sums in tables, {_ROWS} rows, {_TRIANGLES} triangles and {_RECTANGLES} rectangles",
        "choices/s",
        1.0,
        _against_numpy,
    ),
)
