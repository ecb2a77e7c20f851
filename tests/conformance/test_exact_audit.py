"""No guarantee is exceeded: every database over a tiny domain, every neighbour, exactly, in float64.

All databases of one, two and three rows, row by row; for the point learner, whose thresholds so few rows never reach,
also all of eight or twelve rows as histograms (its law does not depend on the order of rows, see tests/learners).
The law of whatever `learn` returns, in full, is composed from the laws that it draws from: their samplers are replaced
by forced outcomes, so the learner's own code says what each outcome leads to. A broken twin, the same learner with its
noise halved, must be caught by the same audit.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cache
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from dpjax import wide
from dpjax.accounting.profile import hockey_stick
from dpjax.laws import Categorical
from dpjax.learners import Independent, PointLearner, ThresholdMedian
from dpjax.mechanisms import HistogramLaw
from dpjax.mechanisms.intervals import IntervalLaw
from dpjax.types import Goal, Neighboring, Privacy, Sample

TOLERANCE = 1e-9  # relative, of float64 laws: tight ones sit at their claim
BUDGETS = {
    "pure": [(0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-3)],
    "approximate": [(0.5, 1e-6), (1.0, 0.05), (4.0, 1e-3), (4.0, 0.1), (4.0, 0.3), (0.2, 0.6)],
}
GOAL = Goal(0.1, 0.9)  # a large beta, so that the median takes fewer records than there are rows


def row_types(case):
    return [(x, labels) for x in range(case.learner.concepts.domain.size)
            for labels in itertools.product((False, True), repeat=case.k)]  # fmt: skip


@cache
def databases(case, n=3):
    """All databases in one batch of buffers, and every ordered pair of neighbours as indices.

    n = 3: of one, two and three rows. Larger: of exactly n rows, as histograms.
    """
    types = row_types(case)
    values, labels = np.array([t[0] for t in types], np.uint64), np.array([t[1] for t in types])
    x, y, mask, pairs = [], [], [], []
    for count in (1, 2, 3) if n == 3 else (n,):
        rows, near = (sequences if n == 3 else histograms)(count, len(types))
        pairs.append(near + sum(len(part) for part in mask))
        rows = np.pad(rows, ((0, 0), (0, n - count)))
        x.append(values[rows])
        y.append(labels[rows])
        mask.append(np.broadcast_to(np.arange(n) < count, rows.shape))
    x, y, mask, pairs = (np.concatenate(parts) for parts in (x, y, mask, pairs))
    return Sample(jnp.asarray(case.learner.concepts.domain.encode(x)), jnp.asarray(y), jnp.asarray(mask)), pairs


def sequences(n, types):
    rows = np.array(list(itertools.product(range(types), repeat=n)))
    index, pairs = np.arange(len(rows)).reshape([types] * n), []
    for axis in range(n):
        lines = np.moveaxis(index, axis, -1).reshape(-1, types)
        pairs += [lines[:, [a, b]] for a in range(types) for b in range(types) if a != b]
    return rows, np.concatenate(pairs)


def histograms(n, types):
    rows = np.array(list(itertools.combinations_with_replacement(range(types), n)))
    place = {tuple(row): i for i, row in enumerate(rows.tolist())}
    pairs = []
    for i, row in enumerate(rows.tolist()):
        for old in set(row):
            rest = list(row)
            rest.remove(old)
            pairs += [(i, place[tuple(sorted([*rest, new]))]) for new in range(types) if new != old]
    return rows, np.array(pairs)


def sizes(case):
    """Which batches of databases are audited."""
    if not isinstance(case.learner, PointLearner):
        return (3,)
    return (3, 12 if len(row_types(case)) <= 6 else 8)


def codes_of(hypothesis, size):
    """What is returned as one number: what a prediction can see of it, and every field as it is."""
    with jax.enable_x64(True):
        number = jnp.minimum(wide.join(hypothesis.concept), jnp.uint64(size)).astype(jnp.int64)
        seen = jnp.stack([jnp.where(hypothesis.zero, 0, number), number])
        digit = (seen * 2 + hypothesis.zero.astype(jnp.int64)) * 2 + (hypothesis.outcome < 0).astype(jnp.int64)
        base = 4 * (size + 1)
        return jnp.sum(digit * base ** jnp.arange(digit.shape[1]), axis=1)


def interval_law(learner, size):
    """[(log-probability, codes)] of a learner that draws from one IntervalLaw."""

    def law(sample, privacy):
        def forced(element):
            seen = []

            def sample_of(self, key):
                seen.append(self.log_probability(element))
                return element

            with mock.patch.object(IntervalLaw, "sample", sample_of):
                found = learner.learn(jax.random.key(0), sample, privacy, GOAL)
            assert len(seen) == 1, "one draw"
            return seen[0], codes_of(found, size)

        return jax.vmap(forced)(jnp.asarray(wide.encode(range(size))))

    return law


def point_learner_law(learner, size):
    """All subsets of released values, times released or not."""

    def law(sample, privacy):
        beyond = jnp.zeros(sample.capacity, bool)

        def forced(subset, answer):
            released = beyond.at[: min(size, sample.capacity)].set(subset[: sample.capacity])
            seen = {}

            def histogram_sample(self, key):
                yes, no = self.release_log_probs()
                assert "histogram" not in seen
                seen["histogram"] = jnp.sum(jnp.where(released, yes, no))
                return released, jnp.where(released, 1e6, 0.0)  # released ones are heavy: see below

            def release_sample(self, key):
                assert "release" not in seen and self.log_weights.shape == (2,)
                seen["release"] = self.log_probs()[jnp.where(answer, 0, 1)]
                return jnp.where(answer, jnp.int32(0), jnp.int32(-1))

            with (
                mock.patch.object(HistogramLaw, "sample", histogram_sample),
                mock.patch.object(Categorical, "sample", release_sample),
            ):
                found = learner.learn(jax.random.key(0), sample, privacy, GOAL)
            return seen["histogram"] + seen["release"], codes_of(found, size)

        subsets = jnp.asarray(list(itertools.product((False, True), repeat=min(size, sample.capacity))))
        answers = jnp.asarray([False, True])
        log_p, codes = jax.vmap(jax.vmap(forced, (None, 0)), (0, None))(subsets, answers)
        return log_p.reshape(-1), codes.reshape(-1, 2)

    return law


@cache
def compiled(learner):
    law = point_learner_law if isinstance(learner, PointLearner) else interval_law
    return jax.jit(jax.vmap(law(learner, learner.concepts.size), (0, None)))


@cache
def exact_law(case, n, epsilon, delta, raw):
    """log-probabilities ``[databases, outcomes]`` of what `learn` returns at this budget."""
    learner, (sample, _) = case.learner, databases(case, n)
    if isinstance(learner, Independent):
        share = learner.share(Privacy(epsilon, delta))  # the numbers with which learn runs, as the tests of it check
        one_by_one = [Sample(sample.x, sample.y[..., [j]], sample.mask) for j in range(case.k)]
        columns = [column_law(learner.learner, part, share.epsilon, share.delta, raw) for part in one_by_one]
        joint = columns[0]
        for part in columns[1:]:
            joint = (joint[:, :, None] + part[:, None, :]).reshape(len(joint), -1)
        return joint
    return column_law(learner, sample, epsilon, delta, raw)


def column_law(learner, sample, epsilon, delta, raw=True, dtype=jnp.float64):
    with jax.enable_x64(True):
        privacy = Privacy(jnp.asarray(epsilon, dtype), jnp.asarray(delta, dtype))
        log_p, codes = (np.asarray(part) for part in compiled(learner)(sample, privacy))
    codes = codes[..., int(raw)]
    outcomes, slot = np.unique(codes, return_inverse=True)
    table = np.full((len(log_p), len(outcomes)), -np.inf)
    rows = np.arange(len(log_p))[:, None]
    np.logaddexp.at(table, (rows, slot.reshape(codes.shape)), log_p)
    np.testing.assert_allclose(logsumexp(table, axis=1), 0, atol=1e-9 if dtype == jnp.float64 else 1e-6)
    return table


def worst(case, epsilon, delta, inner=None, raw=False):
    """The largest delta at the claimed epsilon over all neighbours, of the learner run at epsilon ``inner``."""
    claim = case.learner.guarantee(Privacy(epsilon, delta))
    assert claim.neighboring is Neighboring.REPLACE_ONE
    found = 0.0
    for n in sizes(case):
        law, (_, pairs) = exact_law(case, n, inner or epsilon, delta, raw), databases(case, n)
        found = max(found, float(np.max(hockey_stick(law[pairs[:, 0]], law[pairs[:, 1]], claim.epsilon))))
    return found, claim


def budgets(case):
    kind = "approximate" if isinstance(case.learner, PointLearner) else "pure"
    return BUDGETS[kind]


@pytest.mark.parametrize("raw", [False, True], ids=["predictions", "every field"])
def test_no_guarantee_is_exceeded(tiny, raw):
    """By what a prediction can see; and by any field of the output, whether it means something or not."""
    for epsilon, delta in budgets(tiny):
        found, claim = worst(tiny, epsilon, delta, raw=raw)
        assert found <= claim.delta * (1 + TOLERANCE) + 1e-14, (epsilon, delta, found)


def test_float32_costs_little(tiny):
    """The learners run in float32: the laws that then run stay within 2e-5 of the claimed epsilon, relative to it."""
    if isinstance(tiny.learner, Independent):
        return  # its parts are here
    for epsilon, delta in budgets(tiny)[1:3]:
        claim = tiny.learner.guarantee(Privacy(epsilon, delta))
        sample, pairs = databases(tiny)
        law = column_law(tiny.learner, sample, epsilon, delta, raw=False, dtype=jnp.float32)
        found = np.max(hockey_stick(law[pairs[:, 0]], law[pairs[:, 1]], claim.epsilon * (1 + 2e-5)))
        assert found <= claim.delta * (1 + 1e-5)


@dataclass(frozen=True)
class EagerMedian(ThresholdMedian):
    """Takes the records of half of its epsilon, so that doubling epsilon halves the noise and changes nothing else."""

    def records(self, epsilon, beta):
        return super().records(epsilon / 2, beta)


def twin(case):
    learner = case.learner
    inner = learner.learner if isinstance(learner, Independent) else learner
    if isinstance(inner, ThresholdMedian):
        inner = EagerMedian(inner.concepts)
        learner = Independent(inner, learner.k, learner.composition) if isinstance(learner, Independent) else inner
    return replace(case, learner=learner)


def test_a_broken_twin_is_caught(tiny):
    """The same learner with its noise halved, at the budget where the audit is sharpest."""
    excess = []
    for epsilon, delta in budgets(tiny):
        found, claim = worst(twin(tiny), epsilon, delta, inner=2 * epsilon)
        excess.append(found - 1.1 * claim.delta)
    assert max(excess) > 1e-3


@pytest.mark.statistical
def test_the_composed_law_is_what_runs(tiny, stats):
    """Draws of the real learner, with its real samplers, against the law that was audited."""
    if isinstance(tiny.learner, Independent):
        return  # tests/learners: each run is its learner with its key and its share
    epsilon, delta, count = 2.0, 0.3, 4_000
    size = tiny.learner.concepts.size
    sample, _ = databases(tiny)
    privacy = Privacy(jnp.float32(epsilon), jnp.float32(delta))
    draw = jax.jit(jax.vmap(lambda k, s: codes_of(tiny.learner.learn(k, s, privacy, GOAL), size)[0], (0, None)))
    with jax.enable_x64(True):
        log_ps, all_codes = compiled(tiny.learner)(sample, Privacy(jnp.float64(epsilon), jnp.float64(delta)))
    last = len(sample.mask) - 1
    for which in (last, last // 2, last // 3):
        one = jax.tree.map(lambda part, i=which: part[i], sample)
        drawn = np.asarray(draw(jax.random.split(jax.random.key(which), count), one))
        log_p, codes = np.asarray(log_ps)[which], np.asarray(all_codes)[which, :, 0]
        outcomes = np.unique(codes)
        assert np.all(np.isin(drawn, outcomes))
        law = [np.exp(log_p[codes == c]).sum() for c in outcomes]
        stats.chi_square([np.sum(drawn == c) for c in outcomes], law)


def test_released_values_of_tiny_samples_are_always_heavy():
    """What the forced histogram above rests on: alpha n / 15 lies below every threshold of the audit."""
    for epsilon, delta in BUDGETS["approximate"]:
        assert 1 + (4 / epsilon) * np.log(1 / delta) > GOAL.alpha * 12 / 15


def test_hard_neighbors_stress_the_guarantee(tiny):
    """Among them is a pair that spends a good part of a pure budget; none spends more than all of it."""
    if isinstance(tiny.learner, PointLearner | Independent):
        return
    epsilon = 2.0
    claim = tiny.learner.guarantee(Privacy(epsilon, 1e-6))
    spent = []
    for one, other in tiny.learner.hard_neighbors(3):
        both = jax.tree.map(lambda *parts: jnp.stack(parts), one, other)
        law = column_law(tiny.learner, both, epsilon, 1e-6)
        for p, q in (law, law[::-1]):
            assert hockey_stick(p, q, claim.epsilon) <= 1e-14
            spent.append(np.max(p - q))
    assert max(spent) > 0.3 * epsilon
