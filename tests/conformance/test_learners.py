"""Every exported learner through one suite: what the four faces of a learner owe whoever runs it."""

import copy
import inspect
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts import Hypothesis
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import (
    ConjunctionLearner,
    GenericLearner,
    HashedPoints,
    Independent,
    ParityLearner,
    PolygonLearner,
    UnionLearner,
)

CAPACITY, BATCH = 64, 64
MIXED = (0.3, 1.0, 4.0, 9.0, 40.0)  # budgets between pure noise and certainty: every learner has likely rivals at one


def data(case, n=40, capacity=CAPACITY, seed=0, realizable=True, garbage=True):
    """n rows over a few values of the domain, so that points are heavy; garbage in the padding."""
    generator = np.random.default_rng(seed)
    size, domain = case.learner.concepts.domain.size, case.learner.concepts.domain
    pool = [0, size - 1, size // 3, *(int(v) for v in generator.integers(0, size, 3, np.uint64))]
    values = [pool[i] for i in generator.integers(0, len(pool), n)]
    if realizable and isinstance(case.learner, PolygonLearner | UnionLearner):
        target = Hypothesis.of(case.learner.concepts.targets(case.k, seed))
        labels = np.asarray(case.learner.concepts.predict(target, jnp.asarray(domain.encode(values))))
    elif realizable:
        numbers = wide.encode([pool[i] % case.learner.concepts.size for i in generator.integers(0, len(pool), case.k)])
        target = Hypothesis.of(jnp.asarray(numbers))
        labels = np.asarray(case.learner.concepts.predict(target, jnp.asarray(domain.encode(values))))
    else:
        labels = generator.random((n, case.k)) < 0.5
    noise = np.random.default_rng(seed + capacity)
    x = noise.integers(0, 2**32 if garbage else 1, (capacity, domain.limbs)).astype(np.uint32)
    y = noise.random((capacity, case.k)) < (0.5 if garbage else 0)
    x[:n], y[:n] = domain.encode(values).reshape(n, domain.limbs), labels.reshape(n, case.k)
    return Sample(jnp.asarray(x), jnp.asarray(y), jnp.arange(capacity) < n)


@cache
def program(case):
    """learn over a batch of keys. One trace for each shape that a test asks for."""
    return jax.jit(jax.vmap(case.learner.learn, (0, None, None, None)))


def learn(case, sample, epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.1, batch=BATCH, seed=1):
    privacy = Privacy(jnp.float32(epsilon), jnp.float32(delta))
    accuracy = Accuracy(jnp.float32(alpha), jnp.float32(beta))
    return program(case)(jax.random.split(jax.random.key(seed), batch), sample, privacy, accuracy)


def assert_same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


# --- the suite is complete ---------------------------------------------------------------------------------------


def test_every_exported_learner_has_an_instance(instances):
    exported, built, tiny = instances
    assert exported == built, "add an instance to tests/conformance/conftest.py"
    private = {kind for kind in exported if kind.__name__ != "ERM"}
    assert private - {PolygonLearner} == tiny, "add a tiny instance for the exact audit"  # lines are too many to list


def test_every_learner_has_the_four_faces(case):
    learner = case.learner
    assert isinstance(learner.neighboring, Neighboring)
    for face in ("learn", "predict", "guarantee", "sample_size", "hard_neighbors"):
        assert callable(getattr(learner, face)), face


# --- a static description, equal by value ------------------------------------------------------------------------


def test_learners_are_equal_by_value(case):
    again = copy.deepcopy(case.learner)
    assert again is not case.learner and again == case.learner and hash(again) == hash(case.learner)


def test_an_equal_learner_compiles_nothing(case):
    traced = []

    def run(learner, key, sample):
        traced.append(1)
        return learner.learn(key, sample, Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)).outcome

    compiled = jax.jit(run, static_argnums=0)
    for learner in (case.learner, copy.deepcopy(case.learner)):
        jax.eval_shape(lambda k, s, one=learner: compiled(one, k, s), jax.random.key(0), data(case))
    assert len(traced) == 1


def test_one_trace_for_all_numbers_on_the_axes(case):
    """epsilon, delta, n, alpha and beta are arguments: new values compile nothing."""
    traced = []

    @jax.jit
    def run(*arguments):
        traced.append(1)
        return case.learner.learn(*arguments)

    numbers = ((40, 1.0, 1e-6, 0.1, 0.1), (7, 0.3, 1e-12, 0.02, 0.3), (0, 50.0, 0.0, 0.5, 0.01))
    for n, epsilon, delta, alpha, beta in numbers:
        privacy = Privacy(jnp.float32(epsilon), jnp.float32(delta))
        jax.eval_shape(run, jax.random.key(0), data(case, n), privacy, Accuracy(jnp.float32(alpha), jnp.float32(beta)))
    assert len(traced) == 1


# --- keys --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["raw", "rbg"])
def test_only_typed_threefry_keys(case, bad):
    key = jax.random.key_data(jax.random.key(0)) if bad == "raw" else jax.random.key(0, impl="rbg")
    with pytest.raises(InputError, match=r"^key: "):
        jax.eval_shape(case.learner.learn, key, data(case), Privacy(1.0, 1e-6), Accuracy(0.1, 0.1))


def test_no_key_is_used_twice(case):
    sample = data(case)
    with jax.debug_key_reuse(True):
        learner = case.learner
        run = jax.jit(lambda k: learner.learn(k, sample, Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)).outcome)
        run(jax.random.key(0))


def test_the_answer_depends_on_the_key(case):
    whole = case.learner.guarantee(Privacy(1.0, 1e-6))
    if whole is None:
        return
    rounds = Independent | GenericLearner | ConjunctionLearner | PolygonLearner | UnionLearner
    pure = whole.delta == 0 or isinstance(case.learner, rounds)
    found = learn(case, data(case, 3), 0.01) if pure else learn(case, data(case), 4.0, 0.4)
    answers = np.concatenate([np.asarray(found.concept).reshape(BATCH, -1), np.asarray(found.outcome)], axis=1)
    assert len(np.unique(answers, axis=0)) > 1


# --- results do not depend on how they are computed --------------------------------------------------------------


def test_jit_changes_no_decision(simple):
    """In a small buffer, because without jit every operation is compiled by itself."""
    sample, key, learn_one = data(simple, 12, capacity=16), jax.random.key(1), simple.learner.learn
    numbers = (Privacy(jnp.float32(4.0), jnp.float32(1e-6)), Accuracy(jnp.float32(0.1), jnp.float32(0.1)))
    assert_same(learn_one(key, sample, *numbers), jax.jit(learn_one)(key, sample, *numbers))


def test_batch_capacity_and_64_bit_types_together_change_nothing(case):
    """One by one among the slow tests."""
    with jax.enable_x64(True):
        large = data(case, 40, 2 * CAPACITY, realizable=False)
        found = [jax.tree.map(np.asarray, learn(case, large, epsilon, batch=7)) for epsilon in MIXED]
    small = data(case, realizable=False)
    for epsilon, other in zip(MIXED, found, strict=True):
        one = jax.tree.map(lambda part: np.asarray(part)[:7], learn(case, small, epsilon))
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
        mixed = Sample(dirty.x[order], dirty.y[order], dirty.mask)
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
    arguments = (Accuracy(0.1, 0.1),) if "accuracy" in inspect.signature(case.learner.output_law).parameters else ()
    size = case.learner.concepts.size
    at = jnp.asarray(wide.encode(sorted({0, 1, size // 3, size // 3 + 1, size // 2, size - 2, size - 1})))

    @jax.jit
    def law(sample, epsilon):
        return jax.vmap(case.learner.output_law(sample, Privacy(epsilon), *arguments).log_probability)(at)

    for epsilon in MIXED:
        with jax.enable_x64(True):
            budget = jnp.float64(epsilon)
            found = [np.asarray(law(data(case, 40, c, realizable=False), budget)) for c in (CAPACITY, 2 * CAPACITY)]
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
        jax.eval_shape(case.learner.learn, jax.random.key(0), sample, Privacy(1.0, 1e-6), Accuracy(0.1, 0.1))


def test_the_first_concepts_do_not_depend_on_how_many_follow(first):
    """Where the share of one run is the same; a learner of all concepts at once has no such thing."""
    if not isinstance(first.learner, Independent):
        return
    one, k = first.learner.learner, 2
    few, many = (type(first)(Independent(one, j, "basic"), j) for j in (k, 2 * k))
    sample = data(many)
    columns = Sample(sample.x, sample.y[:, :k], sample.mask)
    found = learn(few, columns, epsilon=float(k), delta=0.0, batch=7)
    assert_same(found, jax.tree.map(lambda part: part[:, :k], learn(many, sample, epsilon=2.0 * k, delta=0.0, batch=7)))


# --- total: an answer or a stated silence for every database and every budget ------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, CAPACITY])
@pytest.mark.parametrize("realizable", [True, False])
def test_every_database_and_budget_has_an_answer(case, n, realizable):
    sample = data(case, n, realizable=realizable)
    for epsilon, delta, alpha, beta in (
        (1.0, 1e-6, 0.1, 0.1), (1e4, 1e-12, 0.1, 0.1), (1e-6, 1e-12, 1e-6, 1e-6), (1e-30, 1e-30, 0.9, 0.9),
        (1.0, 0.0, 0.1, 0.1), (0.5, 0.99, 0.1, 0.1),
    ):  # fmt: skip
        found = learn(case, sample, epsilon, delta, alpha, beta)
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
    found = jax.eval_shape(case.learner.learn, key, data(case), Privacy(1.0, 1e-6), Accuracy(0.1, 0.1))
    of_all = jax.tree.leaves(found.hashes) if isinstance(case.learner, HashedPoints) else []  # shared by all columns
    assert all(part.shape[0] == case.k for part in jax.tree.leaves(found)[: -len(of_all) or None])
    lines = {PolygonLearner: 1, UnionLearner: 3}.get(type(case.learner))  # of a round, five words each
    words = 5 * lines * case.learner.table.rounds if lines else 2
    assert (found.concept.shape, found.concept.dtype) == ((case.k, words), jnp.uint32)
    assert (found.zero.dtype, found.outcome.dtype) == (jnp.bool_, jnp.int32)
    labels = jax.eval_shape(case.learner.predict, found, data(case).x)
    assert (labels.shape, labels.dtype) == ((CAPACITY, case.k), jnp.bool_)


def test_with_a_huge_budget_clean_data_are_learned(case):
    """epsilon = 1e4: what is returned agrees with the labels of (almost) all rows."""
    sample = data(case, 60)
    few = case.theorem is not None  # so few records that some have not seen what matters, and delta for group privacy
    found = learn(case, sample, *((60.0, 0.5) if few else (1e4, 0.01)), beta=0.5)
    predicted = jax.vmap(case.learner.predict, (0, None))(found, sample.x)
    wrong = np.sum((np.asarray(predicted) != np.asarray(sample.y)) & np.asarray(sample.mask)[:, None], axis=1)
    assert (np.mean(wrong <= 1) > 0.2) if few else (wrong.max() <= 1)


# --- what is promised on the host --------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-12), (1.0, 1e-6), (1, 1e-6), (8.0, 0.01)])
def test_the_guarantee_is_within_the_budget(case, epsilon, delta):
    whole = case.learner.guarantee(Privacy(epsilon, delta))
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


@pytest.mark.parametrize(("privacy", "accuracy"), [
    (Privacy(0.0, 1e-6), Accuracy(0.1, 0.1)), (Privacy(1.0, 1e-6), Accuracy(0.0, 0.1)),
    (Privacy(1.0, 1e-6), Accuracy(0.1, 1.0)),
])  # fmt: skip
def test_numbers_that_are_none_are_refused_on_the_host(case, privacy, accuracy):
    if privacy.epsilon == 0 and case.learner.guarantee(Privacy(1.0, 1e-6)) is None:
        return
    with pytest.raises(InputError):
        case.sized.sample_size(privacy, accuracy)


@pytest.mark.parametrize("rows", [1, 5])
def test_hard_neighbors_are_neighbors_that_can_be_learned_from(case, rows):
    pairs = case.learner.hard_neighbors(rows)
    assert pairs
    for one, other in pairs:
        differs = np.any(np.asarray(one.x != other.x), axis=1) | np.any(np.asarray(one.y != other.y), axis=1)
        np.testing.assert_array_equal(one.mask, other.mask)
        assert int(one.size) == rows and np.sum(differs & np.asarray(one.mask)) == 1
        jax.eval_shape(case.learner.learn, jax.random.key(0), one, Privacy(1.0, 1e-6), Accuracy(0.1, 0.1))
