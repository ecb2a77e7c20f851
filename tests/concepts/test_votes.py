"""Majorities: their labels, errors and sentences, against one vote after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Conjunctions, Cube, Domain, Finite, Hypothesis, Points, Thresholds, UniformCube, outside
from dpjax.concepts import distributions as make
from dpjax.concepts.votes import Votes
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.task import Task
from tests.trials import jit_error

LINE = Thresholds(Domain(10))


def members(numbers, zero=None, outcome=None):
    """Hypotheses of one concept, stacked."""
    count = len(numbers)
    concept = jnp.asarray(wide.encode(numbers))[:, None]
    zero = jnp.zeros((count, 1), bool) if zero is None else jnp.asarray(zero)[:, None]
    outcome = jnp.zeros((count, 1), jnp.int32) if outcome is None else jnp.asarray(outcome, jnp.int32)[:, None]
    return Hypothesis(concept, zero, outcome)


@pytest.mark.parametrize(
    "numbers", [[1, 5, 7], [0, 9, 9, 4], *(pytest.param(one, marks=pytest.mark.slow) for one in ([3], [2, 8], [4] * 7))]
)
def test_labels_are_majorities_and_ties_are_0(numbers):
    found = Votes.of(members(numbers))
    x = jnp.arange(10, dtype=jnp.uint32)[:, None]
    expected = [2 * sum(y <= t for t in numbers) > len(numbers) for y in range(10)]
    assert np.asarray(outside.predict(LINE, found, x))[:, 0].tolist() == expected
    assert found.concept.shape == (1, 2 * len(numbers)) and found.zero.tolist() == [False]


def test_abstaining_members_vote_as_they_predict():
    some = Votes.of(members([5, 5, 5], [True, True, False], [-1, -1, 0]))
    assert some.outcome.tolist() == [0] and some.zero.tolist() == [False]
    every = Votes.of(members([0, 0], [True, True], [-1, -1]))
    assert every.outcome.tolist() == [-1] and every.zero.tolist() == [True]
    x = jnp.arange(10, dtype=jnp.uint32)[:, None]
    assert not np.asarray(outside.predict(LINE, some, x)).any()
    assert outside.describe(LINE, every) == ["majority of 2: 2 x [0 everywhere (no answer)] (no answer)"]


def test_sentences_count_equal_members():
    (said,) = outside.describe(LINE, Votes.of(members([2, 7, 2])))
    assert said == "majority of 3: 2 x [1 iff x <= 2]; 1 x [1 iff x <= 7]"
    (ruled,) = outside.describe(LINE, Votes.of(members([2])), lambda first, last: f"{first} to {last}")
    assert ruled == "majority of 1: 1 x [0 to 2]"


def test_votes_may_be_cast_by_majorities():
    inner = [Votes.of(members(numbers)) for numbers in ([1, 5, 7], [2, 3, 4], [9, 9, 0])]
    outer = Votes.of(jax.tree.map(lambda *parts: jnp.stack(parts), *inner))
    x = jnp.arange(10, dtype=jnp.uint32)[:, None]
    labels = [np.asarray(outside.predict(LINE, one, x))[:, 0] for one in inner]
    assert np.array_equal(np.asarray(outside.predict(LINE, outer, x))[:, 0], np.sum(labels, axis=0) >= 2)
    assert outside.describe(LINE, outer)[0].startswith("majority of 3: 1 x [majority of 3: ")


# --- errors ------------------------------------------------------------------------------------------------------

FINITE = Finite.of(np.random.default_rng(0).random((6, 12)) < 0.5)
TASKS = [
    Task(LINE, make.uniform(LINE.domain)),
    Task(Thresholds(Domain(2**40)), make.from_weights(Domain(2**40), [3, 2**30, 2**39, 2**39 + 1], [1, 5, 2, 9])),
    Task(Points(Domain(12)), make.from_segments(Domain(12), [(0, 3, 4), (5, 5, 7), (8, 11, 1)])),
    Task(FINITE, make.from_weights(FINITE.domain, range(12), range(12))),
    Task(Conjunctions(5), UniformCube(5)),
]


@pytest.mark.parametrize(
    "task",
    TASKS[1:3] + [pytest.param(task, marks=pytest.mark.slow) for task in (TASKS[0], *TASKS[3:])],
    ids=lambda task: type(task.concepts).__name__,
)
def test_errors_are_the_rates_of_wrong_labels(task, stats):
    concepts, count = task.concepts, 7
    keys = jax.random.split(jax.random.key(1), 2)
    drawn = task.draw_targets(keys[0], count)
    found = Votes.of(jax.tree.map(lambda part: part[:, None], drawn))
    target = task.draw_targets(keys[1], 1)
    error = float(jit_error(task, found, target)[0])
    x = jax.jit(task.distribution.draw, static_argnums=1)(jax.random.key(2), 20_000)
    differ = jax.jit(lambda one, other, x: outside.predict(concepts, one, x) != concepts.predict(other, x))
    wrong = np.asarray(differ(found, target, x))
    stats.frequency(int(wrong.sum()), len(wrong), error)


@pytest.mark.grid
@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task.concepts).__name__)
def test_one_vote_has_the_error_of_its_concept(task):
    one, target = (task.draw_targets(jax.random.key(seed), 1) for seed in (3, 4))
    alone = Votes.of(jax.tree.map(lambda part: part[:, None], one))
    assert float(jit_error(task, alone, target)[0]) == pytest.approx(float(jit_error(task, one, target)[0]), rel=1e-6)
    assert float(jit_error(task, Votes.of(jax.tree.map(lambda p: p[:, None], target)), target)[0]) == 0


def test_an_error_everywhere_is_1():
    concepts = Conjunctions(3)
    task = Task(concepts, UniformCube(3))
    one, zero = (Hypothesis.of(jnp.asarray(wide.encode([number]))) for number in (0, 63))
    assert float(task.error(Votes.of(jax.tree.map(lambda part: part[:, None], zero)), one)[0]) == 1


def test_cubes_have_masses():
    with jax.enable_x64(True):
        assert np.asarray(UniformCube(5).mass_at(jnp.arange(32))).tolist() == [2**59] * 32
        assert np.asarray(UniformCube(64).mass_at(jnp.arange(2))).tolist() == [1, 1]
    assert Cube(5).size == 32


@pytest.mark.parametrize(
    "task",
    [Task(Conjunctions(20), UniformCube(20)), Task(Thresholds(Domain(2**40)), make.uniform(Domain(2**40)))],
    ids=["cube", "line"],
)
def test_what_has_too_many_elements_is_refused(task):
    found = Votes.of(jax.tree.map(lambda part: part[:, None], task.draw_targets(jax.random.key(0), 3)))
    with pytest.raises(InputError, match="the error is a sum over elements"):
        task.error(found, task.draw_targets(jax.random.key(1), 1))


def test_a_hypothesis_with_methods_that_nobody_calls_is_refused():
    class Table(Hypothesis):
        def predict(self, x):
            return x[..., 0] == 0

        def error(self, distribution, target):
            return 0

    task = Task(Thresholds(Domain(4)), make.uniform(Domain(4)))
    target = task.draw_targets(jax.random.key(0), 1)
    with pytest.raises(InputError, match=r"got Table with a method error; inherit from dpjax\.concepts\.Outside"):
        task.error(Table(**vars(target)), target)
