"""The coalition attack: who is traced, who is not, and what it implies about epsilon."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
from papers.traced import Leaky
from scipy.stats import binom

import dpjax as dp
from dpjax.attacks import BonehShaw, CoalitionAttack, Tardos, demonstrate
from dpjax.attacks.placement import place
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.learners.columns import for_concepts
from dpjax.sanitizers import PointCounts

FALSE_ALARM = 1e-6
PRIVACY, ACCURACY = dp.Privacy(1.0, 1e-6), dp.Accuracy(0.3, 0.1)
THRESHOLDS, POINTS = dp.Thresholds(dp.Domain(16)), dp.Points(dp.Domain(16))
SIZES = dict(trials=200, seed=1)


@dataclass(frozen=True)
class Constant(dp.ERM):
    """Labels everything 1, or nothing: 0-DP."""

    value: bool = True

    def _learn(self, key, sample, plan: None) -> dp.Hypothesis:
        """One hypothesis for each column, whatever the sample."""
        found = dp.Hypothesis.of(jnp.full((sample.y.shape[1], 2), jnp.uint32(15)).at[:, 0].set(0))
        return dp.Hypothesis(found.concept, jnp.full(sample.y.shape[1], not self.value), found.outcome)


@pytest.mark.parametrize(
    ("concepts", "code", "padding"), [(THRESHOLDS, BonehShaw(3), 0), (POINTS, Tardos(4, 0.5), 2)], ids=str
)
def test_a_learner_that_is_not_private_is_traced(concepts, code, padding):
    """In at least 1 - xi - beta of the runs, beta = 0, as the theorem says; also below n / (3 alpha) rows."""
    attack = CoalitionAttack(dp.ERM(concepts), code, code.users + padding or None)
    found = demonstrate(attack, PRIVACY, ACCURACY, **SIZES)
    assert found.feasible.count == 200
    assert found.somebody.count >= binom.ppf(FALSE_ALARM, 200, 1 - code.security)
    assert found.absent.count <= binom.isf(FALSE_ALARM, 200, code.security)
    assert found.betrays and not found.violated and found.epsilon > 1
    assert "betrays a participant" in found.words("ERM") and "claims no privacy" in found.words("ERM")


def test_parities_are_traced_on_uniform_examples():
    """BNS Proposition 4.11: the rows are the whole cube. No parity is near a column of 1s, and half of it is enough."""
    attack = CoalitionAttack(dp.ERM(dp.Parities(2)), Tardos(4, 0.5), uniform=True)
    assert attack.accuracy == 0.25 and attack.placement.elements == (0, 1, 2, 3)
    found = demonstrate(attack, PRIVACY, ACCURACY, **SIZES)
    assert found.feasible.count == 200  # at error 1/2 of the word's own columns of 1s
    assert found.somebody.count >= binom.ppf(FALSE_ALARM, 200, 1 - attack.code.security)
    assert found.absent.count <= binom.isf(FALSE_ALARM, 200, attack.code.security)
    assert found.betrays and found.epsilon > 1


def test_hypotheses_within_a_quarter_of_the_best_parity_give_a_feasible_word():
    """Every labeling of the cube by a hypothesis that is good for a column of one bit is rounded to that bit."""
    cube = CoalitionAttack(dp.ERM(dp.Parities(3)), Tardos(8, 0.5), uniform=True)
    few, many = cube.placement.few_and_many
    assert (few, many) == (0, 4)
    for alpha in (0.0, 0.125, 0.24):
        for ones in range(9):
            for bit, best in ((False, 0), (True, 4)):  # errors of the best parity
                error = ones if not bit else 8 - ones
                assert error > best + 8 * alpha or (2 * ones > few + many) == bit
    line = CoalitionAttack(dp.ERM(dp.Thresholds(dp.Domain(4))), BonehShaw(4), uniform=True)
    assert line.placement.few_and_many == (1, 4) and line.accuracy == 3 / 8


@pytest.mark.parametrize(
    ("learner", "code", "rows", "said"),
    [
        (dp.ERM(dp.Parities(3)), Tardos(4, 0.5), None, "as many users as elements, 8"),
        (dp.ERM(dp.Parities(2)), Tardos(4, 0.5), 6, "one for each element"),
        (dp.ERM(dp.Points(dp.Domain(4))), Tardos(4, 0.5), None, "different numbers of elements"),
    ],
)
def test_uniform_examples_need_a_user_for_each_element(learner, code, rows, said):
    with pytest.raises(InputError, match=said):
        CoalitionAttack(learner, code, rows, True)


def test_a_planted_leak_is_refuted():
    found = demonstrate(CoalitionAttack(Leaky(THRESHOLDS), BonehShaw(3)), PRIVACY, ACCURACY, **SIZES)
    assert found.violated and found.epsilon > found.guarantee.epsilon and "is refuted" in found.words("Leaky")


def test_the_constant_learner_and_the_printed_code():
    for value, user in ((True, 0), (False, 3)):
        for calibration, accused in (("printed", 200), ("corrected", 0)):
            attack = CoalitionAttack(Constant(THRESHOLDS, value=value), BonehShaw(4, calibration=calibration))
            found = demonstrate(attack, PRIVACY, ACCURACY, **SIZES)
            assert found.epsilon == 0 and found.somebody.count == found.absent.count == accused
            assert found.user == user or not accused
            assert ("not sound" in found.words("it")) == bool(accused)


GENERIC = dp.GenericLearner(POINTS, 1, PointCounts(dp.Domain(16)), composition="zcdp")
UNIFORM = (
    (dp.KLN(dp.Parities(2)), Tardos(4, 0.5)),
    (dp.EmpiricalLearner(dp.KLN(dp.Parities(1)), agnostic=True), Tardos(2)),
)
PRIVATE = (
    (dp.Independent(dp.KLN(THRESHOLDS), 1, "optimal"), BonehShaw(2), None),
    (dp.KLN(POINTS, dp.Neighboring.ADD_OR_REMOVE_ONE), Tardos(2), 6),
    (dp.PointLearner(POINTS), Tardos(2), 6),
)


def kept_private(learner, code, rows, trials, uniform=False):
    found = demonstrate(
        CoalitionAttack(learner, code, rows, uniform), PRIVACY, ACCURACY, trials, seed=2, confidence=0.999
    )
    assert found.guarantee.epsilon <= 1 and found.epsilon <= found.guarantee.epsilon and not found.violated
    assert found.absent.count <= binom.isf(FALSE_ALARM, trials, code.security)


@pytest.mark.parametrize(
    ("learner", "code", "rows"),
    [pytest.param(*case, marks=() if i == 1 else pytest.mark.slow) for i, case in enumerate(PRIVATE)],
    ids=["KLN", "add or remove", "PointLearner"],
)
def test_private_learners_are_not_accused_more_than_privacy_allows(learner, code, rows):
    kept_private(learner, code, rows, 200)


@pytest.mark.parametrize(
    ("learner", "code"), [UNIFORM[0], pytest.param(*UNIFORM[1], marks=pytest.mark.slow)], ids=["KLN", "resampled"]
)
def test_private_learners_of_parities_are_not_accused_either(learner, code):
    kept_private(learner, code, None, 200, True)


def test_privacy_at_a_huge_epsilon_hides_nobody():
    learner, code = dp.Independent(dp.KLN(THRESHOLDS), 1, "basic"), BonehShaw(2)
    found = demonstrate(CoalitionAttack(learner, code), dp.Privacy(1e6), ACCURACY, **SIZES)
    assert found.betrays and not found.violated and found.delta == 0 and "not contradicted" in found.words("KLN")


def test_present_and_absent_are_neighbors():
    """Replaced by another user's row, or left out; everything else is the same, with padding too."""
    code = BonehShaw(4)
    bits = code.generate(keys.root(0)).bits
    for relation, left in ((dp.Neighboring.REPLACE_ONE, 6), (dp.Neighboring.ADD_OR_REMOVE_ONE, 5)):
        attack = CoalitionAttack(dp.KLN(THRESHOLDS, relation), code, 6)
        rows = [np.asarray(attack._sample(bits, jnp.int32(who)).x[:, -1]) for who in range(-1, 4)]
        masks = [np.asarray(attack._sample(bits, jnp.int32(who)).mask) for who in range(-1, 4)]
        assert rows[0].tolist() == [0, 0, 1, 2, 3, 4] and masks[0].all()
        for user in range(4):
            kept = sorted(rows[user + 1][masks[user + 1]].tolist())
            others = sorted({0, 1, 2, 3, 4} - {user + 1})
            assert sorted(set(kept)) == others and len(kept) == left and kept.count(0) == 2


def test_placements():
    assert place(BonehShaw(3), THRESHOLDS, True).elements == (1, 2, 3)
    assert place(BonehShaw(3), THRESHOLDS, True).junk == 0 and place(BonehShaw(3), THRESHOLDS, True).junk_label
    assert place(BonehShaw(15), THRESHOLDS, True).realizable  # |X| = n + 1, padded too: all thresholds label 0 with 1
    for calibration, kept in (("corrected", False), ("printed", True)):
        chain = np.tri(4, dtype=bool)[:, ::-1]  # at every element but one, thresholds upside down
        concepts = dp.Finite.of(chain)
        if kept:
            assert place(BonehShaw(4, calibration=calibration), concepts, False).realizable
        else:
            with pytest.raises(InputError, match="Thresholds with at least 5"):
                place(BonehShaw(4, calibration=calibration), concepts, False)
    tardos = place(Tardos(3), POINTS, True)
    assert len(set(tardos.elements)) == 1 and tardos.junk != tardos.elements[0] and not tardos.realizable


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CoalitionAttack(dp.ERM(POINTS), BonehShaw(3)), "Thresholds with at least 4 elements"),
        (lambda: CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw(16)), "got Thresholds on 16 elements"),
        (lambda: CoalitionAttack(dp.ERM(dp.Points(dp.Domain(1))), Tardos(3)), "two concepts"),
        (lambda: CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw(3), 2), "rows"),
        (lambda: CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw(1)), "code.users"),
        (lambda: CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw), "instance"),
        (lambda: CoalitionAttack(dp.ERM, BonehShaw(3)), "instance"),
        (lambda: demonstrate(CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw(2)), PRIVACY, ACCURACY, 0), "trials"),
        (lambda: demonstrate(dp.ERM(THRESHOLDS), PRIVACY, ACCURACY), "attack: expected CoalitionAttack, got ERM"),
        (
            lambda: demonstrate(CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw(2)), dp.Privacy(1.0, 1.0), ACCURACY),
            "delta",
        ),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "code", "rows"), PRIVATE, ids=["KLN", "add or remove", "PointLearner"])
def test_private_learners_over_many_codebooks(learner, code, rows):
    kept_private(learner, code, rows, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [GENERIC, dp.PointLearner(POINTS)], ids=["GenericLearner", "PointLearner"])
def test_learners_at_their_own_sample_size(learner):
    rows = for_concepts(learner, Tardos(2).length).sample_size(PRIVACY, ACCURACY)
    assert rows > 1000
    kept_private(learner, Tardos(2), rows, 300)


@pytest.mark.slow
def test_the_theorem_at_eight_users():
    found = demonstrate(CoalitionAttack(dp.ERM(THRESHOLDS), BonehShaw(8)), PRIVACY, ACCURACY, 10_000, confidence=0.999)
    assert found.somebody.low >= 1 - 0.05 and found.absent.high <= 0.05 and found.epsilon > 5
