"""Plans of the learners of classes of VC dimension 1 and of interior points: what they spend, how many programs."""

import chex
import jax
import numpy as np
import pytest

from dpjax.concepts import Domain, Thresholds
from dpjax.concepts import tree_generators as trees
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import ImproperVC1, ProperVC1, ThresholdInterior
from dpjax.mechanisms.median import NAMES

ACCURACY = Accuracy(0.1, 0.1)
LEARNERS = {
    **{f"improper, {method}": ImproperVC1(Thresholds(Domain(2**20)), method) for method in NAMES},
    "improper, tree": ImproperVC1(trees.recursive(40, 3, 0.7), "exponential"),
    "proper": ProperVC1(trees.recursive(40, 3, 0.7), "exponential"),
    "proper, recprefix": ProperVC1(trees.figure_one(), "recprefix"),
    **{f"interior, {method}": ThresholdInterior(Thresholds(Domain(2**20)), method) for method in NAMES},
}
SLOW = (
    "improper, auto",
    "improper, majority",  # its sizes are those of the interior points and of the subsamples, which the others have
    "improper, treelog",
    "improper, rsc",
    "improper, tree",
    "proper, recprefix",
    "interior, treelog",
    "interior, rsc",
    "interior, recprefix",
    "interior, auto",
)


@pytest.mark.parametrize("share", [1, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_spent_is_the_budget(name, share):
    """Random budgets: at most the budget, .999 of epsilon, and none is refused."""
    learner, generator = LEARNERS[name], np.random.default_rng(len(name))
    for _ in range(share * (8 if learner.method in ("exponential", "recprefix") and share > 1 else 1)):
        epsilon, delta = (float(np.exp(generator.uniform(*np.log(ends)))) for ends in ((1e-3, 20), (1e-12, 1e-2)))
        spent = learner.guarantee(learner.plan(Privacy(epsilon, delta), ACCURACY))
        assert 0.999 * epsilon <= spent.epsilon <= epsilon and spent.delta <= delta


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in LEARNERS]
)
def test_eight_epsilons_have_at_most_four_structures(name):
    plans = [LEARNERS[name].plan(Privacy(float(e), 1e-6), ACCURACY) for e in np.geomspace(0.25, 4, 8)]
    assert len({jax.tree.structure(plan) for plan in plans}) <= 4


@pytest.mark.parametrize(
    "name",
    [  # plans of all of them have few structures, see above
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in LEARNERS
    ],
)
def test_eight_epsilons_are_traced_at_most_four_times(name):
    learner = LEARNERS[name]
    values = np.arange(13)
    x = learner.concepts.domain.encode((values % learner.concepts.domain.size).tolist())
    sample = Sample(x, values[:, None] < 5, np.ones(13, bool))
    run = jax.jit(chex.assert_max_traces(learner.learn, n=4))
    chex.clear_trace_counter()
    for epsilon in np.geomspace(0.25, 4, 8):
        plan = learner.plan(Privacy(float(epsilon), 1e-6), ACCURACY)
        assert {np.asarray(leaf).dtype.name for leaf in jax.tree.leaves(plan)} <= {"float32", "int32", "uint32"}
        run.trace(jax.random.key(0), sample, plan)


def test_every_median_says_what_it_spends():
    """TreeLog by RSC too: the guarantee follows the budget that was planned."""
    concepts = Thresholds(Domain(2**16))
    for method in NAMES:
        for epsilon in (0.01, 0.1, 1.0, 10.0):
            learner = ImproperVC1(concepts, method, 20)
            spent = learner.guarantee(learner.plan(Privacy(epsilon, 1e-6), ACCURACY))
            assert 0.999 * epsilon <= spent.epsilon <= epsilon
