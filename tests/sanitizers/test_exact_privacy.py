"""Privacy, exactly: every database of a small world, every neighbour, the algorithm's own draws."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.audit.outcomes import exact_table
from dpjax.core.types import Privacy
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import plan_exponential
from dpjax.sanitizers import (
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    RankBlocks,
    RecursiveQuantiles,
    Slices,
)
from dpjax.sanitizers.hierarchy import Parts, leaf_counts, median_tree
from dpjax.sanitizers.quantiles import numbered

EPSILON, DELTA = 2.0, 1e-6
SIZES = (0, 1, 2, 4)
BITS = 2


def losses(sanitizer, world, *factors):
    """The largest |log P - log Q| over all neighbours and outputs, at each of these factors times EPSILON."""
    multisets, wide = world
    x, mask, pairs = multisets(4, *SIZES)
    count, key = len(x), jax.random.key(0)

    def run(base):
        rows, real, epsilon = base
        return sanitizer.sanitize(key, rows, real, wide(epsilon, DELTA)).points

    repeat = len(factors)
    bases = jnp.asarray(np.tile(x, (repeat, 1, 1))), jnp.asarray(np.tile(mask, (repeat, 1)))
    with jax.enable_x64(True):
        table = exact_table(run, (*bases, jnp.asarray(np.repeat(EPSILON * np.array(factors), count))), 4)
    return [largest(part, pairs) for part in np.split(table, repeat)]


def largest(table, pairs):
    one, other = table[pairs[:, 0]], table[pairs[:, 1]]
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(one - other)))


PURE = {  # with the least share of the claim that the worst pair is known to reach
    "blocks": (RankBlocks(2, plan_exponential(BITS, EPSILON / 2, 0.1)), 0.5),
    "independent": (IndependentQuantiles(2, BITS), 0.5),
    "recursive": (RecursiveQuantiles(2, BITS), 0.5),
    "recursive, ties told apart": (RecursiveQuantiles(1, BITS, ties=2), 0.5),
    "joint": (JointQuantiles(2, BITS), 0.5),
    "joint, ties told apart": (JointQuantiles(2, BITS, ties=1), 0.5),
}


LONG = ("recursive", "joint, ties told apart")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in PURE]
)
def test_pure_sanitizers_keep_their_claim(name, world):
    sanitizer, power = PURE[name]
    claim = sanitizer.guarantee(Privacy(EPSILON, DELTA))
    assert claim.epsilon <= EPSILON and claim.delta <= DELTA
    found, wrong = losses(sanitizer, world, 1.0, 1.02 / power)
    assert power * EPSILON <= found <= EPSILON * (1 + 1e-9)
    assert wrong > EPSILON  # a factor that somebody forgot


def test_recursion_at_the_price_of_one_part_a_level_is_caught(world):
    """A replaced row touches two parts a level; epsilon / levels each, right for an added row, is too much."""
    assert losses(RecursiveQuantiles(1, BITS), world, 2.0)[0] > 1.05 * EPSILON


@pytest.mark.slow
def test_the_hierarchy_keeps_its_claim_with_its_counts(world):
    """The supremum over trees and noisy counts: the tree's log-ratio, and the counts' distance over their scale.

    Of two levels; tests/audit has one level, always.
    """
    plan = Hierarchy(2, BITS, 0.4)
    found, wrong = hierarchy_losses(world, plan, 1.0, 1.5)
    assert 0.6 * EPSILON <= found <= EPSILON * (1 + 1e-9)
    assert wrong > EPSILON


def hierarchy_losses(world, plan, *factors):
    x, mask, pairs = world[0](4, *SIZES)
    repeat = len(factors)
    one = (1 - plan.counts) * EPSILON * np.repeat(factors, len(x)) / (2 * plan.levels)

    def run(base):
        rows, real, epsilon = base
        _, medians, exists = median_tree(jax.random.key(0), rows, real, epsilon, plan.levels, plan.bits)
        return medians, exists

    with jax.enable_x64(True):
        bases = jnp.asarray(np.tile(x, (repeat, 1, 1))), jnp.asarray(np.tile(mask, (repeat, 1))), jnp.asarray(one)
        table = exact_table(run, bases, 4)
    counts = exact_table_counts(run, (jnp.asarray(x), jnp.asarray(mask)), table.shape[1], plan)
    distance = np.sum(np.abs(counts[pairs[:, 0]] - counts[pairs[:, 1]]), axis=2)
    assert distance.max() == 2
    found = []
    for factor, part in zip(factors, np.split(table, repeat), strict=True):
        ratio = np.abs(part[pairs[:, 0]] - part[pairs[:, 1]])
        found.append(float(np.max(ratio + plan.counts * EPSILON * factor * distance / 2)))
    return found


def exact_table_counts(run, bases, outcomes, plan):
    """Leaf counts of every database in every tree, ``int[databases, outcomes, leaves]``, in the table's order."""
    trees = {}
    for values in itertools.product(range(4), repeat=3):
        tree = tree_of(values)
        trees[tuple(np.asarray(leaf).tobytes() for leaf in tree[1:])] = tree
    # the table orders outcomes by their bytes: medians first, then whether they are real
    order = sorted(trees, key=lambda entry: b"".join(entry))
    assert len(order) == outcomes
    count = jax.jit(jax.vmap(lambda x, mask, tree: leaf_counts(x, mask, *tree), (0, 0, None)))
    return np.stack([np.asarray(count(*bases, trees[entry])) for entry in order], axis=1)


def tree_of(values):
    """The tree that medians ``values`` (root, left, right) make, clipped into their parts."""
    parts = Parts.whole(BITS, None)
    levels, real = [], []
    for at in (values[:1], values[1:]):
        low, high = (np.asarray(end)[:, 0].astype(int) for end in (parts.low, parts.high))
        at = np.minimum(np.maximum(np.array(at), low), high)
        levels.append(at)
        real.append(np.asarray(parts.alive))
        parts = parts.split(jnp.asarray(at[:, None].astype(np.uint32)))
    medians = np.array([levels[1][0], levels[0][0], levels[1][1]], np.uint32)[:, None]
    return parts, jnp.asarray(medians), jnp.asarray([real[1][0], real[0][0], real[1][1]])


SLICES = Slices(2, BITS, 1.5, 0.05)


def slices_delta(world, n, plan):
    """The hockey stick at the plan's epsilon, with the law of the one random length summed out."""
    x, mask, pairs = world[0](4, n)
    lengths = np.arange(n + 1)
    stay = math.exp(-plan.rate)
    law = np.append((1 - stay) * stay ** lengths[:-1], stay**n)
    key = jax.random.key(0)

    def run(base):
        rows, real, length = base
        return plan.of_lengths(key, rows, real, jnp.stack([length, jnp.int32(0)])).points

    count = len(x)
    bases = (
        jnp.asarray(np.repeat(x, n + 1, 0)), jnp.asarray(np.repeat(mask, n + 1, 0)),
        jnp.asarray(np.tile(lengths, count).astype(np.int32)),
    )  # fmt: skip
    table = exact_table(run, bases, 4).reshape(count, n + 1, -1)
    with np.errstate(divide="ignore"):
        mixed = np.log(np.einsum("dlo,l->do", np.exp(table), law))
    return max(
        float(hockey_stick(mixed[i][None], mixed[j][None], np.array([plan.epsilon]))[0]) for i, j in pairs
    ), largest(mixed, pairs)  # fmt: skip


def test_slices_keep_their_claim(world):
    claim = SLICES.guarantee()
    assert claim.epsilon <= SLICES.epsilon and claim.delta <= SLICES.delta
    delta, loss = slices_delta(world, 4, SLICES)
    assert delta <= SLICES.delta
    assert loss > 0.02


def test_slices_with_a_rate_too_large_are_caught(world, monkeypatch):
    monkeypatch.setattr(Slices, "rate", 4.0)
    assert slices_delta(world, 4, SLICES)[0] > SLICES.delta


@pytest.mark.parametrize("ties", [0, 1, 3])
def test_numbering_equal_rows_keeps_neighbours(ties, world):
    """A row more is one element more: multisets of (value, number) differ by one."""
    x, _, _ = world[0](4, 4)
    found = []
    for n in (3, 4):
        rows, _ = jax.vmap(lambda r: numbered(B.sort_rows(r, jnp.arange(5) < n), jnp.int32(n), 2, ties))(x)  # noqa: B023
        found.append(np.asarray(rows)[..., 0])
        assert np.all(np.diff(found[-1][:, :n].astype(int), axis=1) >= (1 if ties == 3 else 0))
        np.testing.assert_array_equal(found[-1][:, :n] >> ties, np.sort(x[:, :n, 0], axis=1))
    for less, more in zip(found[0][:, :3], found[1][:, :4], strict=True):
        rest = list(more)
        for value in less:
            rest.remove(value)
        assert len(rest) == 1
