"""Every exported learner through one suite: what the four faces of a learner owe whoever runs it."""

import copy
from functools import cache
from typing import get_args

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts import Hypothesis
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends, stack_plans, widened
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import HashedPoints, Independent, ParityLearner

CAPACITY, BATCH = 64, 64
MIXED = (0.3, 1.0, 4.0, 9.0, 40.0)  # budgets between pure noise and certainty: every learner has likely rivals at one


@cache
def labels_of(concepts):
    """Of targets and points; one program for each class and number of targets."""
    return jax.jit(lambda targets, x: concepts.predict(Hypothesis.of(targets), x))


def data(case, n=40, capacity=CAPACITY, seed=0, realizable=True, garbage=True):
    """n rows over a few values of the domain, so that points are heavy; garbage in the padding."""
    generator = np.random.default_rng(seed)
    size, domain = case.learner.concepts.domain.size, case.learner.concepts.domain
    pool = [0, size - 1, size // 3, *(int(v) for v in generator.integers(0, size, 3, np.uint64))]
    values = [pool[i] for i in generator.integers(0, len(pool), n)]
    points = domain.encode(values).reshape(n, domain.limbs)
    if realizable:
        if case.words is None:
            drawn = [pool[i] % case.learner.concepts.size for i in generator.integers(0, len(pool), case.k)]
            targets = wide.encode(drawn)
        else:
            targets = case.learner.concepts.targets(case.k, seed)
        padded = np.pad(points, ((0, 2 * CAPACITY - n), (0, 0)))
        labels = np.asarray(labels_of(case.learner.concepts)(targets, padded))[:n]
    else:
        labels = generator.random((n, case.k)) < 0.5
    noise = np.random.default_rng(seed + capacity)
    x = noise.integers(0, 2**32 if garbage else 1, (capacity, domain.limbs)).astype(np.uint32)
    y = noise.random((capacity, case.k)) < (0.5 if garbage else 0)
    x[:n], y[:n] = points, labels.reshape(n, case.k)
    return Sample(jnp.asarray(x), jnp.asarray(y), jnp.asarray(np.arange(capacity) < n))


@cache
def program(case):
    """learn over a batch of keys. One trace for each shape that a test asks for."""
    return jax.jit(jax.vmap(case.learner.learn, (0, None, None)))


@cache
def one_by_one(case):
    """The same, one key after the other."""
    return jax.jit(lambda keys, sample, plan: jax.lax.map(lambda key: case.learner.learn(key, sample, plan), keys))


@cache
def planned(case, epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.1):
    """The plan of the learner as it is used: with its small static numbers, and for any number of rows."""
    return case.learner.plan(Privacy(epsilon, delta), Accuracy(alpha, beta), 1)


def learn(case, sample, epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.1, batch=BATCH, seed=1, how=program):
    plan = planned(case, epsilon, delta, alpha, beta)
    return how(case)(jax.random.split(jax.random.key(seed), batch), sample, plan)


def assert_same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


# --- the suite is complete ---------------------------------------------------------------------------------------


def test_every_exported_learner_has_an_instance(instances):
    exported, built, tiny = instances
    assert exported == built, "add an instance to tests/conformance/conftest.py"
    private = {kind for kind in exported if kind.__name__ != "ERM"}
    assert private == tiny, "add a world to dpjax/evidence/learners.py"


def test_every_learner_has_the_four_faces(case):
    learner = case.learner
    assert isinstance(learner.neighboring, Neighboring)
    assert learner.spends in get_args(Spends)
    for face in ("plan", "learn", "predict", "guarantee", "sample_size", "hard_neighbors"):
        assert callable(getattr(learner, face)), face


# --- a static description, equal by value ------------------------------------------------------------------------


def test_learners_are_equal_by_value(case):
    again = copy.deepcopy(case.learner)
    assert again is not case.learner and again == case.learner and hash(again) == hash(case.learner)


def test_an_equal_learner_compiles_nothing(case):
    @chex.assert_max_traces(n=1)
    def run(learner, key, sample, plan):
        return learner.learn(key, sample, plan).outcome

    compiled = jax.jit(run, static_argnums=0)
    for learner in (case.learner, copy.deepcopy(case.learner)):
        jax.eval_shape(lambda k, s, one=learner: compiled(one, k, s, planned(case)), jax.random.key(0), data(case))


# --- plans -------------------------------------------------------------------------------------------------------


def test_a_sweep_of_epsilon_has_few_programs(case):
    """One where shapes stay, at most four elsewhere; and none more for other n, delta, alpha and beta of one shape."""
    sweep = [planned(case, epsilon) for epsilon in (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0)]
    structures = {jax.tree.structure(plan) for plan in sweep}

    @jax.jit
    @chex.assert_max_traces(n=len(structures))
    def run(key, sample, plan):
        return case.learner.learn(key, sample, plan)

    assert len(structures) <= case.programs
    for plan, n in zip(sweep, (40, 7, 0, 1, 2, 40, 64, 3), strict=True):
        jax.eval_shape(run, jax.random.key(0), data(case, n), plan)


def test_the_leaves_of_a_plan_are_narrow_and_rounded(case):
    """What a program would cut to float32 in silence is cut on the host, downwards where it is a budget."""
    for leaf in jax.tree.leaves(planned(case)):
        assert np.asarray(leaf).dtype in (np.float32, np.int32, np.uint32, np.bool_), leaf


def test_plans_of_one_structure_run_side_by_side(simple):
    """vmap over budgets has the bits of one after the other."""
    plans = [planned(simple, epsilon) for epsilon in (0.9, 1.0, 1.1)]
    plans = [plan for plan in plans if jax.tree.structure(plan) == jax.tree.structure(plans[0])]
    if not jax.tree.leaves(plans[0]):
        return
    sample, key = data(simple), jax.random.key(3)
    together = jax.jit(jax.vmap(simple.learner.learn, (None, None, 0)))(key, sample, stack_plans(plans))
    for i, plan in enumerate(plans):
        chex.assert_trees_all_equal(
            jax.tree.map(lambda part, i=i: part[i], together), jax.jit(simple.learner.learn)(key, sample, plan)
        )


def budgets(count, seed):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield float(10 ** generator.uniform(-3, 1.3)), float(10 ** generator.uniform(-12, -2))


def spent(case, epsilon, delta):
    """(epsilon of the guarantee over the budget's, the same of delta); None where the planner refuses the budget."""
    try:
        plan = case.learner.plan(Privacy(epsilon, delta), Accuracy(0.1, 0.1), 1)
    except InputError:
        return None
    whole = case.learner.guarantee(plan)
    return whole.epsilon / epsilon, whole.delta / delta


def check_spending(case, count, seed):
    found = [spent(case, *budget) for budget in budgets(count, seed)]
    parts = [part for part in found if part is not None]
    assert len(parts) >= 0.9 * count, "too many budgets are refused"
    assert all(epsilon <= 1 and delta <= 1 for epsilon, delta in parts), max(parts)
    assert min(epsilon for epsilon, _ in parts) >= case.least_spent


def test_no_budget_is_exceeded_and_hardly_anything_is_left(simple):
    if simple.learner.guarantee(planned(simple)) is not None:
        check_spending(simple, 6, 0)


@pytest.mark.slow
def test_no_budget_is_exceeded_and_hardly_anything_is_left_long(case):
    """At 200 random budgets."""
    if case.learner.guarantee(planned(case)) is not None:
        check_spending(case, 200, 1)


# --- keys --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["raw", "rbg"])
def test_only_typed_threefry_keys(case, bad):
    key = jax.random.key_data(jax.random.key(0)) if bad == "raw" else jax.random.key(0, impl="rbg")
    with pytest.raises(InputError, match=r"^key: "):
        jax.eval_shape(case.learner.learn, key, data(case), planned(case))


def test_no_key_is_used_twice(case):
    sample = data(case)
    with jax.debug_key_reuse(True):
        learner = case.learner
        run = jax.jit(lambda k: learner.learn(k, sample, planned(case)).outcome)
        run(jax.random.key(0))


def test_all_randomness_comes_from_draws(case):
    assert not audit.random_bits_outside(case.learner.learn, jax.random.key(0), data(case), planned(case))


def test_the_answer_depends_on_the_key(case):
    if case.learner.guarantee(planned(case)) is None:
        return
    found = learn(case, data(case, 3), 0.01) if case.guesses else learn(case, data(case), 4.0, 0.4)
    answers = np.concatenate([np.asarray(found.concept).reshape(BATCH, -1), np.asarray(found.outcome)], axis=1)
    assert len(np.unique(answers, axis=0)) > 1


# --- results do not depend on how they are computed --------------------------------------------------------------


@pytest.mark.slow
def test_jit_changes_no_decision(simple):
    """In a small buffer, because without jit every operation is compiled by itself."""
    sample, key, learn_one = data(simple, 12, capacity=16), jax.random.key(1), simple.learner.learn
    plan = jax.tree.map(jnp.asarray, planned(simple, 4.0))
    assert_same(learn_one(key, sample, plan), jax.jit(learn_one)(key, sample, plan))


def test_batch_capacity_and_64_bit_types_together_change_nothing(twofold):
    """Nor does vmap over keys. Each of these alone among the slow tests."""
    with jax.enable_x64(True):
        large = data(twofold, 40, 2 * CAPACITY, realizable=False)
        runs = [learn(twofold, large, epsilon, batch=7, how=one_by_one) for epsilon in MIXED]
        found = [jax.tree.map(np.asarray, run) for run in runs]
    small = data(twofold, realizable=False)
    for epsilon, other in zip(MIXED, found, strict=True):
        one = jax.tree.map(lambda part: np.asarray(part)[:7], learn(twofold, small, epsilon))
        assert jax.tree.map(lambda part: part.dtype, one) == jax.tree.map(lambda part: part.dtype, other)
        assert_same(one, other)


@pytest.mark.slow
def test_the_batch_changes_nothing(case):
    sample = data(case, realizable=False)
    for epsilon in MIXED:
        few, many = (learn(case, sample, epsilon, batch=batch) for batch in (7, BATCH))
        assert_same(few, jax.tree.map(lambda part: part[:7], many))


def test_what_lies_in_the_padding_does_not_matter(case):
    for n, epsilon in [(0, 1.0), (5, 4.0), *((40, e) for e in MIXED)]:
        clean, dirty = (data(case, n, realizable=n < 40, garbage=garbage) for garbage in (False, True))
        order = np.concatenate([np.arange(n), n + np.random.default_rng(n).permutation(CAPACITY - n)])
        mixed = Sample(jnp.asarray(np.asarray(dirty.x)[order]), jnp.asarray(np.asarray(dirty.y)[order]), dirty.mask)
        found = learn(case, clean, epsilon)
        assert_same(found, learn(case, dirty, epsilon))
        assert_same(found, learn(case, mixed, epsilon))


@pytest.mark.slow
def test_the_capacity_changes_nothing(case):
    """The answer, for the same rows and key."""
    small, large = (data(case, 40, capacity, realizable=False) for capacity in (CAPACITY, 2 * CAPACITY))
    np.testing.assert_array_equal(small.x[:40], large.x[:40])
    for epsilon in MIXED:
        assert_same(learn(case, small, epsilon), learn(case, large, epsilon))


def test_the_capacity_changes_no_law(case):
    """The probability of every answer, where the learner can say it."""
    if not hasattr(case.learner, "output_law"):
        return
    size = case.learner.concepts.size
    at = jnp.asarray(wide.encode(sorted({0, 1, size // 3, size // 3 + 1, size // 2, size - 2, size - 1})))

    @jax.jit
    def law(sample, plan):
        return jax.vmap(case.learner.output_law(sample, plan).log_prob)(at)

    for epsilon in MIXED:
        with jax.enable_x64(True):
            plan = widened(planned(case, epsilon))
            found = [np.asarray(law(data(case, 40, c, realizable=False), plan)) for c in (CAPACITY, 2 * CAPACITY)]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.slow
def test_64_bit_types_change_nothing(case):
    seen = []
    for on in (False, True):
        with jax.enable_x64(on):
            sample = data(case, realizable=False)
            seen.append([np.asarray(part) for e in MIXED for part in jax.tree.leaves(learn(case, sample, e))])
    for a, b in zip(*seen, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_nothing_leans_on_implicit_promotion(case):
    sample = data(case)
    with jax.numpy_dtype_promotion("strict"):
        jax.eval_shape(case.learner.learn, jax.random.key(0), sample, planned(case))


def test_the_first_concepts_do_not_depend_on_how_many_follow(first):
    """Where the share of one run is the same; a learner of all concepts at once has no such thing."""
    if not isinstance(first.learner, Independent):
        return
    one, k = first.learner.learner, 2
    few, many = (type(first)(Independent(one, j, "basic"), j) for j in (k, 2 * k))
    sample = data(many)
    columns = Sample(sample.x, jnp.asarray(np.asarray(sample.y)[:, :k]), sample.mask)
    found = learn(few, columns, epsilon=float(k), delta=0.0)
    more = learn(many, sample, epsilon=2.0 * k, delta=0.0)
    assert_same(found, jax.tree.map(lambda part: np.asarray(part)[:, :k], more))


# --- total: an answer or a stated silence for every database and every budget ------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, CAPACITY])
@pytest.mark.parametrize("realizable", [True, False])
def test_every_database_and_budget_has_an_answer(case, n, realizable):
    sample = data(case, n, realizable=realizable)
    for epsilon, delta, alpha, beta in (
        (1.0, 1e-6, 0.1, 0.1), (1e4, 1e-12, 0.1, 0.1), (1e-6, 1e-12, 1e-6, 1e-6), (1e-30, 1e-30, 0.9, 0.9),
        (1.0, 0.0, 0.1, 0.1), (0.5, 0.99, 0.1, 0.1),
    ):  # fmt: skip
        try:
            found = learn(case, sample, epsilon, delta, alpha, beta)
        except InputError:  # a plan may be refused on the host, before anything runs
            ordinary = 1e-3 <= epsilon <= 1e3 and delta > 0 and alpha >= 1e-3  # medians are planned up to 1e3
            assert not ordinary, "an ordinary budget is refused"
            continue
        concept, zero, outcome = (np.asarray(part) for part in (found.concept, found.zero, found.outcome))
        assert set(np.unique(outcome)) <= {0, -1}
        silent = np.concatenate([zero[outcome == -1][:, None], concept[outcome == -1]], axis=1)
        assert len(np.unique(silent, axis=0)) <= 1, "no answer is one fixed hypothesis"
        if isinstance(case.learner, HashedPoints):  # a function and its bucket
            assert np.all(concept[..., 0] < case.learner.tries) and np.all(concept[..., 1] < 2**case.learner.bits)
            continue
        numbers = wide.decode(concept)[~zero]
        assert all(int(v) < case.learner.concepts.size for v in numbers)


def test_results_lead_with_k(case):
    key = jax.random.key(0)
    found = jax.eval_shape(case.learner.learn, key, data(case), planned(case))
    of_all = jax.tree.leaves(found.hashes) if isinstance(case.learner, HashedPoints) else []  # shared by all columns
    assert all(part.shape[0] == case.k for part in jax.tree.leaves(found)[: -len(of_all) or None])
    words = 2 if case.words is None else case.words
    assert (found.concept.shape, found.concept.dtype) == ((case.k, words), jnp.uint32)
    assert (found.zero.dtype, found.outcome.dtype) == (jnp.bool_, jnp.int32)
    labels = jax.eval_shape(case.learner.predict, found, data(case).x)
    assert (labels.shape, labels.dtype) == ((CAPACITY, case.k), jnp.bool_)


def test_with_a_huge_budget_clean_data_are_learned(case):
    """epsilon = 1e4: what is returned agrees with the labels of (almost) all rows."""
    sample = data(case, 60)
    few = case.few  # so few records that some have not seen what matters, and delta for group privacy
    budget = Privacy(60.0, 0.5) if few else Privacy(1e4, 0.01)
    plan = case.learner.plan(budget, Accuracy(0.1, 0.5), 60)  # n is public, and a resample's plan depends on it
    found = program(case)(jax.random.split(jax.random.key(1), BATCH), sample, plan)
    predicted = jax.jit(jax.vmap(case.learner.predict, (0, None)))(found, sample.x)
    wrong = np.sum((np.asarray(predicted) != np.asarray(sample.y)) & np.asarray(sample.mask)[:, None], axis=1)
    assert (np.mean(wrong <= 1) > 0.2) if few else (wrong.max() <= 1)


# --- what is promised on the host --------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-12), (1.0, 1e-6), (1, 1e-6), (8.0, 0.01)])
def test_the_guarantee_is_within_the_budget(case, epsilon, delta):
    whole = case.learner.guarantee(planned(case, epsilon, delta))
    if whole is None:
        assert "Privacy: none" in type(case.learner).__doc__
        return
    assert isinstance(whole, Guarantee)
    assert 0 < whole.epsilon <= epsilon and 0 <= whole.delta <= delta
    assert whole.neighboring is case.learner.neighboring
    assert f"{whole.epsilon:.6g}" in str(whole)


def test_sample_sizes_are_whole_and_move_the_right_way(case):
    def size(epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.1):
        return case.sized.sample_size(Privacy(epsilon, delta), Accuracy(alpha, beta))

    base = size()
    assert isinstance(base, int) and base >= 1
    assert size(epsilon=0.5) >= base >= size(epsilon=2.0)
    if isinstance(case.learner, ParityLearner):  # what it finds is exact
        assert size(alpha=0.05) == base == size(alpha=0.2)
    else:
        assert size(alpha=0.05) > base > size(alpha=0.2)
    assert size(beta=0.01) >= base >= size(beta=0.5)
    assert size(delta=1e-12) >= base


@pytest.mark.parametrize("rows", [1, 5])
def test_hard_neighbors_are_neighbors_that_can_be_learned_from(case, rows):
    pairs = case.learner.hard_neighbors(rows)
    assert pairs
    for one, other in pairs:
        one, other = (jax.tree.map(np.asarray, part) for part in (one, other))
        differs = np.any(one.x != other.x, axis=1) | np.any(one.y != other.y, axis=1)
        np.testing.assert_array_equal(one.mask, other.mask)
        assert int(one.size) == rows and np.sum(differs & one.mask) == 1
        jax.eval_shape(case.learner.learn, jax.random.key(0), one, planned(case))
