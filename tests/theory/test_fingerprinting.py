"""Lower bounds from scores: the steps of the proofs exactly, and the best learners of all against the numbers."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import binom

from dpjax.core.checks import InputError
from dpjax.theory import fingerprinting, packing


def least_failure(n, epsilon, delta, alpha):
    """The worst failure probability of the best private agnostic learner of one concept on one element, exactly for
    label probabilities at the ends and just outside of [(1 - alpha)/2, (1 + alpha)/2].

    Its state is the number of ones. The variables: P(label 1 | ones), and the failure.
    """
    above, bounds = [], []
    for ones in range(n):
        for one, other in ((ones, ones + 1), (ones + 1, ones)):
            for sign in (1, -1):  # of label 1, and of label 0 with probability 1 - P
                line = np.zeros(n + 2)
                line[one], line[other] = sign, -sign * math.exp(epsilon)
                above.append(line)
                bounds.append(delta if sign == 1 else delta + math.exp(epsilon) - 1)
    for p in ((1 + alpha) / 2 + 1e-6, 0.5 + 0.5 * (alpha + 1) / 2, 1.0):
        weight = binom.pmf(np.arange(n + 1), n, p)
        for sign, own, bound in ((-1, weight, -1.0), (1, weight[::-1], 0.0)):  # 1 - P at p, and P at 1 - p
            above.append(np.append(sign * own, -1.0))
            bounds.append(bound)
    found = linprog(np.append(np.zeros(n + 1), 1.0), np.array(above), bounds, bounds=(0, 1))
    assert found.success
    return found.fun


@pytest.mark.parametrize(
    ("epsilon", "delta", "alpha"),
    [(0.1, 0.0, 0.2), (0.5, 0.0, 0.1), (0.2, 0.02, 0.3), (1.0, 0.0, 0.05), (0.05, 1e-3, 0.5), (0.01, 0.05, 0.9)],
)
def test_no_agnostic_learner_of_one_concept_beats_the_bound(epsilon, delta, alpha):
    tried = 0
    for beta in (0.01, 0.1, 0.25, 0.4):
        bound = fingerprinting.agnostic(1, epsilon, delta, alpha, beta)
        for n in {1, bound // 2, bound - 1} - {0}:
            if n < bound:
                assert least_failure(n, epsilon, delta, alpha) > beta
                tried += 1
    assert tried >= 3


@pytest.mark.parametrize(
    ("epsilon", "delta", "alpha", "spread"), [(0.02, 0.0, 0.02, 0.5), (0.01, 1e-3, 0.05, 1.0), (0.05, 0.0, 0.01, 0.25)]
)
def test_no_learner_from_one_distribution_beats_the_bound(epsilon, delta, alpha, spread):
    """With c just above 2 alpha / spread a good hypothesis at (1 + c)/2 is none at (1 - c)/2: two answers are all."""
    tried = 0
    for beta in (0.01, 0.05, 0.1):
        bound = fingerprinting.uniform(1, epsilon, delta, alpha, beta, spread)
        assert bound <= fingerprinting.agnostic(1, epsilon, delta, alpha, beta)
        for n in {bound // 2, bound - 1} - {0}:
            assert least_failure(n, epsilon, delta, 2 * alpha / spread + 1e-3) > beta
            tried += n > 1
    assert tried >= 3


def test_numbers_of_uniform_parities():
    """BNS Proposition 4.11 for every d: sqrt(k), and nothing from alpha = 1/4 on."""
    of = fingerprinting.uniform
    assert of(2**14, 1.0, 0.0, 0.05, 1e-12) == 82
    assert of(2**20, 0.5, 0.0, 0.1, 0.1) / of(2**10, 0.5, 0.0, 0.1, 0.1) == pytest.approx(2**5, rel=0.2)
    assert of(10**6, 1.0, 0.0, 0.25, 0.01) == of(10**6, 1.0, 0.0, 0.1, 0.4) == 1
    with pytest.raises(InputError, match="spread"):
        of(10, 1.0, 0.0, 0.1, 0.1, 1.5)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0])
def test_the_scores_of_any_strategy_add_up(n, alpha):
    """E sum_i S_i = (g(b) - g(a)) / (2 arcsin(alpha)) for any function of the labels, by quadrature."""
    labels = np.array(list(itertools.product((0, 1), repeat=n)))
    strategies = np.random.default_rng(n).uniform(-1, 1, (4, len(labels)))
    ones = labels.sum(1)
    low, high = (1 - alpha) / 2, (1 + alpha) / 2

    def law(p):
        return p**ones * (1 - p) ** (n - ones)

    for s in strategies:

        def at(angle, s=s):  # p = sin^2, whose density under the change of variables is constant
            p = math.sin(angle) ** 2
            scores = (labels - p).sum(1) / math.sqrt(p * (1 - p))
            return float(np.sum(law(p) * s * scores))

        ends = math.asin(math.sqrt(low)), math.asin(math.sqrt(high))
        mean = quad(at, *ends)[0] / (ends[1] - ends[0])
        assert mean == pytest.approx((law(high) @ s - law(low) @ s) / (2 * math.asin(alpha)), abs=1e-8)
    always = np.where(ones == n, 1.0, np.where(ones == 0, -1.0, strategies[0]))  # the marking assumption
    assert law(1.0) @ always - law(0.0) @ always == 2


@pytest.mark.parametrize(("last", "rows"), [(1, 1), (5, 1), (6, 2), (9, 4), (12, 11), (7, 7)])
def test_gaps_between_elements_are_seldom_small(last, rows):
    """The mean of sqrt(1 / gap + 1 / next gap) over all choices of elements, against its bound, for each person."""
    total, count = np.zeros(rows), math.comb(last, rows)
    for chosen in itertools.combinations(range(last), rows):
        cells = np.diff([-1, *chosen, last]) / (last + 1)
        total += np.sqrt(1 / cells[:-1] + 1 / cells[1:])
    bound = math.pi * math.sqrt(rows) * math.sqrt((last + 1) * (last + rows)) / last
    assert (total / count <= bound).all()
    if rows < last / 2:
        assert (total / count).max() > 0.45 * bound


@pytest.mark.parametrize("rows", [1, 3])
def test_the_scores_of_thresholds_telescope(rows):
    """E[s sum_i V_i] = g_0 - g_N for any function of the cell, and the score of a person whose labels are drawn again
    has mean 0 and second moment 1/pi + 1/pi'."""
    generator, last = np.random.default_rng(rows), 9
    chosen = np.sort(generator.choice(last, rows, replace=False))
    cell = np.sum(chosen[None, :] < np.arange(last + 1)[:, None], axis=1)  # of each threshold
    share = np.bincount(cell, minlength=rows + 1) / (last + 1)
    s = generator.uniform(-1, 1, rows + 1)
    scores = np.array([(cell == i) / share[i] - (cell == i + 1) / share[i + 1] for i in range(rows)])
    assert np.mean(s[cell] * scores.sum(0)) == pytest.approx(s[0] - s[-1])
    for i in range(rows):
        pair = (cell == i) | (cell == i + 1)
        assert np.mean(scores[i][pair]) == pytest.approx(0)
        assert np.mean(scores[i] ** 2) == pytest.approx(1 / share[i] + 1 / share[i + 1])
        assert np.mean(np.abs(scores[i])) == pytest.approx(2)


def test_numbers():
    """The classical constant, the growth in k, and that delta and small domains end it."""
    of = fingerprinting.agnostic
    almost = 1 - 1e-9  # where the second bound on the score of somebody absent is none
    assert of(2**14, 1.0, 0.0, almost, 1e-12) == math.ceil(2 / math.pi * 2**7 / math.sinh(1)) == 70
    assert of(2**20, 0.5, 0.0, 0.1, 0.1) / of(2**10, 0.5, 0.0, 0.1, 0.1) == pytest.approx(2**5, rel=0.05)
    assert of(10**12, 1.0, 1e-3, 0.1, 0.1) <= 0.8 / (0.1 * 1e-3 * (1 + math.exp(-1))) + 1
    line = fingerprinting.thresholds
    large = [line(k, 1.0, 0.0, 0.05, 0.1, 2**60) for k in (2**30, 2**39)]
    assert large[1] / large[0] == pytest.approx(2**3, rel=0.01)
    assert line(2**30, 1.0, 0.0, 0.05, 0.1, 16) < 100 < large[0]
    assert line(2**30, 1.0, 0.1, 0.05, 0.1, 2**60) < 200
    assert line(7, 1.0, 0.0, 0.5, 0.1, 9) == 1 == of(1, 1e6, 0.0, 0.5, 0.1) == of(9, 1.0, 0.0, 0.1, 0.7)
    assert line(7, 1e6, 0.0, 0.1, 0.1, 9) == 1 == line(1, 5.0, 0.9, 0.4, 0.6, 2)


def test_bounds_move_the_right_way():
    for bound in (fingerprinting.agnostic, lambda *numbers: fingerprinting.thresholds(*numbers, 2**32)):
        table = np.array(
            [
                [
                    [[bound(k, e, d, a, 0.1) for k in (1, 100, 10**6)] for e in (0.2, 1.0, 3.0)]
                    for d in (0.0, 1e-6, 0.01)
                ]
                for a in (0.05, 0.3)
            ]
        )
        assert (np.diff(table, axis=3) >= 0).all() and (np.diff(table[:, 0], axis=1) <= 0).all()
        assert (np.diff(table, axis=1) <= 0).all() and (np.diff(table, axis=0) <= 0).all()


def test_many_concepts_under_approximate_privacy_need_what_packing_cannot_say():
    k, budget = 2**14, (1.0, 1e-6)
    assert fingerprinting.agnostic(k, *budget, 0.1, 0.1) > 4 * packing.concepts(k, budget[0], 0.1, 0.1, budget[1])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fingerprinting.agnostic(0, 1.0, 0.0, 0.1, 0.1),
        lambda: fingerprinting.agnostic(1, 0.0, 0.0, 0.1, 0.1),
        lambda: fingerprinting.agnostic(1, 1.0, 1.0, 0.1, 0.1),
        lambda: fingerprinting.agnostic(1, 1.0, 0.0, 1.0, 0.1),
        lambda: fingerprinting.thresholds(1, 1.0, 0.0, 0.1, 0.1, 1),
        lambda: fingerprinting.thresholds(1, 1.0, 0.0, 0.1, 1.0, 9),
        lambda: fingerprinting.agnostic(2**63, 1.0, 0.0, 0.1, 0.1),
    ],
)
def test_numbers_that_are_none(wrong):
    with pytest.raises(InputError):
        wrong()
