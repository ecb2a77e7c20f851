"""Online learners: mistake bounds on every short sequence, on many random ones, and against adversaries."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.baselines.online import randomized_weighted_majority, run_automaton, weighted_majority
from dpjax.core.checks import InputError
from dpjax.dimensions import families, littlestone_dimension
from dpjax.dimensions.automaton import standard_optimal_algorithm

SMALL = {
    "thresholds": families.thresholds(4),
    "points": families.points(4, 1, exactly=False),
    "2-points": families.points(4, 2),
    "intervals": families.intervals(4),
    "three labels": np.array([[1, 0], [1, 1], [2, 0], [2, 2]]),
    "random": np.unique(np.random.default_rng(1).integers(0, 3, (9, 3)), axis=0),
    "one concept": np.array([[2, 0, 1]]),
}
LARGE = {
    "thresholds": families.thresholds(64),
    "points": families.points(32, 1, exactly=False),
    "2-points": families.points(12, 2, exactly=False),
    "intervals": families.intervals(16),
    "Theorem 6.1": families.copies(families.one_bit_gap(15), 2),
    "Theorem 7.2": families.independent_bits(2, 2, 6),
    "random": np.unique(np.random.default_rng(2).integers(0, 4, (40, 8)), axis=0),
}
COUNT = jax.jit(jax.vmap(lambda machine, x, y: run_automaton(machine, x, y).mistakes, (None, 0, 0)))


@pytest.mark.grid
@pytest.mark.parametrize(
    ("matrix", "conservative"),
    [
        pytest.param(SMALL[name], kind, marks=() if kind or name in ("intervals", "random") else pytest.mark.slow)
        for name in SMALL
        for kind in (True, False)
    ],
)
def test_mistakes_on_every_realizable_sequence(matrix, conservative):
    dimension = littlestone_dimension(matrix).value
    machine = standard_optimal_algorithm(matrix, conservative)
    worst = 0
    for length in range(1, 6):
        x = np.array(list(product(range(matrix.shape[1]), repeat=length)))
        for row in matrix:
            worst = max(worst, int(COUNT(machine, jnp.asarray(x), jnp.asarray(row[x])).max()))
    assert worst == dimension == machine.dimension[0]  # at most the dimension, and some sequence attains it


@pytest.mark.grid
@pytest.mark.parametrize("matrix", LARGE.values(), ids=LARGE)
def test_mistakes_on_random_realizable_sequences(matrix):
    """Together 10^5 sequences of 60 rows."""
    generator = np.random.default_rng(3)
    machine = standard_optimal_algorithm(matrix)
    x = generator.integers(0, matrix.shape[1], (14_400, 60))
    y = matrix[generator.integers(0, len(matrix), 14_400)[:, None], x]
    assert int(COUNT(machine, jnp.asarray(x), jnp.asarray(y)).max()) <= littlestone_dimension(matrix).value


@pytest.mark.grid
@pytest.mark.parametrize("matrix", LARGE.values(), ids=LARGE)
def test_an_adversary_forces_as_many_mistakes_as_the_dimension(matrix):
    """It walks the shattered tree, away from each prediction."""
    found = littlestone_dimension(matrix)
    machine = standard_optimal_algorithm(matrix)
    node, state, mistakes = found.witness, 0, 0
    while node.children is not None:
        labels = [next(iter(side)) for side in node.map]
        side = int(machine.prediction[state, node.point] == labels[0])
        mistakes += 1
        state = machine.following[state, node.point, labels[side]]
        node = node.children[side]
    assert mistakes == found.value


def test_labels_that_no_concept_has_do_not_move_the_automaton():
    machine = standard_optimal_algorithm(families.points(3))
    assert (machine.following[:, :, 1] >= 0).all()
    found = run_automaton(machine, jnp.array([0, 1, 2]), jnp.array([1, 1, 1]))
    assert int(found.mistakes) == 3 and int(machine.dimension[int(found.state)]) == 0


def test_too_many_states_are_refused():
    with pytest.raises(InputError, match="conservative=True"):
        standard_optimal_algorithm(families.points(20), conservative=False, states=1000)
    with pytest.raises(InputError, match="at most 10"):
        standard_optimal_algorithm(families.thresholds(64), states=10)
    with pytest.raises(InputError, match="equal to row 0"):
        standard_optimal_algorithm([[0, 1], [0, 1]])


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("factor", [0.1, 0.5, 0.9])
def test_weighted_majority_mistakes(factor):
    generator = np.random.default_rng(4)
    for experts, labels, noise in ((16, 2, 0.0), (100, 5, 0.1), (3, 2, 0.4)):
        y = generator.integers(0, labels, 200)
        guesses = generator.integers(0, labels, (200, experts))
        guesses[:, 0] = np.where(generator.random(200) < noise, (y + 1) % labels, y)
        best = int((guesses != y[:, None]).sum(axis=0).min())
        bound = (np.log(experts) + best * np.log(1 / factor)) / np.log(2 / (1 + factor))
        assert int(weighted_majority(jnp.asarray(guesses), jnp.asarray(y), labels, factor)) <= bound
        expected = float(randomized_weighted_majority(jnp.asarray(guesses), jnp.asarray(y)))
        assert expected <= best + np.sqrt(200 * np.log(experts) / 2) + 1e-3
        assert expected >= best * (1 - 1e-5)


def test_weighted_majority_against_an_adversary():
    """Every majority is wrong: the bound of the realizable case, log2(N), is attained."""
    experts = np.array([[number >> bit & 1 for number in range(16)] for bit in range(4)])
    assert int(weighted_majority(jnp.asarray(experts), jnp.ones(4, jnp.int32), 2, 1e-6)) == 4
    with pytest.raises(InputError, match="factor"):
        weighted_majority(jnp.zeros((2, 2), jnp.int32), jnp.zeros(2, jnp.int32), 2, 1.0)


def test_a_label_that_no_row_has_leaves_the_state():
    machine = standard_optimal_algorithm([[0, 1], [1, 2]])
    for label in (-1, 3, 70):
        run = run_automaton(machine, jnp.asarray([0, 1, 0]), jnp.full(3, label))
        assert run.mistakes == 3 and run.state == 0
    after = run_automaton(machine, jnp.asarray([0]), jnp.asarray([1])).state
    assert after > 0 and run_automaton(machine, jnp.asarray([0, 1]), jnp.asarray([1, 9])).state == after


@pytest.mark.parametrize("element", [-1, 2])
def test_an_element_outside_the_domain_is_refused_or_the_nearest(element):
    machine, y = standard_optimal_algorithm([[0, 1], [1, 2]]), jnp.asarray([1])
    with pytest.raises(InputError, match=f"x: expected elements in 0..1, got {element}"):
        run_automaton(machine, jnp.asarray([element]), y)
    traced = jax.jit(run_automaton)(machine, jnp.asarray([element]), y)
    assert traced == run_automaton(machine, jnp.asarray([max(0, min(element, 1))]), y)


def test_no_rounds_are_no_mistakes():
    assert randomized_weighted_majority(jnp.zeros((0, 3), jnp.int32), jnp.zeros(0, jnp.int32)) == 0
