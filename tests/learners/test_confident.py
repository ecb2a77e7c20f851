"""Confidence boosting: rare failures become rarer, at the price of one part; every row is read once."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Multiclass, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.sweep.hard_tasks import hard_thresholds
from dpjax.learners import KLN, Boosted, Confident, Independent, PointLearner, database
from dpjax.theory import boosting
from tests.trials import jit_learn, jit_predict, successes

LINE = Thresholds(Domain(2**20))
ACCURACY = Accuracy(0.1, 0.05)


@pytest.mark.slow  # tests/conformance/test_utility.py has a short one
@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [0.25, 0.5])
def test_it_succeeds_at_its_sample_size(ratio, stats):
    learner, privacy, trials = Confident(KLN(LINE), ratio=ratio), Privacy(2.0), 256
    n = learner.sample_size(privacy, ACCURACY)
    count = boosting.blocks(ACCURACY.beta, 0.25)
    own = KLN(LINE).sample_size(privacy, Accuracy(ratio * ACCURACY.alpha, 0.25))
    assert n == count * own + boosting.fresh_rows(count, ratio * ACCURACY.alpha, ACCURACY.alpha, 2.0, ACCURACY.beta)
    plan = learner.plan(privacy, ACCURACY, n)
    assert plan.blocks == count and int(plan.rows) == own
    right = successes(learner, hard_thresholds(LINE, 0.1), n, plan, ACCURACY.alpha, trials)
    stats.mostly(right, trials, ACCURACY.beta)


def test_the_price_is_that_of_one_part():
    """The larger of the learner's guarantee and the choice's, not their sum; delta is the learner's."""
    for weak, delta in ((KLN(LINE), 0.0), (PointLearner(Points(Domain(2**20))), 1e-6), (KLN(LINE), 1e-6)):
        learner = Confident(weak)
        for n in (None, 0, 1, 7, 10_000):
            plan = learner.plan(Privacy(0.7, delta), ACCURACY, n)
            whole, base = learner.guarantee(plan), weak.guarantee(plan.one)
            assert 0.999 * 0.7 <= whole.epsilon <= 0.7 and whole.delta == base.delta <= delta
            assert whole.epsilon == max(base.epsilon, float(plan.epsilon)) and whole.parts[0] == base
            assert learner.guarantee(replace(plan, epsilon=np.float32(1.0))).epsilon == 1
    plan = Confident(ERM(LINE)).plan(Privacy(1.0), ACCURACY, 100)
    assert Confident(ERM(LINE)).guarantee(plan) is None


def test_every_row_is_in_one_block_or_behind_them(key):
    """With all of a huge budget: the hypotheses come from the blocks, the choice from the rows behind them."""
    learner = Confident(KLN(LINE), blocks=3)
    plan = replace(learner.plan(Privacy(1e4), ACCURACY, 80), rows=np.int32(20), most=24)
    targets = [100, 5000, 900_000]
    values, labels = [], []
    for t in targets:
        values += [t, t + 1] * 10
        labels += [1, 0] * 10
    for t in targets:  # the rows behind the blocks agree with one of them, and are fewer than those of a block
        fresh = [t, t + 1] * 4
        sample = database(LINE.domain, values + fresh, labels + [1, 0] * 4, 100)
        found = jit_learn(learner, key, sample, plan)
        assert found.concept.tolist() == [[0, t]]


@pytest.mark.parametrize("n", [0, 1, 30])
@pytest.mark.parametrize("epsilon", [1e-3, 1e4])
def test_any_number_of_rows(n, epsilon, key):
    learner = Confident(KLN(LINE), blocks=4)
    sample = database(LINE.domain, range(n), [i % 2 for i in range(n)], 32)
    for planned in (0, n, 1000):
        found = jit_learn(learner, key, sample, learner.plan(Privacy(epsilon), ACCURACY, planned))
        assert found.concept.shape == (1, 2)


@pytest.mark.slow
def test_majorities_are_chosen_too(key):
    learner = Confident(Boosted(KLN(LINE), 0.4), blocks=2)
    assert not learner.proper and Confident(KLN(LINE)).proper
    sample = database(LINE.domain, range(0, 1000, 5), [1] * 100 + [0] * 100)
    found = jit_learn(learner, key, sample, learner.plan(Privacy(1e3), Accuracy(0.3, 0.1), 200))
    assert jit_predict(learner, found, sample.x).shape == (200, 1) and found.members.concept.shape == (1, 9, 1, 2)
    weak = Boosted(Confident(KLN(LINE)), 1 / 6)
    assert weak.guarantee(weak.plan(Privacy(1.0), Accuracy(0.3, 0.1))).epsilon <= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: Confident(KLN),
        lambda: Confident(LINE),
        lambda: Confident(KLN(LINE), failure=1.0),
        lambda: Confident(KLN(LINE), ratio=0.0),
        lambda: Confident(KLN(LINE), blocks=0),
        lambda: Confident(Independent(KLN(LINE), 2)),
        lambda: Confident(KLN(LINE, Neighboring.ADD_OR_REMOVE_ONE)),
        lambda: Confident(KLN(Multiclass.of([[0, 1], [2, 0]]))),
        lambda: Confident(PointLearner(Points(Domain(9)))).plan(Privacy(1.0), ACCURACY),
        lambda: Confident(KLN(LINE)).learn(
            jax.random.key(0),
            database(LINE.domain, [1], [[0, 1]]),
            Confident(KLN(LINE)).plan(Privacy(1.0), ACCURACY, 9),
        ),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


def test_the_choice_reads_no_padding(key):
    learner = Confident(KLN(LINE), blocks=2)
    plan = learner.plan(Privacy(3.0), ACCURACY, 60)
    values, labels = list(range(60)), [i < 20 for i in range(60)]
    found = [jit_learn(learner, key, database(LINE.domain, values, labels, c), plan).concept for c in (60, 200)]
    assert jnp.array_equal(*found)
