"""Gray-box replay: one pair shows a sensitivity declared too small, or a loop that follows the data."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee
from dpjax.audit.enumeration.replay import traces
from dpjax.audit.target.databases import show_numbers
from dpjax.audit.target.target import rounded
from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.learners import KLN, Independent, PointLearner, ThresholdMedian
from dpjax.mechanisms import intervals

PRIVACY = Privacy(1.0, 1e-6)


def replayed(run, pair=([3, 1, 0], [2, 2, 0])):
    one, other = (jnp.asarray(part, jnp.int32) for part in pair)
    claim = Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "planted")
    target = audit.Target("planted", lambda e, d: claim, run, list, lambda: [audit.Pair(one, other, show_numbers)])
    return audit.replay(target, PRIVACY)


def test_sensitivities_that_hold():
    for name in (
        "exponential",
        "permute_and_flip",
        "above_threshold",
        "laplace_mechanism",
        "sparse_vector",
        "stability",
    ):
        report = audit.replay(evidence.mechanism_target(name), PRIVACY)
        assert not report.violated and report.details["ratio"] == 1, str(report)


def test_a_sensitivity_of_one_where_it_is_two():
    """A sum of two counts that both move, and an L1 norm that counts both cells."""
    report = replayed(lambda key, data, p: m.laplace_mechanism(data, p.epsilon, sensitivity=1).sample(key))
    assert report.violated and report.details["ratio"] == 2 and report.epsilon_found == 2
    assert not replayed(lambda key, data, p: m.laplace_mechanism(data, p.epsilon, sensitivity=2).sample(key)).violated
    twice = replayed(lambda key, data, p: m.exponential(2 * data, p.epsilon).sample(key))
    assert twice.violated and "exponential moved by 2 of 1" in twice.evidence


def test_a_forgotten_clip_is_seen_behind_other_draws():
    """The second question depends on the first answer, which is frozen: what is left is the data's own movement."""

    def run(key, data, p):
        first, second = jax.random.split(key)
        best = m.exponential(data, p.epsilon / 2).sample(first)
        return m.laplace_mechanism(data[best] * 5, p.epsilon / 2, sensitivity=1).sample(second)

    report = replayed(run, ([30, 1, 0], [29, 2, 0]))
    assert report.violated and report.details["ratio"] == 5


def test_loops_and_branches_that_follow_the_data():
    def loop(key, data, p):
        return jax.lax.while_loop(lambda i: i < data[0], lambda i: i + 1, 0) * 0 + _noise(key, data, p)

    def branch(key, data, p):
        return jax.lax.cond(data[0] > 2, lambda: jnp.float32(0), lambda: jnp.float32(0)) + _noise(key, data, p)

    def _noise(key, data, p):
        return m.laplace_mechanism(jnp.sum(data), p.epsilon, sensitivity=1).sample(key)

    for run in (loop, branch):
        report = replayed(run)
        assert report.violated and "other ways" in report.evidence
    assert not replayed(_noise).violated


def test_questions_inside_loops_are_heard_each_time():
    def run(key, data, p):
        def step(total, row):
            of_row, count = row
            return total + m.laplace_mechanism(count, p.epsilon, sensitivity=1).sample(of_row), None

        return jax.lax.scan(step, jnp.float32(0), (jax.random.split(key, 3), data))[0]

    data = jnp.array([3, 1, 0], jnp.int32)
    found, _ = traces(run, jax.random.key(0), data, data, rounded(PRIVACY))
    assert [float(question[3]) for question in found.questions] == [3, 1, 0]
    assert not replayed(run).violated  # each question moves by 1: what they cost together is the accountant's business


LEARNERS = [
    (KLN(Thresholds(Domain(2**32))), 1),
    (KLN(Points(Domain(2**20))), 1),
    (Independent(KLN(Points(Domain(2**20))), 2, "optimal"), 2),
    (PointLearner(Points(Domain(2**20))), 2),
    (ThresholdMedian(Thresholds(Domain(2**20))), 1),
]


@pytest.mark.parametrize(
    ("learner", "k"),
    [pytest.param(*row, marks=pytest.mark.slow if i in (1, 2) else ()) for i, row in enumerate(LEARNERS)],
    ids=lambda part: type(part).__name__,
)
def test_learners_ask_within_their_sensitivities(learner, k):
    target = evidence.learner_target(learner, "learner", k)
    few = replace(target, pairs=lambda: target.pairs()[3:6])
    report = audit.replay(few, PRIVACY)
    assert not report.violated and report.details["ratio"] <= 1, str(report)
    assert report.details["ratio"] > 0


class Careless(ThresholdMedian):
    """Believes that one row moves a depth by 1; it is 2."""

    def output_law(self, sample, plan):
        pieces = self._depth_pieces(sample, sample.y[:, 0], plan.records)
        return intervals.interval_exponential(pieces, plan.epsilon, sensitivity=1)


def test_a_learner_that_believes_in_half_its_sensitivity():
    target = evidence.learner_target(Careless(Thresholds(Domain(2**20))), "careless", 1)
    few = replace(target, pairs=lambda: target.pairs()[3:6])
    report = audit.replay(few, PRIVACY)
    assert report.violated and report.details["ratio"] == 2


def test_a_trace_computes_what_the_program_computes():
    """Piece by piece as under jit, with sorts, scans, 64-bit parts and samplers."""
    concepts, plan = Thresholds(Domain(2**32)), rounded(PRIVACY)

    def run(key, data, plan):
        pieces = concepts.pieces(data, data[:, 1] > 5, jnp.ones(3, bool))
        return intervals.interval_exponential(pieces, plan.epsilon).sample(key)

    data, key = jnp.asarray([[0, 3], [0, 9], [0, 7]], jnp.uint32), jax.random.key(3)
    first, again = traces(run, key, data, data.at[0, 1].set(8), plan)
    assert len(first.draws) == len(first.questions) == 1
    np.testing.assert_array_equal(first.draws[0][0], jax.jit(run)(key, data, plan))
    np.testing.assert_array_equal(first.draws[0][0], again.draws[0][0])


def test_questions_of_lanes_are_questions_each():
    def run(key, data, p):
        noisy = lambda own, count: m.laplace_mechanism(count, p.epsilon, sensitivity=1).sample(own)  # noqa: E731
        return jax.vmap(noisy)(jax.random.split(key, 3), data)

    assert not replayed(run).violated  # two counts move by 1 each, in mechanisms of their own


def test_loops_under_vmap_that_follow_the_data():
    def run(key, data, p):
        turns = jax.vmap(lambda count: jax.lax.while_loop(lambda i: i < count, lambda i: i + 1, jnp.int32(0)))(data)
        return m.laplace_mechanism(0 * jnp.sum(turns), p.epsilon, sensitivity=1).sample(key)

    assert "other ways" in replayed(run).evidence


def test_nothing_to_listen_to():
    with pytest.raises(InputError, match="no question"):
        replayed(lambda key, data, p: data)
    with pytest.raises(InputError, match="declare the law"):
        replayed(lambda key, data, p: jax.random.uniform(key))


def test_slots_that_hold_other_candidates_are_matched_before_they_are_compared():
    """A count of 3 that moves to another slot has not moved; one that is doubled before the question has, by 2."""
    choose = lambda factor: lambda key, data, p: m.choosing(factor * data, p.epsilon, 0.1).sample(key)  # noqa: E731

    def release(factor):
        return lambda key, data, p: m.stability_histogram(factor * data, p.epsilon, 0.1).sample(key)

    for make in (choose, release):
        sound, doubled = (replayed(make(factor), ([3, 1, 0], [0, 2, 2])) for factor in (1, 2))
        assert not sound.violated and sound.details["ratio"] == 1
        assert doubled.violated and doubled.details["ratio"] == 2
