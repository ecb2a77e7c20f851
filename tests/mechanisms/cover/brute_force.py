"""Laws of cuts by summing over a fine grid of theta, each with its exact gaps; and draws to compare with them."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.mechanisms.cover.lines.rejection import select_cut
from dpjax.mechanisms.cover.score import Score


def masses(values, low, high, weight):
    """Of hit patterns (bits), both signs: values ``[G, n]``, ends ``[G]`` and weights ``[G]`` of theta."""
    n = values.shape[1]
    order = np.argsort(values, axis=1)
    ends = np.clip(np.take_along_axis(values, order, 1), low[:, None], high[:, None])
    ends = np.concatenate([low[:, None], ends, high[:, None]], axis=1)
    lengths = np.diff(ends, axis=1) * weight[:, None]
    bits = np.concatenate([np.zeros((len(values), 1), int), np.cumsum(1 << order, axis=1)], axis=1)  # below the gap
    under = np.bincount(bits.reshape(-1), lengths.reshape(-1), 2**n)
    return under + under[::-1]  # both signs: a pattern and its complement


def gaps(values, low, high, weight, target, other, share, coefficient):
    """Law over hit patterns; multiplicities."""
    return law(masses(values, low, high, weight), target, other, share, coefficient)


def law(masses, target, other, share, coefficient):
    """Law over hit patterns of these masses."""
    n = len(masses).bit_length() - 1
    hit = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    q = np.minimum(hit @ target - share, -(hit @ other))
    weights = np.where(masses > 0, masses * np.exp(coefficient * (q - q.max())), 0)
    return weights / weights.sum()


def middles(low, high, count):
    """``count`` midpoints of [low, high] and the length of each part."""
    return low + (high - low) * (np.arange(count) + 0.5) / count, (high - low) / count


@lru_cache(maxsize=64)
def selector(family, many=1):
    """A jitted (keys [many], x, target, other, budget, coefficient) -> (cuts, hits, rounds), a key at a time; k = 2."""

    def draw(keys, x, target, other, budget, coefficient):
        def one(key):
            cut, rounds = select_cut(
                family,
                key,
                x,
                target,
                other,
                Score.of(budget, 2, coefficient),
                bins=family.bins,
                spare=family.spare,
                walls=family.walls,
            )
            return cut, family.hits(cut, x), rounds

        return jax.lax.map(one, keys)

    return jax.jit(draw)


def draws(family, points, target, other, share, coefficient, count, seed=0, many=100):
    """(cuts, hits, rounds) of so many keys, in calls of ``many``, on the host."""
    keys = jax.random.split(jax.random.key(seed), count)
    data = (of_rows(points), jnp.asarray(target), jnp.asarray(other))
    numbers = (jnp.float32(2 * share), jnp.float32(coefficient))
    parts = [selector(family, many)(keys[i : i + many], *data, *numbers) for i in range(0, count, many)]
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *parts)


def of_rows(points):
    """Elements with two words a coordinate as they are, coordinates as ``int32``."""
    return jnp.asarray(points, jnp.uint32 if np.shape(points)[1] == 4 else jnp.int32)


def patterns(hits):
    """Bits of the rows that each cut hits, ``int[draws]``."""
    return hits @ (1 << np.arange(hits.shape[1]))


def compare(stats, family, points, target, other, share, coefficient, law, count, seed=0):
    """Chi-square of draws against a law over patterns."""
    hits = draws(family, points, target, other, share, coefficient, count, seed)[1]
    stats.chi_square(np.bincount(patterns(hits), minlength=len(law)), law)
