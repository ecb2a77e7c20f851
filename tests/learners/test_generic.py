"""The generic learner: choices among representatives, budgets of its parts, success and what is refused."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds
from dpjax.concepts import distributions as make
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments import engine
from dpjax.experiments.experiment import Experiment, Workload, noise_of, point
from dpjax.learners import GenericLearner, database
from dpjax.sanitizers import BLR, MWEM, Hierarchy, PointCounts

TRIALS = 48
ACCURACY = Accuracy(0.2, 0.1)
MATRIX = Finite.of(np.random.default_rng(1).random((7, 5)) < 0.5)
POINTS = (
    GenericLearner(Points(Domain(2**64)), 2, PointCounts.planned(Domain(2**64), 0.025)),
    Privacy(8.0, 1e-6),
    ACCURACY,
)
LINES = GenericLearner(Thresholds(Domain(2**20)), 2, Hierarchy(4, 20)), Privacy(32.0, 0.0), Accuracy(0.4, 0.1)


@cache
def program(experiment):
    def run(keys, workload, at):
        return jax.lax.map(lambda key: experiment.trial(key, workload, at)[1], keys, batch_size=16)

    return jax.jit(run)


def measured(learner, workload, n, privacy, accuracy, largest):
    """Successes of n rows in a buffer for ``largest``, so that there is one program for all."""
    at = point(b"measured here", n, privacy.epsilon, privacy.delta, accuracy.alpha, accuracy.beta,
               workload.distribution,
               workload.noise)  # fmt: skip
    run = program(Experiment(learner, learner.k, engine.capacity(largest)))
    return int(np.sum(run(jax.random.split(jax.random.key(6), TRIALS), workload, at)))


def workloads(concepts, rate=0.0):
    """Four segments and three targets each, so that there is one program for all. The last one is hard."""
    size = concepts.domain.size
    quarter, middle = size // 4, size // 2
    if isinstance(concepts, Points):  # three heavy elements, three tenths of the mass each
        hard = [(0, 2**16 - 1, 1), *((i * quarter, i * quarter, 3 * 2**16) for i in (1, 2, 3))], [1, 2, 3]
    else:  # two neighbours of almost half of the mass each
        inner = [(middle - 1, middle - 1, 46), (middle, middle, 46)]
        hard = [(0, 1, 2), *inner, (size - 2, size - 1, 2)], [(middle - 1) / quarter] * 3
    found = {
        "uniform": ([(i * quarter, (i + 1) * quarter - 1, 1) for i in range(4)], [0, 1, 3]),
        "zipf": ([(i * quarter, i * quarter + 1, 12 // (i + 1)) for i in range(4)], [0, 1, 3]),
        "adversarial": hard,
    }
    targets = {name: [round(t * quarter) for t in places] for name, (_, places) in found.items()}
    return {
        name: Workload(
            make.from_segments(concepts.domain, segments), jnp.asarray(wide.encode(targets[name])), noise_of(rate)
        )
        for name, (segments, _) in found.items()
    }


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("learner", "privacy", "accuracy"),
    [POINTS, pytest.param(*LINES, marks=pytest.mark.slow)],
    ids=["points", "thresholds"],
)
def test_success_at_the_sample_size(learner, privacy, accuracy, stats):
    n = learner.sample_size(privacy, accuracy)
    assert learner.agnostic_sample_size(privacy, accuracy) >= n
    for name, workload in workloads(learner.concepts).items():
        stats.mostly(measured(learner, workload, n, privacy, accuracy, n), TRIALS, 0.1)
        if name == "adversarial":
            assert measured(learner, workload, max(2, n // 200), privacy, accuracy, n) < TRIALS / 2


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("learner", "privacy", "accuracy"),
    [POINTS, pytest.param(*LINES, marks=pytest.mark.slow)],
    ids=["points", "thresholds"],
)
def test_flipped_labels(learner, privacy, accuracy, stats):
    """Agnostic: with a twentieth of the labels flipped, excess error at most alpha, from fewer rows than is proved."""
    n = learner.sample_size(privacy, accuracy)
    noisy = workloads(learner.concepts, 0.05)["adversarial"]
    stats.mostly(measured(learner, noisy, n, privacy, accuracy, n), TRIALS, 0.1)
    assert measured(learner, noisy, n // 200, privacy, accuracy, n) < TRIALS / 2


@pytest.mark.statistical
def test_the_choices_follow_the_exponential_mechanism(stats):
    """With B known, as all values are kept: each column's concept is drawn as its errors say, column by column."""
    domain, epsilon, count = Domain(3), 6.0, 8_000
    learner = GenericLearner(Points(domain), 2, PointCounts(domain, 3, 3))
    labels = np.array([[1, 0]] * 4 + [[0, 1]] * 3 + [[0, 0]] * 3)
    sample = database(domain, [0] * 4 + [1] * 3 + [2] * 3, labels, 16)
    keys = jax.random.split(jax.random.key(3), count)
    found = jax.jit(jax.vmap(lambda key: learner.learn(key, sample, Privacy(epsilon, 0.5), ACCURACY)))(keys)
    assert not found.zero.any() and not found.outcome.any()
    sanitize = lambda key: learner.sanitizer.sanitize(key, sample.x, sample.mask, Privacy(3.0, 0.5))  # noqa: E731
    synthetic = jax.jit(jax.vmap(sanitize))(keys)
    kept = set(np.asarray(synthetic.points)[..., 0].ravel().tolist())
    assert kept == {0, 1, 2}
    chosen = wide.decode(found.concept)
    share = epsilon / 2 / 2 * (1 - 2.0**-20) * (1 - 2.0**-20)  # half for the sanitizer, two columns
    for j in range(2):
        wrong = np.array([np.sum((np.asarray(sample.x)[:10, 0] == c) != labels[:, j]) for c in range(3)])
        weights = np.exp(-share / 2 * wrong)
        # B misses a value now and then; it is then the one that stands for all that are not in B
        stats.chi_square(np.bincount(chosen[:, j].astype(int), minlength=3), weights / weights.sum())


@pytest.mark.parametrize("composition", ["basic", "advanced", "optimal", "zcdp"])
@pytest.mark.parametrize("k", [1, 40])
def test_the_guarantee_is_within_the_budget(composition, k):
    for learner in (
        GenericLearner(Points(Domain(2**40)), k, PointCounts(Domain(2**40), 3, 3), composition),
        GenericLearner(Thresholds(Domain(2**40)), k, Hierarchy(2, 40), composition, 0.3),
        GenericLearner(MATRIX, k, MWEM(MATRIX.xor(), 4), composition),
    ):
        for epsilon in (0.3, 7.0):
            for delta in (1e-7, 0.01):  # 1e-7 as a float32 is larger
                whole = learner.guarantee(Privacy(epsilon, delta))
                assert 0.5 * epsilon < whole.epsilon <= epsilon and 0 <= whole.delta <= delta
                first, second = learner.parts(Privacy(jnp.float32(epsilon), jnp.float32(delta)))
                assert float(first.epsilon) + float(second.epsilon) <= epsilon
                assert float(first.delta) + float(second.delta) <= float(np.float32(delta))


def test_sizes_count_what_there_is_to_choose_from():
    assert POINTS[0]._choices() == 120 + 80 + 1
    assert GenericLearner(Points(Domain(7)), 1, PointCounts(Domain(7), 9, 9))._choices() == 7
    # a class of few points may cut them in many ways: all concepts count
    table = Finite.of([[i >> j & 1 for j in range(5)] for i in range(32)])
    assert GenericLearner(table, 1, BLR(table, 2))._choices() == 32
    accuracy, privacy = Accuracy(0.2, 0.1), Privacy(4.0, 1e-6)
    by_points = GenericLearner(Points(Domain(2**32)), 1, PointCounts.planned(Domain(2**32), 0.02))
    by_order = GenericLearner(Points(Domain(2**32)), 1, Hierarchy(8, 32))
    first = by_points.parts(privacy)[0]
    # an element is one query of the former, and two of the latter
    assert by_points.sample_size(privacy, accuracy) >= by_points.sanitizer.sample_size(
        first, Accuracy(0.2 / 8, 0.1 / 3)
    )
    assert by_order.sample_size(privacy, accuracy) >= by_order.sanitizer.sample_size(first, Accuracy(0.2 / 16, 0.1 / 3))


def test_a_matrix_is_learned_through_its_symmetric_differences():
    xor = MWEM(MATRIX.xor(), 40_000)
    learner = GenericLearner(MATRIX, 2, xor)
    assert learner.sample_size(Privacy(1.0, 1e-6), ACCURACY) > 0
    with pytest.raises(InputError, match="symmetric differences"):
        GenericLearner(MATRIX, 2, MWEM(MATRIX, 40_000)).sample_size(Privacy(1.0, 1e-6), ACCURACY)


@pytest.mark.parametrize("attempt", [
    lambda: GenericLearner(Parities(3), 1, Hierarchy(2, 3)),
    lambda: GenericLearner(Points(Domain(8)), 0, Hierarchy(2, 3)),
    lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(2, 4)), lambda: GenericLearner(MATRIX, 1, Hierarchy(2, 3)),
    lambda: GenericLearner(Thresholds(Domain(8)), 1, PointCounts(Domain(8), 2, 2)),
    lambda: GenericLearner(Finite.of(np.eye(6)), 1, BLR(Finite.of(np.eye(7)), 2)),
    lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(2, 3), "best"),
    lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(2, 3), "basic", 1.0),
    lambda: GenericLearner(Points(Domain(8)), 1, Hierarchy(2, 3, neighboring=Neighboring.ADD_OR_REMOVE_ONE)),
    lambda: GenericLearner(Points(Domain(8)), 1, PointCounts(Domain(8), 2, 2)).guarantee(Privacy(1.0, 0.0)),
    lambda: jax.eval_shape(GenericLearner(Points(Domain(8)), 2, Hierarchy(2, 3)).learn, jax.random.key(0),
                           database(Domain(8), [1], [1]), Privacy(1.0), ACCURACY),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
