"""Learners over domains beyond 2**64 elements: their laws beside Python's integers, and limbs beside words."""

from functools import lru_cache
from math import log

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import dpjax as dp
from dpjax.concepts import Domain, Points, Spider, Thresholds, distributions
from dpjax.core import arithmetic
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.sweep.task import Task
from dpjax.learners import (
    KLN,
    HashedPoints,
    ImproperVC1,
    PointLearner,
    StablePoints,
    ThresholdInterior,
    ThresholdMedian,
    database,
)

PRIVACY, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
CAPACITY = 12
WIDE = Domain(2**96)


def marks(size):
    near = [0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, size // 2, size - 2, size - 1]
    return sorted({mark for mark in near if 0 <= mark < size})


@lru_cache
def databases(size, count=24):
    """Rows at ends of limbs and of the domain; labels of a threshold, of a point or at random."""
    generator, pool = np.random.default_rng(5), marks(size)
    rows = []
    for number in range(count):
        values = [pool[i] for i in generator.integers(len(pool), size=number % (CAPACITY + 1))]
        target = pool[generator.integers(len(pool))]
        rule = [lambda x, t=target: x <= t, lambda x, t=target: x == t, lambda x: generator.random() < 0.5][number % 3]
        rows.append([(value, bool(rule(value))) for value in values])
    return rows


@lru_cache
def stack(domain, k=1):
    samples = [
        database(domain, [x for x, _ in rows], np.array([[y] * k for _, y in rows]).reshape(-1, k), CAPACITY)
        for rows in databases(domain.size)
    ]
    return jax.tree.map(lambda *parts: jnp.stack(parts), *samples)


def exact(kind, size, rows, epsilon):
    """ln of the probability of every concept at the marks, by the exponential mechanism over all of the class."""
    label = (lambda c, x: x <= c) if kind is Thresholds else (lambda c, x: x == c)
    errors = lambda c: sum(label(c, x) != y for x, y in rows)  # noqa: E731
    values = sorted({x for x, _ in rows})
    if kind is Thresholds:
        starts = sorted({0, *values})
        cells = [(a, b - a) for a, b in zip(starts, [*starts[1:], size], strict=True)]
    else:
        other = next(x for x in range(size) if x not in values)
        cells = [(x, 1) for x in values] + [(other, size - len(values))]
    total = logsumexp([log(width) - epsilon / 2 * errors(at) for at, width in cells])
    return [-epsilon / 2 * errors(mark) - total for mark in marks(size)]


def masses_of(learner, at):
    """ln of the probability of the concepts ``at``, for samples and a float64 plan."""
    return jax.jit(jax.vmap(lambda s, plan: jax.vmap(learner.output_law(s, plan).log_prob)(at), in_axes=(0, None)))


@pytest.mark.parametrize("kind", [Thresholds, Points])
def test_the_law_of_kln_is_the_exponential_mechanism(kind):
    learner = KLN(kind(WIDE))
    at = jnp.asarray(WIDE.encode(marks(WIDE.size)))
    with jax.enable_x64(True):
        plan = widened(learner.plan(PRIVACY, ACCURACY))
        masses = np.asarray(masses_of(learner, at)(stack(WIDE), plan))
    for rows, mass in zip(databases(WIDE.size), masses, strict=True):
        np.testing.assert_allclose(mass, exact(kind, WIDE.size, rows, float(plan.epsilon)), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("learner", "k"),
    [
        (lambda d: ThresholdInterior(Thresholds(d), "exponential", records=4), 1),
        (lambda d: ImproperVC1(Thresholds(d), "exponential"), 1),
        (lambda d: StablePoints(Points(d)), 2),
        (lambda d: PointLearner(Points(d)), 2),
        (lambda d: HashedPoints(Points(d), 2, 3, 4), 2),
    ],
    ids=["interior", "vc1", "stable", "points", "hashed"],
)
@pytest.mark.parametrize("size", [2**32 + 3, pytest.param(2**64, marks=pytest.mark.slow)])
def test_limbs_give_the_answers_of_words(learner, k, size, monkeypatch):
    domain = Domain(size)
    learner = learner(domain)
    plan = learner.plan(Privacy(3.0, 0.05), ACCURACY)
    keys = jax.random.split(jax.random.key(2), len(databases(size)))

    def answers():
        return jax.jit(jax.vmap(lambda key, sample: learner.learn(key, sample, plan)))(keys, stack(domain, k))

    words = answers()
    monkeypatch.setattr(arithmetic, "Words", arithmetic.Limbs)
    limbs = answers()
    for one, other in zip(jax.tree.leaves(words), jax.tree.leaves(limbs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [6, *(pytest.param(size, marks=pytest.mark.slow) for size in (2**32 + 3, 2**64))])
def test_limbs_give_the_laws_of_words(size, monkeypatch):
    domain = Domain(size)
    at = jnp.asarray(arithmetic.encode(marks(size), 2))
    learners = [KLN(Thresholds(domain)), KLN(Points(domain)), ThresholdMedian(Thresholds(domain))]

    def laws(learner):
        with jax.enable_x64(True):
            return masses_of(learner, at)(stack(domain), widened(learner.plan(PRIVACY, ACCURACY)))

    words = [laws(learner) for learner in learners]
    monkeypatch.setattr(arithmetic, "Words", arithmetic.Limbs)
    for one, learner in zip(words, learners, strict=True):
        np.testing.assert_allclose(one, laws(learner), rtol=0, atol=1e-9)


@pytest.mark.parametrize("bits", [65, 256, pytest.param(1024, marks=pytest.mark.slow)])
def test_errors_are_exact(bits):
    domain = Domain(2**bits)
    law = distributions.from_segments(domain, [(3, 10, 1), (2**64 - 1, 2**64 - 1, 5), (2**bits - 1, 2**bits - 1, 7)])
    atoms = dict.fromkeys(range(3, 11), 1) | {2**64 - 1: 5, 2**bits - 1: 7}
    tried = [0, 3, 7, 10, 2**64 - 2, 2**64 - 1, 2**64, 2**bits - 2, 2**bits - 1]
    for concepts, label in ((Thresholds(domain), lambda c, x: x <= c), (Points(domain), lambda c, x: x == c)):
        words = jnp.asarray(concepts.numbered(tried))
        one = dp.Hypothesis.of(jnp.repeat(words, len(tried), axis=0))
        other = dp.Hypothesis.of(jnp.tile(words, (len(tried), 1)))
        with jax.enable_x64(True):
            errors = np.asarray(jax.jit(concepts.error)(law, one, other)).reshape(len(tried), -1)
        expected = [[sum(m for x, m in atoms.items() if label(a, x) != label(b, x)) for b in tried] for a in tried]
        assert errors.tolist() == expected
        labels = np.asarray(concepts.predict(dp.Hypothesis.of(words), jnp.asarray(domain.encode(tried))))
        assert labels.tolist() == [[label(c, x) for c in tried] for x in tried]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("learner", "bits", "trials"),
    [
        (lambda c: KLN(c), 128, 100),
        pytest.param(lambda c: KLN(c), 1024, 100, marks=pytest.mark.slow),
        *(
            pytest.param(lambda c, m=m: ThresholdInterior(c, m), b, 100, marks=pytest.mark.slow)
            for m in ("majority", "recprefix", "treelog")
            for b in (256, 1024)
        ),
        pytest.param(lambda c: ImproperVC1(c, "treelog"), 256, 100, marks=pytest.mark.slow),
    ],
)
def test_success_at_the_sample_size(learner, bits, trials):
    """At least .9 of the trials succeed in expectation; 79 of 100 or fewer would have probability below 1e-3."""
    concepts = Thresholds(Domain(2**bits))
    learner = learner(concepts)
    task = Task(concepts, distributions.adversarial_thresholds(concepts.domain, 0.1, int("6b" * (bits // 8), 16)))
    plan, n = learner.plan(PRIVACY, ACCURACY), learner.sample_size(PRIVACY, ACCURACY)

    def trial(key):
        of_sample, of_learner = jax.random.split(key)
        sample, target = task.draw(of_sample, n)
        return task.error(learner.learn(of_learner, sample, plan), target)[0]

    errors = jax.jit(lambda keys: jax.lax.map(trial, keys))(jax.random.split(jax.random.key(0), trials))
    assert int(jnp.sum(errors <= 0.1)) >= 80


@pytest.mark.statistical
@pytest.mark.parametrize(
    "bits", [80, pytest.param(1024, marks=pytest.mark.slow), pytest.param(2040, marks=pytest.mark.slow)]
)
def test_trees_of_any_height_are_learned_at_the_sample_size(bits):
    """One node of one leg is good. 79 of 100 successes or fewer would have probability below 1e-3."""
    concepts, step = Spider(5, bits), int("6b" * (bits // 8), 16)
    places = {(1, concepts.height): 10, (3, 1): 1, (3, step): 11, (3, step + 1): 11, (3, concepts.height): 67}
    law = distributions.from_segments(
        concepts.domain, [(place := (leg << bits) + at, place, mass) for (leg, at), mass in places.items()]
    )
    task = Task(concepts, law, [3 * concepts.height + step])
    learner = ImproperVC1(concepts)
    plan, n = learner.plan(PRIVACY, ACCURACY), learner.sample_size(PRIVACY, ACCURACY)

    def trial(key):
        of_sample, of_learner = jax.random.split(key)
        sample, target = task.draw(of_sample, n)
        return task.error(learner.learn(of_learner, sample, plan), target)[0]

    errors = jax.jit(lambda keys: jax.lax.map(trial, keys))(jax.random.split(jax.random.key(0), 100))
    assert int(jnp.sum(errors <= 0.1)) >= 80


def test_rows_of_a_tree_depend_on_its_height_alone():
    sizes = {ImproperVC1(Spider(2**legs, 4)).sample_size(PRIVACY, ACCURACY) for legs in (0, 20, 1000)}
    assert len(sizes) == 1


def test_an_answer_does_not_depend_on_the_buffer():
    learner = KLN(Thresholds(WIDE))
    plan, learn, rows = learner.plan(PRIVACY, ACCURACY), jax.jit(learner.learn), databases(WIDE.size)[11]
    samples = (database(WIDE, [x for x, _ in rows], [y for _, y in rows], capacity) for capacity in (11, 40))
    one, other = (learn(jax.random.key(4), sample, plan) for sample in samples)
    np.testing.assert_array_equal(one.concept, other.concept)


@pytest.mark.parametrize(
    ("bits", "below", "above"), [(64, 3.9e-8, 4.4e-8), (2048, 1.2e-6, 1.5e-6)], ids=["words", "limbs"]
)
def test_an_inverse_temperature_below_the_rounding_of_widths_is_zero(bits, below, above):
    domain = Domain(2**bits)
    sample = database(domain, [5, 2 ** (bits - 4)], [1, 0])
    learner = KLN(Thresholds(domain))
    at = jnp.asarray(domain.encode([0, 5, 2 ** (bits - 5), 2 ** (bits - 4), 2**bits - 1]))
    many = jax.tree.map(lambda part: part[None], sample)
    with jax.enable_x64(True):
        small, large = (
            np.asarray(masses_of(learner, at)(many, widened(learner.plan(Privacy(epsilon), ACCURACY))))[0]
            for epsilon in (below, above)
        )
    assert np.ptp(small) < 1e-12 and np.ptp(large) > below / 2


def test_erm_finds_the_concept():
    concepts = Thresholds(WIDE)
    sample = database(WIDE, [2**80, 2**80 + 1, 2**95], [1, 0, 0])
    learner = dp.ERM(concepts)
    found = jax.jit(learner.learn)(jax.random.key(0), sample, learner.plan(PRIVACY, ACCURACY))
    assert arithmetic.decode(np.asarray(found.concept)).tolist() == [2**80]


def test_log_log_wins_within_what_can_be_run():
    """Rows of the theorems; at 2**64 and epsilon 1 KLN still needs fewer."""

    def rows(learner, bits, epsilon):
        return learner(Thresholds(Domain(2**bits))).sample_size(Privacy(epsilon, 1e-6), ACCURACY)

    for bits, epsilon in ((100, 1.0), (61, 4.0)):
        assert rows(ThresholdInterior, bits, epsilon) <= rows(KLN, bits, epsilon)
        assert rows(ThresholdInterior, bits - 2, epsilon) > rows(KLN, bits - 2, epsilon)
