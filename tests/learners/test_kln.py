"""The generic learner: its law is the exponential mechanism over the whole class, and it is what runs."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, log_softmax
from scipy.stats import binom

from dpjax.concepts import Domain, Finite, Points, Thresholds
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import down, widened
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners import KLN, database
from dpjax.mechanisms import exponential
from dpjax.mechanisms.exponential import LESS

ACCURACY = Accuracy(0.1, 0.1)
MATRIX = np.random.default_rng(2).random((8, 6)) < 0.5
CLASSES = [Points(Domain(6)), Thresholds(Domain(6)), Finite.of(MATRIX), Points(Domain(1)), Thresholds(Domain(1))]
CAPACITY = 8


def name(concepts):
    return f"{type(concepts).__name__}-{concepts.domain.size}"


def label(concepts, concept, x):
    if isinstance(concepts, Finite):
        return bool(MATRIX[concept, x])
    return x == concept if isinstance(concepts, Points) else x <= concept


def errors_of(concepts, rows):
    return np.array([sum(label(concepts, c, x) != y for x, y in rows) for c in range(concepts.size)])


@lru_cache
def databases(concepts, count=40):
    generator = np.random.default_rng(concepts.size)
    size = concepts.domain.size
    return [
        [(int(generator.integers(size)), bool(generator.integers(2))) for _ in range(i % (CAPACITY + 1))]
        for i in range(count)
    ]


@lru_cache
def stack(concepts):
    samples = [
        database(concepts.domain, [x for x, _ in r], np.array([[y] for _, y in r]).reshape(-1, 1), CAPACITY)
        for r in databases(concepts)
    ]
    return jax.tree.map(lambda *parts: np.stack(parts), *samples)


def law_of(learner, sample, plan):
    """Log-probabilities of all concepts by their numbers."""
    law = learner.output_law(sample, plan)
    numbers = jnp.asarray(wide.encode(range(learner.concepts.size)))
    with jax.enable_x64(True):
        return jax.nn.log_softmax(jax.vmap(law.log_prob)(numbers))


@lru_cache
def laws(learner):
    """`law_of` many samples."""
    return jax.jit(jax.vmap(lambda s, p: law_of(learner, s, p), (0, None)))


@jax.jit
@jax.vmap
def plain(errors, epsilon):
    return exponential(-errors, epsilon).log_probs()


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("concepts", CLASSES, ids=name)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_law_is_the_exponential_mechanism_over_all_concepts(concepts, epsilon):
    learner = KLN(concepts)
    plan = learner.plan(Privacy(epsilon), ACCURACY)
    epsilon = float(plan.epsilon)
    with jax.enable_x64(True):
        got = np.asarray(laws(learner)(stack(concepts), widened(plan)))
        errors = np.stack([errors_of(concepts, rows) for rows in databases(concepts)]).astype(np.int32)
        simple = np.asarray(plain(errors, np.full(len(errors), epsilon)))
    np.testing.assert_allclose(got, log_softmax(-epsilon / 2 * errors, axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(got, simple, rtol=0, atol=1e-12)


@pytest.mark.optimized
@pytest.mark.parametrize("concepts", CLASSES[:3], ids=name)
def test_float32_changes_the_law_by_rounding_only(concepts):
    learner = KLN(concepts)
    got = np.asarray(laws(learner)(stack(concepts), learner.plan(Privacy(1.7), ACCURACY)))
    for rows, row in zip(databases(concepts), got, strict=True):
        np.testing.assert_allclose(
            row, log_softmax(-np.float32(1.7) * (1 - LESS) / 2 * errors_of(concepts, rows)), rtol=0, atol=3e-6
        )


@pytest.mark.statistical
@pytest.mark.parametrize(
    "concepts", [pytest.param(CLASSES[0], marks=pytest.mark.slow), *CLASSES[1:3]], ids=name
)  # points in tests/conformance
def test_what_is_learned_follows_the_law(key, stats, concepts):
    learner = KLN(concepts)
    plan = learner.plan(Privacy(1.0), ACCURACY)
    learn = jax.jit(jax.vmap(lambda k, s, p: learner.learn(k, s, p).concept[0], (0, None, None)))
    law = np.exp(laws(learner)(stack(concepts), plan))
    for which, stream in zip((5, 17), jax.random.split(key), strict=True):
        sample = jax.tree.map(lambda part, i=which: part[i], stack(concepts))
        drawn = wide.decode(learn(jax.random.split(stream, 10_000), sample, plan))
        stats.chi_square(np.bincount(drawn.astype(int), minlength=concepts.size), law[which])


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (Points, 2**64),
        (Thresholds, 2**64),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in ((Points, 2**33), (Thresholds, 2**32))),
    ],
)
def test_on_a_huge_domain_the_regions_have_their_probabilities(key, stats, kind, size):
    """Each value that occurs or each gap, and inside a gap both halves."""
    concepts, epsilon = kind(Domain(size)), 60.0
    values = [size // 4, size // 4, size // 2, size - 1]
    rows = list(zip(values, [1, 1, 1, 0], strict=True))
    sample = database(concepts.domain, values, [1, 1, 1, 0])
    if kind is Points:
        marks = sorted({size // 4, size // 4 + 1, size // 2, size // 2 + 1, size - 1})
    else:
        marks = [size // 4, size // 2, 3 * (size // 4), size - 1]
    starts = [0, *marks]
    ends = [*(m - 1 for m in marks), size - 1]
    widths = np.array([float(e - s + 1) for s, e in zip(starts, ends, strict=True)])
    errors = np.array([sum(label(concepts, s, x) != y for x, y in rows) for s in starts])
    law = np.exp(log_softmax(np.log(widths) - epsilon / 2 * errors))
    learner = KLN(concepts)
    learn = jax.jit(jax.vmap(lambda k, p: learner.learn(k, sample, p).concept[0], (0, None)))
    drawn = wide.decode(learn(jax.random.split(key, 4_000), learner.plan(Privacy(epsilon), ACCURACY)))
    assert np.all(drawn.astype(object) < size)
    found = np.searchsorted(np.array(starts, np.uint64), drawn, "right") - 1
    stats.chi_square(np.bincount(found, minlength=len(starts)), law)


def test_more_concepts_than_one_are_refused():
    sample = database(Domain(6), [1, 2], [[0, 1], [1, 1]])
    learner = KLN(Points(Domain(6)))
    with pytest.raises(InputError, match="Independent"):
        learner.learn(jax.random.key(0), sample, learner.plan(Privacy(1.0), ACCURACY))


def test_points_need_not_be_in_the_first_rows(key):
    """The mask says which rows are real."""
    concepts = Thresholds(Domain(50))
    one = database(concepts.domain, [10, 20, 30], [1, 1, 0], 6)
    order = np.array([5, 0, 4, 2, 3, 1])
    moved = jax.tree.map(lambda part: np.asarray(part)[order], one)
    learner = KLN(concepts)
    law, plan = jax.jit(lambda s, p: law_of(learner, s, p)), learner.plan(Privacy(1.0), ACCURACY)
    np.testing.assert_array_equal(law(one, plan), law(moved, plan))


@pytest.mark.parametrize("relation", Neighboring)
def test_the_plan_is_all_of_epsilon_rounded_down(relation):
    learner = KLN(Thresholds(Domain(6)), relation)
    for epsilon in (1e-3, 0.1, 1.0, 20.0):
        plan = learner.plan(Privacy(epsilon, 1e-6), ACCURACY)
        whole = learner.guarantee(plan)
        assert (whole.epsilon, whole.delta, whole.neighboring) == (float(down(epsilon)), 0, relation)
        assert whole.bounded_range is not None
    louder = replace(plan, epsilon=2 * plan.epsilon)
    assert learner.guarantee(louder).epsilon == 2 * float(plan.epsilon)  # what runs is what is promised


@pytest.mark.parametrize(("alpha", "epsilon", "beta"), [(0.05, 0.01, 1e-6), (0.9, 0.01, 1e-9)])
def test_the_theorem_is_about_the_rate_that_runs(alpha, epsilon, beta):
    """All 2^64 - 1 other thresholds err on one element of mass alpha: the failure, exactly, is at most beta."""
    learner = KLN(Thresholds(Domain(2**64)))
    n = learner.sample_size(Privacy(epsilon, 0.0), Accuracy(alpha, beta))
    rate = float(learner.plan(Privacy(epsilon, 0.0), Accuracy(alpha, beta)).epsilon) / 2 * (1 - LESS)
    errors = np.arange(n + 1)
    failure = np.exp(binom.logpmf(errors, n, alpha)) @ expit(64 * np.log(2) - rate * errors)
    assert 0.9 * beta < failure <= beta


def test_one_concept_needs_one_row():
    for concepts in (Points(Domain(1)), Thresholds(Domain(1)), Finite.of(MATRIX[:1])):
        assert KLN(concepts).sample_size(Privacy(1e-3), ACCURACY) == 1
