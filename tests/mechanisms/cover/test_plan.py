"""Plans of a set cover: the budget is spent, and no number that is edited raises what is promised."""

import json
import math
from dataclasses import replace

import jax
import numpy as np
import pytest

from dpjax.accounting import set_cover_delta, set_cover_epsilon
from dpjax.accounting.cover import calibration
from dpjax.core.checks import InputError
from dpjax.core.plans import Claim, down, same_plan, widened
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover import Gain, Saturating, cover_guarantee, cover_plan

VARIANTS = ("noise_free", "noisy")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("neighboring", list(Neighboring))
@pytest.mark.parametrize("budgets", [2, pytest.param(16, marks=pytest.mark.slow)])
def test_the_budget_is_spent_off_every_grid(neighboring, variant, budgets):
    """Random budgets: the confirmed claim is at least .999 of the budget, and so is what the numbers spend."""
    draw = np.random.default_rng([len(variant), neighboring is Neighboring.REPLACE_ONE])
    for i in range(budgets):
        rounds, k = int(draw.integers(1, 7)), int(draw.integers(1, 5))
        privacy = Privacy(10.0 ** draw.uniform(-3, math.log10(20)), 10.0 ** draw.uniform(-12, -2) if i % 4 else 0.0)
        plan = cover_plan(privacy, rounds, k, neighboring, variant)
        whole = cover_guarantee(plan, neighboring)
        assert 0.999 * privacy.epsilon <= whole.epsilon <= privacy.epsilon
        assert 0.999 * privacy.delta <= whole.delta <= privacy.delta
        if i % 4 < 2:  # an inversion takes dozens of evaluations
            numbers = float(plan.coefficient), rounds, k, neighboring, float(plan.scale)
            assert set_cover_epsilon(float(plan.claim.delta), *numbers) >= 0.999 * privacy.epsilon


def test_numbers_are_rounded_towards_less_spending():
    for epsilon, delta in ((0.1, 1e-6), (0.7, 1e-9), (1.0, 0.0), (1e-3, 1e-12), (20.0, 1e-2), (1e4, 1e-6), (1e-9, 0.0)):
        plan = cover_plan(Privacy(epsilon, delta), 3, 2, Neighboring.REPLACE_ONE, "noisy")
        assert plan.claim.epsilon == down(epsilon) and plan.claim.delta == down(delta)
        assert {leaf.dtype for leaf in jax.tree.leaves(plan)} == {np.dtype(np.float32)}
        assert float(plan.scale) >= 3 / (0.2 * float(plan.claim.epsilon)) * (1 - 1e-12)
        assert cover_guarantee(widened(plan), Neighboring.REPLACE_ONE).epsilon <= epsilon
    assert same_plan(plan, cover_plan(Privacy(1e-9), 3, 2, Neighboring.REPLACE_ONE, "noisy"))


@pytest.mark.parametrize("variant", [pytest.param("noise_free", marks=pytest.mark.slow), "noisy"])
def test_a_claim_that_is_edited_is_not_believed(variant):
    plan = cover_plan(Privacy(1.0, 1e-6), 3, 2, Neighboring.REPLACE_ONE, variant)
    assert cover_guarantee(plan, Neighboring.REPLACE_ONE).epsilon == 1
    for claim in (Claim(np.float32(0.5), plan.claim.delta), Claim(plan.claim.epsilon, np.float32(1e-9))):
        whole = cover_guarantee(replace(plan, claim=claim), Neighboring.REPLACE_ONE)
        scale = float(plan.scale)
        assert whole.epsilon > float(claim.epsilon) and whole.delta == float(claim.delta)
        assert (
            set_cover_delta(whole.epsilon, float(plan.coefficient), 3, 2, Neighboring.REPLACE_ONE, scale) <= whole.delta
        )
    pure = cover_guarantee(replace(plan, claim=Claim(np.float32(1.0), np.float32(0.0))), Neighboring.REPLACE_ONE)
    assert pure.delta == 0 and pure.epsilon > 1
    louder = cover_guarantee(replace(plan, coefficient=np.float32(3 * plan.coefficient)), Neighboring.REPLACE_ONE)
    assert louder.epsilon > 2 and louder.delta == plan.claim.delta
    with pytest.raises(InputError):
        cover_guarantee(replace(plan, noisy=True, scale=np.float32(0)), Neighboring.REPLACE_ONE)


def test_a_cache_that_is_wrong_is_found_out(tmp_path, monkeypatch):
    """A guarantee evaluates the game anew; what is on disk is not taken for granted."""
    monkeypatch.setenv("DPJAX_CACHE", str(tmp_path))
    given = Privacy(0.61, 1e-6), 2, 3, Neighboring.REPLACE_ONE
    sound = cover_plan(*given)
    (path,) = tmp_path.iterdir()
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"values": [2 * entry["values"][0], entry["values"][1]]}))
    calibration.by_game.cache_clear()
    calibration.calibrate_set_cover.cache_clear()
    plan = cover_plan(*given)
    calibration.by_game.cache_clear()
    calibration.calibrate_set_cover.cache_clear()
    assert float(plan.coefficient) == 2 * float(sound.coefficient)
    assert cover_guarantee(plan, Neighboring.REPLACE_ONE).epsilon > 0.61


@pytest.mark.parametrize("neighboring", list(Neighboring))
def test_a_score_of_its_own_is_accounted_for_by_its_effect(neighboring):
    """The budget is spent, and a plan whose score is edited gets the guarantee of the score that runs."""
    plan = cover_plan(Privacy(1.0, 1e-6), 4, 1, neighboring, score=Gain(2.5))
    effect = plan.scoring.effect
    assert cover_guarantee(plan, neighboring).epsilon == 1
    assert 0.999 <= set_cover_epsilon(float(plan.claim.delta), float(plan.coefficient), 4, effect, neighboring) <= 1
    steeper = cover_guarantee(replace(plan, score=Gain(0.5)), neighboring)
    assert steeper.epsilon > 1.2 and steeper.rho > cover_guarantee(plan, neighboring).rho
    same = [cover_plan(Privacy(1.0, 1e-6), 4, 3, neighboring, score=score) for score in (None, Saturating(3))]
    assert cover_guarantee(same[0], neighboring).to_dict() == cover_guarantee(same[1], neighboring).to_dict()
    assert same[0].coefficient == same[1].coefficient and not same_plan(plan, same[0])
    with pytest.raises(InputError, match="noise_free"):
        cover_plan(Privacy(1.0, 1e-6), 4, 1, neighboring, "noisy", score=Gain(2.5))


@pytest.mark.parametrize("wrong", [lambda: Gain(0.0), lambda: Gain(math.nan), lambda: Saturating(0)])
def test_scores_that_make_no_sense(wrong):
    with pytest.raises(InputError):
        wrong()
