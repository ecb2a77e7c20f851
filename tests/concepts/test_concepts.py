"""Predictions and exact errors of the three classes against brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Finite, Hypothesis, Points, Thresholds
from dpjax.concepts import distributions as make
from dpjax.core import wide
from dpjax.core.checks import InputError

GENERATOR = np.random.default_rng(17)
MATRIX = GENERATOR.random((6, 9)) < 0.5
SMALL = [Points(Domain(9)), Thresholds(Domain(9)), Finite.of(MATRIX)]


def name(concepts):
    return f"{type(concepts).__name__}-{concepts.domain.size}"


def label(concepts, concept, zero, x):
    if zero:
        return False
    if isinstance(concepts, Points):
        return x == concept
    if isinstance(concepts, Thresholds):
        return x <= concept
    return bool(concepts.matrix()[concept, x])


def hypotheses(numbers, zeros):
    count = len(numbers)
    return Hypothesis(wide.encode(numbers).reshape(count, 2), np.asarray(zeros), np.zeros(count, np.int32))


def test_a_plain_hypothesis_is_an_answer():
    one = Hypothesis.of(np.zeros((3, 2), np.uint32))
    assert not np.any(one.zero) and not np.any(one.outcome) and one.outcome.dtype == jnp.int32


@pytest.mark.parametrize("concepts", SMALL, ids=name)
def test_predictions(concepts):
    numbers = [c for c in range(concepts.size)] * 2
    zeros = [False] * concepts.size + [True] * concepts.size
    x = concepts.domain.encode(range(9))
    run = jax.jit(lambda one, x: (concepts.predict(one, x), concepts.predict(one, x.reshape(3, 3, -1))))
    got, stacked = run(hypotheses(numbers, zeros), x)
    expected = [[label(concepts, c, z, x) for c, z in zip(numbers, zeros, strict=True)] for x in range(9)]
    assert got.dtype == jnp.bool_
    np.testing.assert_array_equal(got, expected)

    np.testing.assert_array_equal(stacked, np.reshape(expected, (3, 3, -1)))


def test_an_error_of_all_the_mass_is_not_zero():
    """2**64 units wrap to 0."""
    concepts = Thresholds(Domain(2**64))
    law = make.from_segments(concepts.domain, [(4, 4, 2**63), (5, 5, 2**63)])
    one, other = hypotheses([0, 3, 4, 5, 2**64 - 1], [0] * 5), hypotheses([5, 5, 5, 5, 3], [0] * 5)
    zero = hypotheses([7] * 5, [1] * 5)
    with jax.enable_x64(True):
        assert np.asarray(concepts.error(law, one, other)).tolist() == [2**64 - 1] * 2 + [2**63, 0, 2**64 - 1]
        assert np.asarray(concepts.error(law, one, zero)).tolist() == [0, 0, 2**63, 2**64 - 1, 2**64 - 1]


def test_concepts_have_numbers_of_numpy_too():
    concepts = Thresholds(Domain(9))
    np.testing.assert_array_equal(concepts.numbered(np.arange(3)), concepts.numbered([0, 1, 2]))
    for bad in (np.int64(9), np.int64(-1), 1.0, True, "1"):
        with pytest.raises(InputError, match="target"):
            concepts.numbered([bad])


@pytest.mark.parametrize("size", [2**32, 2**32 + 1, 2**63, 2**64])
@pytest.mark.parametrize("kind", [Points, Thresholds])
def test_predictions_on_huge_domains(kind, size):
    concepts = kind(Domain(size))
    values = sorted({v for v in (0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, size - 2, size - 1) if v < size})
    got = jax.jit(concepts.predict)(hypotheses(values, [False] * len(values)), concepts.domain.encode(values))
    np.testing.assert_array_equal(got, [[label(concepts, c, False, x) for c in values] for x in values])


@pytest.mark.parametrize("concepts", SMALL, ids=name)
def test_errors_against_brute_force(concepts):
    weights = GENERATOR.integers(0, 50, 9)
    weights[[2, 5]] = 0
    distributions = [
        make.from_weights(concepts.domain, range(9), weights),
        make.from_segments(concepts.domain, [(0, 3, 2), (5, 8, 7)]),
    ]
    pairs = [
        (a, za, b, zb)
        for a in range(concepts.size)
        for b in range(concepts.size)
        for za in (False, True)
        for zb in (False, True)
    ]
    ours = hypotheses([p[0] for p in pairs], [p[1] for p in pairs])
    theirs = hypotheses([p[2] for p in pairs], [p[3] for p in pairs])
    for distribution in distributions:
        with jax.enable_x64(True):
            masses = jax.jit(lambda law: law.mass_at(jnp.arange(9, dtype=jnp.uint64)))(distribution).tolist()
            got = jax.jit(concepts.error)(distribution, ours, theirs)
        expected = [
            sum(m for x, m in enumerate(masses) if label(concepts, a, za, x) != label(concepts, b, zb, x))
            for a, za, b, zb in pairs
        ]
        assert got.dtype == jnp.uint64 and got.tolist() == expected


@pytest.mark.parametrize("size", [2**32, 2**63, 2**64])
def test_errors_on_huge_domains(size):
    """Uniform, and heavy atoms, by arithmetic on Python integers."""
    values = [0, 1, size // 2, size // 2 + 1, size - 2, size - 1]
    pairs = [(a, b) for a in values for b in values]
    ours, theirs = (hypotheses([p[i] for p in pairs], [False] * len(pairs)) for i in (0, 1))
    zeros = hypotheses([0] * len(pairs), [True] * len(pairs))
    with jax.enable_x64(True):
        uniform = make.uniform(Domain(size))
        points = jax.jit(Points(Domain(size)).error)(uniform, ours, theirs)
        error = jax.jit(Thresholds(Domain(size)).error)
        thresholds, against_zero = error(uniform, ours, theirs), error(uniform, ours, zeros)
    assert points.tolist() == [0 if a == b else 2 for a, b in pairs]
    assert against_zero.tolist() == [min(a + 1, 2**64 - 1) for a, _ in pairs]
    assert thresholds.tolist() == [abs(a - b) for a, b in pairs]


def error_of(concepts, distribution, ours, theirs):
    with jax.enable_x64(True):
        return jax.jit(concepts.error)(distribution, ours, theirs).item()


def test_an_error_of_the_whole_mass_does_not_wrap_to_zero():
    """A total mass of 2**64 is allowed: errors that large must not pass for none."""
    halves = make.from_weights(Domain(4), [0, 1], [2**63, 2**63])
    assert error_of(Points(Domain(4)), halves, hypotheses([0], [False]), hypotheses([1], [False])) >= 2**63
    quarters = make.from_weights(Domain(4), range(4), [2**62] * 4)
    table = Finite.of([[0, 0, 0, 0], [1, 1, 1, 1]])
    assert error_of(table, quarters, hypotheses([0], [False]), hypotheses([1], [False])) >= 2**63


@pytest.mark.parametrize("matrix", [[], [[]], [0, 1], [[[0, 1]]], np.zeros((0, 3)), np.zeros((3, 0))], ids=str)
def test_what_is_no_class_matrix_is_refused(matrix):
    with pytest.raises(InputError, match="class matrix"):
        Finite.of(matrix)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [([[0, 2]], "row 0, column 1: expected 0 or 1, got 2"), ([[0, 1], [0.5, 0]], "row 1, column 0")],
    ids=str,
)
def test_labels_of_a_binary_class_are_zero_and_one(matrix, words):
    with pytest.raises(InputError, match=words):
        Finite.of(matrix)


def test_finite_classes_are_equal_by_value_and_keep_their_matrix():
    again = Finite.of(MATRIX.astype(int))
    assert again == Finite.of(MATRIX) and hash(again) == hash(Finite.of(MATRIX))
    assert again != Finite.of(~MATRIX)
    assert (again.size, again.width, again.domain) == (6, 9, Domain(9))
    np.testing.assert_array_equal(again.matrix(), MATRIX)
    assert Finite.of(np.zeros((2, 6))) != Finite.of(np.zeros((3, 4)))


@pytest.mark.parametrize("width", [1, 2])
def test_errors_of_a_class_on_one_element_in_as_many_trials_as_rows(width):
    """XLA on CPUs summed 64 x 64 equal cells to the last row of each; here every row is right for concept 1."""
    concepts, trials = Finite.of([[0] * width, [1] * width]), 64

    def errors(y):
        x = jnp.zeros((trials, 1), jnp.uint32)  # known to the compiler, as draws from a single atom are
        return concepts.pieces(x, y, jnp.ones(trials, bool)).errors

    found = jax.jit(jax.vmap(errors))(jnp.ones((trials, trials), bool))
    assert np.array_equal(found, np.broadcast_to([trials, 0], (trials, 2)))
