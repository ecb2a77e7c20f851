"""The smallest representation: against all families and distributions on a grid, and against the paper's bounds."""

from itertools import combinations, product
from math import ceil, exp, log
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families, littlestone_dimension, representation_size
from dpjax.dimensions.representations import Families
from dpjax.learners import KLN
from dpjax.theory import representations as theory

ON_FOUR = families.points(4, 4, False)


def by_listing(matrix, count, most=4):
    """The value of the game of all families of ``count`` functions and all distributions of weights 0..most."""
    width = matrix.shape[1]
    functions = np.array(list(product(np.unique(matrix), repeat=width)))
    weights = [np.array(w) for w in product(range(most + 1), repeat=width) if any(w)]
    good = np.array([4 * ((functions != row) @ w) <= w.sum() for row in matrix for w in weights])
    good = np.unique(good, axis=0)
    served = np.array([good[:, list(one)].any(1) for one in combinations(range(len(functions)), count)], float).T
    found = linprog(
        np.append(np.zeros(served.shape[1]), -1),
        np.hstack([-served, np.ones((len(served), 1))]),
        np.zeros(len(served)),
        np.append(np.ones(served.shape[1]), 0)[None],
        [1],
    )
    return -found.fun


@pytest.mark.parametrize(
    ("matrix", "size"),
    [
        (np.array([[0, 1, 2]]), 1),
        (families.points(3), 3),
        (families.thresholds(3), 4),
        (families.points(2, 2, False), 4),
        (families.points(3, 3, False), 7),
        (families.points(4), 4),
        (families.thresholds(4), 5),
        (families.points(4, 2), 6),
        (families.points(5), 5),
        (families.independent_bits(2, 1, 3), 8),
    ],
)
def test_known_sizes(matrix, size):
    """On three elements or fewer it is ceil(7 m / 8): under the uniform law every other function errs more than 1/4."""
    found = representation_size(matrix)
    assert found.value == size and found.witness.holds(matrix)
    assert max(map(len, found.witness.families)) <= size
    if matrix.shape[1] <= 3:
        assert size == ceil(7 * len(matrix) / 8)
    fewer = Families(tuple(one[:-1] for one in found.witness.families), found.witness.probabilities)
    assert size == 1 or not fewer.holds(matrix)


def test_all_functions_on_four_elements():
    """Each function serves the four others at distance 1, too: 7 of the 8 even ones have 28 of the 32 edges of the
    cube, 7/8 of them, and 6 functions have 24."""
    found = representation_size(ON_FOUR)
    assert found.value == 7 and found.witness.holds(ON_FOUR)


@pytest.mark.parametrize("classes", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_against_all_families_and_distributions(classes):
    """Random classes of labels 0 and 1 on four elements, or three labels on two."""
    generator = np.random.default_rng(2)
    for i in range(classes):
        labels, width = ((2, 4), (3, 2))[i % 3 == 0]
        matrix = np.unique(generator.integers(0, labels, (int(generator.integers(1, 6)), width)), axis=0)
        found = representation_size(matrix)
        assert found.witness.holds(matrix)
        if len(np.unique(matrix)) == labels:
            assert by_listing(matrix, found.value) >= 7 / 8 - 1e-7
            assert found.value == 1 or by_listing(matrix, found.value - 1) < 7 / 8 - 1e-7


@pytest.mark.parametrize("classes", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_the_paper_s_bounds_with_the_true_minimum(classes):
    """Theorem 8.8 from below. From above Lemma 8.5, for the exponential mechanism as its learner; and all concepts."""
    generator, privacy, accuracy = np.random.default_rng(4), Privacy(1.0), Accuracy(1 / 8, 1 / 2)
    for _ in range(classes):
        matrix = np.unique(generator.integers(0, 2, (int(generator.integers(2, 9)), 4)), axis=0)
        d, size = littlestone_dimension(matrix).value, representation_size(matrix).value
        assert log(size) >= theory.size_by_littlestone_dimension(d) - 1e-12 >= theory.size_by_experts(d) - 1e-12
        rows = KLN(Finite.of(matrix)).sample_size(privacy, accuracy)
        assert size <= len(matrix) and size <= 2 * theory.runs_on_one_element(rows, 1.0, 1 / 8)
        assert size <= 2 * theory.runs_on_one_element_printed(rows, 1.0, 1 / 8)
        assert size <= theory.runs_of_learner(rows, 1.0)
    assert exp(theory.size_by_littlestone_dimension(3)) == pytest.approx(7)  # attained by all functions on 3 elements


def test_the_time_limit_binds_the_solver(monkeypatch):
    asked = []

    def out_of_time(*_, options, **__):
        asked.append(options["time_limit"])
        return SimpleNamespace(status=1, x=None, fun=None)

    monkeypatch.setattr("scipy.optimize.milp", out_of_time)
    found = representation_size(ON_FOUR, seconds=60)
    assert (
        (found.lower, found.upper) == (1, 14) and len(asked) == 1 and 0 < asked[0] < 60 and found.witness.holds(ON_FOUR)
    )


def test_a_time_limit_and_what_is_too_large():
    found = representation_size(families.points(5, 5, False), seconds=0.01)
    assert found.lower < found.upper == 28 and found.witness.holds(families.points(5, 5, False))
    for matrix in (families.points(6), np.array([[0, 1, 2, 3, 4], [1, 1, 1, 1, 1]])):
        with pytest.raises(InputError, match="at most 5 elements and 256 functions"):
            representation_size(matrix)
