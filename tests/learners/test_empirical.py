"""Empirical learners: right about the rows, whatever they are; the budget that n rows allow; nothing below them."""

from dataclasses import replace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.subsampling import secrecy_pair, with_replacement_base, with_replacement_pair
from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds
from dpjax.concepts.base import every_cover
from dpjax.core.checks import InputError
from dpjax.core.plans import bucket
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import KLN, EmpiricalLearner, HashedPoints, Independent, ParityLearner, ThresholdMedian, database
from dpjax.theory import erm, generalization

BUDGETS = [Privacy(1.0, 0.0), Privacy(0.01, 1e-12), Privacy(8.0, 1e-6), Privacy(20.0, 0.9)]
ACCURACY = Accuracy(0.1, 0.1)
LINE = Thresholds(Domain(2**32))


@pytest.mark.parametrize("privacy", BUDGETS, ids=lambda p: f"{p.epsilon:g}-{p.delta:g}")
@pytest.mark.parametrize("draws", [1, 7, 300])
def test_no_number_of_rows_exceeds_the_budget(draws, privacy):
    bases = []
    for rows in (1, 2, 10, draws, 9 * draws, 10**6):
        base, base_delta = with_replacement_base(privacy.epsilon, privacy.delta, draws, rows)
        epsilon, delta = with_replacement_pair(base, base_delta, draws, 1 / rows)
        assert epsilon <= privacy.epsilon and delta <= privacy.delta
        assert epsilon > 0.999 * privacy.epsilon
        assert delta >= 0.999 * privacy.delta or base_delta > 0.499
        bases.append((rows, base))
    assert all(one <= other for (_, one), (_, other) in zip(sorted(bases), sorted(bases)[1:], strict=False))


@pytest.mark.parametrize("privacy", BUDGETS, ids=lambda p: f"{p.epsilon:g}-{p.delta:g}")
def test_the_guarantee_reads_the_draws_and_rows_that_run(privacy):
    learner = EmpiricalLearner(KLN(Points(Domain(100))), 60)
    for n in (1, 60, 5000):
        plan = learner.plan(privacy, ACCURACY, n)
        assert (int(plan.draws), int(plan.least)) == (60, n) and plan.most >= 60
        whole = learner.guarantee(plan)
        assert 0.999 * privacy.epsilon <= whole.epsilon <= privacy.epsilon and whole.delta == 0
        assert whole.parts[0] == learner.learner.guarantee(plan.one)
        more_rows = learner.guarantee(replace(plan, least=np.int32(2 * n)))  # it then asks for more of them
        assert more_rows.epsilon < whole.epsilon
        fewer_rows = learner.guarantee(replace(plan, least=np.int32(max(1, n // 2))))
        assert fewer_rows.epsilon >= whole.epsilon
        more_draws = learner.guarantee(replace(plan, draws=np.int32(90)))
        assert more_draws.epsilon > whole.epsilon


def test_fewer_real_draws_than_the_plan_says_are_promised_as_many():
    """A resample never has more rows than its buffer: a number of draws beyond it costs epsilon in the promise only."""
    learner = EmpiricalLearner(KLN(LINE))
    plan = learner.plan(Privacy(1.0), Accuracy(0.3, 0.2))
    assert plan.most == bucket(int(plan.draws)) >= int(plan.draws)
    beyond = learner.guarantee(replace(plan, draws=np.int32(10 * plan.most)))
    assert beyond.epsilon > 1
    for wrong in (0, -1):
        with pytest.raises(InputError, match="draws"):
            learner.guarantee(replace(plan, draws=np.int32(wrong)))


def test_the_theorem_is_implied_with_room():
    """Nine rows a draw are enough for the printed statement: the learner's own budget may stay what it was."""
    for epsilon in (0.1, 0.5, 1.0):
        for draws in (1, 10, 1000):
            base, delta = with_replacement_base(epsilon, 1e-6, draws, 9 * draws)
            assert base > epsilon and delta > 1e-6
            printed = secrecy_pair(epsilon, 1e-6, draws, 9 * draws)
            assert with_replacement_pair(epsilon, 1e-6, draws, 1 / (9 * draws)) < printed


def test_error_on_the_rows_is_what_was_asked(stats):
    """On rows that nobody would expect: each a point of its own but for a few."""
    accuracy, privacy, trials = Accuracy(0.2, 0.1), Privacy(1.0, 0.0), 320
    learner = EmpiricalLearner(KLN(LINE))
    n = learner.empirical_sample_size(privacy, accuracy)
    plan = learner.plan(privacy, accuracy)
    assert n == int(plan.least) == 351
    assert 9 * learner.learner.sample_size(privacy, accuracy) == 2691  # by the theorem's constants
    values = np.sort(np.random.default_rng(3).integers(0, 2**32, n))
    sample = database(LINE.domain, values.tolist(), values <= values[n // 3])

    def wrong(key, plan):
        found = learner.learn(key, sample, plan)
        return jnp.sum(learner.predict(found, sample.x) != sample.y)

    run = jax.jit(lambda keys, plan: jax.lax.map(lambda key: wrong(key, plan), keys, batch_size=32))
    errors = np.asarray(run(jax.random.split(jax.random.key(0), trials), plan))
    stats.mostly(int(np.sum(errors <= accuracy.alpha * n)), trials, accuracy.beta)


# --- planning ----------------------------------------------------------------------------------------------------


def test_the_plan_is_the_best_of_those_tried():
    """No number of draws that is tried needs fewer rows; the learner's budget gives it its sample size."""
    learner, privacy, accuracy = KLN(LINE), Privacy(0.5), Accuracy(0.2, 0.1)
    best = EmpiricalLearner(learner).empirical_sample_size(privacy, accuracy)
    sizes = []
    for spent in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0):
        draws = learner.sample_size(Privacy(spent * privacy.epsilon), accuracy)
        rows = EmpiricalLearner(learner, draws).empirical_sample_size(privacy, accuracy)
        base = Privacy(with_replacement_base(privacy.epsilon, 0.0, draws, rows)[0])
        less = Privacy(with_replacement_base(privacy.epsilon, 0.0, draws, rows - 1)[0])
        assert learner.sample_size(base, accuracy) <= draws < learner.sample_size(less, accuracy)
        sizes.append(rows)
    assert best == min(sizes)


def test_a_number_of_draws_that_no_rows_pay_for_is_left_out():
    """At a large epsilon so few draws are tried that no number of rows allows the learner's budget for some of them."""
    learner = EmpiricalLearner(Independent(KLN(Thresholds(Domain(2**40))), 4))
    for epsilon in (5.2, 19.5):
        privacy = Privacy(epsilon, 1e-6)
        plan = learner.plan(privacy, ACCURACY)
        assert learner.learner.sample_size(
            Privacy(float(learner.learner.guarantee(plan.one).epsilon) * (1 + 1e-6)), ACCURACY
        ) <= int(plan.draws)
    few = EmpiricalLearner(KLN(Points(Domain(2**64))), 3)
    for attempt in (few.empirical_sample_size, few.sample_size, few.plan):
        with pytest.raises(InputError, match="sample size"):
            attempt(Privacy(1.0), ACCURACY)
    assert int(few.plan(Privacy(1.0), ACCURACY, 100).least) == 100  # for as many rows as there are, accurate or not


def test_sample_size_is_that_of_the_distribution():
    accuracy, privacy = Accuracy(0.2, 0.1), Privacy(1.0, 0.0)
    learner = EmpiricalLearner(Independent(KLN(Points(Domain(16))), 3), 400)
    n = learner.sample_size(privacy, accuracy)
    assert n >= learner.empirical_sample_size(privacy, Accuracy(0.1, 0.05))
    assert n >= generalization.realizable(generalization.line, 3, 0.2, 0.05)


def test_rows_for_any_labels_are_those_of_the_agnostic_theorems():
    """BNS Definition 2.10 and Theorem 2.11: the draws are enough for the learner's agnostic theorem."""
    accuracy, privacy = Accuracy(0.2, 0.1), Privacy(1.0, 0.0)
    halves = Accuracy(0.1, 0.05)
    for one in (KLN(LINE), Independent(KLN(Points(Domain(16))), 3), KLN(Points(Domain(2**1024)))):
        learner, right = EmpiricalLearner(one, agnostic=True), EmpiricalLearner(one)
        rows, n = learner.empirical_sample_size(privacy, accuracy), learner.agnostic_sample_size(privacy, accuracy)
        assert right.empirical_sample_size(privacy, accuracy) < rows < 9 * one.agnostic_sample_size(privacy, accuracy)
        assert right.sample_size(privacy, accuracy) <= learner.sample_size(privacy, accuracy) <= n
        assert n >= learner.empirical_sample_size(privacy, halves)
        covers = every_cover(one.concepts, 0.2, True)
        assert n >= erm.rows(covers, one.number_of_concepts, 0.2, 0.05, True, 0.1)
        for given, goal in ((None, accuracy), (rows, accuracy), (n, halves)):
            plan = learner.plan(privacy, accuracy, given)
            inner = float(one.guarantee(plan.one).epsilon)
            assert one.agnostic_sample_size(Privacy(inner * (1 + 1e-6)), goal) <= int(plan.draws)
            assert learner.guarantee(plan).epsilon <= privacy.epsilon
        with pytest.raises(InputError, match="agnostic=True"):
            right.agnostic_sample_size(privacy, accuracy)
    with pytest.raises(InputError, match="agnostic theorem"):
        EmpiricalLearner(ThresholdMedian(LINE), agnostic=True).empirical_sample_size(privacy, accuracy)


@pytest.mark.statistical
def test_error_beyond_the_best_on_rows_of_any_labels(stats):
    """Fair coins on few elements in two columns, at the rows for any labels of the rows."""
    accuracy, privacy, trials = Accuracy(0.25, 0.1), Privacy(1.0, 0.0), 160
    concepts = Points(Domain(8))
    learner = EmpiricalLearner(Independent(KLN(concepts), 2), agnostic=True)
    n = learner.empirical_sample_size(privacy, accuracy)
    plan, generator = learner.plan(privacy, accuracy), np.random.default_rng(1)
    values, labels = np.arange(n) % 8, generator.random((n, 2)) < 0.5
    labels[values == 3, 0] = labels[values == 6, 1] = True
    sample = database(concepts.domain, values.tolist(), labels)
    errors = np.array([np.sum((values == c)[:, None] != labels, axis=0) for c in range(8)])

    def wrong(key, plan):
        found = learner.learn(key, sample, plan)
        return jnp.sum(learner.predict(found, sample.x) != sample.y, axis=0)

    run = jax.jit(lambda keys, plan: jax.lax.map(lambda key: wrong(key, plan), keys, batch_size=32))
    beyond = np.asarray(run(jax.random.split(jax.random.key(0), trials), plan)) - errors.min(axis=0)
    stats.mostly(int(np.sum(np.max(beyond, axis=1) <= accuracy.alpha * n)), trials, accuracy.beta)


@pytest.mark.parametrize(
    "learner",
    [
        EmpiricalLearner(KLN(LINE)),
        pytest.param(EmpiricalLearner(ThresholdMedian(LINE)), marks=pytest.mark.slow),
        pytest.param(EmpiricalLearner(Independent(KLN(LINE), 3)), marks=pytest.mark.slow),
        EmpiricalLearner(Independent(KLN(LINE), 3, "optimal")),
    ],
    ids=lambda one: f"{type(one.learner).__name__}-{getattr(one.learner, 'composition', '')}",
)
@pytest.mark.parametrize("alpha", [0.1, pytest.param(0.3, marks=pytest.mark.slow)])
def test_a_sweep_of_epsilon_has_at_most_four_programs(learner, alpha):
    run = jax.jit(chex.assert_max_traces(learner.learn, n=4))
    sample = database(LINE.domain, [1, 2, 3], np.ones((3, learner.k)), 8)
    for epsilon in np.geomspace(0.25, 4, 8).tolist():
        plan = learner.plan(Privacy(epsilon, 1e-6), Accuracy(alpha, 0.1))
        jax.eval_shape(run, jax.random.key(0), sample, plan)


# --- few rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "one",
    [KLN(Points(Domain(50))), pytest.param(Independent(KLN(Points(Domain(50))), 2, "optimal"), marks=pytest.mark.slow)],
    ids=lambda one: type(one).__name__,
)
def test_below_the_rows_of_the_plan_nothing_is_looked_at(one):
    """The same key gives the same answer whatever the rows are; from ``least`` rows on it does not."""
    learner, capacity = EmpiricalLearner(one, 64), 40
    plan = learner.plan(Privacy(50.0, 1e-3), ACCURACY, 30)
    run = jax.jit(jax.vmap(learner.learn, (0, None, None)))
    keys, generator = jax.random.split(jax.random.key(4), 40), np.random.default_rng(0)
    x = learner.concepts.domain.encode(range(50))

    def answers(n, seed):
        chosen = np.random.default_rng(seed).integers(0, 50, capacity)
        labels = np.ones((capacity, learner.k), bool) if seed % 2 else generator.random((capacity, learner.k)) < 0.5
        return run(keys, Sample(x[chosen], labels, np.arange(capacity) < n), plan)

    blind = jax.tree.map(np.asarray, answers(0, 0))
    assert len(np.unique(blind.concept[:, 0, -1])) > 10  # uniform, by the learner's own law of no rows
    for n in (1, 15, 29):
        for seed in range(3):
            chex.assert_trees_all_equal(blind, answers(n, seed))
    different = [np.any(np.asarray(answers(n, seed).concept) != blind.concept) for n in (30, 40) for seed in range(3)]
    assert all(different)


def test_no_rows_one_row_and_wrong_learners():
    learner = EmpiricalLearner(KLN(Points(Domain(5))), 6)
    empty = database(learner.concepts.domain, [], np.zeros((0, 1)), capacity=4)
    single = database(learner.concepts.domain, [3], [1], capacity=4)
    keys = jax.random.split(jax.random.key(2), 4000)
    plan = learner.plan(Privacy(40.0), ACCURACY, 1)
    run = jax.jit(jax.vmap(learner.learn, (0, None, None)))
    found = np.asarray(run(keys, empty, plan).concept)[:, 0, -1]
    assert set(found) == set(range(5))
    assert (np.asarray(run(keys, single, plan).concept)[:, 0, -1] == 3).all()
    never = replace(plan, least=np.int32(0))  # an edited plan: no rows are still no rows
    np.testing.assert_array_equal(np.asarray(run(keys, empty, never).concept)[:, 0, -1], found)
    assert learner.guarantee(never) == learner.guarantee(plan)
    with pytest.raises(InputError, match="replace-one"):
        EmpiricalLearner(KLN(Points(Domain(5)), Neighboring.ADD_OR_REMOVE_ONE), 3)
    for other in (HashedPoints(Points(Domain(5)), 1, 2, 2), ParityLearner(Parities(3), 2, 3)):
        with pytest.raises(InputError, match="proper"):
            EmpiricalLearner(other, 3)
    for draws in (0, 2.0, True):
        with pytest.raises(InputError, match="draws"):
            EmpiricalLearner(KLN(Points(Domain(5))), draws)
    for n in (0, -3, 2.5):
        with pytest.raises(InputError, match=r"^n: "):
            learner.plan(Privacy(1.0), ACCURACY, n)


def test_one_concept_needs_one_row():
    learner = EmpiricalLearner(KLN(Finite.of(np.ones((1, 6), bool))))
    assert learner.empirical_sample_size(Privacy(0.1), ACCURACY) == learner.sample_size(Privacy(0.1), ACCURACY) == 1
