"""The theorems of boosting against adversaries and simulation, and what does not follow as printed."""

import math

import numpy as np
import pytest
from papers.boosting_adversaries import PICKS, wrong_rows
from scipy.stats import binom

from dpjax.core.checks import InputError
from dpjax.theory import boosting


@pytest.mark.parametrize(
    ("kappa", "gamma", "expected"),
    [(0.1, 1 / 6, 42), (0.05, 1 / 6, 54), (0.02, 1 / 6, 71), (1 / 30, 1 / 6, 62), (1 / 30, 1 / 4, 28), (0.1, 0.4, 8)],
)
def test_rounds(kappa, gamma, expected):
    assert boosting.rounds(kappa, gamma) == expected == math.floor(math.log(1 / kappa) / (2 * gamma**2)) + 1
    for rate in (2 * gamma, 3.9 * gamma, 7 * gamma):
        assert boosting.rounds(kappa, gamma, rate) >= expected


@pytest.mark.grid(per=["name"])
@pytest.mark.parametrize("name", PICKS)
@pytest.mark.parametrize(("kappa", "gamma"), [(0.1, 1 / 6), (0.05, 1 / 6), (0.02, 1 / 6), (0.1, 0.25), (0.05, 0.4)])
def test_no_adversary_keeps_kappa_n_rows_wrong(kappa, gamma, name):
    n, turns = 400, boosting.rounds(kappa, gamma)
    assert wrong_rows(kappa, gamma, turns, n, PICKS[name]) < kappa * n


def test_the_bound_is_not_vacuous():
    """A quarter of the rounds is too few against one of them."""
    kappa, gamma, n = 0.1, 1 / 6, 400
    few = boosting.rounds(kappa, gamma) // 4
    assert max(wrong_rows(kappa, gamma, few, n, pick) for pick in PICKS.values()) >= kappa * n


@pytest.mark.parametrize(("n", "wrong", "alpha"), [(100, 3, 0.1), (1000, 30, 0.1), (37, 0, 0.3)])
def test_generalization_is_a_bound_of_the_binomial_tail(n, wrong, alpha):
    tail = binom.cdf(wrong, n, alpha)
    assert boosting.generalizes(n, wrong, alpha, min(0.999, 2 * tail * 30), 0.0) or tail * 30 > 0.49
    assert not boosting.generalizes(n, wrong, alpha, 2 * tail * 0.99, 0.0)
    assert not boosting.generalizes(n, math.ceil(alpha * n), alpha, 0.5, 0.0)
    assert not boosting.generalizes(n, wrong, alpha, 0.5, 0.0, read=n)


def test_the_improper_case_needs_far_more_rows():
    """Compression to T m rows: millions, where finitely many hypotheses need a few ten thousand."""
    alpha, beta, turns, draws = 0.1, 0.1, 62, 134
    least = lambda log_choices, read: next(  # noqa: E731
        n
        for n in (2**j for j in range(40))
        if boosting.generalizes(n, int(alpha * n / 3), alpha, beta, log_choices(n), read)
    )
    finite = least(lambda n: turns * math.log(33), 0)
    any_learner = least(lambda n: turns * draws * math.log(n), turns * draws)
    assert finite < 2**14 and 2**21 < any_learner <= 2**24
    assert boosting.rows_printed(1.0, alpha, beta, draws, 0.5, 1 / 6, 32) == pytest.approx(167_000, rel=0.05)


@pytest.mark.parametrize("count", [2, 3, 9])
@pytest.mark.parametrize(("good", "goal", "epsilon"), [(0.25, 1 / 3, 1.0), (0.05, 0.1, 0.2), (0.01, 0.3, 8.0)])
def test_a_choice_on_fresh_rows_is_good_but_for_half_of_beta(count, good, goal, epsilon):
    """Exactly: one hypothesis of error ``good``, the others just above the goal, independent of each other."""
    beta, n = 0.1, boosting.fresh_rows(count, good, goal, epsilon, 0.1)
    assert n <= boosting.fresh_rows_printed(count, (goal - good) / 3, epsilon, beta)
    generator, trials = np.random.default_rng(2), 20_000
    errors = np.stack(
        [generator.binomial(n, good, trials), *(generator.binomial(n, goal, trials) for _ in range(count - 1))]
    )
    score = -epsilon * errors / 2
    right = 1 / np.sum(np.exp(score - score[0]), axis=0)
    assert 1 - right.mean() < beta / 2


def test_blocks():
    assert [boosting.blocks(beta, 0.25) for beta in (0.5, 0.1, 1e-3)] == [1, 3, 6]
    assert boosting.fresh_rows(1, 0.1, 0.2, 1.0, 0.1) == 0
    for beta in (0.3, 0.01):
        assert 0.25 ** boosting.blocks(beta, 0.25) <= beta / 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: boosting.rounds(0.0, 0.1),
        lambda: boosting.rounds(0.1, 0.5),
        lambda: boosting.rounds(0.1, 0.0),
        lambda: boosting.rounds(0.1, 0.1, 0.9),
        lambda: boosting.blocks(0.1, 1.0),
        lambda: boosting.rounds(1.0, 0.2),
    ],
)
def test_bad_numbers(call):
    with pytest.raises(InputError):
        call()
