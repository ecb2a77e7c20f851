"""The bound for interior points beside the best algorithm, from a linear program."""

import itertools
from math import exp, inf, log2

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dpjax.core.checks import InputError
from dpjax.theory.interior_point import fewest_records, guess, log_size


def best(records, size, epsilon, delta=0.0):
    """The largest success on every database of all private algorithms; with delta only for one record."""
    databases = list(itertools.combinations_with_replacement(range(size), records))
    number = {database: i for i, database in enumerate(databases)}
    pairs = {
        (number[one], number[tuple(sorted((*one[:i], x, *one[i + 1 :])))])
        for one in databases
        for i in range(records)
        for x in range(size)
    }
    pairs = sorted(pair for pair in pairs if pair[0] != pair[1])
    cells, slack = len(databases) * size, len(pairs) * size * (delta > 0)
    rows, columns, values, right = [], [], [], []

    def at_most(entries, bound):
        for column, value in entries:
            rows.append(len(right))
            columns.append(column)
            values.append(value)
        right.append(bound)

    top = cells + slack
    for place, (one, two) in enumerate(pairs):
        for y in range(size):
            more = [(cells + place * size + y, -1.0)] if delta else []
            at_most([(one * size + y, 1.0), (two * size + y, -exp(epsilon)), *more], 0.0)
        if delta:
            at_most([(cells + place * size + y, 1.0) for y in range(size)], delta)
    for database, i in number.items():
        at_most([(top, 1.0), *((i * size + y, -1.0) for y in range(database[0], database[-1] + 1))], 0.0)
    table = coo_array((values, (rows, columns)), (len(right), top + 1))
    sums = coo_array((np.ones(cells), (np.repeat(np.arange(len(databases)), size), np.arange(cells))))
    sums.resize(len(databases), top + 1)
    goal = np.zeros(top + 1)
    goal[-1] = -1
    found = linprog(goal, table.tocsr(), right, sums.tocsr(), np.ones(len(databases)), bounds=(0, 1), method="highs")
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize(("size", "epsilon", "delta"), [(2, 0.3, 0.0), (5, 1.0, 0.0), (4, 1.0, 0.1), (6, 2.0, 0.03)])
def test_a_guess_is_the_best_with_one_record(size, epsilon, delta):
    assert best(1, size, epsilon, delta) == pytest.approx(guess(size, epsilon, delta), abs=1e-7)


@pytest.mark.parametrize(("epsilon", "success"), [(0.25, 0.9), (0.25, 0.75), (1.0, 0.95), (0.1, 0.7)])
def test_no_algorithm_with_two_records_is_better(epsilon, success):
    size = round(2 ** log_size(2, epsilon, 0.0, success))
    assert 2 <= size <= 12
    assert best(2, size, epsilon) < success


def test_the_bound_is_a_tower():
    one, two, three, four = (log_size(records, 1.0, 1e-6, 0.9) for records in (1, 2, 3, 4))
    assert one == 1.0 and two == log2(15)
    assert 100 < three < 2**two * 20 and four > 2 ** (three - 1)
    assert log_size(5, 1.0, 1e-6, 0.9) == log_size(3000, 0.01, 0.0, 0.999) == inf


def test_more_records_for_larger_domains_and_smaller_budgets():
    bits = (0.0, 2.0, 4.0, 64.0, 256.0, 2048.0)
    strict, loose = ([fewest_records(b, epsilon, 1e-6, 0.9) for b in bits] for epsilon in (0.25, 4.0))
    assert strict == sorted(strict) and loose == sorted(loose)
    assert all(one >= two for one, two in zip(strict, loose, strict=True))
    assert fewest_records(0.0, 1.0, 1e-6, 0.9) == 1 and fewest_records(1.0, 1.0, 1e-6, 0.9) == 2
    assert [fewest_records(bits, 1.0, 1e-6, 0.9) for bits in (64, 2048)] == [3, 4]


def test_extreme_budgets_and_sizes_have_numbers():
    assert 720 / np.log(2) - 4 < log_size(1, 720.0, 1e-6, 0.9) < 720 / np.log(2)
    assert log_size(1, 400.0, 0.0, 1e-200) > 1000 and log_size(2, 1000.0, 1e-6, 0.9) == inf
    assert guess(2**1100, 1.0, 1e-6) == 1e-6 and guess(1, 1.0, 0.0) == 1.0


def test_a_success_no_larger_than_delta_is_never_excluded():
    assert log_size(1, 1.0, 0.5, 0.4) == log_size(2, 1.0, 0.5, 0.5) == inf


@pytest.mark.parametrize(
    "arguments", [(0, 1.0, 0.0, 0.9), (1, 0.0, 0.0, 0.9), (1, 1.0, 1.0, 0.9), (1, 1.0, 0.0, 1.0), (1.5, 1.0, 0.0, 0.9)]
)
def test_nonsense_is_refused(arguments):
    with pytest.raises(InputError):
        log_size(*arguments)
