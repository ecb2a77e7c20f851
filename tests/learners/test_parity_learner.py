"""Parities from the agreement of subsamples: votes, their lead between neighbors, what is found and how often."""

import itertools
from dataclasses import replace
from functools import lru_cache, partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit
from dpjax.audit import Pair
from dpjax.audit.target.databases import show_sample
from dpjax.concepts import Domain, Hypothesis, Parities, Points, UniformCube
from dpjax.concepts.packing import pack
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import bucket, down
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.evidence import learner_target
from dpjax.experiments.sweep.task import Task
from dpjax.learners import ParityLearner, database
from dpjax.learners.parity_learner import _dealt, lead
from dpjax.theory import parities as theory
from tests.trials import successes

ACCURACY = Accuracy(0.1, 0.1)


@lru_cache
def program(learner):
    return jax.jit(jax.vmap(learner.learn, (0, None, None))), jax.jit(learner.votes)


def planned(learner, epsilon=1e3, delta=1e-3):
    return learner.plan(Privacy(epsilon, delta), ACCURACY)


def learn(learner, sample, epsilon=1e3, delta=1e-3, count=1, seed=0):
    keys = jax.random.split(jax.random.key(seed), count)
    return program(learner)[0](keys, sample, planned(learner, epsilon, delta))


def votes_of(learner, sample):
    return program(learner)[1](sample, planned(learner))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def drawn(concepts, k, n, seed):
    """(elements, their labels, the targets)."""
    x, targets = UniformCube(concepts.dimension).draw(jax.random.key(seed), n), concepts.targets(k, seed)
    return x, concepts.predict(Hypothesis.of(targets), x), targets


def clean(concepts, k, n, seed=1):
    """(Sample of uniform elements labelled by k random parities, these parities as whole numbers)."""
    x, labels, targets = (np.asarray(part) for part in drawn(concepts, k, n, seed))
    return Sample(x, labels, np.ones(n, bool)), wide.unpack(targets).tolist()


def test_no_number_of_subsamples_gives_a_row_to_several():
    """Also one that is no planner's: it counts as the nearest of the buffer."""
    plan = ParityLearner(Parities(2), 4, 3).plan(Privacy(1.0, 1e-6), ACCURACY)
    rows, dealt_to = np.arange(1, 11, dtype=np.uint32)[:, None], jax.jit(_dealt)
    for m in (2**31 - 1, 2**30 + 1, 4, 0, -1, -(2**31)):
        dealt = np.asarray(dealt_to(rows, replace(plan, subsamples=np.int32(m))))
        used = dealt[dealt > 0]
        assert len(np.unique(used)) == len(used) and (len(used) > 0) == (m > 0)


# --- the lead ----------------------------------------------------------------------------------------------------

leads = jax.jit(jax.vmap(lead))


def patterns(m, kinds):
    """All ways for m subsamples to vote for one of ``kinds`` or for nothing (-1)."""
    return list(itertools.product(range(-1, kinds), repeat=m))


def counted(vote):
    """(winner's vote or None, its lead) by counting."""
    counts = sorted(((vote.count(v), -vote.index(v), v) for v in set(vote) - {-1}), reverse=True)
    if not counts:
        return None, 0
    return counts[0][2], counts[0][0] - (counts[1][0] if len(counts) > 1 else 0)


def of_patterns(every, words=2):
    votes = np.array(every)
    table = np.zeros((*votes.shape, 1, words), np.uint32)
    table[..., 0, -1] = np.maximum(votes, 0)  # told apart in the last word only
    table[votes < 0] = 7  # what an invalid vote says does not matter
    with jax.numpy_dtype_promotion("strict"):
        winner, gap = leads(jnp.asarray(table), jnp.asarray(votes >= 0))
    return np.asarray(winner), np.asarray(gap)


@pytest.mark.parametrize(("m", "kinds"), [(1, 2), (2, 3), (3, 3), (4, 3), (5, 2)])
def test_one_changed_vote(m, kinds):
    """Exhaustively: the same winner's lead moves by at most 2; where the winner changes, both leads are at most 2."""
    every = patterns(m, kinds)
    winner, gap = of_patterns(every)
    found = {}
    for vote, at, difference in zip(every, winner, gap, strict=True):
        best, margin = counted(vote)
        assert difference == margin and (best is None or vote[at] == best)
        found[vote] = best, margin
    moved, crossed = set(), set()
    for vote, i, new in itertools.product(every, range(m), range(-1, kinds)):
        other = (*vote[:i], new, *vote[i + 1 :])
        (one, before), (two, after) = found[vote], found[other]
        if one == two:
            moved.add(abs(before - after))
        else:
            crossed.add(max(before, after))
    assert max(moved) <= 2 and max(crossed) <= 2
    assert m < 3 or (max(moved) == 2 and max(crossed) == 2)  # both are attained


def test_votes_are_compared_whole():
    """One bit of one concept's one coordinate tells two votes apart, wherever it is."""
    base = np.zeros((3, 70, 3), np.uint32)
    base[2, 69, 2] = 1
    other = base.copy()
    other[2] = 0
    other[1, 0, 0] = 2**31
    both = leads(jnp.asarray(np.stack([base, other, np.zeros_like(base)])), jnp.ones((3, 3), bool))
    assert both[0].tolist() == [0, 0, 0] and both[1].tolist() == [1, 1, 3]


# --- the learner -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "k"), [(1, 1), (33, 70), *(pytest.param(*row, marks=pytest.mark.slow) for row in ((32, 33), (100, 4)))]
)
def test_clean_rows_give_the_parities(d, k):
    concepts = Parities(d)
    learner = ParityLearner(concepts, 5, d + 16)
    sample, targets = clean(concepts, k, 5 * (d + 16))
    found = learn(learner, sample)
    assert (found.concept.shape, found.concept.dtype) == ((1, k, concepts.limbs), jnp.uint32)
    found = jax.tree.map(np.asarray, found)
    assert wide.unpack(found.concept[0]).tolist() == targets
    assert not found.zero.any() and not found.outcome.any()
    votes, valid = (np.asarray(part) for part in votes_of(learner, sample))
    assert votes.shape == (5, d, -(-k // 32)) and valid.all()
    bits = np.array([[t >> i & 1 for t in targets] for i in range(d)], bool)
    np.testing.assert_array_equal(votes, np.broadcast_to(np.asarray(jax.jit(pack)(bits)), votes.shape))


def test_rows_are_dealt_in_turn_and_the_rest_is_unused():
    """Row i is of subsample i mod m; rows from m x rows on, and the padding, are never seen."""
    concepts = Parities(8)
    learner = ParityLearner(concepts, 3, 2)
    values, n = [1, 2, 4, 8, 16, 32, 64, 128], 8
    sample = database(concepts.domain, values, [1] * n)
    votes, valid = (np.asarray(part) for part in votes_of(learner, sample))
    expected = [[1, 8], [2, 16], [4, 32]]
    for i, seen in enumerate(expected):
        assert sum(int(b) << j for j, b in enumerate(votes[i, :, 0])) == sum(seen)
    assert valid.all()
    short = Sample(sample.x, sample.y, np.arange(n) < 4)  # rows 4 and 5 are missing
    votes = np.asarray(votes_of(learner, short)[0])[:, :, 0]
    assert [sum(int(b) << j for j, b in enumerate(row)) for row in votes] == [9, 2, 4]


def test_no_answer_is_the_all_zero_hypothesis():
    concepts = Parities(40)
    learner = ParityLearner(concepts, 4, 50)
    generator = np.random.default_rng(0)
    noisy = database(
        concepts.domain, [int(v) for v in generator.integers(1, 2**40, 200)], generator.random((200, 2)) < 0.5
    )
    equal = database(concepts.domain, [5] * 200, np.array([i // 4 % 2 for i in range(200)])[:, None].repeat(2, 1))
    empty = database(concepts.domain, [], np.zeros((0, 2)), 200)
    assert not np.asarray(votes_of(learner, noisy)[1]).any()  # inconsistent all of them
    for sample in (noisy, equal):
        found = jax.tree.map(np.asarray, learn(learner, sample, 8.0, 0.9, count=20))
        assert (found.outcome == -1).all() and found.zero.all() and not found.concept.any()
    found = jax.tree.map(np.asarray, learn(learner, empty, 1e3, 1e-6, count=20))  # all subsamples agree on 0: an answer
    assert not found.outcome.any() and not found.concept.any()
    one = database(concepts.domain, [1], [1], 16)
    found = learn(ParityLearner(concepts, 1, 2), one, 1e3, 1e-6, count=20)  # a lead of 1
    assert (np.asarray(found.outcome) == -1).all()


@pytest.mark.statistical
def test_the_release_is_that_of_the_lead(stats):
    """All rows alike but some: the winner leads by g, and is released as often as the formula says."""
    concepts, epsilon, delta, count = Parities(3), 1.0, 0.05, 4000
    learner = ParityLearner(concepts, 7, 1)
    for others in (0, 1, 2, 3):
        sample = database(concepts.domain, [1] * (7 - others) + [2] * others, [1] * 7)
        found = learn(learner, sample, epsilon, delta, count)
        needed = np.log(1 / (2 * delta)) - epsilon / 2 * (7 - 2 * others - 2)
        passes = 0.5 * np.exp(-needed) if needed > 0 else 1 - 0.5 * np.exp(needed)
        stats.frequency(int(np.sum(np.asarray(found.outcome) == 0)), count, passes)
        released = np.asarray(found.outcome)[:, 0] == 0
        assert set(wide.decode(np.asarray(found.concept)[:, 0])[released].tolist()) <= {1}


def test_hard_neighbors_flip_one_vote_between_two_answers():
    learner = ParityLearner(Parities(33), 9, 4)
    for rows in (1, 5, 9, 36, 50):
        for pair in learner.hard_neighbors(rows):
            one, other = (
                np.concatenate([np.asarray(s.x), np.asarray(s.y), np.asarray(s.mask)[:, None]], axis=1) for s in pair
            )
            assert one.shape[0] == rows and (one != other).any(axis=1).sum() == 1
    gaps = []
    for pair in learner.hard_neighbors(36)[-2:]:
        tables = [votes_of(learner, sample) for sample in pair]
        assert all(np.asarray(valid).all() for _, valid in tables)
        gaps.append(tuple(int(jax.jit(lead)(*table)[1]) for table in tables))
    assert gaps == [(1, 1), (5, 3)]  # five to four becomes four to five, seven to two becomes six to three


@pytest.mark.slow
@pytest.mark.statistical
def test_audit_where_one_vote_decides():
    """d = 64, nine subsamples of eight rows: the claim holds, is nearly reached, and half of it is refuted."""
    learner = ParityLearner(Parities(64), 9, 8)
    found = learner_target(learner, "parity", 2)
    near = [Pair(*pair, show_sample) for pair in learner.hard_neighbors(9 * 8)[-2:]]
    target, budget = replace(found, pairs=lambda: near), Privacy(1.0, 0.05)
    report = audit.statistical(target, budget, trials=40_000, confidence=1 - 1e-6)
    assert not report.violated and report.epsilon_found > 0.6
    loud = lambda key, data, plan: learner.learn(key, data, replace(plan, epsilon=2 * plan.epsilon))  # noqa: E731
    louder = replace(target, run=loud, plan=lambda privacy: learner.plan(privacy, ACCURACY))
    assert audit.statistical(louder, budget, trials=40_000, confidence=1 - 1e-6).violated


@pytest.mark.slow
def test_capacity_padding_and_batch_change_nothing():
    concepts = Parities(33)
    learner = ParityLearner(concepts, 6, 34)  # full rank in about half of the subsamples
    sample, _ = clean(concepts, 3, 204)
    generator = np.random.default_rng(4)
    for n in (0, 1, 150, 204):
        found = []
        for capacity in (300, 204):
            x = generator.integers(0, 2**32, (capacity, 2)).astype(np.uint32)
            y = generator.random((capacity, 3)) < 0.5
            x[:n], y[:n] = sample.x[:n], sample.y[:n]
            made = learn(learner, Sample(x, y, np.arange(capacity) < n), 2.0, 0.1, 32 if capacity == 300 else 5)
            found.append(jax.tree.map(np.asarray, made))
        for other in found[1:]:
            for a, b in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
                np.testing.assert_array_equal(a[: len(b)], b)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("d", "k", "epsilon", "delta", "beta"),
    [(1, 1, 4.0, 1e-3, 0.2), (10, 4, 8.0, 1e-6, 0.1), (40, 33, 4.0, 1e-4, 0.1), (64, 2, 16.0, 1e-6, 0.05)],
)
def test_success_at_the_planned_size_and_the_exact_bound(d, k, epsilon, delta, beta, stats):
    """`theory.parities.success` is below the frequency and close to it: errors of the others hardly ever agree."""
    concepts, trials = Parities(d), 1024
    privacy, accuracy = Privacy(epsilon, delta), Accuracy(0.1, beta)
    learner = ParityLearner(concepts)
    n, plan = learner.sample_size(privacy, accuracy), learner.plan(privacy, accuracy)
    assert n == int(plan.subsamples) * int(plan.rows)
    bound = theory.success(int(plan.subsamples), int(plan.rows), d, float(plan.epsilon), float(plan.delta))
    assert bound >= 1 - beta
    task = Task(concepts, UniformCube(d))
    stats.mostly(successes(learner, task, n, plan, 0.1, trials, k=k, seed=1, batch=64), trials, 1 - bound)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: ParityLearner(Points(Domain(4)), 3, 3),
        lambda: ParityLearner(Parities(4), 0, 3),
        lambda: ParityLearner(Parities(4), 3, 0),
        lambda: ParityLearner(Parities(4), 3.0, 3),
        lambda: ParityLearner(Parities(4), 3, 8).sample_size(Privacy(1.0, 1e-6), ACCURACY),  # too few for beta
        lambda: ParityLearner(Parities(4), 300, 8).sample_size(Privacy(1.0, 0.0), ACCURACY),
        lambda: ParityLearner(Parities(4), 300, 8).sample_size(Privacy(0.0, 1e-6), ACCURACY),
        lambda: ParityLearner(Parities(4), 300, 8).sample_size(Privacy(1.0, 1e-6), Accuracy(0.0, 0.1)),
        lambda: ParityLearner(Parities(4), 300, 8).plan(Privacy(1.0, 0.0), ACCURACY),
        lambda: ParityLearner(Parities(4), 300, 8).plan(Privacy(1.0, 1e-60), ACCURACY),  # 0 in a program
        lambda: ParityLearner(Parities(4), 300),
        lambda: ParityLearner(Parities(4), rows=8),
        lambda: ParityLearner(Parities(4)).plan(Privacy(1.0, 0.0), ACCURACY),
        lambda: ParityLearner(Parities(4)).plan(Privacy(1e-6, 1e-6), ACCURACY),  # more subsamples than are planned
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


def test_the_guarantee_is_what_runs():
    learner = ParityLearner(Parities(40), 9, 50)
    plan = planned(learner, 0.7, 1e-7)
    whole = learner.guarantee(plan)
    assert (whole.epsilon, whole.delta) == (float(down(0.7)), float(down(1e-7)))
    louder = learner.guarantee(replace(plan, epsilon=np.float32(2.0), delta=np.float32(1e-3)))
    assert (louder.epsilon, louder.delta) == (2.0, float(np.float32(1e-3)))
    assert ParityLearner(Parities(4), 300, 8).sample_size(Privacy(1.0, 1e-6), ACCURACY) == 2400


# --- the plan ----------------------------------------------------------------------------------------------------


def test_given_sizes_are_the_buffers_and_planned_ones_fit_in_them():
    given = planned(ParityLearner(Parities(6), 7, 9))
    assert (int(given.subsamples), int(given.rows), given.most_subsamples, given.most_rows) == (7, 9, 7, 9)
    for epsilon in (0.25, 1.0, 4.0):
        plan = planned(ParityLearner(Parities(6)), epsilon, 1e-6)
        m, rows = theory.parity_learner(6, epsilon, 1e-6, 0.1)
        assert (int(plan.subsamples), int(plan.rows)) == (m, rows)
        assert plan.most_subsamples == bucket(m) and plan.most_rows == 6 + theory.SPARE >= rows


@pytest.mark.parametrize("d", [3, 128])
def test_a_sweep_of_epsilon_has_at_most_four_programs(d):
    learner = ParityLearner(Parities(d))
    run = jax.jit(chex.assert_max_traces(learner.learn, n=4))
    sample = database(learner.concepts.domain, [1], [1], 8)
    for epsilon in np.geomspace(0.25, 4, 8).tolist():
        jax.eval_shape(run, jax.random.key(0), sample, planned(learner, epsilon, 1e-6))


@pytest.mark.slow
def test_larger_buffers_change_nothing():
    """The votes of subsamples and rows that are there are those of exact buffers; the others have none."""
    concepts = Parities(9)
    exact = ParityLearner(concepts, 5, 12)
    sample, _ = clean(concepts, 3, 70)
    sample = Sample(sample.x, sample.y.copy(), sample.mask)
    sample.y[7, 1] ^= True
    tight = planned(exact, 3.0, 0.3)
    roomy = replace(tight, most_subsamples=16, most_rows=20)
    votes, valid = (np.asarray(part) for part in program(exact)[1](sample, tight))
    more_votes, more_valid = (np.asarray(part) for part in program(exact)[1](sample, roomy))
    np.testing.assert_array_equal(more_votes[:5], votes)
    np.testing.assert_array_equal(more_valid[:5], valid)
    assert valid.sum() == 4 and not more_valid[5:].any()
    keys = jax.random.split(jax.random.key(5), 200)
    one, other = (program(exact)[0](keys, sample, plan) for plan in (tight, roomy))
    chex.assert_trees_all_equal(one, other)
    assert 0 < np.sum(np.asarray(one.outcome) == 0) < one.outcome.size


@pytest.mark.parametrize(
    "edit",
    [
        {"subsamples": 0},
        {"subsamples": -2},
        {"rows": 0},
        {"subsamples": 40},
        {"rows": 99},
        {"subsamples": 2, "rows": 99},
    ],
    ids=str,
)
def test_a_row_has_one_vote_in_an_edited_plan_too(edit):
    """Sensitivity does not rest on the sizes of a plan: a replaced row changes one vote at most."""
    concepts = Parities(2)
    learner = ParityLearner(concepts, 4, 2)
    plan = replace(planned(learner), **{name: np.int32(value) for name, value in edit.items()})
    generator = np.random.default_rng(0)
    rows = jax.jit(lambda sample: learner.votes(sample, plan))
    for _ in range(20):
        values, labels = generator.integers(0, 4, 10), generator.integers(0, 2, 10)
        one = [np.asarray(part) for part in rows(database(concepts.domain, values.tolist(), labels))]
        at = int(generator.integers(10))
        values[at], labels[at] = generator.integers(0, 4), generator.integers(0, 2)
        other = [np.asarray(part) for part in rows(database(concepts.domain, values.tolist(), labels))]
        changed = (one[1] != other[1]) | (one[1] & other[1] & (one[0] != other[0]).any(axis=(1, 2)))
        assert changed.sum() <= 1
