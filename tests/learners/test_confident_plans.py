"""Plans of confidence boosting at extreme numbers of rows, and for learners that no theorem covers."""

import pytest

import dpjax as dp
from dpjax.core.checks import InputError

BUDGET, GOAL = dp.Privacy(1.0, 1e-6), dp.Accuracy(0.3, 0.2)
KLN = dp.KLN(dp.Points(dp.Domain(8)))


def test_rows_beyond_32_bits_are_refused():
    """Their positions would wrap, and blocks would overlap the rows of the choice."""
    with pytest.raises(InputError, match=r"fewer than 2\^31 rows"):
        dp.Confident(KLN, blocks=1024).plan(BUDGET, GOAL, 2**34)


def test_a_learner_without_a_theorem_has_a_plan_for_n_rows():
    learner = dp.Confident(dp.Boosted(KLN, rounds=2, draws=3), blocks=3)
    plan = learner.plan(BUDGET, GOAL, 1000)
    assert int(plan.rows) == 250 and learner.guarantee(plan).epsilon <= 1
    with pytest.raises(InputError, match="rounds"):
        learner.plan(BUDGET, GOAL)
