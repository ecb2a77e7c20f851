"""Two databases that are hard to hide: their law by hand, as a whole run of set cover has it, and below every bound."""

import itertools
import math

import numpy as np
import pytest
from papers.cover_instance import instance_delta, instance_epsilon, instance_laws

from dpjax.accounting import set_cover_delta, set_cover_epsilon
from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

ADD = Neighboring.ADD_OR_REMOVE_ONE


def by_rounds(coefficient, rounds, chance, k, crowd=300):
    """The law of the round of the hit, from three functions: one misses all, one hits the row, one all."""
    found = []
    for extra in (0, 1):
        law, alive, left = [], extra, 1.0
        for _ in range(rounds):
            budget = crowd + alive
            quality = [min(0 - budget / k, 0), min(alive - budget / k, 0), min(crowd + alive - budget / k, -3 * crowd)]
            weight = np.array([1 - chance, chance, 1.0]) * np.exp(coefficient * (np.array(quality) - max(quality)))
            weight = weight / weight.sum()
            law.append(left * weight[1])
            left *= 1 - weight[1]
        found.append([*law, left])
    return np.log(found)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_exact_counts(k):
    ours = instance_laws(0.4, 5, 0.3)
    np.testing.assert_allclose(ours, by_rounds(0.4, 5, 0.3, k), rtol=1e-12)


def test_noisy_counts():
    """Each count is at most n, or more: by the law of discrete Laplace noise."""
    rounds, rate = 3, 0.25
    log_p, log_q = instance_laws(0.4, rounds, 0.3, 1 / rate)
    assert len(log_p) == 2 + 3 + 4 + 4
    q = math.exp(-rate)
    at_most = 1 / (1 + q), q / (1 + q)
    hit = np.exp(by_rounds(0.4, rounds, 0.3, 2))
    expected = [[], []]
    for side in range(2):
        for turn in range(rounds + 1):
            counts = min(turn + 1, rounds)
            for low in range(counts + 1):
                chance = at_most[side] ** low * (1 - at_most[side]) ** (counts - low)
                expected[side].append(hit[side, turn] * math.comb(counts, low) * chance)
    np.testing.assert_allclose(np.exp([log_p, log_q]), expected, rtol=1e-12)


@pytest.mark.slow
def test_no_bound_is_below_and_the_game_is_near():
    near = []
    for coefficient, rounds, k, scale in itertools.product((0.1, 0.5), (1, 6), (1, 4), (0.0, 40.0)):
        for epsilon in (0.3 * coefficient, coefficient * rounds**0.5):
            bound = set_cover_delta(epsilon, coefficient, rounds, k, ADD, scale)
            exact = instance_delta(epsilon, coefficient, rounds, scale)
            assert exact <= bound * (1 + 1e-9)
            if exact > 1e-12:
                near.append(exact / bound)
    assert max(near) > 0.9


@pytest.mark.parametrize("scale", [0.0, 40.0])
def test_epsilon_inverts_delta(scale):
    least = instance_epsilon(1e-6, 0.3, 5, scale)
    assert least <= set_cover_epsilon(1e-6, 0.3, 5, 2, ADD, scale)
    assert instance_delta(1.001 * least, 0.3, 5, scale) <= 1e-6 <= instance_delta(0.999 * least, 0.3, 5, scale)


def test_the_largest_chance_is_among_those_tried():
    fine = [instance_laws(0.3, 8, float(chance)) for chance in np.linspace(0.01, 0.9, 400)]
    most = max(hockey_stick(*pair, 0.4) for one in fine for pair in (one, one[::-1]))
    assert instance_delta(0.4, 0.3, 8) == pytest.approx(most, rel=0.01)


@pytest.mark.parametrize("wrong", [(0.0, 3, 0.5, 0.0), (0.1, 0, 0.5, 0.0), (0.1, 3, 1.0, 0.0), (0.1, 3, 0.5, -1.0)])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        instance_laws(*wrong)
