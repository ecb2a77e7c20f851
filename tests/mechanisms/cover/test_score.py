"""The score of a set cover: its values, and that its moves are those that accounting was proved for."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.cover.calibration import calibrate_set_cover
from dpjax.accounting.cover.effects import Minimum
from dpjax.accounting.cover.states import Row, score_range
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover import Gain, Saturating, Score, cover_plan


def moves_of(k):
    """By how much one row more moves q of a function, at least and at most; k: where share is the exact count over k.

    The minimum of two numbers moves by no less than the smaller and no more than the larger of their moves.
    """
    per = 0.0 if k is None else 1 / k
    return {
        "target_hit": (0.0, 1 - per),
        "target_missed": (-per, 0.0),
        "other_hit": (-1.0, 0.0),
        "other_missed": (0.0, 0.0),
    }


def test_values():
    with jax.enable_x64(True):
        score = Score.of(jnp.float32(7), 2, jnp.float32(0.5))
        found = score.log_weight(jnp.asarray([0, 3, 5], jnp.int32), jnp.asarray([0, 1, 4], jnp.int32))
    np.testing.assert_array_equal(found, 0.5 * np.array([-3.5, -1, -4]))
    assert found.dtype == jnp.float64


def test_a_floor_moves_less_and_in_the_same_direction():
    """All pairs of small counts: the weight is a sum, and a change of q changes the score by as much or less."""
    hit, wrong = (jnp.asarray(part.reshape(-1), jnp.int32) for part in np.indices((9, 9)))
    with jax.enable_x64(True):
        for coefficient, nats in [(0.3, 1), (2.0, 3), (64.0, 40), (1e-9, 88)]:
            plain = Saturating(2).of(7.0, coefficient)
            floored = Saturating(2, nats).of(7.0, coefficient)
            q, with_floor = (np.asarray(score.quality(hit, wrong)) for score in (plain, floored))
            wanted = np.logaddexp(float(plain.coefficient) * q, -nats)
            np.testing.assert_allclose(floored.log_weight(hit, wrong), wanted, rtol=1e-12)
            change, moved = (part[:, None] - part for part in (q, with_floor))
            slack = 1e-14 / float(plain.coefficient)
            assert ((moved * np.sign(change) >= -slack) & (np.abs(moved) <= np.abs(change) + slack)).all()
        np.testing.assert_array_equal(Saturating(2, 5).of(7.0, 0.0).log_weight(hit, wrong), np.zeros(81))


@dataclass(frozen=True)
class WithZero(Minimum):
    """An adversary who may also leave a score as it is, which a floor can do."""

    def interval(self, alive, hit, cells):
        """See `Minimum`."""
        low, high = super().interval(alive, hit, cells)
        return min(low, 0), max(high, 0)

    def counted(self):
        """See `Minimum`."""
        return self if self.k is None else WithZero(None)


@pytest.mark.parametrize("variant", ["noise_free", "noisy"])
@pytest.mark.parametrize("neighboring", list(Neighboring))
def test_a_floor_costs_no_privacy(variant, neighboring):
    for epsilon, delta, rounds, k in [(1.0, 1e-6, 3, 2), (1.0, 0.0, 2, 3)]:
        budget = epsilon, delta, rounds
        plain, floored = (calibrate_set_cover(*budget, kind(k), neighboring, variant) for kind in (Minimum, WithZero))
        assert floored.coefficient == plain.coefficient
    plans = [
        cover_plan(Privacy(1.0, 1e-6), 4, 2, neighboring, variant, score=Saturating(2, nats)) for nats in (None, 9)
    ]
    assert plans[0].coefficient == plans[1].coefficient


@pytest.mark.parametrize(
    ("coefficient", "counts_as"), [(np.nan, 0), (-1, 0), (0, 0), (np.inf, 1e100), (0.25, 0.25), (-np.inf, 0)]
)
def test_every_number_is_a_score(coefficient, counts_as):
    for budget in (np.nan, np.inf, -np.inf, 1e30, -1e30, 3.0):
        score = Score.of(jnp.float32(budget), 3, jnp.float32(coefficient))
        assert float(score.coefficient) == counts_as and abs(float(score.share)) <= 1e12
        assert float(score.capped(64.0).coefficient) == min(counts_as, 64)


@pytest.mark.parametrize("k", [1, 2, 3, 8])
@pytest.mark.parametrize("exact", [True, False])
def test_one_row_moves_the_score_as_said(k, exact):
    """All small counts, in Fractions: the moves are within their ranges, and both ends are reached or nearly so."""
    moves, seen = moves_of(k if exact else None), {}
    for hit, wrong, missed, budget in itertools.product(range(5), range(5), range(5), range(-3, 12)):
        alive = hit + missed if exact else budget

        def q(hit, wrong, budget):
            return min(hit - Fraction(budget, k), -wrong)

        before = q(hit, wrong, alive)
        after = {
            "target_hit": q(hit + 1, wrong, alive + exact),
            "target_missed": q(hit, wrong, alive + exact),
            "other_hit": q(hit, wrong + 1, alive),
            "other_missed": before,
        }
        for kind, value in after.items():
            seen.setdefault(kind, set()).add(value - before)
    for kind, (low, high) in moves.items():
        assert low - 1e-12 <= min(seen[kind]) and max(seen[kind]) <= high + 1e-12
        assert float(min(seen[kind])) == pytest.approx(low) or float(max(seen[kind])) == pytest.approx(high)
        assert max(map(abs, seen[kind])) <= Score.sensitivity


@pytest.mark.parametrize("k", [None, 1, 3])
def test_accounting_has_the_same_moves(k):
    """The intervals of the stopping game, and the range that zCDP is told."""
    moves, cells, added = list(moves_of(k).values()), 6, []
    for target, kinds in ((True, moves[:2]), (False, moves[2:])):
        row = Row(1, target)
        for hit, expected in zip(((row,), ()), kinds, strict=True):
            np.testing.assert_allclose(Minimum(k).interval((row,), hit, cells), np.array(expected) * cells, atol=1e-12)
        added.append(max(high for _, high in kinds) - min(low for low, _ in kinds))
    assert max(added) == pytest.approx(score_range(Neighboring.ADD_OR_REMOVE_ONE))
    assert 2 * max(added) == pytest.approx(score_range(Neighboring.REPLACE_ONE)), (
        "the new row's moves less the old one's"
    )


@pytest.mark.parametrize("lam", [1.0, 2.5])
def test_gains_move_as_accounting_says(lam):
    """All small counts and pairs of neighbors: the values that a round computes, the effect, and the sensitivity."""
    cells, most = 10, 0.0
    with jax.enable_x64(True):
        score = Gain(lam).of(jnp.float64(99), jnp.float32(0.5))
        table = np.asarray(score.quality(*map(jnp.asarray, np.mgrid[:5, :5])))
        assert float(score.capped(0.25).coefficient) == 0.25
    np.testing.assert_allclose(table, np.arange(5)[:, None] / lam - np.arange(5)[None], atol=1e-12)
    for hit, wrong, first, second in itertools.product(range(3), range(3), (None, True, False), (None, True, False)):
        rows = tuple(Row(side, kind) for side, kind in ((-1, first), (1, second)) if kind is not None)
        scores = [table[hit + (kind is True), wrong + (kind is False)] for kind in (first, second)]
        low, high = Gain(lam).effect.interval(rows, rows, cells)
        assert low - 1e-9 <= cells * (scores[1] - scores[0]) <= high + 1e-9
        most = max(most, abs(scores[1] - scores[0]))
    assert most == pytest.approx(score.sensitivity) == pytest.approx(1 + 1 / lam)


def test_scorings_are_the_scores_of_a_round():
    with jax.enable_x64(True):
        one, other = Saturating(3).of(jnp.float64(7), 0.5), Score.of(jnp.float64(7), 3, 0.5)
    assert type(one) is type(other) and jax.tree.leaves(one) == jax.tree.leaves(other)
    outside = Gain(2.5).of(jnp.float32(0), jnp.float32(0.5))  # of 64-bit types
    assert float(outside.share) == 0.4
    assert Gain(2.5) == Gain() and hash(Gain(2.5)) == hash(Gain()) and Gain(2.0) != Gain()
