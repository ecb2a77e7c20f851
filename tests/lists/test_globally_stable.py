"""The globally stable learner: its draws against a plain recursion, and its measured stability."""

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite, distributions
from dpjax.dimensions import families
from dpjax.experiments.sweep.task import Task
from dpjax.lists import Cells, GloballyStable
from dpjax.lists.version_spaces import block_bits
from dpjax.papers.measured_stability import stability
from dpjax.theory import global_stability as theory
from tests.lists.test_version_spaces import naive
from tests.oracles.irreducible import Stable

GOAL = dp.Accuracy(0.1, 0.05)


def draw(k, attempts, blocks, coins, oracle):
    """A draw of level k as a list of items, or None; takes blocks and coins from the front of iterators."""
    if k == 0:
        return []
    found = None
    for _ in range(attempts if k == 1 else 1):
        coin = coins.pop(0)
        sides = []
        for _ in (0, 1):
            own = blocks.pop(0)
            sides.append((draw(k - 1, attempts, blocks, coins, oracle), own))
        if found is not None or any(items is None for items, _ in sides):
            continue
        ends = [[*items, *own] for items, own in sides]
        guesses = [predict(items, own, oracle) for items, own in sides]
        differ = [x for x in oracle.points if (guesses[0] ^ guesses[1]) >> x & 1]
        if differ:
            x = differ[0]
            loser = 0 if guesses[0] >> x & 1 != coin else 1
            found = [*ends[loser], (x, coin)]
    return found


def coins_of(k, attempts):
    return 0 if k == 0 else (attempts if k == 1 else 1) * (1 + 2 * coins_of(k - 1, attempts))


def predict(items, block, oracle):
    space, overrides = naive(oracle.rows, [*items, *block])
    found = oracle.prediction(space)
    for x, y in [*overrides.items(), *block]:
        found = (found & ~(1 << x)) | (y << x)
    return found


@pytest.mark.parametrize(
    ("matrix", "attempts"),
    [
        (families.points(4), 3),
        (families.thresholds(5), 2),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((families.thresholds(2), 1), (families.points(5, 2), 1), (families.intervals(3), 2))
        ),
    ],
)
def test_every_draw_is_that_of_a_plain_recursion(matrix, attempts):
    """Of all levels, with labels that no concept fits among the blocks."""
    lists, oracle = GloballyStable(Finite.of(matrix), attempts), Stable(matrix)
    plan, d, width = lists.plan(GOAL), lists.dimension, np.shape(matrix)[1]
    generator, run = np.random.default_rng(8), jax.jit(lists._draw, static_argnums=0)
    exist = 0
    for trial in range(30):
        k = trial % (d + 1)
        number = theory.blocks(k, attempts) - 1
        counts = generator.poisson(0.4, (number, width, 2)) * generator.integers(0, 2, (number, width, 1))
        if trial % 2:
            label = np.asarray(matrix)[generator.integers(len(matrix))]
            counts = np.where(np.arange(2) == label[:, None], counts, 0)
        blocks = [[(x, int(c[x, 1] > c[x, 0])) for x in range(width) if c[x].sum()] for c in counts]
        tosses = generator.integers(0, 2, 256)
        seen, labels = block_bits(np.asarray(counts, np.int32).reshape(number, width, 2))
        needed = coins_of(k, attempts)
        state, drawn = run(k, seen, labels, tosses[:needed].astype(np.int32), plan)
        items = draw(k, attempts, list(blocks), tosses[:needed].tolist(), oracle)
        assert bool(drawn) == (items is not None)
        if items is not None:
            exist += k > 0
            space, overrides = naive(oracle.rows, items)
            assert int(state.space) == sum(1 << i for i in space)
            assert int(state.patched) == sum(1 << x for x in overrides)
            assert int(state.value) & int(state.patched) == sum(y << x for x, y in overrides.items())
    assert exist > 2


def test_the_output_is_consistent_with_the_last_block():
    lists = GloballyStable(Finite.of(families.thresholds(6)))
    plan, generator = lists.plan(GOAL), np.random.default_rng(9)
    elements = np.arange(6, dtype=np.uint32)[:, None]
    run = jax.jit(lambda key, counts: lists.names(key, Cells(elements, counts), plan))
    for trial in range(30):
        counts = generator.poisson(0.5, (len(plan.ends), 6, 2)).astype(np.int32)
        name, filled = run(jax.random.key(trial), counts)
        seen, labels = block_bits(counts[-1])
        assert filled[0] and (int(name[0, 0]) & int(seen)) == (int(labels) & int(seen))


TINY, SMALL = families.thresholds(2), families.thresholds(6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("matrix", "alpha", "trials"),
    [
        (TINY, 0.1, 400),
        *(
            pytest.param(*case, 400, marks=pytest.mark.slow)
            for case in ((families.points(12), 0.1), (SMALL, 0.1), (SMALL, 0.5))
        ),
        *(
            pytest.param(*case, 4000, marks=pytest.mark.slow)
            for case in ((families.points(12), 0.3), (families.points(5, 2), 0.3), (SMALL, 0.3), (SMALL, 0.9))
        ),
    ],
)
def test_some_function_is_as_frequent_as_the_bound_says(matrix, alpha, trials):
    """Fails by chance with probability at most .005 for each target, if the bound is just attained."""
    concepts = Finite.of(matrix)
    lists, generator = GloballyStable(concepts), np.random.default_rng(10)
    for target in range(0, concepts.size, 3):
        mass = distributions.zipf(concepts.domain, concepts.width, float(generator.uniform(0, 2)))
        found = stability(lists, Task(concepts, mass, [target]), dp.Accuracy(alpha, 0.1), trials=trials)
        assert found.high >= lists.eta and found.trials == trials // 2
        assert found.longest <= 1
        assert found.error <= alpha or found.frequency < lists.eta
