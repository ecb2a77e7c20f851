"""k concepts one by one: the runs, the split of the budget, and which compositions are allowed."""

from dataclasses import replace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.composition import advanced, joint_delta
from dpjax.accounting.optimal_composition import optimal_epsilon
from dpjax.accounting.splits import COMPOSITIONS, split
from dpjax.concepts import Domain, Hypothesis, Multiclass, Points, Thresholds
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.plans import down, same_plan
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import KLN, BitReduction, EmpiricalLearner, Independent, PointLearner, ThresholdMedian, independent
from dpjax.learners.columns import for_concepts

DOMAIN = Domain(2**40)
ACCURACY = Accuracy(0.1, 0.1)
BUDGET = Privacy(1.0, 1e-6)


def data(k, n=20, capacity=32):
    generator = np.random.default_rng(4)
    values = generator.integers(0, 2**40, capacity, dtype=np.uint64)
    targets = generator.integers(0, 2**40, 64, dtype=np.uint64)[:k]
    labels = values[:, None] <= targets[None, :]
    return Sample(jnp.asarray(DOMAIN.encode(values)), jnp.asarray(labels), jnp.asarray(np.arange(capacity) < n))


def learn(learner, sample, epsilon, delta=1e-6, seed=3):
    plan = learner.plan(Privacy(epsilon, delta), ACCURACY)
    return jax.jit(learner.learn)(jax.random.key(seed), sample, plan)


# --- the runs ----------------------------------------------------------------------------------------------------


def test_each_run_is_the_learner_with_its_key_and_the_plan_of_one():
    one = KLN(Thresholds(DOMAIN))
    learner, sample = Independent(one, 3, "optimal"), data(3)
    whole = learn(learner, sample, 2.0)
    plan = learner.plan(Privacy(2.0, 1e-6), ACCURACY)
    part = split(2.0, 1e-6, 3, "optimal", "bounded range")
    assert same_plan(plan.one, one.plan(Privacy(part.epsilon), Accuracy(0.1, 0.1 / 3)))
    part_keys = keys.per_index(jax.random.key(3), 3)
    run, whole = jax.jit(one.learn), jax.tree.map(np.asarray, whole)
    for j in range(3):
        own = Sample(sample.x, np.asarray(sample.y)[:, j : j + 1], sample.mask)
        alone = run(part_keys[j], own, plan.one)
        chex.assert_trees_all_equal(alone, jax.tree.map(lambda part, j=j: part[j : j + 1], whole))


@pytest.mark.slow
def test_columns_in_turns_and_points_of_their_own_change_nothing(monkeypatch):
    """Too many columns to work on at once are taken in turns. Equal columns of points give what shared points give."""
    learner, sample = Independent(KLN(Thresholds(DOMAIN)), 5), data(5)
    own = Sample(jnp.broadcast_to(sample.x[:, None, :], (32, 5, 2)), sample.y, sample.mask)
    together = learn(learner, sample, 3.0)
    chex.assert_trees_all_equal(together, learn(learner, own, 3.0))
    monkeypatch.setattr(independent, "_CELLS", 2 * sample.capacity)
    chex.assert_trees_all_equal(together, learn(learner, sample, 3.0))
    chex.assert_trees_all_equal(together, learn(learner, own, 3.0))


def test_wrong_numbers_of_concepts_are_refused():
    with pytest.raises(InputError, match="labels: expected 3 concepts, got 2"):
        learn(Independent(KLN(Thresholds(DOMAIN)), 3), data(2), 1.0)
    for k in (0, -1, 2.0, True):
        with pytest.raises(InputError, match=r"^k"):
            Independent(KLN(Thresholds(DOMAIN)), k)
    with pytest.raises(InputError, match="did you mean optimal"):
        Independent(KLN(Thresholds(DOMAIN)), 2, "optimum")


def test_the_plan_of_one_is_what_runs():
    """The guarantee's part is the very float32 with which `learn` calls the learner."""
    seen = []

    class Spy(KLN):
        def _learn(self, key, sample, plan):
            jax.debug.callback(lambda epsilon: seen.append(float(epsilon)), plan.epsilon)
            return Hypothesis.of(jnp.zeros((1, 2), jnp.uint32))

    for composition in COMPOSITIONS:
        learner = Independent(Spy(Thresholds(DOMAIN)), 3, composition)
        seen.clear()
        jax.block_until_ready(learn(learner, data(3), 1.3))
        jax.effects_barrier()
        plan = learner.plan(Privacy(1.3, 1e-6), ACCURACY)
        assert set(seen) == {float(plan.one.epsilon)}
        whole = learner.guarantee(plan)
        assert whole.rounds == 3 and whole.parts[0].epsilon == float(plan.one.epsilon)


# --- the budget --------------------------------------------------------------------------------------------------


def test_the_sample_size_is_that_of_one_run():
    one = KLN(Thresholds(DOMAIN))
    part = split(1.0, 1e-6, 4, "zcdp", "bounded range")
    learner = Independent(one, 4, "zcdp")
    assert learner.sample_size(BUDGET, ACCURACY) == one.sample_size(Privacy(part.epsilon), Accuracy(0.1, 0.025))


def test_an_edited_plan_is_promised_what_it_spends():
    """Neither another slack nor another epsilon of one run makes the guarantee smaller than the theorem's."""
    learner = Independent(KLN(Thresholds(DOMAIN)), 8, "optimal")
    plan = learner.plan(BUDGET, ACCURACY)
    for slack in (0.0, 1e-12, 1e-3):
        whole = learner.guarantee(replace(plan, slack=down(slack)))
        exact = optimal_epsilon(float(plan.one.epsilon), 8, float(down(slack)))
        assert whole.epsilon == pytest.approx(exact, rel=1e-9) and whole.delta == pytest.approx(float(down(slack)))
    louder = replace(plan, one=replace(plan.one, epsilon=np.float32(2.0)))
    assert learner.guarantee(louder).epsilon >= optimal_epsilon(2.0, 8, float(plan.slack)) * (1 - 1e-9)


@pytest.mark.parametrize("composition", ["basic", "advanced", "optimal"])
@pytest.mark.parametrize("k", [2, 8, 60])
def test_a_learner_that_spends_delta_composes(composition, k):
    """Its runs have a delta of their own; the whole is that of the theorem for the parts as they run."""
    learner = Independent(PointLearner(Points(DOMAIN)), k, composition)
    assert learner.spends == "approximate"
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-2)):
        plan = learner.plan(Privacy(epsilon, delta), ACCURACY)
        whole, (part,) = learner.guarantee(plan), learner.guarantee(plan).parts
        assert part.delta > 0.4 * delta / k and whole.rounds == k
        assert 0.999 * epsilon <= whole.epsilon <= epsilon and 0.999 * delta <= whole.delta <= delta
        slack = float(plan.slack)
        if slack:
            assert whole.delta == pytest.approx(joint_delta(part.delta, k, slack))
            by_theorem = {
                "advanced": lambda p=part, s=slack: advanced(p, k, s, form="tight").epsilon,
                "optimal": lambda p=part, s=slack: optimal_epsilon(p.epsilon, k, s),
            }[composition]()
            assert whole.epsilon == pytest.approx(by_theorem, rel=1e-9)
        else:
            assert whole.epsilon == pytest.approx(k * part.epsilon) and whole.delta == pytest.approx(k * part.delta)
    if k == 60 and composition == "optimal":
        assert float(plan.slack) > 0


def test_a_learner_that_spends_delta_answers_in_each_run(key):
    """Each of two heavy points has its own learner under optimal composition, and delta enough for an answer."""
    domain = Domain(2**20)
    learner = Independent(PointLearner(Points(domain)), 2, "optimal")
    values, labels = [5] * 300 + [9] * 300, np.array([[1, 0]] * 300 + [[0, 1]] * 300, bool)
    sample = Sample(jnp.asarray(domain.encode(values)), jnp.asarray(labels), np.ones(600, bool))
    plan = learner.plan(Privacy(6.0, 1e-6), Accuracy(0.5, 0.1))
    found = jax.jit(jax.vmap(learner.learn, (0, None, None)))(jax.random.split(key, 20), sample, plan)
    assert not np.any(found.outcome) and not np.any(found.zero)
    np.testing.assert_array_equal(np.asarray(found.concept)[:, :, -1], [[5, 9]] * 20)


@pytest.mark.parametrize(
    "one",
    [
        PointLearner(Points(DOMAIN)),
        Independent(KLN(Points(DOMAIN)), 1, "optimal"),
        EmpiricalLearner(Independent(KLN(Points(DOMAIN)), 1, "zcdp")),
    ],
    ids=lambda one: type(one).__name__,
)
def test_zcdp_is_refused_at_construction_for_runs_that_spend_delta(one):
    with pytest.raises(InputError, match=r"composition: .*use optimal"):
        Independent(one, 3, "zcdp")
    for composition in ("basic", "advanced", "optimal"):
        Independent(one, 3, composition)


def test_what_a_direct_sum_spends():
    pure, approximate = KLN(Points(DOMAIN)), PointLearner(Points(DOMAIN))
    assert Independent(pure, 3).spends == "pure"
    assert Independent(approximate, 3).spends == "approximate"
    assert all(Independent(pure, 3, name).spends == "approximate" for name in ("advanced", "optimal", "zcdp"))


def test_without_delta_a_learner_that_spends_some_is_refused():
    for composition in ("basic", "optimal"):
        with pytest.raises(InputError, match="delta"):
            Independent(PointLearner(Points(DOMAIN)), 3, composition).plan(Privacy(1.0, 0.0), ACCURACY)


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize(
    ("one", "composition"),
    [
        *((KLN(Thresholds(DOMAIN)), name) for name in COMPOSITIONS),
        *((ThresholdMedian(Thresholds(DOMAIN)), name) for name in COMPOSITIONS),
        *((PointLearner(Points(DOMAIN)), name) for name in ("basic", "advanced", "optimal")),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_one_program_for_all_epsilons(one, composition):
    learner = Independent(one, 3, composition)
    run = jax.jit(chex.assert_max_traces(learner.learn, n=1))
    for epsilon in np.geomspace(0.25, 4, 8).tolist():
        jax.eval_shape(run, jax.random.key(0), data(3), learner.plan(Privacy(epsilon, 1e-6), ACCURACY))


@pytest.mark.parametrize("learner", [KLN, BitReduction])
@pytest.mark.parametrize("k", [1, 2])
def test_concepts_of_several_label_columns_are_refused_before_anything_runs(learner, k):
    own = learner(Multiclass.of([[0, 1], [2, 3]]))
    with pytest.raises(InputError, match=r"one label column.* got Multiclass with 2 columns; take k = 1"):
        Independent(own, k)
    assert for_concepts(own, 1) is own
    with pytest.raises(InputError, match="take k = 1"):
        for_concepts(own, 2)
    assert Independent(KLN(Multiclass.of([[0, 1], [1, 0]])), k).k == k  # two labels, one column
