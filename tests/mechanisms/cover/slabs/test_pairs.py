"""The sum over all (a, b): against brute force, at every share and rate, on gaps of every kind, without padding."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Widths
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import reachable, sums


@partial(jax.jit, static_argnames=("d", "depth"))
def totals(x, target, other, keep, share, coefficient, d, depth):
    """The nodes, log-sums of each for the rows of ``keep``, and the number of nodes."""
    points = jnp.stack([x, jnp.zeros_like(x)], axis=1)
    rows = Ordered.of(points, target, other)
    score = reachable(Score(coefficient, share), rows)
    nodes = Nodes.of(rows, d, depth)
    kept = keep[rows.points[0].astype(jnp.int32) % keep.shape[0]]

    def one(node):
        return sums(Widths.of(rows, node), rows.target & kept, rows.other & kept, score).log_total(score.coefficient)

    return nodes, jax.vmap(one)(nodes), score.share


def brute(nodes, place, x, target, other, share, coefficient):
    first, middle, last = (int(np.asarray(part)[place]) for part in (nodes.first, nodes.middle, nodes.last))
    leaf = np.asarray(nodes.leaf)[place]
    logs = {}
    for a in range(first, (last if leaf else middle) + 1):
        for b in range(a if leaf else middle + 1, last + 1):
            inside = (a <= x) & (x <= b)
            logs[a, b] = coefficient * min((inside & target).sum() - share, -(inside & other).sum())
    return logs


def case(seed, d=11, n=20):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, d + 1, n).astype(np.uint64)
    if seed % 3 == 0:
        x = np.sort(rng.choice([0, 3, 4, d], n)).astype(np.uint64)
    role = rng.integers(0, 3, n) if seed % 5 else np.zeros(n, int)
    keep = rng.random(16) < 0.7
    share = [-3.0, 0.0, 0.5, 1.0, 2.0, 3.7, 40.0, 1e9][seed % 8]
    return x, role == 1, role == 2, keep, share, [0.0, 0.3, 2.0, 64.0][seed // 8 % 4]


@pytest.mark.parametrize("depth", [0, 2])
def test_sums_are_those_of_all_pairs(depth):
    d, covered = 11, set()
    with jax.enable_x64(True):
        for seed in range(32):
            x, target, other, keep, share, coefficient = case(seed)
            nodes, found, runs = totals(x, target, other, keep, share, coefficient, d, depth)
            kept = keep[x.astype(int) % 16]
            pairs = []
            for place in range(2 ** (depth + 1) - 1):
                if not np.asarray(nodes.exists)[place]:
                    assert found[place] == -np.inf
                    continue
                logs = brute(nodes, place, x, target & kept, other & kept, float(runs), coefficient)
                pairs += logs
                expected = np.logaddexp.reduce(list(logs.values()))
                np.testing.assert_allclose(found[place], expected, rtol=1e-12, atol=1e-12)
                covered.add(bool(np.asarray(nodes.leaf)[place]))
            assert sorted(pairs) == [(a, b) for a in range(d + 1) for b in range(a, d + 1)]
    assert covered == ({True} if depth == 0 else {True, False})


def test_a_node_without_pairs_in_one_gap_at_a_large_rate():
    """All rows are at one place and no slab of the first node is without them: the weight is tiny, and a number."""
    d, share, coefficient = 7, 1.0, 64.0
    x, other = np.full(20, 3, np.uint64), np.ones(20, bool)
    with jax.enable_x64(True):
        nodes, found, runs = totals(x, ~other, other, np.ones(1, bool), share, coefficient, d, 2)
        logs = brute(nodes, 0, x, ~other, other, float(runs), coefficient)
        np.testing.assert_allclose(found[0], np.logaddexp.reduce(list(logs.values())), rtol=1e-12)
        assert not np.isnan(found).any()
