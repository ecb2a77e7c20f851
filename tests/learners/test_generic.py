"""The generic learner: choices among representatives, budgets of its parts, success and what is refused."""

import itertools
import math
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds
from dpjax.concepts import distributions as make
from dpjax.core import bit_strings as B
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.sweep.hard_tasks import hard_splits
from dpjax.experiments.sweep.task import Task
from dpjax.learners import GenericLearner, database
from dpjax.sanitizers import BLR, MWEM, Hierarchy, PointCounts, RankBlocks, Sanitized, Sanitizer
from dpjax.sanitizers.hierarchy import exponential_medians, leaf_counts, median_tree
from dpjax.theory import hierarchy
from dpjax.theory import sanitizers as sizes
from tests.trials import successes

TRIALS = 48
ACCURACY = Accuracy(0.2, 0.1)
MATRIX = Finite.of(np.random.default_rng(1).random((7, 5)) < 0.5)
POINTS = GenericLearner(Points(Domain(2**64)), 2, PointCounts(Domain(2**64))), Privacy(8.0, 1e-6), ACCURACY
LINES = GenericLearner(Thresholds(Domain(2**20)), 2, Hierarchy(20, levels=4)), Privacy(32.0, 0.0), Accuracy(0.4, 0.1)


def measured(learner, task, n, privacy, accuracy, largest):
    """Successes of n rows in a buffer for ``largest``, so that there is one program for all."""
    plan, k = learner.plan(privacy, accuracy), learner.k
    return successes(learner, task, n, plan, accuracy.alpha, TRIALS, k=k, largest=largest, seed=6)


def tasks(concepts, rate=0.0):
    """Four segments and three targets each, so that there is one program for all. The last one is hard."""
    size = concepts.domain.size
    quarter, middle = size // 4, size // 2
    if isinstance(concepts, Points):  # three heavy elements, three tenths of the mass each
        hard = [(0, 2**16 - 1, 1), *((i * quarter, i * quarter, 3 * 2**16) for i in (1, 2, 3))], [1, 2, 3]
    else:  # two neighbors of almost half of the mass each
        inner = [(middle - 1, middle - 1, 46), (middle, middle, 46)]
        hard = [(0, 1, 2), *inner, (size - 2, size - 1, 2)], [(middle - 1) / quarter] * 3
    found = {
        "uniform": ([(i * quarter, (i + 1) * quarter - 1, 1) for i in range(4)], [0, 1, 3]),
        "zipf": ([(i * quarter, i * quarter + 1, 12 // (i + 1)) for i in range(4)], [0, 1, 3]),
        "adversarial": hard,
    }
    targets = {name: [round(t * quarter) for t in places] for name, (_, places) in found.items()}
    return {
        name: Task(concepts, make.from_segments(concepts.domain, segments), targets[name], rate)
        for name, (segments, _) in found.items()
    }


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("learner", "privacy", "accuracy"),
    [POINTS, pytest.param(*LINES, marks=pytest.mark.slow)],
    ids=["points", "thresholds"],
)
def test_success_at_the_sample_size(learner, privacy, accuracy, stats):
    n = learner.sample_size(privacy, accuracy)
    assert learner.agnostic_sample_size(privacy, accuracy) >= n
    for name, task in tasks(learner.concepts).items():
        stats.mostly(measured(learner, task, n, privacy, accuracy, n), TRIALS, 0.1)
        if name == "adversarial":
            assert measured(learner, task, max(2, n // 200), privacy, accuracy, n) < TRIALS / 2


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("learner", "privacy", "accuracy"),
    [POINTS, pytest.param(*LINES, marks=pytest.mark.slow)],
    ids=["points", "thresholds"],
)
def test_flipped_labels(learner, privacy, accuracy, stats):
    """Agnostic: with a twentieth of the labels flipped, excess error at most alpha, from fewer rows than is proved."""
    n = learner.sample_size(privacy, accuracy)
    noisy = tasks(learner.concepts, 0.05)["adversarial"]
    stats.mostly(measured(learner, noisy, n, privacy, accuracy, n), TRIALS, 0.1)
    assert measured(learner, noisy, max(2, n // 200), privacy, accuracy, n) < TRIALS / 2


@pytest.mark.slow
@pytest.mark.statistical
def test_the_choices_follow_the_exponential_mechanism(stats):
    """With B known, as all values are kept: each column's concept is drawn as its errors say, column by column."""
    domain, epsilon, count = Domain(3), 6.0, 8_000
    learner = GenericLearner(Points(domain), 2, PointCounts(domain, 3, 3), share=0.5)
    labels = np.array([[1, 0]] * 4 + [[0, 1]] * 3 + [[0, 0]] * 3)
    sample = database(domain, [0] * 4 + [1] * 3 + [2] * 3, labels, 16)
    keys = jax.random.split(jax.random.key(3), count)
    plan = learner.plan(Privacy(epsilon, 0.5), ACCURACY)
    found = jax.jit(jax.vmap(lambda key: learner.learn(key, sample, plan)))(keys)
    assert not np.any(found.zero) and not np.any(found.outcome)
    sanitize = lambda key: learner.sanitizer.sanitize(key, sample.x, sample.mask, plan.sanitizer)  # noqa: E731
    synthetic = jax.jit(jax.vmap(sanitize))(keys)
    kept = set(np.asarray(synthetic.points)[..., 0].ravel().tolist())
    assert kept == {0, 1, 2}
    chosen = wide.decode(found.concept)
    share = epsilon / 2 / 2  # half for the sanitizer, two columns
    assert float(plan.epsilon) == pytest.approx(share)
    for j in range(2):
        wrong = np.array([np.sum((np.asarray(sample.x)[:10, 0] == c) != labels[:, j]) for c in range(3)])
        weights = np.exp(-share / 2 * wrong)
        # B misses a value now and then; it is then the one that stands for all that are not in B
        stats.chi_square(np.bincount(chosen[:, j].astype(int), minlength=3), weights / weights.sum())


SANITIZED = {
    "points": lambda k, composition: GenericLearner(POINTS[0].concepts, k, PointCounts(Domain(2**64)), composition),
    "thresholds": lambda k, composition: GenericLearner(LINES[0].concepts, k, Hierarchy(20), composition, 0.3),
    "blocks": lambda k, composition: GenericLearner(LINES[0].concepts, k, RankBlocks(20), composition),
    "matrix": lambda k, composition: GenericLearner(MATRIX, k, MWEM(MATRIX.xor()), composition),
}


@pytest.mark.grid(keep=2, per=["composition"])
@pytest.mark.parametrize("count", [1, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("composition", ["basic", "advanced", "optimal", "zcdp"])
@pytest.mark.parametrize("k", [1, 40])
@pytest.mark.parametrize("name", SANITIZED)
def test_random_budgets_are_spent_and_not_exceeded(name, k, composition, count):
    learner, generator = SANITIZED[name](k, composition), np.random.default_rng(k)
    for _ in range(count):
        epsilon, delta = np.exp(generator.uniform(np.log(1e-3), np.log(20))), 10 ** generator.uniform(-12, -2)
        whole = learner.guarantee(learner.plan(Privacy(float(epsilon), float(delta)), Accuracy(0.5, 0.1)))
        assert 0.999 * epsilon <= whole.epsilon <= epsilon and 0 <= whole.delta <= delta
        assert whole.delta == 0 or learner.spends == "approximate"


@pytest.mark.parametrize("name", SANITIZED)
def test_a_sweep_over_epsilon_is_one_program(name):
    learner = SANITIZED[name](3, "zcdp")
    sample = database(learner.concepts.domain, [1, 0], [[1, 0, 1], [0, 0, 1]], 16)
    chex.clear_trace_counter()
    learn = jax.jit(chex.assert_max_traces(learner.learn, n=1))
    for epsilon in (0.25, 4.0):
        jax.eval_shape(
            learn, jax.random.key(0), sample, learner.plan(Privacy(float(epsilon), 1e-6), Accuracy(0.5, 0.1))
        )


class Halves(Sanitizer):
    """A sanitizer from outside: both ends of the domain, whatever the rows."""

    bits, neighboring, spends = 3, Neighboring.REPLACE_ONE, "pure"

    def plan(self, privacy, accuracy):
        return Ends(down(privacy.epsilon))

    def sanitize(self, key, x, mask, plan):
        return Sanitized.of(jnp.asarray([[0], [7]], jnp.uint32), jnp.ones(2, jnp.int32))

    def guarantee(self, plan):
        return exponential_guarantee(float(plan.epsilon))

    def sample_size(self, privacy, accuracy):
        return 1

    def parts_of_a_difference(self, concepts):
        return concepts.differences["thresholds"]

    def answers_differences(self, concepts):
        return True


@plan_type
class Ends:
    epsilon: Any

    @property
    def size(self):
        return 2


def test_a_sanitizer_from_outside():
    learner = GenericLearner(Thresholds(Domain(8)), 1, Halves())
    plan = learner.plan(Privacy(2.0), ACCURACY)
    sample = database(Domain(8), [0, 7], [1, 0])
    found = jax.jit(learner.learn)(jax.random.key(0), sample, plan)
    assert wide.decode(found.concept).tolist()[0] in (0, 7) and learner.spends == "pure"
    assert 1.999 < learner.guarantee(plan).epsilon <= 2
    assert learner.sample_size(Privacy(2.0), ACCURACY) > 1


def test_a_sanitizer_that_does_not_inherit_is_refused():
    alone = type("Alone", (), {name: part for name, part in vars(Halves).items() if not name.startswith("_")})
    with pytest.raises(InputError, match="a new kind inherits from"):
        GenericLearner(Thresholds(Domain(8)), 1, alone())


def test_sizes_count_what_there_is_to_choose_from():
    size = POINTS[0].plan(Privacy(1.0, 1e-6), ACCURACY).sanitizer.size
    assert POINTS[0].concepts.growth(size) == size + 1
    assert Points(Domain(7)).growth(18) == 7 and Thresholds(Domain(9)).growth(3) == 4
    # a class of few points may cut them in many ways: all concepts count
    table = Finite.of([[i >> j & 1 for j in range(5)] for i in range(32)])
    assert table.growth(5) == 32 and table.growth(2) == 4


def test_the_split_needs_the_fewest_rows():
    """Of the shares that a person could set; with a share that is set the rest is still planned."""
    concepts, privacy = Points(Domain(2**32)), Privacy(1.0, 1e-6)
    chosen = GenericLearner(concepts, 3, PointCounts(concepts.domain), "zcdp")
    n = chosen.sample_size(privacy, ACCURACY)
    for share in (0.2, 0.4, 0.6, 0.8):
        assert n <= GenericLearner(concepts, 3, PointCounts(concepts.domain), "zcdp", share).sample_size(
            privacy, ACCURACY
        )
    assert n < chosen.agnostic_sample_size(privacy, ACCURACY) < 2 * n


@pytest.mark.parametrize("agnostic", [False, True])
@pytest.mark.parametrize("heavy", [0.0, 0.15, 0.3])
def test_covers_of_points_bound_the_sum_over_chosen_concepts(heavy, agnostic):
    """Exactly: one target, the other elements of equal mass, all of them candidates; no candidate differs unseen."""
    alpha, t, choices, others = 0.2, 0.3, 50, 4
    mass, noise = (1 - heavy) / others, 0.1 if agnostic else 0.0
    for n in (10, 60, 200):
        # E exp(-t D) of another element: rows there are wrong, rows at the target too, unless their label is flipped
        one = 1 + (mass + heavy) * ((1 - noise) * math.expm1(-t) + noise * math.expm1(t))
        bad = (mass + heavy) * (1 - 2 * noise) > alpha
        total = others * one**n if bad else 0.0
        for cover in Points(Domain(2**32)).covers(alpha, agnostic):
            bound = 0.0
            for group in cover:
                left = alpha - group.loss
                r = math.cosh(t) - left * math.sinh(t) if agnostic else 1 + left * math.expm1(-t)
                bound += 0 if group.hidden else group.number * choices**group.shared * r**n
            assert total <= bound * (1 + 1e-9)


def test_values_that_are_not_listed_have_few_rows(key):
    """The histogram's bound holds with its probability, for one value of so many rows and for many equal ones."""
    domain, privacy, accuracy, trials = Domain(2**16), Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), 400
    sanitizer = PointCounts(domain)
    plan, n, beta = sanitizer.plan(privacy, accuracy), 2048, 0.1
    m = int(sizes.unseen_points(float(plan.rate), float(plan.margin), plan.kept, n, beta))
    assert 1 + float(plan.margin) / float(plan.rate) < m < 0.08 * n
    values = np.minimum(np.arange(n) // (m + 1), 15)  # fifteen values of m + 1 rows, the rest are one value
    x, mask = domain.encode(7 + values), np.ones(n, bool)

    @jax.jit
    @jax.vmap
    def hidden(key):
        made = sanitizer.sanitize(key, x, mask, plan)
        listed = jnp.where(made.listed, made.points[:, 0], jnp.uint32(0))
        return jnp.any(~jnp.any(listed[:, None] == 7 + jnp.arange(16, dtype=jnp.uint32), axis=0))

    failures = int(np.sum(hidden(jax.random.split(key, trials))))
    assert failures <= beta * trials + 4 * np.sqrt(beta * trials)


def test_intervals_between_splits_have_few_rows(key):
    bits, n, beta, trials = 24, 1024, 0.1, 100
    sanitizer = Hierarchy(bits, levels=3)
    plan = sanitizer.plan(Privacy(4.0, 0.0), Accuracy(0.2, beta))
    rates = [float(one) for one in plan.medians]
    m = hierarchy.largest_part(bits * math.log(2), rates, n, beta)
    x, mask = B.encode(hard_splits(n, bits, rates), bits), np.ones(n, bool)

    @jax.jit
    def largest(keys):
        medians = exponential_medians(x, mask, bits)
        one = lambda key: jnp.max(leaf_counts(x, mask, *median_tree(key, plan.medians, medians, bits))[::2])  # noqa: E731
        return jax.lax.map(one, keys)

    found = np.asarray(largest(jax.random.split(key, trials)))
    assert n / 8 < m < n / 2 and np.sum(found > m) <= beta * trials + 4 * np.sqrt(beta * trials)
    assert np.max(found) > m / 2


def test_a_matrix_is_learned_through_its_symmetric_differences():
    xor = MWEM(MATRIX.xor(), 40_000)
    learner = GenericLearner(MATRIX, 2, xor)
    assert learner.sample_size(Privacy(1.0, 1e-6), ACCURACY) > 0
    with pytest.raises(InputError, match="symmetric differences"):
        GenericLearner(MATRIX, 2, MWEM(MATRIX, 40_000)).sample_size(Privacy(1.0, 1e-6), ACCURACY)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: GenericLearner(Parities(3), 1, Hierarchy(3, levels=2)),
        lambda: GenericLearner(Points(Domain(8)), 0, Hierarchy(3, levels=2)),
        lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(4, levels=2)),
        lambda: GenericLearner(MATRIX, 1, Hierarchy(3, levels=2)),
        lambda: GenericLearner(Thresholds(Domain(8)), 1, PointCounts(Domain(8), 2, 2)),
        lambda: GenericLearner(Finite.of(np.eye(6)), 1, BLR(Finite.of(np.eye(7)), 2)),
        lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(3, levels=2), "best"),
        lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(3, levels=2), "basic", 1.0),
        lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(3, levels=2, neighboring=Neighboring.ADD_OR_REMOVE_ONE)),
        lambda: GenericLearner(Points(Domain(8)), 1, PointCounts(Domain(8), 2, 2)).plan(Privacy(1.0, 0.0), ACCURACY),
        lambda: jax.eval_shape(
            GenericLearner(Points(Domain(8)), 2, Hierarchy(3, levels=2)).learn,
            jax.random.key(0),
            database(Domain(8), [1], [1]),
            GenericLearner(Points(Domain(8)), 2, Hierarchy(3)).plan(Privacy(1.0), ACCURACY),
        ),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


@pytest.mark.parametrize("agnostic", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_huge_budget_asks_for_no_more_rows(agnostic):
    """Up to a fifth, as alpha is split in fixed parts; also where e^epsilon is no float64."""
    learner = GenericLearner(Points(Domain(2**32)), 3, PointCounts(Domain(2**32)), "zcdp")
    size = learner.agnostic_sample_size if agnostic else learner.sample_size
    found = [size(Privacy(epsilon, 1e-6), Accuracy(0.1, 0.1)) for epsilon in (4.0, 50.0, 1e5)]
    assert all(later <= 1.2 * earlier for earlier, later in itertools.pairwise(found))
