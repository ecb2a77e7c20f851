"""Laws of slab wedges on small lattices by enumeration, in NumPy; instances; and draws to compare with them."""

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.mechanisms.cover import SlabWedges
from dpjax.mechanisms.cover.lines.cuts import cut_hits
from dpjax.mechanisms.cover.score import Floored
from dpjax.mechanisms.cover.slabs.rejection import Sizes
from dpjax.mechanisms.cover.slabs.selection import select_wedge

D, ROWS = 5, 6
FAMILY = SlabWedges(D, bits=2, sizes=Sizes(boxes=256, batch=4, points=4, depth=2))


def instance(seed):
    """Points, roles (0 ignored, 1 target, 2 other), share, coefficient, and the floor of the score, if any."""
    rng = np.random.default_rng([seed, 1])
    d = int(rng.integers(1, D + 1))
    points = rng.integers(0, d + 1, (ROWS, 2))
    if seed % 4 == 0:  # some rows at one point, with both labels
        points[: rng.integers(2, ROWS)] = points[0]
    role = np.where(rng.random(ROWS) < 0.1, 0, 2 - (rng.random(ROWS) < 0.6))
    if seed % 11 == 5:
        role = np.zeros(ROWS, int)
    share = [-0.5, 0.4, 1.0, 1.7, 2.0, 3.0, 20.0][seed % 7]
    coefficient = 0.0 if seed % 13 == 3 else 3 * rng.random()
    return points.astype(np.int32), role, share, coefficient, [-np.inf, -1.0, -np.inf, -4.0][seed // 2 % 4]


def dichotomies(points, bits, upper):
    """Patterns of rows (bits) that the lines of one side keep, and their mass, from the definition of the measure."""
    one, masses = 1 << bits, {}
    for chart, low, high, above in [(0, -one, one, True), (1, 0, one, False), (1, -one, 0, True)]:
        for s in range(low, high):
            weight = (1 + (s / one) ** 2) ** -1.5
            values = points[:, 1 - chart] * one - s * points[:, chart]
            for t in range(-D * one, 2 * D * one + 2):
                keeps = (values >= t) == (above != upper)
                pattern = int(keeps @ (1 << np.arange(ROWS)))
                masses[pattern] = masses.get(pattern, 0.0) + weight
    return np.array(sorted(masses)), np.array([masses[one] for one in sorted(masses)])


PAIRS = np.array([(a, b) for a in range(D + 1) for b in range(a, D + 1)])


def law(points, role, share, coefficient, least, bits=2):
    """(lower, upper, pair, mass, T, O): of all classes of wedges; masses are normalized. And the log of their sum."""
    (low, of_low), (up, of_up) = (dichotomies(points, bits, upper) for upper in (False, True))
    between = (PAIRS[:, :1] <= points[:, 0]) & (points[:, 0] <= PAIRS[:, 1:])
    slab = between @ (1 << np.arange(ROWS))
    kept = low[:, None, None] & up[None, :, None] & slab
    rows = (kept[..., None] >> np.arange(ROWS)) & 1
    targets, others = rows @ (role == 1), rows @ (role == 2)
    weight = np.logaddexp(coefficient * np.minimum(targets - share, -others), least)
    logs = np.log(of_low)[:, None, None] + np.log(of_up)[:, None] + weight
    total = np.logaddexp.reduce(logs, axis=None)
    return low, up, np.exp(logs - total), targets, others, total


def sampler(family=None):
    """A jitted (keys, points, target, other, share, coefficient, least) -> (patterns of both lines ``[keys, 2]``, ends
    of the interval, whether it is a piece, steps)."""
    family = family or FAMILY

    def draw(keys, points, target, other, share, coefficient, least):
        def one(key):
            score = Floored(*(jnp.asarray(part, jnp.float64) for part in (coefficient, share, least)))
            cut, piece, steps, _ = select_wedge(family, key, points, target, other, score)
            parts = [jax.tree.map(lambda part, i=i: part[i], cut) for i in range(4)]
            kept = jnp.stack([cut_hits(family.planes, part, points) for part in parts[2:]])
            pattern = jnp.sum(jnp.where(kept, 1 << np.arange(ROWS, dtype=np.int32)[None], 0), axis=1)
            return pattern, jnp.stack([part.t for part in parts[:2]]), piece, steps

        with jax.enable_x64(True):
            return jax.vmap(one)(keys)

    return jax.jit(draw)


def draws(run, seed, count, many=512):
    """Places of (lower pattern, upper pattern, pair) among those of `law`, and steps, of so many draws."""
    points, role, *numbers = instance(seed)
    low, up, *_ = law(points, role, *numbers)
    made = []
    for part in range(count // many):
        keys = jax.random.split(jax.random.key(1000 * seed + part), many)
        pattern, ends, _, steps = jax.tree.map(np.asarray, run(keys, points, role == 1, role == 2, *numbers))
        a, b = ((ends[:, i].astype(np.uint64) @ np.array([2**32, 1], np.uint64)) >> np.uint64(57) for i in range(2))
        assert np.isin(pattern[:, 0], low).all() and np.isin(pattern[:, 1], up).all()
        place = np.searchsorted(low, pattern[:, 0]), np.searchsorted(up, pattern[:, 1])
        number = np.zeros((D + 1, D + 1), int)
        number[tuple(PAIRS.T)] = np.arange(len(PAIRS))
        made.append((*place, number[a.astype(int), b.astype(int) - 1], steps))
    return [np.concatenate(column) for column in zip(*made, strict=True)]
