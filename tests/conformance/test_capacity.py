"""The same key, plan and rows give the same bits in every buffer, also in the tails of the noise.

Under add-or-remove-one the number of rows is private, and so is any capacity that follows from it. Small budgets
and thousands of keys reach draws that are larger than the buffer.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax import evidence
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.evidence.sanitizers import SMALL
from dpjax.learners import StableNodes, StablePoints, database
from dpjax.mechanisms import shuffle

KEYS, ROWS = 2000, 11
BUDGETS = (Privacy(0.05, 0.2), Privacy(0.5, 0.2))
ACCURACY = Accuracy(0.1, 0.9)
QUICK = {"kln-added", "stable-points-added", "sanitizer-points"}


def grown(x, y, capacity):
    """Rows in a larger buffer with garbage behind them."""
    garbage = np.random.default_rng(0)
    lacking = capacity - len(x)
    more = garbage.integers(0, 2**32, (lacking, *x.shape[1:]), dtype=np.uint32)
    labels = garbage.random((lacking, *y.shape[1:])) < 0.5
    mask = jnp.arange(capacity) < len(x)
    return Sample(jnp.asarray(np.concatenate([x, more])), jnp.asarray(np.concatenate([y, labels])), mask)


def require_same_bits(run, x, y, plans):
    keys = jax.random.split(jax.random.key(7), KEYS)
    found = []
    for capacity in (ROWS, 16 * ROWS):
        program = jax.jit(jax.vmap(run, (0, None, None)))
        own = grown(x, y, capacity)
        found.append([jax.tree.map(np.asarray, program(keys, own, plan)) for plan in plans])
    for other in found[1:]:
        for one, same in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
            differs = np.any((one != same).reshape(KEYS, -1), axis=1).sum()
            assert differs == 0, f"{differs} of {KEYS} keys"


def rows_of(domain, columns):
    number = np.random.default_rng(1).integers(0, domain.size, ROWS)
    side = getattr(domain, "d", None)
    values = [int(v) for v in number] if side is None else [(int(v) % (side + 1), int(v) // (side + 1)) for v in number]
    labels = np.random.default_rng(2).integers(0, 2, (ROWS, columns))
    made = database(domain, values, labels)
    return np.asarray(made.x), np.asarray(made.y)


def marked(names):
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", marked(evidence.learner_names()))
def test_a_learner_gives_the_same_bits_in_every_buffer(name):
    world = evidence.learner_world(name)
    learner = world.learner
    rows = rows_of(learner.concepts.domain, world.k * learner.concepts.columns)
    require_same_bits(learner.learn, *rows, [learner.plan(budget, ACCURACY, ROWS) for budget in BUDGETS])


@pytest.mark.parametrize("name", marked(SMALL))
def test_a_sanitizer_gives_the_same_bits_in_every_buffer(name):
    sanitizer = SMALL[name]

    def run(key, sample, plan):
        return sanitizer.sanitize(key, sample.x, sample.mask, plan)

    x = np.random.default_rng(3).integers(0, 4, (ROWS, 1), dtype=np.uint32)
    plans = [sanitizer.plan(budget, Accuracy(0.5, 0.1)) for budget in BUDGETS]
    require_same_bits(run, x, np.zeros((ROWS, 0), bool), plans)


@pytest.mark.parametrize(
    "relation", [Neighboring.ADD_OR_REMOVE_ONE, pytest.param(Neighboring.REPLACE_ONE, marks=pytest.mark.slow)]
)
def test_noisy_counts_beyond_the_buffer_are_compared_as_they_are(relation):
    """Two heavy values: which one is released with the larger count does not depend on the buffer."""
    learner = StablePoints(dp.Points(dp.Domain(4)), relation)
    made = database(learner.concepts.domain, [0] * 6 + [3] * 5, [1] * ROWS)
    rows = np.asarray(made.x), np.asarray(made.y)
    require_same_bits(learner.learn, *rows, [learner.plan(b, ACCURACY) for b in BUDGETS])
    tree = StableNodes(dp.Tree.of_parents([0, 0, 1]), relation)
    rows = rows_of(tree.concepts.domain, 1)
    require_same_bits(tree.learn, *rows, [tree.plan(b, ACCURACY) for b in BUDGETS])


def test_few_rows_in_a_very_large_buffer_have_the_order_of_a_small_one():
    """Beyond 2^20 rows an order is sorted in another way."""
    key, rows = jax.random.key(3), jnp.int32(1000)
    few = np.asarray(shuffle.Shuffle(rows, 1 << 12).sample(key))
    many = np.asarray(shuffle.Shuffle(rows, (1 << 20) + 1).sample(key))
    assert np.array_equal(few[:1000], many[:1000]) and np.array_equal(many[1000:], np.arange(1000, len(many)))
