"""Privacy, exactly: every database of a small world, every neighbor, the program that runs."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.audit.enumeration.outcomes import exact_table
from dpjax.core import bit_strings as B
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers import Hierarchy, IndependentQuantiles, JointQuantiles, RankBlocks, RecursiveQuantiles, Slices
from dpjax.sanitizers.quantiles import numbered

EPSILON, DELTA = 2.0, 1e-6
ACCURACY = Accuracy(0.5, 0.1)
SIZES = (0, 1, 2, 4)
BITS = 2


def points(sanitizer):
    return lambda key, base, plan: sanitizer.sanitize(key, *base, plan).points


def losses(sanitizer, world, *factors, sizes=SIZES):
    """The largest |log P - log Q| over all neighbors and outputs, planned at each of these factors times EPSILON."""
    x, mask, pairs = world(4, *sizes)
    found = []
    for factor in factors:
        plan = widened(sanitizer.plan(Privacy(EPSILON * factor, DELTA), ACCURACY))
        found.append(largest(exact_table(points(sanitizer), (jnp.asarray(x), jnp.asarray(mask)), plan), pairs))
    return found


def largest(table, pairs):
    one, other = table[pairs[:, 0]], table[pairs[:, 1]]
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(one - other)))


PURE = {  # with the least share of the claim that the worst pair is known to reach
    "blocks": (RankBlocks(BITS, blocks=2), 0.5),
    "independent": (IndependentQuantiles(BITS, count=2), 0.5),
    "recursive": (RecursiveQuantiles(BITS, levels=2, ties=0), 0.5),
    "recursive, ties told apart": (RecursiveQuantiles(BITS, levels=1, ties=2), 0.5),
    "joint": (JointQuantiles(BITS, count=2, ties=0), 0.5),
    "joint, ties told apart": (JointQuantiles(BITS, count=2, ties=1), 0.5),
}
LONG = ("recursive", "joint", "joint, ties told apart")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in PURE]
)
def test_pure_sanitizers_keep_their_claim(name, world):
    sanitizer, power = PURE[name]
    found, wrong = losses(sanitizer, world, 1.0, 1.02 / power)
    assert power * EPSILON <= found <= EPSILON * (1 + 1e-9)
    assert wrong > EPSILON  # a forgotten factor


def test_recursion_at_the_price_of_one_part_a_level_is_caught(world):
    """A replaced row touches two parts a level; epsilon / levels each, right for an added row, is too much."""
    assert losses(RecursiveQuantiles(BITS, levels=1, ties=0), world, 2.0)[0] > 1.05 * EPSILON


def test_the_hierarchy_keeps_its_claim_with_its_counts(world):
    """Points and weights, which are made from whole noisy counts."""
    sanitizer, (x, mask, pairs) = Hierarchy(BITS, levels=1, counts=0.4), world(4, 1, 2)

    def run(key, base, plan):
        made = sanitizer.sanitize(key, *base, plan)
        return made.points, made.weights

    found = []
    for factor in (1.0, 1.8):
        plan = widened(sanitizer.plan(Privacy(EPSILON * factor), ACCURACY))
        found.append(largest(exact_table(run, (jnp.asarray(x[:, :2]), jnp.asarray(mask[:, :2])), plan), pairs))
    assert 0.6 * EPSILON <= found[0] <= EPSILON * (1 + 1e-9)
    assert found[1] > EPSILON


def slices_delta(world, plan, epsilon):
    """The hockey stick at epsilon, and the largest log-ratio."""
    x, mask, pairs = world(4, 4)
    table = exact_table(points(Slices(BITS, count=2)), (jnp.asarray(x), jnp.asarray(mask)), plan)
    return max(float(hockey_stick(table[i][None], table[j][None], np.array([epsilon]))[0]) for i, j in pairs), largest(
        table, pairs
    )


def test_slices_keep_their_claim(world):
    sanitizer = Slices(BITS, count=2)
    plan = sanitizer.plan(Privacy(1.5, 0.05), ACCURACY)
    claim = sanitizer.guarantee(plan)
    delta, loss = slices_delta(world, widened(plan), claim.epsilon)
    assert delta <= claim.delta <= 0.05 and claim.epsilon <= 1.5
    assert loss > 0.02


def test_slices_with_a_rate_too_large_are_caught(world):
    large, plan = (Slices(BITS, count=2).plan(Privacy(e, 0.05), ACCURACY) for e in (30.0, 1.5))
    assert float(large.rate) > 4 * float(plan.rate)
    assert slices_delta(world, widened(dataclasses.replace(large, slack=plan.slack)), 1.5)[0] > 0.05


@pytest.mark.parametrize("ties", [0, 1, 3])
def test_numbering_equal_rows_keeps_neighbors(ties, world):
    """A row more is one element more: multisets of (value, number) differ by one."""
    x, _, _ = world(4, 4)
    found = []
    for n in (3, 4):
        of_rows = lambda r: numbered(B.sort_rows(r, jnp.arange(5) < n), jnp.int32(n), 2, ties)  # noqa: B023, E731
        rows, _ = jax.jit(jax.vmap(of_rows))(x)
        found.append(np.asarray(rows)[..., 0])
        assert np.all(np.diff(found[-1][:, :n].astype(int), axis=1) >= (1 if ties == 3 else 0))
        np.testing.assert_array_equal(found[-1][:, :n] >> ties, np.sort(x[:, :n, 0], axis=1))
    for less, more in zip(found[0][:, :3], found[1][:, :4], strict=True):
        rest = list(more)
        for value in less:
            rest.remove(value)
        assert len(rest) == 1
