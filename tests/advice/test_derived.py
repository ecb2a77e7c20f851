"""Bounds from other classes and budgets: they agree with every exact entry, and the subset of rows is private."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from dpjax.accounting.subsampling import without_replacement_pair
from dpjax.advice.collection import Program, bracket, packaged
from dpjax.advice.derived import derived
from dpjax.attacks.optimum.tiny import code_of, matrix_of_code, tiny_classes

PROGRAMS = packaged()
BUDGETS = ((None, 0.0), *((epsilon, delta) for epsilon in (2.0, 1.0, 0.5) for delta in (0.0, 0.01)))


def test_bounds_of_others_agree_with_what_was_solved():
    """Without its own programs every class has bounds that contradict none of them."""
    compared = 0
    for matrix in tiny_classes(3):
        code = code_of(matrix)
        others = [one for one in PROGRAMS if one.concepts != code]
        for budget in BUDGETS:
            below, enough = bracket(
                one for one in PROGRAMS if (one.concepts, one.epsilon, one.delta) == (code, *budget)
            )
            low, high = derived(matrix, budget[0], 0.3, 0.9, others, budget[1])
            compared += bool(enough and low) + bool(below and high)
            assert not (enough and low) or low.n < enough.n
            assert not (below and high) or below.n < high.n
            assert not (low and high) or low.n < high.n
    assert compared > 120


def test_of_another_class_only_one_bound_holds():
    """A subclass has learners that this class has not: its success is no lower bound, and likewise from above."""
    seen = 0
    for matrix in tiny_classes(3):
        code = code_of(matrix)
        own = {(one.epsilon, one.delta, one.n): one for one in PROGRAMS if one.concepts == code}
        others = [one for one in PROGRAMS if one.concepts != code]
        for epsilon, delta in BUDGETS:
            for end, refutes in zip(derived(matrix, epsilon, 0.3, 0.9, others, delta), (True, False), strict=True):
                if end and (solved := own.get((epsilon, delta, end.n))):
                    told, seen = end.tried(refutes=refutes), seen + 1
                    assert told.lower <= solved.upper and solved.lower <= told.upper
    assert seen > 20


def test_bounds_of_other_budgets_agree_with_what_was_solved():
    for matrix in tiny_classes(3):
        code = code_of(matrix)
        mine = [one for one in PROGRAMS if one.concepts == code]
        for budget in BUDGETS:
            below, enough = bracket(one for one in mine if (one.epsilon, one.delta) == budget)
            others = [one for one in mine if (one.epsilon, one.delta) != budget]
            low, high = derived(matrix, budget[0], 0.3, 0.9, others, budget[1])
            assert not (enough and low) or low.n < enough.n
            assert not (below and high) or below.n < high.n


@pytest.mark.parametrize(
    ("code", "epsilon", "low", "high", "words"),
    [
        ("000 001 110", 0.5, 24, 24, ("restriction 00 01", "points merged 00 01 10")),
        ("000 111", 0.5, 7, 7, ("restriction 0 1", "points merged 0 1")),
        ("0 1", 0.7, 4, 6, ("epsilon 0.5, a subset", "epsilon 1, a subset")),
    ],
)
def test_steps_have_names(code, epsilon, low, high, words):
    mine = [one for one in PROGRAMS if one.concepts != code or code == "0 1"]
    below, enough = derived(matrix_of_code(code), epsilon, 0.3, 0.9, mine)
    assert (below.n + 1, enough.n) == (low, high)
    assert words[0] in below.step and words[1] in enough.step


def test_a_subset_of_the_rows_has_the_smaller_epsilon():
    """7 rows at epsilon 1/2 are 3 at epsilon 1: the exact number, and what a subset gives is no less."""
    only = [one for one in PROGRAMS if one.concepts == "0 1" and one.epsilon == 1.0]
    below, enough = derived(((0,), (1,)), 0.5, 0.3, 0.9, only)
    assert (below.n, enough.n) == (2, 8) and enough.step == "epsilon 1, a subset of the rows"
    only = [one for one in PROGRAMS if one.concepts == "0 1" and one.epsilon == 0.5]
    below, _ = derived(((0,), (1,)), 1.0, 0.3, 0.9, only)
    assert below.n == 2 and "a subset" in below.step


def test_a_delta_serves_as_far_as_it_is_smaller():
    """Learners for a smaller delta serve, certificates for a larger one refute, and a subset has a share of it."""
    below, enough = (
        Program("0 1", n, 1.0, 0.3, 0.9, *ends, delta=0.02) for n, ends in ((4, (0.8, 0.7)), (6, (1.0, 0.95)))
    )
    matrix = ((0,), (1,))
    for epsilon, delta, low, high in (
        (1.0, 0.02, 4, 6),
        (1.0, 0.0, 4, None),
        (1.0, 0.0101, 4, 12),  # half of the rows
        (1.0, 0.0399, 2, 6),  # 2 of 4 rows
        (0.5, 0.02, 4, 16),  # ln(1 + 6 / 16 (e - 1)) < 1/2
        (2.0, 0.001, 1, 121),  # ln(1 + (e^2 - 1) / 4) < 1 with one row
        (None, 0.0, None, 6),
    ):
        ends = derived(matrix, epsilon, 0.3, 0.9, [below, enough], delta)
        assert tuple(end and end.n for end in ends) == (low, high), (epsilon, delta)
    assert derived(matrix, 1.0, 0.3, 0.9, [below, enough], 0.01)[0].step == "delta 0.02"
    assert derived(matrix, 1.0, 0.3, 0.9, [below, enough], 0.01)[1].step == "delta 0.02, a subset of the rows"
    assert derived(matrix, 2.0, 0.3, 0.9, [below, enough], 0.03)[1].step == "epsilon 1, delta 0.02"
    assert derived(matrix, None, 0.3, 0.9, [below, enough])[1].step == "epsilon 1, delta 0.02"


@pytest.mark.parametrize(("m", "n", "epsilon", "delta"), [(1, 2, 1.0, 0.1), (2, 3, 0.5, 0.2), (3, 4, 2.0, 0.05)])
def test_the_claim_on_a_subset_with_delta(m, n, epsilon, delta):
    """Probabilities of an event by the sum of m bits, as far apart as the budget allows, on all subsets of n bits."""
    law = [0.01]
    for _ in range(m):
        law.append(min(1.0, math.exp(epsilon) * law[-1] + delta, 1 - math.exp(-epsilon) * (1 - delta - law[-1])))
    larger, share = without_replacement_pair(epsilon, delta, m, n)
    values = [
        np.mean([law[sum(some)] for some in combinations([1] * ones + [0] * (n - ones), m)]) for ones in range(n + 1)
    ]
    for one, other in pairwise(values):
        for u, w in ((other, one), (one, other), (1 - one, 1 - other), (1 - other, 1 - one)):
            assert u <= math.exp(larger) * w + share + 1e-12
    assert larger < epsilon and share < delta


@pytest.mark.parametrize(("m", "n", "epsilon"), [(1, 2, 1.0), (2, 3, 2.0), (2, 5, 0.7), (3, 4, 3.0)])
def test_the_claim_on_a_subset_by_enumeration(m, n, epsilon):
    """Laws of m bits that are private, on all subsets of n bits: the quotient of neighbors."""
    generator = np.random.default_rng(m)
    steps = np.concatenate([[0.0], np.cumsum(generator.choice([-1, 1], m))])  # a log-probability, by the sum of bits
    law = np.exp(epsilon * steps - epsilon * m - 0.1)
    for ones in range(n):
        values = []
        for count in (ones, ones + 1):
            row = [1] * count + [0] * (n - count)
            values.append(np.mean([law[sum(row[i] for i in some)] for some in combinations(range(n), m)]))
        bound = math.log(1 + m / n * math.expm1(epsilon))
        assert abs(math.log(values[1] / values[0])) <= bound + 1e-12


def test_goals_that_are_easier_or_harder():
    matrix = matrix_of_code("00 01 10")
    assert derived(matrix, 1.0, 0.4, 0.8, PROGRAMS)[1].n <= 13  # a learner for a harder goal
    assert derived(matrix, 1.0, 0.2, 0.95, PROGRAMS)[0].n >= 12  # no learner for an easier one
    assert derived(matrix, 1.0, 0.2, 0.95, PROGRAMS)[1] is None
