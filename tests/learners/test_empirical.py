"""Empirical learners: right about the rows, whatever they are; the budget that n rows allow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.subsampling import secrecy_pair, with_replacement_pair
from dpjax.concepts import Domain, Parities, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners import KLN, EmpiricalLearner, HashedPoints, Independent, ParityLearner, database
from dpjax.theory import generalization

BUDGETS = [Privacy(1.0, 0.0), Privacy(0.01, 1e-12), Privacy(8.0, 1e-6), Privacy(20.0, 0.9)]


@pytest.mark.parametrize("privacy", BUDGETS, ids=lambda p: f"{p.epsilon:g}-{p.delta:g}")
@pytest.mark.parametrize("draws", [1, 7, 300])
def test_no_number_of_rows_exceeds_the_budget(draws, privacy):
    learner = EmpiricalLearner(KLN(Points(Domain(100))), draws)
    for rows in (1, 2, 10, draws, 9 * draws, 10**6):
        part = learner.part(privacy, rows)
        epsilon, delta = with_replacement_pair(part.epsilon, part.delta, draws, 1 / rows)
        assert epsilon <= privacy.epsilon and delta <= privacy.delta
        assert epsilon > 0.999 * privacy.epsilon
        assert delta >= 0.999 * privacy.delta or part.delta > 0.499
    assert learner.part(privacy, 0) == learner.part(privacy, 1)
    whole = learner.guarantee(privacy)
    assert whole.epsilon == privacy.epsilon and whole.delta == 0 and whole.covers(whole.parts[0])


def test_the_theorem_is_implied_with_room():
    """Nine rows a draw are enough for the printed statement: the learner's own budget may stay what it was."""
    for epsilon in (0.1, 0.5, 1.0):
        for draws in (1, 10, 1000):
            part = EmpiricalLearner(KLN(Points(Domain(9))), draws).part(Privacy(epsilon, 1e-6), 9 * draws)
            assert part.epsilon > epsilon and part.delta > 1e-6
            printed = secrecy_pair(epsilon, 1e-6, draws, 9 * draws)
            assert with_replacement_pair(epsilon, 1e-6, draws, 1 / (9 * draws)) < printed


def test_error_on_the_rows_is_what_was_asked(stats):
    """On rows that nobody would expect: each a point of its own but for a few."""
    domain, accuracy, privacy, trials = Domain(2**32), Accuracy(0.2, 0.1), Privacy(1.0, 0.0), 1000
    learner = EmpiricalLearner.planned(KLN(Thresholds(domain)), privacy, accuracy)
    n = learner.empirical_sample_size(privacy, accuracy)
    assert n == 351 and 9 * learner.learner.sample_size(privacy, accuracy) == 2691  # by the theorem's constants
    values = np.sort(np.random.default_rng(3).integers(0, 2**32, n))
    sample = database(domain, values.tolist(), values <= values[n // 3])

    def wrong(key):
        found = learner.learn(key, sample, privacy, accuracy)
        return jnp.sum(learner.predict(found, sample.x) != sample.y)

    errors = np.asarray(jax.jit(lambda keys: jax.lax.map(wrong, keys))(jax.random.split(jax.random.key(0), trials)))
    stats.mostly(int(np.sum(errors <= accuracy.alpha * n)), trials, accuracy.beta)


def test_sample_size_is_that_of_the_distribution():
    accuracy, privacy = Accuracy(0.2, 0.1), Privacy(1.0, 0.0)
    learner = EmpiricalLearner(Independent(KLN(Points(Domain(16))), 3), 400)
    n = learner.sample_size(privacy, accuracy)
    assert n >= learner.empirical_sample_size(privacy, Accuracy(0.1, 0.05))
    assert n >= generalization.realizable(generalization.line, 3, 0.2, 0.05)
    with pytest.raises(InputError, match="sample size"):
        EmpiricalLearner(KLN(Points(Domain(2**64))), 3).empirical_sample_size(privacy, accuracy)


def test_no_rows_one_row_and_wrong_learners():
    learner = EmpiricalLearner(KLN(Points(Domain(5))), 6)
    empty = database(learner.concepts.domain, [], np.zeros((0, 1)), capacity=4)
    single = database(learner.concepts.domain, [3], [1], capacity=4)
    keys = jax.random.split(jax.random.key(2), 4000)
    run = jax.jit(jax.vmap(lambda key, s: learner.learn(key, s, Privacy(40.0, 0.0), Accuracy(0.1, 0.1)), (0, None)))
    found = np.asarray(run(keys, empty).concept)[:, 0, -1]
    assert set(found) == set(range(5))
    assert (np.asarray(run(keys, single).concept)[:, 0, -1] == 3).all()
    with pytest.raises(InputError, match="replace-one"):
        EmpiricalLearner(KLN(Points(Domain(5)), Neighboring.ADD_OR_REMOVE_ONE), 3)
    for other in (HashedPoints(Points(Domain(5)), 1, 2, 2), ParityLearner(Parities(3), 2, 3)):
        with pytest.raises(InputError, match="proper"):
            EmpiricalLearner(other, 3)
    with pytest.raises(InputError, match="draws"):
        EmpiricalLearner(KLN(Points(Domain(5))), 0)
