"""Bounds by groups of rows: at least the exact sum over (a, b), at most some nats more, at every share and rate."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.boxes import upper_bound
from dpjax.mechanisms.cover.slabs.groups import LEAST, MOST, Groups, Parts, log_bound
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Widths
from dpjax.mechanisms.cover.slabs.ordered import GROUP, Ordered
from dpjax.mechanisms.cover.slabs.pairs import reachable, sums

ROWS, DEPTH = 300, 2


@partial(jax.jit, static_argnames="d")
def totals(x, role, keep, share, coefficient, d):
    """For each node, the log of the exact sum, its bound by groups, and the least bound, for rows that are kept."""
    points = jnp.stack([x, jnp.zeros_like(x)], axis=1)
    rows = Ordered.of(points, role == 1, role == 2)
    score = reachable(Score(coefficient, share), rows)
    nodes = Nodes.of(rows, d, DEPTH)
    groups = Groups.of(rows, nodes)
    kept = keep[rows.points[0].astype(jnp.int32) % keep.shape[0]]
    grouped = kept.reshape(-1, GROUP).T
    fewer = jnp.exp(-jnp.minimum(coefficient, MOST))

    def one(place):
        node = nodes.at(place)
        exact = sums(Widths.of(rows, node), rows.target & kept, rows.other & kept, score)
        parts = Parts.of(groups.a[place], groups.b[place], groups.target & grouped, groups.other & grouped, fewer)
        return exact.log_total(coefficient), log_bound(groups, place, parts, score), groups.every[place] + LEAST

    return jax.vmap(one)(jnp.arange(nodes.exists.shape[0], dtype=jnp.int32))


def test_bounds_are_above_the_sums_and_near_them():
    covered = 0
    with jax.enable_x64(True):
        for seed in range(60):
            rng = np.random.default_rng(seed)
            d = [11, 1023, 2**40][seed % 3]
            x = rng.integers(0, d + 1, ROWS).astype(np.uint64)
            if seed % 4 == 0:
                x = rng.choice(x[:5], ROWS)
            role = rng.integers(0, 3, ROWS) if seed % 5 else np.where(x < d // 2, 1, 2)
            share = [0.0, 0.5, 2.0, 7.5, 30.0, 80.0, 1e9][seed % 7]
            coefficient = [0.0, 0.05, 0.5, 5.0, 64.0][seed // 7 % 5]
            keep = rng.random(16) < 0.7
            exact, bound, least = map(np.asarray, totals(x, role, keep, share, jnp.float64(coefficient), d))
            some = exact > -np.inf
            assert not np.isnan(bound).any() and (some == (bound > -np.inf)).all()
            used = np.asarray(upper_bound(SimpleNamespace(rounding=2.0**-48 * (ROWS + 1) ** 2), jnp.asarray(bound)))
            assert (used[some] >= exact[some]).all(), (seed, exact, bound)
            most = np.maximum(exact + 2 * GROUP * coefficient, least + 1)
            assert (bound[some] <= most[some] + 1e-6).all(), (seed, exact, bound)
            covered += some.sum()
    assert covered > 200
