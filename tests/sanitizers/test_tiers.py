"""Counts in tiers: neighbors, corrected sums, moments of the noise, and rows that suffice."""

import math

import jax
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers import Hierarchy, WindowHierarchy
from dpjax.sanitizers.hierarchy import consistent, in_tiers
from dpjax.theory import hierarchy as sizes

PRIVACY = Privacy(1.0, 1e-6)
SHAPES = [(levels, tiers) for levels in (1, 2, 4) for tiers in (1, 2, 3, 4) if tiers <= levels + 1]


def test_tiers_have_all_leaves():
    assert sizes.fanouts(4, 1) == (31,) and sizes.fanouts(6, 2) == (8, 16) and sizes.fanouts(9, 3) == (8, 8, 16)
    for levels, tiers in SHAPES:
        leaves, fanouts = 2 ** (levels + 1) - 1, sizes.fanouts(levels, tiers)
        assert len(fanouts) == tiers and min(fanouts) >= 2 and math.prod(fanouts) == leaves + (tiers > 1)


@pytest.mark.parametrize(("levels", "tiers"), SHAPES)
def test_a_replaced_row_moves_at_most_two_counts_of_each_tier(levels, tiers):
    """Every pair of leaves; some pair moves two of each, so a sensitivity of 2 tiers is none too large."""
    leaves, fanouts = 2 ** (levels + 1) - 1, sizes.fanouts(levels, tiers)
    one = np.asarray(jax.vmap(lambda row: in_tiers(row, fanouts))(np.eye(leaves, dtype=np.int32)))
    assert one.sum() == leaves * tiers
    moved = np.abs(one[:, None] - one[None]).sum(-1)
    assert moved.max() == 2 * tiers


@pytest.mark.parametrize(("levels", "tiers"), SHAPES)
def test_sums_are_off_by_the_corrected_noise(levels, tiers):
    """Noise of the sums as the proof writes it, in floating point; without noise the counts come back."""
    generator, fanouts = np.random.default_rng(levels), sizes.fanouts(levels, tiers)
    leaves, linear = 2 ** (levels + 1) - 1, corrected(levels, tiers)
    run = jax.jit(lambda counts, n: consistent(counts, n, fanouts))
    for scale in (0.0, 1.0, 9.0, 300.0):
        counts = (generator.integers(0, 90, leaves) * generator.integers(0, 2, leaves)).astype(np.int32)
        true = np.asarray(in_tiers(counts, fanouts))
        noise = np.rint(generator.laplace(0, scale, len(true))).astype(np.int32)
        weights = np.asarray(run(true + noise, np.int32(counts.sum())))
        assert weights.min() >= 0 and weights.sum() == counts.sum()
        off = np.abs(np.cumsum(weights) - np.cumsum(counts)).max()
        assert off <= np.abs(linear @ noise).max() + (tiers if scale else 0)


def corrected(levels, tiers):
    """The matrix from the noise of all counts to that of the corrected running sums of the leaves."""
    fanouts = sizes.fanouts(levels, tiers)
    nodes = [math.prod(fanouts[: tier + 1]) for tier in range(tiers)]
    ends, at = np.zeros((2, sum(nodes))), 0
    for f, many in zip(fanouts, nodes, strict=True):
        rows = [np.zeros(sum(nodes))]
        for node in range(many // f):
            own = np.zeros((f + 1, sum(nodes)))
            for i in range(1, f + 1):
                own[i:, at + node * f + i - 1] = 1
            for i in range(1, f + 1):
                part = i / f
                rows.append(own[i] - part * own[f] + (1 - part) * ends[node] + part * ends[node + 1])
        ends, at = np.array(rows), at + many
    return ends[1 : 2 ** (levels + 1)]


@pytest.mark.parametrize(("levels", "tiers"), SHAPES)
@pytest.mark.parametrize("scale", [0.3, 5.0])
def test_the_moments_of_the_noise_are_bounded(levels, tiers, scale):
    """Exact for one tier; for more the bound uses that a sum is between two of the tier above, and little is lost."""
    fanouts, linear = sizes.fanouts(levels, tiers), corrected(levels, tiers)
    u = np.array([0.2, 0.9]) * sizes._pole(fanouts, scale)
    logs = [sizes._log_moment(each * np.abs(linear), scale).sum(axis=1) for each in u]
    inner = [2 * np.exp(each[np.abs(linear).sum(axis=1) > 0]).sum() for each in logs]
    exact, bound = np.log(inner), sizes._log_sum_of_noise(u, fanouts, scale)
    if tiers == 1:
        np.testing.assert_allclose(bound, exact, rtol=1e-9)
    else:
        assert (exact <= bound + 1e-9).all() and bound[0] - exact[0] < 0.3
    values, mass = sizes._largest_by_moments(fanouts, scale)
    assert mass.min() >= 0 and mass.sum() == pytest.approx(1) and mass[-1] < 1e-14
    noise = np.rint(np.random.default_rng(1).laplace(0, scale, (20000, linear.shape[1])))
    largest = np.abs(noise @ linear.T).max(axis=1)
    for x in np.quantile(largest, [0.5, 0.9, 0.99]):
        assert mass[values > x].sum() >= np.mean(largest > x) - 0.02


def test_no_more_rows_than_with_one_tier_and_half_as_many_in_the_end():
    """The numbers of docs/proofs/hierarchy.md#tiers."""
    found = {}
    for bits, alpha in ((8, 0.2), (32, 0.003)):
        for made in (Hierarchy, WindowHierarchy):
            rows = [made(bits, tiers=tiers).sample_size(PRIVACY, Accuracy(alpha, 0.1)) for tiers in (None, 1)]
            assert rows[0] <= rows[1]
            found[bits, alpha, made] = rows
    assert found[32, 0.003, Hierarchy] == [281714, 425586]
    assert found[32, 0.003, WindowHierarchy] == [905824, 1262436]


@pytest.mark.parametrize("tiers", [1, 2, 4])
def test_the_budget_is_spent(tiers):
    """A guarantee adds up what runs: no more than the budget, and nearly all of it."""
    for made in (Hierarchy, WindowHierarchy):
        sanitizer = made(8, levels=3, tiers=tiers)
        spent = sanitizer.guarantee(sanitizer.plan(PRIVACY, Accuracy(0.2, 0.1)))
        assert 0.999 < spent.epsilon <= 1 and spent.delta <= 1e-6


def test_tiers_that_the_levels_do_not_have_are_refused():
    with pytest.raises(InputError, match="tiers"):
        Hierarchy(8, tiers=5)
    for made in (Hierarchy, WindowHierarchy):
        with pytest.raises(InputError, match="at most 3, levels"):
            made(8, levels=2, tiers=4).plan(PRIVACY, Accuracy(0.2, 0.1))
        assert made(8, tiers=4).plan(PRIVACY, Accuracy(0.4, 0.1)).tiers == 4
