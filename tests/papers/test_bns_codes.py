"""Crossings: their brackets, exponents, and a slow strategy; scores as an audit."""

import math
from dataclasses import replace

import jax.numpy as jnp
import pytest
from papers.bns_codes import SECURITY, SWEEPS, every_word, exponent
from papers.by_score import by_score
from papers.crossing import slow
from papers.traced import LastLabel

import dpjax as dp
from dpjax.attacks import BonehShaw, Tardos, pirates
from dpjax.baselines import ERM
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners import KLN, Independent


def test_exponents_of_exact_powers():
    users = (4, 8, 16, 32)
    for power in (2, 3):
        lengths = [1e6 * n**power * math.log(n / SECURITY) for n in users]
        fit = exponent([(n, k, k) for n, k in zip(users, lengths, strict=True)])
        assert fit.slope == pytest.approx(power)


def test_every_word_has_the_cube_root():
    fit = exponent(every_word())
    assert 1 / fit.slope == pytest.approx(1 / 3, abs=0.05)
    assert every_word()[1] == (4, 425, 425) and every_word()[-1][1] <= 2**14


def test_a_bracket_holds_the_exact_crossing():
    """ERM has all ones from one block on: accused if and only if d > 2 L."""
    crossing = SWEEPS[-1].crossing
    low, high = crossing.bracket(4, 64, 0)
    exact = 5 * (math.floor(2 * math.log(4 / SECURITY)) + 1)
    assert low < exact <= high <= low * 2 ** (1 / 4)
    assert crossing.rate(4, exact, 64, 0).count == 64 and crossing.rate(4, exact - 1, 64, 0).count == 0


def test_the_slow_strategy_satisfies_the_marking_assumption():
    code = BonehShaw(8)
    bits, members = code.generate(keys.root(0)).bits, jnp.arange(8) < 5
    assert pirates.feasible(bits, members, slow(keys.root(1), bits, members))


def test_a_search_that_leaves_all_lengths():
    crossing = replace(SWEEPS[-1].crossing, word=pirates.one_user)
    with pytest.raises(InputError, match="n: expected"):
        crossing.bracket(0, 64, 0)


COLUMNS = Independent(KLN(LastLabel.concepts), 200, "zcdp")


def test_a_score_certifies_less_than_the_claim():
    found = by_score(COLUMNS, Tardos(5, k=200), Privacy(20.0, 1e-6), trials=1000)
    assert 0 < found.epsilon < 20 and found.separation > 0.5 and found.delta == pytest.approx(1e-6)


def test_a_score_is_of_a_replaced_row():
    """A claim under add-or-remove-one is restated: its delta alone would certify too large an epsilon."""
    learner = Independent(KLN(LastLabel.concepts, neighboring=Neighboring.ADD_OR_REMOVE_ONE), 200, "zcdp")
    found = by_score(learner, Tardos(5, k=200), Privacy(4.0, 1e-6), trials=1000)
    claim = learner.guarantee(learner.plan(Privacy(4.0, 1e-6), Accuracy(0.1, 0.1), 4))
    assert claim.neighboring is Neighboring.ADD_OR_REMOVE_ONE
    assert found.delta == pytest.approx(claim.delta * (1 + math.exp(claim.epsilon)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 999}, "trials"),
        ({"learner": ERM(dp.Points(dp.Domain(3)))}, "claims privacy"),
        ({"code": Tardos(1, k=200)}, "code.users"),
        ({"confidence": 1.0}, "confidence"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_scored(arguments, message):
    given = {"learner": COLUMNS, "code": Tardos(5, k=200), "privacy": Privacy(20.0, 1e-6)} | arguments
    with pytest.raises(InputError, match=message):
        by_score(**given)
