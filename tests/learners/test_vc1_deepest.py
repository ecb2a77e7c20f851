"""ImproperVC1 by rows: the exact sample size, its events, what one row can change, and success where it is hardest."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from dpjax.concepts import Domain, Thresholds, distributions
from dpjax.concepts import tree_generators as trees
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.hard_tasks import gapped_thresholds, hard_thresholds
from dpjax.experiments.sweep.task import Task
from dpjax.learners import ImproperVC1
from dpjax.learners.vc1_improper import FEWEST
from dpjax.mechanisms.median import rank_quality
from dpjax.theory import vc1 as theory
from tests.trials import successes

PRIVACY, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
TREES = {"recursive": trees.recursive(60, 3, 0.7), "star": trees.star(9), "path": trees.path(30)}


def thresholds(bits, method="exponential"):
    return ImproperVC1(Thresholds(Domain(2**bits)), method)


def deep_atom(concepts, share):
    """As `gapped_thresholds`, with a share of the bottom mass behind another gap: as few rows there as votes wanted."""
    size, unit = concepts.domain.size, 2**40
    steps = min(1024, size // 8)
    below = -(-101 * unit // 1000)
    far = round(share * below)
    each = -(-(below - far) // steps)
    rest = unit - far - each * steps
    segments = [
        (0, 0, rest - rest // 2),
        (size // 3, size // 3 + steps - 1, each),
        (2 * size // 3, 2 * size // 3, far),
        (size - 1, size - 1, rest // 2),
    ]
    return Task(concepts, distributions.from_segments(concepts.domain, segments), [2 * size // 3])


def workloads(learner):
    design, steps = learner.design(PRIVACY, ACCURACY), min(1024, learner.concepts.size // 4)
    return {
        "one good threshold": hard_thresholds(learner.concepts, 0.1),
        "gapped": gapped_thresholds(learner.concepts, 0.1, steps),
        "votes behind a gap": deep_atom(learner.concepts, design.high / (0.101 * design.rows)),
    }


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize(("bits", "rows"), [(4, 1369), (16, 2061), (48, 3566), (64, 4234)])
def test_rows_of_the_theorem(bits, rows):
    learner = thresholds(bits)
    assert learner.sample_size(PRIVACY, ACCURACY) == rows == learner.design(PRIVACY, ACCURACY).rows
    assert thresholds(bits, "auto").sample_size(PRIVACY, ACCURACY) == min(rows, 3678)
    subsampled = ImproperVC1(learner.concepts, "exponential", FEWEST)
    assert rows < subsampled.sample_size(PRIVACY, ACCURACY) / 2


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("method", ["exponential", "recprefix", "treelog"])
def test_the_parts_of_beta_are_spent(method):
    """From the formulas: the tail of the rows, the median's failure and the choice's; one row fewer is not enough."""
    design = thresholds(20, method).design(PRIVACY, ACCURACY)
    tail = lambda n: binom.cdf(design.deep - 1, n, 0.1)  # noqa: E731
    rate = design.epsilon / 2
    silent = 1 / (1 + np.exp(rate * (design.high - 1) + np.log(min(design.delta, np.expm1(rate)))))
    parts = tail(design.rows), design.median.failure, silent
    assert 0.09 < sum(parts) <= 0.1
    assert any(parts[0] <= 0.1 * share < tail(design.rows - 1) for share in (0.25, 0.4, 0.55, 0.7))
    assert design.deep == design.high - 1 + design.median.interior
    assert design.median.epsilon + design.epsilon <= 1 and min(parts) > 0


def test_a_better_split_was_not_overlooked():
    """Over all splits of epsilon, at the splits of beta that were tried, by the formulas themselves."""
    size, best = 2**16, np.inf
    for share in np.linspace(0.1, 0.9, 81):
        for of_rows in np.linspace(0.1, 0.8, 8):
            for of_median in np.linspace(0.1, 0.9, 9):
                median, node = ((1 - of_rows) * part * 0.1 for part in (of_median, 1 - of_median))
                interior = np.ceil(4 / share * np.log(size / median))
                high = np.ceil(1 + 2 / (1 - share) * np.log(1 / (1e-6 * node)))
                best = min(best, theory.deepest(int(high - 1 + interior), 0.1, 0.1 * of_rows))
    assert thresholds(16).sample_size(PRIVACY, ACCURACY) <= 1.01 * best


def test_fewer_demands_fewer_rows():
    rows = lambda *given: thresholds(16).sample_size(Privacy(*given[:2]), Accuracy(*given[2:]))  # noqa: E731
    base = rows(1.0, 1e-6, 0.1, 0.1)
    assert rows(2.0, 1e-6, 0.1, 0.1) < base and rows(1.0, 1e-3, 0.1, 0.1) < base
    assert rows(1.0, 1e-6, 0.2, 0.1) < base and rows(1.0, 1e-6, 0.1, 0.4) < base
    for given in ((1e-3, 1e-12, 0.01, 1e-9), (500.0, 0.5, 0.9, 0.9), (1e3, 1e-12, 0.5, 0.5)):
        assert rows(*given) >= 1
    for method in ("auto", "recprefix"):  # a budget beyond what the median takes
        large = [thresholds(16, method).sample_size(Privacy(e, 1e-6), ACCURACY) for e in (1e3, 1e5)]
        assert large[0] == large[1] < 1500


@pytest.mark.parametrize("name", TREES)
def test_a_depth_of_quality_one_is_good_and_has_its_votes(name):
    """The proof's second step, by enumeration of all depths: K rows in the bottom segment are enough."""
    tree, generator, deep, high = TREES[name], np.random.default_rng(4), 6, 2
    tried = 0
    for _ in range(20):
        target = int(generator.choice(np.flatnonzero(tree.depth > 0)))
        path = [target]
        while path[-1]:
            path.append(int(tree.parent[path[-1]]))
        segment = path[: int(generator.integers(1, len(path) + 1))]
        nodes = np.where(generator.random(30) < 0.4, generator.choice(segment, 30), generator.choice([*path, 0], 30))
        if np.isin(nodes, segment).sum() < deep:
            continue
        depths = tree.depth[nodes]
        every = np.arange(tree.height + 1)
        quality = np.asarray(
            rank_quality(
                jnp.asarray(depths[:, None], jnp.uint32),
                jnp.ones(30, bool),
                jnp.asarray(every[:, None], jnp.uint32),
                (30 + 1 - deep, high),
            )
        )
        for depth in every[quality >= 1]:
            assert tree.depth[segment[-1]] <= depth <= tree.depth[target] and (depths >= depth).sum() >= high
            tried += 1
    assert tried > 15


@pytest.mark.parametrize("name", TREES)
def test_one_row_changes_one_depth(name):
    tree, generator = TREES[name], np.random.default_rng(5)
    learner = ImproperVC1(tree, "exponential")
    plan = learner.plan(PRIVACY, ACCURACY)
    nodes = jax.jit(lambda sample: learner.deterministic(jax.random.key(0), sample, plan))
    for _ in range(15):
        x = generator.integers(0, tree.domain.size, (12, 1)).astype(np.uint32)
        y, mask = generator.random((12, 1)) < 0.5, np.arange(12) < generator.integers(1, 13)
        other_x, other_y = x.copy(), y.copy()
        row = int(generator.integers(12))
        other_x[row], other_y[row] = generator.integers(tree.domain.size), generator.integers(2)
        (one, real), (other, again) = nodes(Sample(x, y, mask)), nodes(Sample(other_x, other_y, mask))
        moved = np.any(np.asarray(one) != np.asarray(other), axis=1)
        assert not moved[np.arange(12) != row].any()
        np.testing.assert_array_equal(real, mask)
        np.testing.assert_array_equal(again, mask)
        labels = np.asarray(tree.relabel(x, y))[:, 0]
        place = np.where(labels & mask, tree.place[x[:, 0]], 0)
        np.testing.assert_array_equal(wide.decode(np.asarray(one)), place)


@partial(jax.jit, static_argnums=0)
def learn_often(learner, keys, sample, plan):
    return jax.vmap(learner.learn, (0, None, None))(keys, sample, plan)


@pytest.mark.parametrize(
    "ranks",
    [(-5, 2**31 - 1), (2**31 - 1, -1), *(pytest.param(one, marks=pytest.mark.slow) for one in ((0, 0), (1, 2**30)))],
)
def test_an_edited_plan_still_answers(ranks):
    """Whatever the ranks in the plan say, the learner is total."""
    learner = thresholds(8)
    plan = learner.plan(PRIVACY, ACCURACY)
    plan = replace(plan, high=np.int32(ranks[0]), deep=np.int32(ranks[1]))
    sample = Sample(np.full((9, 1), 5, np.uint32), np.ones((9, 1), bool), np.arange(9) < 7)
    found = learn_often(learner, jax.random.split(jax.random.key(1), 32), sample, plan)
    assert set(np.asarray(found.outcome).ravel().tolist()) <= {0, -1}


def test_delta_is_needed():
    for call in (thresholds(4).design, thresholds(4).sample_size, thresholds(4).plan):
        with pytest.raises(InputError, match="delta"):
            call(Privacy(1.0, 0.0), ACCURACY)


@pytest.mark.statistical
def test_success_on_gapped_thresholds(stats):
    learner = thresholds(32)
    n, plan = learner.sample_size(PRIVACY, ACCURACY), learner.plan(PRIVACY, ACCURACY)
    task = gapped_thresholds(learner.concepts, 0.1)
    stats.mostly(successes(learner, task, n, plan, 0.1, 80), 80, 0.1)
    assert successes(learner, task, n // 2, plan, 0.1, 80, largest=n) < 8  # the problem is one


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["one good threshold", "gapped", "votes behind a gap"])
@pytest.mark.parametrize(
    ("bits", "method"), [*((bits, "exponential") for bits in (4, 16, 48, 64)), (64, "recprefix"), (64, "treelog")]
)
def test_success_at_the_theorems_rows(name, bits, method, stats):
    learner = thresholds(bits, method)
    n, plan = learner.sample_size(PRIVACY, ACCURACY), learner.plan(PRIVACY, ACCURACY)
    stats.mostly(successes(learner, workloads(learner)[name], n, plan, 0.1, 2000), 2000, 0.1)
