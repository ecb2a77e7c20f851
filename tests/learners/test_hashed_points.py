"""Points by buckets of hash functions: errors of all buckets, what is found and how often, numbers that are none."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Finite, Points
from dpjax.concepts import distributions as make
from dpjax.concepts.hashing import Hash
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.task import Task
from dpjax.learners import HashedPoints, column_errors
from dpjax.learners.representations import PointBuckets
from dpjax.theory import points as theory
from tests.trials import successes

TRIALS = 256
ACCURACY = Accuracy(0.2, 0.1)


def rows(domain, k, n, capacity, seed=0):
    generator = np.random.default_rng(seed)
    pool = np.array([0, 5, 2**20, domain.size - 1], np.uint64)
    x = domain.encode(generator.choice(pool, capacity))
    return Sample(x, generator.random((capacity, k)) < 0.5, np.arange(capacity) < n)


def measured(learner, task, n, privacy, largest):
    """Successes of n rows in a buffer for ``largest``, so that there is one program for all."""
    plan = learner.plan(privacy, ACCURACY)
    return successes(learner, task, n, plan, ACCURACY.alpha, TRIALS, k=learner.k, largest=largest, batch=32)


def task(name, rate=0.0):
    """Four segments and three targets each, so that there is one program for all. The last one is hard."""
    quarter = 2**62
    segments = {
        "uniform": [(i * quarter, (i + 1) * quarter - 1, 1) for i in range(4)],
        "zipf": [(i * quarter, i * quarter + 1, 12 // (i + 1)) for i in range(4)],
        "adversarial": [(0, 2**16 - 1, 1), *((i * quarter, i * quarter, 3 * 2**16) for i in (1, 2, 3))],
    }[name]
    law = make.from_segments(Domain(2**64), segments)
    return Task(Points(Domain(2**64)), law, [quarter, 2 * quarter, 3 * quarter], rate)


@pytest.mark.parametrize("k", [1, 40])
def test_errors_are_counted(k):
    """Of every bucket of every function and of the all-zero function, against predictions."""
    domain = Domain(2**40)
    hashes = jax.jit(lambda: Hash.draw(jax.random.key(1), 3, 2))()
    errors = jax.jit(PointBuckets(Points(domain), 3, 2).column_errors)
    for n in (0, 1, 7, 20):
        sample = rows(domain, k, n, 20, seed=n)
        with jax.numpy_dtype_promotion("strict"):
            found = np.asarray(errors(hashes, sample))
        bucket, y = np.asarray(jax.jit(Hash.__call__)(hashes, sample.x))[:n], np.asarray(sample.y)[:n]
        expected = [
            [np.sum((bucket[:, f] == b) != y[:, j]) for f in range(3) for b in range(4)] + [np.sum(y[:, j])]
            for j in range(k)
        ]
        assert found.dtype == np.int32 and found.tolist() == np.array(expected).tolist()


def test_errors_in_turns_are_the_same(monkeypatch):
    generator = np.random.default_rng(2)
    says = jnp.asarray(generator.random((50, 7)) < 0.5)
    sample = rows(Domain(2**40), 9, 43, 50)
    together = np.asarray(column_errors.column_errors(says, sample))
    y, mask = np.asarray(sample.y), np.asarray(sample.mask)
    wrong = (np.asarray(says)[:, None, :] != y[:, :, None]) & mask[:, None, None]
    np.testing.assert_array_equal(together, wrong.sum(axis=0))
    monkeypatch.setattr(column_errors, "_CELLS", 2 * sample.capacity)
    np.testing.assert_array_equal(column_errors.column_errors(says, sample), together)
    monkeypatch.setattr(column_errors, "MOST_ROWS", 49)
    with pytest.raises(InputError, match="capacity"):
        column_errors.column_errors(says, sample)


@pytest.mark.statistical
def test_the_choice_follows_the_exponential_mechanism(stats):
    """One function, given: buckets and the all-zero function are drawn as their errors say."""
    domain, epsilon, count = Domain(2**40), 1.5, 20_000
    learner = HashedPoints(Points(domain), 1, 1, 2)
    sample = rows(domain, 1, 9, 16, seed=3)
    keys = jax.random.split(jax.random.key(3), count)
    plan = learner.plan(Privacy(epsilon, 0.0), ACCURACY)

    @jax.jit
    @jax.vmap
    def run(key):
        found = learner.learn(key, sample, plan)
        return found.zero[0], found.concept[0, 1], PointBuckets(learner.concepts, 1, 2).errors(found.hashes, sample)

    zero, bucket, errors = (np.asarray(part) for part in run(keys))
    weights = np.exp(-epsilon / 2 * errors.astype(np.float64))
    chosen = np.where(zero, 4, bucket)
    observed = np.bincount(errors[np.arange(count), chosen], minlength=10)
    share = weights / weights.sum(axis=1, keepdims=True)
    expected = [np.sum(share[errors == e]) for e in range(len(observed))]
    # sums of independent draws of different laws: each count is within Bernstein of its mean
    for seen, mean in zip(observed, expected, strict=True):
        assert abs(seen - mean) <= np.sqrt(2 * mean * np.log(20 / stats.false_alarm)) + np.log(20 / stats.false_alarm)


@pytest.mark.slow
@pytest.mark.statistical
def test_success_at_the_planned_size(stats):
    """Also with a tenth of the labels flipped, from more rows."""
    privacy = Privacy(4.0, 0.0)
    learner = HashedPoints(Points(Domain(2**64)), 2)
    n = learner.sample_size(privacy, ACCURACY)
    for name in ("uniform", "zipf", "adversarial"):
        stats.mostly(measured(learner, task(name), n, privacy, 4 * n), TRIALS, 0.1)
    noisy = task("adversarial", 0.1)
    stats.mostly(measured(learner, noisy, 4 * n, privacy, 4 * n), TRIALS, 0.1)
    assert measured(learner, noisy, 10, privacy, 4 * n) < TRIALS / 2


def test_a_plan_takes_the_fewest_rows():
    for k, alpha, beta in ((1, 0.2, 0.1), (40, 0.1, 0.05), (1000, 0.25, 0.3)):
        privacy, accuracy = Privacy(1.0, 1e-6), Accuracy(alpha, beta)
        learner = HashedPoints(Points(Domain(2**64)), k, composition="zcdp")
        plan = learner.plan(privacy, accuracy)
        n = learner.sample_size(privacy, accuracy)
        for bits in range(plan.bits - 1, plan.bits + 2):
            for tries in range(plan.tries, plan.tries + 2):
                other = HashedPoints(learner.concepts, k, tries, bits, "zcdp")
                assert other.sample_size(privacy, accuracy) >= n
        assert HashedPoints(learner.concepts, k, bits=plan.bits, composition="zcdp").plan(privacy, accuracy) is not None


@pytest.mark.slow
def test_the_theorems_rows_are_enough_on_its_hardest_workload():
    """One element just above alpha, the rest on twenty; a theorem's n at most 1.5 times what is needed."""
    domain, unit = Domain(2**32), 10**4
    law = make.from_weights(domain, range(1, 22), [2020] + [(unit - 2020) // 20] * 20)
    learner, privacy = HashedPoints(Points(domain), 1), Privacy(1.0, 0.0)
    plan, n = learner.plan(privacy, ACCURACY), learner.sample_size(privacy, ACCURACY)
    task = Task(Points(domain), law, [1])
    one, two = (
        successes(learner, task, rows, plan, ACCURACY.alpha, 2000, k=1, largest=n, batch=100)
        for rows in (n, n * 2 // 3)
    )
    assert n == 106 and one >= 1800 > two


def test_the_domain_does_not_matter_and_more_concepts_do():
    small, large = (HashedPoints(Points(Domain(size)), 1, 8, 7) for size in (2, 2**64))
    assert small.sample_size(Privacy(1.0), ACCURACY) == large.sample_size(Privacy(1.0), ACCURACY)
    sizes = [HashedPoints(Points(Domain(2**64)), k, 14, 7).sample_size(Privacy(1.0), ACCURACY) for k in (1, 10, 100)]
    assert 5 < sizes[1] / sizes[0] < 15 and 5 < sizes[2] / sizes[1] < 15


@pytest.mark.grid(keep=1, per=["composition"])
@pytest.mark.parametrize("count", [50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("composition", ["basic", "advanced", "optimal", "zcdp"])
@pytest.mark.parametrize("k", [1, 40])
def test_random_budgets_are_spent_and_not_exceeded(composition, k, count):
    generator, learner = np.random.default_rng(k), HashedPoints(Points(Domain(9)), k, 2, 3, composition)
    for _ in range(count):
        epsilon, delta = np.exp(generator.uniform(np.log(1e-3), np.log(20))), 10 ** generator.uniform(-12, -2)
        whole = learner.guarantee(learner.plan(Privacy(float(epsilon), float(delta)), ACCURACY))
        assert 0.999 * epsilon <= whole.epsilon <= epsilon and 0 <= whole.delta <= delta
        assert whole.delta == 0 or learner.spends == "approximate"
    pure = learner.guarantee(learner.plan(Privacy(1.0), ACCURACY))
    assert pure.delta == 0 and 0.999 <= pure.epsilon <= 1


def test_a_sweep_over_epsilon_is_one_program():
    learner, sample = HashedPoints(Points(Domain(2**40)), 3, composition="zcdp"), rows(Domain(2**40), 3, 5, 8)
    chex.clear_trace_counter()
    learn = jax.jit(chex.assert_max_traces(learner.learn, n=1))
    for epsilon in np.geomspace(0.25, 4, 8):
        jax.eval_shape(learn, jax.random.key(0), sample, learner.plan(Privacy(float(epsilon), 1e-6), ACCURACY))


@pytest.mark.statistical
@pytest.mark.parametrize("law", ["even", "few", "two"])
def test_the_bound_covers_every_law_of_collisions(law, stats):
    """E min(1, N r(g)^n) for the least g of several, simulated, is at most the bound over laws of one mean."""
    generator, tries, bits, part, alpha, n = np.random.default_rng(5), 2, 5, 1.0, 0.2, 90
    shape = (100_000, tries)
    mean = 2.0**-bits
    drawn = {
        "even": lambda: np.full(shape, mean),
        "few": lambda: 0.1 * (generator.random(shape) < mean / 0.1),
        "two": lambda: np.where(generator.random(shape) < 0.1, 0.14, (mean - 0.014) / 0.9),
    }[law]().min(axis=1)
    kept = 1 - alpha * -np.expm1(-part / 2) + drawn * np.expm1(part / 2)
    t = np.minimum(part / 2, np.log(alpha / np.maximum(drawn, 1e-9)) / 2)
    kept = np.minimum(kept, 1 - alpha * -np.expm1(-t) + drawn * np.expm1(t))
    found = np.minimum(1, (tries << bits) * kept**n)
    slack = np.sqrt(np.log(1 / stats.false_alarm) / 2 / len(found))
    assert found.mean() <= theory._missed(n, 1, tries, bits, part, alpha) + slack


def test_the_bound_is_reached_and_falls():
    sizes = theory.hashed_sizes(1, 1.0, 0.2, 0.1)
    n = theory.hashed(1, *sizes, 1.0, 0.2, 0.1)
    assert theory._missed(n, 1, *sizes, 1.0, 0.2) <= 0.1 < theory._missed(n - 1, 1, *sizes, 1.0, 0.2)
    falling = [theory._missed(rows, 1, *sizes, 1.0, 0.2) for rows in range(0, 400, 7)]
    assert falling[0] == 1 and (np.diff(falling) <= 0).all()


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: HashedPoints(Finite.of([[0, 1]]), 1, 2, 3),
        lambda: HashedPoints(Points(Domain(4)), 0, 2, 3),
        lambda: HashedPoints(Points(Domain(4)), 1, 0, 3),
        lambda: HashedPoints(Points(Domain(4)), 1, 2, 0),
        lambda: HashedPoints(Points(Domain(4)), 1, 2, 21),
        lambda: HashedPoints(Points(Domain(4)), 1, 2, 3, "best"),
        lambda: HashedPoints(Points(Domain(4)), 1, 1, 5).sample_size(Privacy(1.0), ACCURACY),  # too few functions
        lambda: HashedPoints(Points(Domain(4)), 1, 9, 2).sample_size(Privacy(1.0), ACCURACY),  # too few buckets
        lambda: HashedPoints(Points(Domain(4)), 1).plan(Privacy(1.0), Accuracy(1e-7, 0.1)),
        lambda: jax.eval_shape(
            HashedPoints(Points(Domain(9)), 3, 2, 3).learn,
            jax.random.key(0),
            rows(Domain(2**21), 2, 3, 4),
            HashedPoints(Points(Domain(9)), 3, 2, 3).plan(Privacy(1.0), ACCURACY),
        ),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


def test_agnostic_rows_solve_their_inequality():
    """The worst law of the colliding mass g on two values, by a fine search; more rows than for right labels."""
    for k, tries, bits, part, alpha in ((1, 3, 6, 1.0, 0.2), (5, 6, 7, 0.2, 0.1), (1, 1, 12, 8.0, 0.3)):
        beta, mean, members = 0.1, 2.0**-bits, tries << bits
        n = theory.hashed(k, tries, bits, part, alpha, beta, True)
        assert n > theory.hashed(k, tries, bits, part, alpha, beta)

        def bad(g, rows, part=part, alpha=alpha, members=members):
            t = np.linspace(0, min(part / 2, np.arctanh(alpha)), 400)[:, None]
            least = np.min(np.cosh(t) - np.maximum(alpha - g, 0) * np.sinh(t), axis=0)
            return np.minimum(1, members * least**rows)

        low, high = np.linspace(0, mean, 60), np.geomspace(mean * 1.001, 1, 300)
        often = np.minimum(1, (mean - low[:, None]) / (high - low[:, None])) ** tries

        def worst(rows, low=low, high=high, often=often, k=k, bad=bad):
            return k * np.max(bad(low, rows)[:, None] * (1 - often) + bad(high, rows) * often)

        assert worst(n) <= beta < worst(int(0.9 * n))


@pytest.mark.statistical
def test_success_at_the_agnostic_rows(stats):
    """Three tenths of the labels of three columns are flipped."""
    noise, alpha = 0.3, 0.11  # the all-zero function errs by .12 more than the best point
    heavy = task("adversarial", noise)
    learner, privacy = HashedPoints(heavy.concepts, 3), Privacy(8.0)
    goal = Accuracy(alpha, 0.1)
    n = learner.agnostic_sample_size(privacy, goal)
    assert n > 2 * learner.sample_size(privacy, goal)
    plan = learner.plan(privacy, goal)
    good = {
        rows: successes(learner, heavy, rows, plan, alpha, TRIALS, k=3, largest=n, batch=32) for rows in (n, n // 100)
    }
    stats.mostly(good[n], TRIALS, 0.1)
    assert good[n // 100] < 0.8 * TRIALS
