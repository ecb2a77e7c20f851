"""Sample sizes: the inequalities they solve, exact failure probabilities on small problems, simulations, bad input."""

from math import comb, exp, log

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Finite, Points, Thresholds
from dpjax.concepts import distributions as make
from dpjax.concepts.base import Group
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN
from dpjax.theory import erm, generalization, kln, points, search, thresholds
from tests.trials import successes

BINDINGS = {
    "kln.realizable": lambda e, a, b: kln.realizable(1000, e, a, b),
    "kln.realizable_printed": lambda e, a, b: kln.realizable_printed(1000, e, a, b),
    "kln.agnostic": lambda e, a, b: kln.agnostic(1000, e, a, b),
    "thresholds.median": lambda e, a, b: thresholds.median(1000, e, a, b),
    "thresholds.median_records": lambda e, a, b: thresholds.median_records(1000, e, b),
    "points.point_learner": lambda e, a, b: points.point_learner(e, 1e-6, a, b),
    "erm.rows": lambda e, a, b: erm.rows([SINGLE], 1, a, b),
    "erm.rows, agnostic": lambda e, a, b: erm.rows([SINGLE], 3, a, b, True, a / 2),
}
SINGLE = [Group(999, False, 0.0)]
PRIVATE = [name for name in BINDINGS if not name.startswith("erm")]


@pytest.mark.parametrize("name", BINDINGS)
def test_more_is_asked_for_more(name):
    size = BINDINGS[name]
    grid = [(e, a, b) for e in (0.1, 1.0, 5.0) for a in (0.02, 0.1, 0.3) for b in (1e-6, 0.05, 0.5)]
    table = np.array([size(*row) for row in grid]).reshape(3, 3, 3)
    assert all(isinstance(size(*row), int) for row in grid[:3]) and table.min() >= 1
    for axis in range(3):
        assert np.all(np.diff(table, axis=axis) <= 0)


@pytest.mark.parametrize("name", BINDINGS)
@pytest.mark.parametrize(
    ("epsilon", "alpha", "beta"),
    [
        (0.0, 0.1, 0.1),
        (-1.0, 0.1, 0.1),
        (float("nan"), 0.1, 0.1),
        (float("inf"), 0.1, 0.1),
        (1.0, 0.0, 0.1),
        (1.0, 1.0, 0.1),
        (1.0, -0.1, 0.1),
        (1.0, float("nan"), 0.1),
        (1.0, 0.1, 0.0),
        (1.0, 0.1, 1.0),
        (1.0, 0.1, 2.0),
        (1.0, 0.1, float("nan")),
    ],
)
def test_numbers_that_are_none(name, epsilon, alpha, beta):
    if (epsilon != 1.0 and name not in PRIVATE) or (alpha != 0.1 and name == "thresholds.median_records"):
        return  # it does not take that number
    with pytest.raises(InputError):
        BINDINGS[name](epsilon, alpha, beta)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: kln.realizable(0, 1.0, 0.1, 0.1),
        lambda: kln.realizable(1.5, 1.0, 0.1, 0.1),
        lambda: kln.agnostic(0, 1.0, 0.1, 0.1),
        lambda: kln.realizable_printed(-1, 1.0, 0.1, 0.1),
        lambda: erm.rows([], 1, 0.1, 0.1),
        lambda: erm.rows([SINGLE], 0, 0.1, 0.1),
        lambda: thresholds.median(0, 1.0, 0.1, 0.1),
        lambda: thresholds.median(2**2048 + 1, 1.0, 0.1, 0.1),
        lambda: points.point_learner(1.0, 0.0, 0.1, 0.1),
        lambda: points.point_learner(1.0, 1.0, 0.1, 0.1),
        lambda: points.point_learner(1.0, -1e-9, 0.1, 0.1),
    ],
)
def test_sizes_and_deltas_that_are_none(attempt):
    with pytest.raises(InputError):
        attempt()


# --- each is the least n of its inequality -----------------------------------------------------------------------


def assert_least(n, holds):
    assert holds(n)
    assert n == 1 or not holds(n - 1)


GRID = [(e, a, b) for e in (0.05, 1.0, 6.0) for a in (0.01, 0.2) for b in (1e-6, 0.3)]


def test_one_concept_needs_one_row():
    for epsilon, alpha, beta in GRID:
        sizes = kln.realizable(1, epsilon, alpha, beta), kln.agnostic(1, epsilon, alpha, beta)
        assert sizes == (1, 1)


@pytest.mark.parametrize("concepts", [2, 3, 10**6, 2**64])
def test_kln_is_the_union_bound_over_all_bad_concepts(concepts):
    for epsilon, alpha, beta in GRID:
        assert_least(
            kln.realizable(concepts, epsilon, alpha, beta),
            lambda n: log(concepts - 1) + n * np.log1p(-alpha * (1 - exp(-epsilon / 2))) <= log(beta) + 1e-12,  # noqa: B023
        )
        printed = kln.realizable_printed(concepts, epsilon, alpha, beta)
        assert kln.realizable(concepts, epsilon, alpha, beta) <= printed


def test_printed_and_agnostic_kln_are_their_formulas():
    for epsilon, alpha, beta in GRID:
        n = kln.realizable_printed(50, epsilon, alpha, beta)
        assert n == int(np.ceil(max(8 / alpha, 4 / (alpha * epsilon)) * log(100 / beta)))
        n = kln.agnostic_printed(50, epsilon, alpha, beta)
        # uniform convergence to alpha/4 and the mechanism's loss of alpha/2, by the two inequalities of the proof
        assert 2 * 50 * exp(-n * alpha**2 / 8) <= 2 * beta / 3 * (1 + 1e-9)
        assert 50 * exp(-epsilon * n * alpha / 4) <= beta / 3 * (1 + 1e-9)
        assert kln.agnostic(50, epsilon, alpha, beta) < n
        t = np.append(np.linspace(0, epsilon / 2, 4001), min(epsilon / 2, np.arctanh(alpha)))  # the last is the best
        least = np.min(np.cosh(t) - alpha * np.sinh(t))  # of E exp(-t D) over the allowed t, D = +-1 of mean alpha
        assert kln.agnostic(50, epsilon, alpha, beta) == pytest.approx(log(49 / beta) / -log(least), abs=1.5, rel=1e-4)


def test_erm_solves_its_inequalities():
    for _, alpha, beta in GRID:
        slack = beta * (1 + 1e-9)
        assert_least(erm.rows([SINGLE], 2, alpha, beta), lambda n: 1998 * (1 - alpha) ** n <= slack)  # noqa: B023
        n = erm.rows([SINGLE], 2, alpha, beta, True)
        assert_least(n, lambda n: 1998 * (1 - alpha**2) ** (n / 2) <= slack)  # noqa: B023
        t = np.linspace(0, np.arctanh(alpha), 4001)
        least = np.min(np.log(np.cosh(t) - alpha * np.sinh(t)) + t * alpha / 2)
        more = erm.rows([SINGLE], 2, alpha, beta, True, alpha / 2)  # half of alpha is allowed on the rows
        assert more == pytest.approx(log(1998 / beta) / -least, abs=1.5, rel=1e-4) and 3 * n < more < 5 * n


def missed(law, n):
    """P[exactly the elements of a set are not among n draws], by sets as bits."""
    mass = np.array([sum(p for i, p in enumerate(law) if s >> i & 1) for s in range(1 << len(law))])
    found = (1 - mass).clip(0) ** n
    for i in range(len(law)):
        for s in range(1 << len(law)):
            if not s >> i & 1:
                found[s] -= found[s | 1 << i]
    return found


@pytest.mark.parametrize("alpha", [0.15, 0.4])
def test_concepts_agree_on_all_rows_no_more_often_than_stated(alpha):
    """For all pairs at once, exactly: of random matrices, points and thresholds over eight elements."""
    generator = np.random.default_rng(8)
    classes = [Finite.of(generator.random((c, 8)) < 0.4) for c in (2, 5, 30)]
    classes += [Points(Domain(8)), Thresholds(Domain(8))]
    tight = 0.0
    for concepts in classes:
        table = concepts.matrix()
        bits = table @ (1 << np.arange(8))
        for law in (np.full(8, 1 / 8), generator.dirichlet(np.full(8, 0.5))):
            pairs = {
                int(d) for d in np.unique(bits[:, None] ^ bits) if sum(law[i] for i in range(8) if d >> i & 1) > alpha
            }
            for n in (1, 5, 20, 60, 200):
                unseen = missed(law, n)
                exact = sum(p for s, p in enumerate(unseen) if any(d & ~s == 0 for d in pairs))
                general = generalization.agreement(concepts.size, concepts.growth, alpha, n)
                own = concepts.agreement(alpha, n)
                assert exact <= min(1.0, exp(min(general, 0)), exp(min(own, 0))) + 1e-9
                tight = max(tight, exact / exp(min(general, own, 0)) if exact > 1e-6 else 0)
    assert tight > 0.2


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.1), (0.02, 1e-3)])
def test_the_largest_gap_between_rows_is_as_stated(alpha, beta):
    """Of n uniform numbers, exactly: the bound for thresholds asks for at most two rows too many."""
    gap = lambda n: sum(  # noqa: E731
        (-1) ** (j + 1) * comb(n + 1, j) * max(0.0, 1 - j * alpha) ** n
        for j in range(1, min(n + 1, int(1 / alpha)) + 1)
    )
    line = Thresholds(Domain(2**64))
    n = search.smallest(lambda n: line.agreement(alpha, n) <= log(beta))
    assert gap(n) <= beta < gap(n - 2)


@pytest.mark.parametrize("k", [1, 30, 10**6])
def test_a_large_error_hides_behind_few_errors_on_the_rows_as_rarely_as_stated(k):
    """BNS Theorem 2.7, exactly: a bad threshold errs on all rows of a mass alpha, on one of two sides of the target."""
    for _, alpha, beta in GRID:
        n = generalization.realizable(generalization.line, k, alpha, beta)
        assert 2 * min(k, n + 1) * binom.cdf(alpha * n / 2, n, alpha) <= beta
        assert n <= 64 / alpha * (log(64 / alpha) + log(8 * k / beta))
        n = generalization.realizable(generalization.finite(100), k, alpha, beta)
        assert min(k, 50) * 99 * binom.cdf(alpha * n / 2, n, alpha) <= beta
        assert_least(n, lambda n: 400 * min(k, 100) * exp(-alpha * n / 16) <= beta * (1 + 1e-9))  # noqa: B023


def binomial_below(count, n, p):
    """P[Bin(n, p) <= count], summed."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(count + 1))


def test_median_solves_its_inequality_by_direct_sums():
    for size, epsilon, alpha, beta in ((4, 4.0, 0.3, 0.2), (100, 8.0, 0.2, 0.3), (2**64, 20.0, 0.25, 0.1)):
        m = thresholds.median_records(size, epsilon, beta)
        assert_least(m, lambda r: size * exp(-epsilon * r / 4) <= beta / 2 * (1 + 1e-12))  # noqa: B023
        assert_least(
            thresholds.median(size, epsilon, alpha, beta),
            lambda n: 2 * binomial_below(m - 1, n, alpha) <= beta / 2 * (1 + 1e-9),  # noqa: B023
        )


def test_point_learner_solves_its_inequalities():
    """All four conditions hold at n, and one of them fails below."""
    for epsilon, delta, alpha, beta in ((1.0, 1e-6, 0.1, 0.1), (4.0, 1e-12, 0.25, 0.01), (0.3, 0.1, 0.05, 0.3)):

        def holds(n, epsilon=epsilon, delta=delta, alpha=alpha, beta=beta):
            d = log(1 / delta)
            return all(
                (
                    binom.cdf(9 * alpha * n / 60, n, alpha) / alpha <= beta / 4,
                    0.5 + (4 / epsilon) * log(4 * n / beta) <= alpha * n / 30,
                    1 + (4 / epsilon) * d <= 7 * alpha * n / 60,
                    2 + (4 / epsilon) * (d + log(1 / beta)) <= alpha * n / 30,
                )
            )

        assert_least(points.point_learner(epsilon, delta, alpha, beta), holds)


@pytest.mark.parametrize("answer", [1, 2, 3, 1000, 2**40 + 1])
def test_smallest_finds_the_least(answer):
    assert search.smallest(lambda n: n >= answer) == answer


def test_a_condition_that_never_holds_is_refused():
    with pytest.raises(InputError, match="relax"):
        search.smallest(lambda n: False)


# --- exact failure probabilities on small problems ---------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "alpha", "beta"), [(1.0, 0.1, 0.1), (0.3, 0.2, 0.05), (5.0, 0.05, 0.3)])
def test_kln_fails_with_at_most_beta_by_an_exact_sum(epsilon, alpha, beta):
    """Two concepts that differ on mass just above alpha: the wrong one is taken with E[1 / (1 + e^(epsilon e / 2))]."""
    n = kln.realizable(2, epsilon, alpha, beta)
    errors = np.arange(n + 1)
    failure = np.sum(binom.pmf(errors, n, alpha) * expit(-epsilon / 2 * errors))
    assert failure <= beta
    few = max(1, n // 20)
    errors = np.arange(few + 1)
    assert np.sum(binom.pmf(errors, few, alpha) * expit(-epsilon / 2 * errors)) > beta


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.1), (0.3, 0.01)])
def test_erm_fails_with_at_most_beta_by_exact_sums(alpha, beta):
    """Points: all elements of mass alpha/2 must occur. Thresholds: both atoms next to the target must."""
    points, line = (ERM(kind(Domain(2**64))) for kind in (Points, Thresholds))
    n = points.sample_size_of(10**9, Privacy(1.0), Accuracy(alpha, beta))
    atoms = int(2 / alpha)
    missing = sum((-1) ** (i + 1) * comb(atoms, i) * max(0.0, 1 - i * alpha / 2) ** n for i in range(1, atoms + 1))
    assert 0.5 * beta < missing <= beta * (1 + 1e-6)
    n = line.sample_size(Privacy(1.0), Accuracy(alpha, beta))
    assert 2 * (1 - alpha) ** n - (1 - 2 * alpha) ** n <= beta


# --- simulations -------------------------------------------------------------------------------------------------

TRIALS = 300
MATRIX = np.eye(9, 40, 1, dtype=bool)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("formula", [kln.realizable, kln.realizable_printed], ids=lambda f: f.__name__)
def test_kln_learns_at_either_sample_size(formula, stats):
    """The packing: every other concept is bad."""
    epsilon, alpha, beta = 1.0, 0.1, 0.1
    concepts = Finite.of(MATRIX)
    n = formula(concepts.size, epsilon, alpha, beta)
    task = Task(concepts, make.adversarial_finite(concepts.domain, alpha), range(concepts.size))
    learner = KLN(concepts)
    plan = learner.plan(Privacy(epsilon), Accuracy(alpha, beta))
    stats.mostly(successes(learner, task, n, plan, alpha, TRIALS), TRIALS, beta)


@pytest.mark.slow
@pytest.mark.statistical
def test_kln_learns_noisy_labels_at_the_agnostic_sample_size(stats):
    """Walsh functions disagree on half of the domain, a fifth of the labels are flipped: every other concept is bad."""
    epsilon, alpha, beta, noise, target = 1.0, 0.25, 0.2, 0.2, 5
    walsh = np.array([[bin(a & x).count("1") % 2 for x in range(16)] for a in range(16)], bool)
    concepts = Finite.of(walsh)
    excess = (1 - 2 * noise) * np.mean(walsh != walsh[target], axis=1)
    assert np.all(np.delete(excess, target) > alpha)
    learner, capacity = KLN(concepts), 1024

    @jax.jit
    def errors(keys, n, plan):
        def trial(key):
            key_x, key_flip, key_learn = jax.random.split(key, 3)
            x = jax.random.randint(key_x, (capacity,), 0, 16, jnp.int32)
            label = jnp.asarray(walsh[target])[x] ^ (jax.random.uniform(key_flip, (capacity,), jnp.float32) < noise)
            sample = Sample(x.astype(jnp.uint32)[:, None], label[:, None], jnp.arange(capacity) < n)
            found = learner.learn(key_learn, sample, plan)
            return found.concept[0, 1]

        return jax.lax.map(trial, keys, batch_size=16)

    n = kln.agnostic(concepts.size, epsilon, alpha, beta)
    assert n <= capacity
    trial_keys = jax.random.split(jax.random.key(6), TRIALS)
    plan = learner.plan(Privacy(epsilon), Accuracy(alpha, beta))
    good = [np.sum(excess[np.asarray(errors(trial_keys, rows, plan))] <= alpha) for rows in (n, 10)]
    stats.mostly(int(good[0]), TRIALS, beta)
    assert good[1] < (1 - beta) * TRIALS


@pytest.mark.statistical
@pytest.mark.parametrize(
    "concepts",
    [Finite.of(MATRIX), pytest.param(Points(Domain(2**20)), marks=pytest.mark.slow)],
    ids=lambda c: type(c).__name__,
)
def test_erm_learns_at_its_sample_size(concepts, stats):
    alpha, beta = 0.1, 0.1
    learner = ERM(concepts)
    n = learner.sample_size(Privacy(1.0), Accuracy(alpha, beta))
    hard = make.adversarial_points if isinstance(concepts, Points) else make.adversarial_finite
    targets = [1, 2, 3] if isinstance(concepts, Finite) else make.spread(concepts.domain, 9)[3:5]
    task = Task(concepts, hard(concepts.domain, alpha), targets)
    stats.mostly(successes(learner, task, n, None, alpha, TRIALS, k=2, seed=8), TRIALS, beta)
