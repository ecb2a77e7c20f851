"""The stopping game of set cover: its states from first principles, its value against explicit adversaries."""

import itertools
import math

import numpy as np
import pytest
from papers.cover_instance import instance_delta

from dpjax.accounting import group_delta
from dpjax.accounting.cover.effects import Difference, Minimum
from dpjax.accounting.cover.game import enough_cells, game_delta, game_deltas
from dpjax.accounting.cover.guarantee import set_cover_delta
from dpjax.accounting.cover.states import Row, largest_loss, score_range, starts, states
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

ADD, REPLACE = Neighboring.ADD_OR_REMOVE_ONE, Neighboring.REPLACE_ONE


def pairs():
    """Every set of live rows with every subset of it that is hit."""
    for relation in Neighboring:
        for alive in states(relation, None, 1):
            for count in range(len(alive) + 1):
                for hit in itertools.combinations(alive, count):
                    yield relation, alive, hit


def quality(covered, wrong, budget, k):
    return min(covered - budget / k, -wrong)


@pytest.mark.parametrize("k", [None, 1, 2, 5])
def test_score_differences_stay_in_their_intervals_and_reach_the_ends(k):
    """All small databases: common rows hit and missed, then the rows that differ."""
    cells = 10
    for _, alive, hit in pairs():
        low, high = Minimum(k).interval(alive, hit, cells)
        found = set()
        for covered, wrong, missed in itertools.product(range(4), range(4), range(8)):
            scores = []
            for side in (-1, 1):
                here = [row for row in alive if row.side == side]
                targets = sum(row.target for row in here)
                hits = [row for row in here if row in hit]
                budget = covered + missed + (targets if k else 0)
                own = covered + sum(row.target for row in hits)
                scores.append(quality(own, wrong + sum(not row.target for row in hits), budget, k or 3))
            found.add(round(cells * (scores[1] - scores[0]), 9))
        assert low <= min(found) and max(found) <= high
        assert low == min(found) and high == max(found)


@pytest.mark.parametrize("lam", [0.5, 1.0, 2.5, 2.3])
def test_differences_without_a_count_are_known_exactly(lam):
    """T / lam - O of all small databases: one value for each set of rows that is hit, in every common part."""
    effect = Difference(lam)
    for cells in (effect.unit, 10):
        for _, alive, hit in pairs():
            low, high = effect.interval(alive, hit, cells)
            for covered, wrong in itertools.product(range(3), repeat=2):
                scores = [
                    (covered + sum(row.target for row in own)) / lam - wrong - sum(not row.target for row in own)
                    for own in ([row for row in hit if row.side == side] for side in (-1, 1))
                ]
                assert low - 1e-9 <= cells * (scores[1] - scores[0]) <= high + 1e-9
            assert high - low <= 1 and (lam == 2.3 or cells != effect.unit or low == high)
    for wrong in (0.0, -1.0, np.nan, 1e9):
        with pytest.raises(InputError):
            Difference(wrong)


@pytest.mark.parametrize("lam", [pytest.param(1.0, marks=pytest.mark.slow), 2.5])
def test_another_row_that_becomes_a_target_moves_the_score_by_both(lam):
    """Both are hit: 1 + 1 / lam. A bound for rows that move scores by at most 1, as with a published count, is false.

    The laws of `instance_laws` at a coefficient times 1 + 1 / lam are those of this pair of neighbors.
    """
    pair, effect, coefficient, rounds = (Row(-1, False), Row(1, True)), Difference(lam), 0.3, 3
    assert effect.interval(pair, pair, 10) == (round(10 + 10 / lam),) * 2
    assert score_range(REPLACE, effect) == pytest.approx(max(2, 2 / lam)) and score_range(ADD, effect) == 1
    false = []
    for epsilon in (0.1, 0.3, 0.6):
        truth = instance_delta(epsilon, coefficient * (1 + 1 / lam), rounds)
        assert 0 < truth <= game_deltas(epsilon, coefficient, rounds, 0.0, effect, REPLACE)[pair]
        false.append(truth > 1.05 * game_delta(epsilon, coefficient, rounds, 0.0, None, REPLACE))
    assert any(false)
    for scale in (0.0, 5.0):  # as a claim, and as a guarantee
        assert set_cover_delta(0.3, coefficient, rounds, effect, REPLACE, scale) >= instance_delta(
            0.3, coefficient * (1 + 1 / lam), rounds
        )


def test_states():
    assert [len(states(relation, None, 8)) for relation in (ADD, REPLACE)] == [4, 8]
    noisy = states(ADD, None, 8)[(Row(1, True),)]
    assert noisy.counted and noisy.moves == ((0, ((), (Row(1, True),))), (8, ((),)))
    exact = states(ADD, 4, 8)[(Row(1, True),)]
    assert [shift for shift, _ in exact.moves] == [-2, 0, 6]
    both = states(REPLACE, None, 8)[(Row(-1, True), Row(1, True))]
    assert not both.counted and [shift for shift, _ in both.moves] == [-8, 0, 8]
    widest = states(REPLACE, 2, 8)[(Row(-1, False), Row(1, True))]
    assert [shift for shift, _ in widest.moves] == [-4, 0, 4, 8]


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_largest_loss(rounds):
    assert largest_loss(ADD, None, rounds, 0.5, 0.25) == pytest.approx(0.75 * rounds)
    assert largest_loss(ADD, 3, rounds) == pytest.approx(rounds)
    assert largest_loss(REPLACE, None, rounds, 0.5, 0.25) == pytest.approx(0.5 * (rounds + 1) + 0.25 * (rounds - 1))
    for k in (1, 2, 4):
        assert largest_loss(REPLACE, k, rounds) == pytest.approx(max(rounds * (1 + 1 / k), rounds + 1))
    for relation, k in itertools.product(Neighboring, (None, 1, 3)):
        worst = largest_loss(relation, k, rounds, 0.5, 0.0 if k else 0.1)
        rate = 0.0 if k else 0.1
        assert game_delta(worst * (1 + 1e-8), 0.5, rounds, rate, k, relation) == 0
        assert game_delta(0.8 * worst, 0.5, rounds, rate, k, relation) > 0


def adversary_delta(epsilon, coefficient, rounds, rate, chances=1500):
    """What one explicit adversary achieves against noisy counts with one added row: a lower bound, without any grid.

    Its choices follow an approximate solution; what they bring is summed over all paths of the counts.
    """
    grown = math.expm1(coefficient)
    p = np.concatenate([[0.0], np.geomspace(1e-4, 1, chances)])
    moved = np.log1p(grown * p)
    truth = 1 / (1 + math.exp(-rate))
    ell = np.linspace(-rounds * rate - 0.01, max(rounds * (coefficient + rate), epsilon) + 0.01, 1500)
    end = lambda losses: np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 0)))  # noqa: E731
    value = [end(ell)]
    for _ in range(rounds - 1):
        best = np.zeros_like(ell)
        for chance, move in zip(p[::10], moved[::10], strict=True):
            kept = np.interp(ell + move, ell, value[0])
            best = np.maximum(best, chance * end(ell + move - coefficient) + (1 - chance) * kept)
        value.insert(0, truth * np.interp(ell + rate, ell, best) + (1 - truth) * np.interp(ell - rate, ell, best))
    losses, weight, total = np.zeros(1), np.ones(1), 0.0
    for future in value:
        if rate:
            losses = np.concatenate([losses + rate, losses - rate])
            weight = np.concatenate([weight * truth, weight * (1 - truth)])
        after = losses[:, None] + moved
        choice = np.argmax(p * end(after - coefficient) + (1 - p) * np.interp(after, ell, future), axis=1)
        losses = losses + moved[choice]
        total += np.sum(weight * p[choice] * end(losses - coefficient))
        weight = weight * (1 - p[choice])
    return total + np.sum(weight * end(losses))


@pytest.mark.parametrize(
    ("epsilon", "coefficient", "rounds", "rate"),
    [(1.0, 0.233, 4, 0.05), (1.0, 0.161, 8, 0.025), (0.5, 0.3, 3, 0.02), (1.0, 0.112, 24, 0.0), (0.3, 0.8, 1, 0.1)],
)
def test_value_between_an_adversary_and_a_few_per_cent(epsilon, coefficient, rounds, rate):
    below = adversary_delta(epsilon, coefficient, rounds, rate)
    above = game_deltas(epsilon, coefficient, rounds, rate, None, ADD)[(Row(1, True),)]
    assert below <= above <= 1.03 * below


def limit_delta(epsilon, coefficient):
    """Infinitely many rounds without noise: hits come at rate 1 while the loss grows at rate e^coefficient - 1."""
    c = math.expm1(coefficient)
    first = (epsilon + coefficient) / c
    best = 0.0
    for stop in np.linspace(epsilon / c, epsilon / c + 20 / c, 4000):
        value = math.exp(-stop) * max(0.0, 1 - math.exp(epsilon - c * stop))
        if stop > first:
            lost = math.exp(epsilon + coefficient) * (math.exp(-(1 + c) * first) - math.exp(-(1 + c) * stop)) / (1 + c)
            value += math.exp(-first) - math.exp(-stop) - lost
        best = max(best, value)
    return best


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize(("epsilon", "coefficient"), [(0.3, 0.1), (0.5, 0.1), (2.0, 0.5)])
def test_many_rounds_approach_the_limit(epsilon, coefficient):
    limit = limit_delta(epsilon, coefficient)
    values = [game_delta(epsilon, coefficient, rounds, 0.0, None, ADD, 64) for rounds in (10, 50, 250)]
    assert values == sorted(values)
    assert 0.9 * limit < values[-1] < 1.1 * limit


@pytest.mark.parametrize(
    ("relation", "k"),
    [(ADD, None), (REPLACE, 2), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((ADD, 2), (REPLACE, None)))],
)
def test_monotone(relation, k):
    rate = 0.0 if k else 0.05
    by_epsilon = [game_delta(e, 0.2, 5, rate, k, relation) for e in np.linspace(0, 1.5, 5)]
    assert np.all(np.diff(by_epsilon) <= 0)
    by_coefficient = [game_delta(0.5, c, 5, rate, k, relation) for c in np.linspace(0.05, 1, 5)]
    assert np.all(np.diff(by_coefficient) >= 0)
    by_rounds = [game_delta(0.5, 0.2, m, rate, k, relation, 96) for m in (1, 2, 3, 7)]
    assert np.all(np.diff(by_rounds) >= 0)
    finer = [game_delta(0.5, 0.2, 5, rate, k, relation, cells) for cells in (8, 32, 128)]
    assert np.all(np.diff(finer) <= 0) and finer[0] < 2.5 * finer[-1]


def test_noise_and_replacement_cost():
    plain, noisy = (game_delta(0.6, 0.2, 6, rate, None, ADD) for rate in (0.0, 0.05))
    replaced = game_delta(0.6, 0.2, 6, 0.05, None, REPLACE)
    assert plain < noisy < replaced
    assert game_delta(0.6, 0.2, 6, 0.0, 16, ADD) == pytest.approx(plain, rel=1e-9), "added others are what counts"


@pytest.mark.parametrize("relation", list(Neighboring))
def test_a_smaller_k_only_costs(relation):
    exact = [game_delta(0.6, 0.2, 6, 0.0, k, relation, 96) for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)]
    assert np.all(np.diff(exact) <= 1e-12) and exact[0] > 1.2 * exact[-1]
    assert game_delta(0.6, 0.2, 6, 0.0, 10**6, relation) == game_delta(0.6, 0.2, 6, 0.0, 128, relation)


@pytest.mark.parametrize(
    ("rounds", "k", "coefficient"), [(6, 2, 0.15), pytest.param(13, 4, 0.11, marks=pytest.mark.slow), (4, 8, 0.2)]
)
def test_replacement_beats_two_steps_of_one(rounds, k, coefficient):
    """delta1 + e^{epsilon1} delta2 at the best split of epsilon, and the equal split of `group_delta`."""

    def step(e):
        return game_delta(e, coefficient, rounds, 0.0, k, ADD)

    whole = game_delta(1.0, coefficient, rounds, 0.0, k, REPLACE)
    assert whole < min(step(e) + math.exp(e) * step(1 - e) for e in np.linspace(0.2, 0.8, 13))
    assert whole < group_delta(0.5, step(0.5), 2)


def test_outside_the_grid_the_answer_is_still_a_bound():
    assert game_delta(1.0, 500.0, 3, 0.0, 2, REPLACE) == 1.0
    assert game_delta(1.0, 1e-9, 3, 2.0, None, ADD) == 1.0
    assert game_delta(1.0, 1e-9, 3, 0.0, None, ADD) == 0.0
    assert game_delta(1.0, 0.1, 3, 1e4, None, ADD) > 0.999
    assert game_delta(0.0, 0.1, 3, 0.0, 1, ADD) > 0
    assert enough_cells(10**6) == enough_cells(16)


def test_every_kind_of_neighbors_has_a_start():
    assert len(starts(ADD)) == len(starts(REPLACE)) == 4
    values = game_deltas(0.5, 0.2, 4, 0.05, None, REPLACE)
    assert set(values) == set(starts(REPLACE)) and min(values.values()) > 0
    other = game_deltas(0.5, 0.2, 4, 0.05, None, ADD)
    assert other[(Row(-1, True),)] < other[(Row(1, True),)]
