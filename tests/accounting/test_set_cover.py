"""Set cover: closed forms under the game's certificate, calibration, the paper's constants."""

import itertools
import math

import numpy as np
import pytest
from papers.cover_instance import instance_epsilon

from dpjax.accounting.cover.calibration import VARIANTS, by_game, calibrate_set_cover
from dpjax.accounting.cover.closed import (
    advanced_coefficient,
    closed_coefficient,
    corrected_coefficient,
    gamma_tail,
    printed_coefficient,
    pure_coefficient,
    zcdp_coefficient,
)
from dpjax.accounting.cover.effects import Minimum
from dpjax.accounting.cover.game import enough_cells
from dpjax.accounting.cover.guarantee import set_cover_delta, set_cover_epsilon, set_cover_guarantee, set_cover_rho
from dpjax.accounting.cover.states import largest_loss
from dpjax.accounting.numeric.profile import loss_delta
from dpjax.accounting.zcdp import zcdp_epsilon
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

ADD, REPLACE = Neighboring.ADD_OR_REMOVE_ONE, Neighboring.REPLACE_ONE
TABLE = {  # m: corrected, closed, zCDP, zCDP without counts, Theorem 2.10, game, replace: closed, zCDP, game
    4: (0.033, 0.056, 0.197, 0.221, 0.072, 0.233, 0.047, 0.099, 0.181),
    8: (0.033, 0.056, 0.140, 0.156, 0.051, 0.161, 0.047, 0.070, 0.138),
    14: (0.033, 0.056, 0.106, 0.118, 0.0386, 0.129, None, None, None),
    24: (0.033, 0.056, 0.081, 0.090, 0.029, 0.112, 0.047, 0.040, 0.101),
    48: (0.033, 0.056, 0.057, 0.064, 0.021, 0.100, 0.047, 0.0285, 0.089),
    96: (0.033, 0.056, 0.040, 0.045, 0.015, 0.094, None, None, None),
}
EXACT_COUNTS = {8: 0.157, 14: 0.122, 24: 0.104}  # the game without noise, k = 4
REPLACED_AT_FOUR = 0.1970  # the game's value to three digits, where a coarser solution gave .181


@pytest.mark.parametrize("rounds", TABLE)
def test_known_closed_forms(rounds):
    """epsilon = 1, delta = 1e-6, a fifth for the counts."""
    corrected, closed, zcdp, alone, advanced, _, replaced, replaced_zcdp, _ = TABLE[rounds]
    near = {"abs": 5.01e-4}
    assert corrected_coefficient(1.0, 1e-6) == pytest.approx(corrected, **near)
    assert closed_coefficient(1.0, 1e-6, rounds, ADD) == pytest.approx(closed, **near)
    assert zcdp_coefficient(1.0, 1e-6, rounds, ADD) == pytest.approx(zcdp, **near)
    assert zcdp_coefficient(1.0, 1e-6, rounds, ADD, 0.0) == pytest.approx(alone, **near)
    assert advanced_coefficient(1.0, 1e-6, rounds, ADD) == pytest.approx(advanced, **near)
    if replaced:
        assert closed_coefficient(1.0, 1e-6, rounds, REPLACE) == pytest.approx(replaced, **near)
        assert zcdp_coefficient(1.0, 1e-6, rounds, REPLACE) == pytest.approx(replaced_zcdp, **near)


@pytest.mark.parametrize("rounds", [4, 24, *(pytest.param(r, marks=pytest.mark.slow) for r in (8, 14, 48))])
def test_the_game_beats_what_was_known(rounds):
    """The tabulated games were solved more coarsely: they are lower bounds, by at most 12%."""
    _, closed, zcdp, _, _, game, _, _, replaced = TABLE[rounds]
    found = calibrate_set_cover(1.0, 1e-6, rounds, 4, ADD, "noisy").coefficient
    assert max(game, closed, zcdp) < found < 1.12 * game
    if replaced:
        assert replaced < calibrate_set_cover(1.0, 1e-6, rounds, 4, REPLACE, "noisy").coefficient < 1.12 * replaced
    if rounds in EXACT_COUNTS:
        exact = calibrate_set_cover(1.0, 1e-6, rounds, 4, ADD, "noise_free").coefficient
        assert max(found, EXACT_COUNTS[rounds]) < exact < 1.12 * EXACT_COUNTS[rounds]


def test_known_values_of_the_game():
    assert calibrate_set_cover(1.0, 1e-6, 4, 1, REPLACE, "noisy").coefficient == pytest.approx(
        REPLACED_AT_FOUR, rel=1e-3
    )
    assert calibrate_set_cover(1.0, 1e-6, 24, 4, ADD, "noisy").coefficient == pytest.approx(0.1147, rel=1e-3)


def _certified(found):
    return set_cover_delta(found.epsilon, found.coefficient, found.rounds, found.k, found.neighboring, found.scale)


@pytest.mark.parametrize(
    ("k", "epsilon", "hidden"),
    [
        (2, 1.046, 0.210),
        (4, 0.811, 0.257),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 1.113, 0.150), (8, 0.597, 0.287))),
    ],
)
def test_printed_constants(k, epsilon, hidden):
    """Claim 3.4 at epsilon = 1, delta = 1e-6, alpha = .1 under ADD_OR_REMOVE_ONE, and were the counts published."""
    rounds, printed = math.ceil(2 * k * math.log(2 / 0.1)), printed_coefficient(1.0, 1e-6)
    found = set_cover_epsilon(1e-6, printed, rounds, k, ADD, rounds)
    assert found == pytest.approx(epsilon, abs=6e-4)
    claim = calibrate_set_cover(1.0, 1e-6, rounds, k, ADD, "paper")
    assert (_certified(claim) > 1e-6) == (k <= 2)
    assert set_cover_epsilon(1e-6, printed, rounds, k, ADD, rounds, published=False) == pytest.approx(hidden, abs=6e-4)
    corrected = calibrate_set_cover(1.0, 1e-6, rounds, k, ADD, "paper_corrected")
    assert _certified(corrected) < 1e-6


def test_the_printed_claim_is_about_the_functions():
    """k = 1, m = 6, by hand: the scores of a round move within an interval of length 1."""
    printed = printed_coefficient(1.0, 1e-6)
    assert set_cover_delta(1.0, printed, 6, 1, ADD, 0.0) == 0
    assert (
        set_cover_delta(1.0, printed, 6, 1, ADD, 6.0) > 1e-4 > 0 == set_cover_delta(1.0, printed, 6, 1, ADD, 6.0, False)
    )
    assert set_cover_epsilon(0.0, printed, 6, 1, ADD, 6.0, published=False) == pytest.approx(6 * printed)
    assert instance_epsilon(0.0, printed, 6) == pytest.approx(0.1825, abs=1e-4) and 6 * printed == pytest.approx(
        0.2025, abs=1e-4
    )
    assert instance_epsilon(1e-6, printed, 6, 6.0) > 1.11, "with published counts"


def test_the_printed_claim_holds_where_it_was_tried():
    """270 cases with m to 43 have at most .004 of the delta; here fewer of them. Proof in set-cover-hidden.md.

    A row that is replaced has no proof: none of 240 cases exceeds the claim.
    """
    for epsilon, delta, k, alpha in itertools.product((0.25, 0.99), (0.3, 1e-9), (1, 3), (0.1,)):
        rounds = math.ceil(2 * k * math.log(2 / alpha))
        numbers = printed_coefficient(epsilon, delta), rounds, k
        added, replaced = (
            set_cover_delta(epsilon, *numbers, relation, rounds / epsilon, published=False)
            for relation in (ADD, REPLACE)
        )
        assert added <= 0.004 * delta and replaced <= delta


@pytest.mark.parametrize("relation", list(Neighboring))
@pytest.mark.parametrize(
    ("epsilon", "delta", "rounds", "k"),
    [(1.0, 1e-6, 3, 3), pytest.param(1.0, 1e-6, 24, 1, marks=pytest.mark.slow), (0.5, 0.0, 4, 2)],
)
def test_hidden_counts_allow_the_larger_coefficient(epsilon, delta, rounds, k, relation):
    found = calibrate_set_cover(epsilon, delta, rounds, k, relation, "hidden")
    others = [calibrate_set_cover(epsilon, delta, rounds, k, relation, name) for name in ("noisy", "noise_free")]
    assert found.coefficient == max(other.coefficient for other in others) and found.scale == others[0].scale
    given = found.coefficient, rounds, delta, k, relation, found.scale, "set cover", epsilon, enough_cells(rounds)
    whole, told = (set_cover_guarantee(*given, published=published) for published in (False, True))
    assert whole.epsilon == epsilon <= told.epsilon and whole.rho <= told.rho
    assert (told.epsilon > epsilon) == (found.coefficient > others[0].coefficient)
    assert len(whole.parts) == 1 < len(told.parts) and whole.parts[0].bounded_range is None
    assert whole.rho == set_cover_rho(found.coefficient, rounds, k, relation), "as with exact counts"


@pytest.mark.parametrize("relation", list(Neighboring))
def test_closed_forms_are_certified(relation):
    """The proofs of the closed forms, against the game: also where delta is large and rounds are few."""
    cases = itertools.product((0.1, 4.0), (1e-9, 0.2, 0.95), (1, 2, 20))
    for epsilon, delta, rounds in cases:
        scale = rounds / (0.2 * epsilon)
        for rule in (closed_coefficient, advanced_coefficient):
            coefficient = rule(epsilon, delta, rounds, relation)
            assert set_cover_delta(epsilon, coefficient, rounds, 1, relation, scale) <= delta * (1 + 1e-6)


@pytest.mark.parametrize(
    ("rounds", "relation"),
    [
        (1, ADD),
        (1, REPLACE),
        (12, ADD),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((3, ADD), (3, REPLACE), (12, REPLACE))),
    ],
)
def test_zcdp_and_pure_are_certified(rounds, relation):
    for epsilon, delta in itertools.product((0.1, 4.0), (1e-9, 0.3)):
        for share in (0.0, 0.2):
            noisy = calibrate_set_cover(epsilon, delta, rounds, 3, relation, "zcdp", share) if share else None
            coefficient = noisy.coefficient if noisy else zcdp_coefficient(epsilon, delta, rounds, relation, 0.0)
            scale = noisy.scale if noisy else 0.0
            assert set_cover_delta(epsilon, coefficient, rounds, 3, relation, scale) <= delta
            assert zcdp_epsilon(set_cover_rho(coefficient, rounds, 3, relation, scale), delta) <= epsilon * (1 + 1e-6)
        exact = pure_coefficient(epsilon, rounds, relation, 3)
        assert set_cover_delta(epsilon, exact, rounds, 3, relation) == 0
        assert set_cover_delta(epsilon * 0.99, exact, rounds, 3, relation) > 0
        counted = pure_coefficient(epsilon, rounds, relation, None, 0.2)
        assert set_cover_delta(epsilon, counted, rounds, 3, relation, rounds / (0.2 * epsilon)) == 0


def test_the_closed_form_is_false_for_exact_counts():
    coefficient = math.log1p(1 / math.log(1e6))
    assert set_cover_delta(1.0, coefficient, 24, 1, ADD) < 1e-6 < set_cover_delta(1.0, coefficient, 48, 1, ADD)
    assert 3e-4 < set_cover_delta(1.0, coefficient, 96, 1, ADD) < 3.6e-4
    assert set_cover_delta(1.0, closed_coefficient(1.0, 1e-6, 96, REPLACE, 0.01), 96, 1, REPLACE) > 1e-4
    with pytest.raises(InputError, match="false for exact counts"):
        closed_coefficient(1.0, 1e-6, 24, ADD, share=0.0)


def test_one_round_is_known_exactly():
    """sup over p of (1 - p)(1 - e^epsilon / (1 + p (e^c - 1)))_+ for one added target; 2 c-bounded range replaced."""
    c, epsilon = 0.8, 0.3
    p = np.linspace(0, 1, 200001)
    value = np.max((1 - p) * np.maximum(0, 1 - math.exp(epsilon) / (1 + p * math.expm1(c))))
    assert set_cover_delta(epsilon, c, 1, 5, ADD) == pytest.approx(value, rel=1e-3)
    assert set_cover_delta(epsilon, c, 1, 5, ADD) >= value
    wide = np.max((1 - p) * np.maximum(0, 1 - math.exp(epsilon) / (1 + p * math.expm1(2 * c))))
    assert set_cover_delta(epsilon, c, 1, 1, REPLACE) == pytest.approx(wide, rel=1e-3)
    assert set_cover_delta(epsilon, c, 1, 5, REPLACE) == pytest.approx(wide, rel=1e-3)


def test_counts_alone_are_randomized_response():
    """A coefficient too small to matter leaves the counts."""
    rounds, rate, epsilon = 6, 0.3, 0.7
    wins = np.arange(rounds + 1)
    loss = (2 * wins - rounds) * rate
    choices = np.array([math.log(math.comb(rounds, w)) for w in wins])
    log_mass = choices + wins * rate - rounds * np.log1p(math.exp(rate))
    counts = float(loss_delta(log_mass, loss, epsilon))
    assert counts <= set_cover_delta(epsilon, 1e-3, rounds, 1, ADD, 1 / rate) <= 1.02 * counts


@pytest.mark.parametrize("delta", [0.9, 0.3, 1e-3, 1e-12, 1e-300])
def test_gamma_tail(delta):
    y = gamma_tail(delta)
    assert -y + math.log1p(y) <= math.log(delta)
    assert -y * (1 - 1e-9) + math.log1p(y) > math.log(delta)


@pytest.mark.parametrize("relation", list(Neighboring))
@pytest.mark.parametrize(
    ("epsilon", "delta", "rounds", "k"),
    [(0.37, 1e-9, 5, 3), pytest.param(2.3, 1e-3, 11, 2, marks=pytest.mark.slow), (1.0, 0.5, 3, 1)],
)
def test_calibration_is_certified_and_sharp(epsilon, delta, rounds, k, relation):
    for variant in ("noise_free", "noisy"):
        found = calibrate_set_cover(epsilon, delta, rounds, k, relation, variant)
        assert _certified(found) <= delta
        more = set_cover_delta(epsilon, found.coefficient * 1.0005, rounds, k, relation, found.scale)
        assert more > delta
        assert found is calibrate_set_cover(epsilon, delta, rounds, k, relation, variant)
        below = [calibrate_set_cover(epsilon, delta, rounds, k, relation, v).coefficient for v in ("zcdp", "advanced")]
        assert found.coefficient > 0.95 * max(below)
        assert found.coefficient == np.float32(found.coefficient) and found.scale == np.float32(found.scale)
        whole = set_cover_guarantee(
            found.coefficient, rounds, delta, k, relation, found.scale, claim=epsilon, cells=enough_cells(rounds)
        )
        assert (whole.epsilon, whole.delta, whole.neighboring) == (epsilon, delta, relation)
    coefficient, certified = by_game(epsilon, delta, rounds, k, relation, 0.0)
    assert coefficient == calibrate_set_cover(epsilon, delta, rounds, k, relation).coefficient
    assert certified == set_cover_delta(epsilon, coefficient, rounds, k, relation)


def test_without_delta_the_rounds_add():
    assert calibrate_set_cover(1.0, 0.0, 5, 3, ADD).coefficient == pytest.approx(1 / 5, rel=1e-5)
    assert calibrate_set_cover(1.0, 0.0, 5, 3, REPLACE).coefficient == pytest.approx(3 / 20, rel=1e-5)
    counted = calibrate_set_cover(1.0, 0.0, 5, 3, REPLACE, "noisy")
    assert largest_loss(REPLACE, None, 5, counted.coefficient, 1 / counted.scale) == pytest.approx(1, rel=1e-5)
    assert counted.coefficient > 0.8 / 6  # some rows move the counts, and others the functions most
    assert _certified(calibrate_set_cover(1.0, 0.0, 5, 3, ADD)) == 0
    assert calibrate_set_cover(1e4, 1e-6, 2, 3, ADD).coefficient == pytest.approx(5000, rel=1e-5)


def test_guarantees():
    whole = set_cover_guarantee(0.1, 24, 1e-6, 4, REPLACE, what="conjunctions")
    assert whole.delta == 1e-6 and whole.neighboring is REPLACE and whole.rounds == 24
    assert set_cover_delta(whole.epsilon, 0.1, 24, 4, REPLACE) <= 1e-6
    assert set_cover_delta(whole.epsilon * 0.9999, 0.1, 24, 4, REPLACE) > 1e-6
    assert whole.rho == set_cover_rho(0.1, 24, 4, REPLACE) == pytest.approx(24 * 0.2**2 / 8)
    assert zcdp_epsilon(whole.rho, 1e-6) > whole.epsilon
    assert "conjunctions" in str(whole) and "24 x selection" in str(whole)
    pure = set_cover_guarantee(0.1, 24, 0.0, 4, ADD, scale=120.0)
    assert pure.epsilon == pytest.approx(24 * (0.1 + 1 / 120)) and len(pure.parts) == 2
    claimed = set_cover_guarantee(0.1, 24, 1e-6, 4, REPLACE, what="conjunctions", claim=2.0)
    assert claimed.epsilon == 2.0 and claimed.parts == whole.parts
    assert set_cover_guarantee(0.1, 24, 1e-6, 4, REPLACE, what="conjunctions", claim=0.5) == whole


@pytest.mark.parametrize(
    ("relation", "scale", "coefficient"),
    [
        (ADD, 0.0, 0.5),
        (REPLACE, 30.0, 0.5),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((ADD, 30.0, 0.1), (REPLACE, 0.0, 0.1))),
    ],
)
def test_epsilon_inverts_delta(relation, scale, coefficient):
    for delta in (1e-9, 1e-3):
        epsilon = set_cover_epsilon(delta, coefficient, 3, 2, relation, scale)
        assert set_cover_delta(epsilon, coefficient, 3, 2, relation, scale) <= delta
        assert set_cover_delta(epsilon * (1 - 1e-4), coefficient, 3, 2, relation, scale) > delta


def test_no_epsilon_is_needed_at_a_large_delta():
    assert set_cover_epsilon(0.9, 0.01, 2, 2, ADD) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: set_cover_delta(-1.0, 0.1, 3, 2, ADD),
        lambda: set_cover_delta(1.0, 0.0, 3, 2, ADD),
        lambda: set_cover_delta(1.0, 0.1, 0, 2, ADD),
        lambda: set_cover_delta(1.0, 0.1, 3, 0, ADD),
        lambda: set_cover_delta(1.0, 0.1, 3, 2, "add"),
        lambda: set_cover_delta(1.0, 0.1, 3, 2, ADD, -1.0),
        lambda: set_cover_delta(1.0, 0.1, 3, Minimum(None), ADD, 6.0, published=False),
        lambda: set_cover_delta(1.0, 0.1, 3, Minimum(None), ADD),
        lambda: set_cover_epsilon(1.0, 0.1, 3, 2, ADD),
        lambda: calibrate_set_cover(0.0, 1e-6, 3, 2, ADD),
        lambda: calibrate_set_cover(1.0, 1.0, 3, 2, ADD),
        lambda: calibrate_set_cover(1.0, 1e-6, 3, 2, ADD, "noise-free"),
        lambda: calibrate_set_cover(1.0, 1e-6, 3, 2, ADD, "noisy", 1.0),
        lambda: calibrate_set_cover(1.0, 1e-6, 3, 2, REPLACE, "paper"),
        lambda: calibrate_set_cover(1.0, 0.0, 3, 2, ADD, "closed_form"),
        lambda: pure_coefficient(1.0, 3, ADD, 2, 1.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


def test_every_variant_says_what_it_gives():
    for variant in VARIANTS:
        found = calibrate_set_cover(1.0, 1e-6, 8, 4, ADD, variant)
        assert found.coefficient > 0 and (found.scale == 0) == (variant == "noise_free")
        assert found.offset == found.scale / 2 and found.variant == variant


@pytest.mark.parametrize("y", [0.1, 1.0, 3.0])
def test_coins_up_to_the_first_head(y):
    """KMMS Lemma 3.5. Before the first head all coins show tails, so that a strategy is a sequence of probabilities."""
    generator = np.random.default_rng(0)
    step, most = 0.01, [1.0]  # the largest probability that the sum exceeds a multiple of the step, by steps of it
    for at in range(1, round(y / step) + 2):
        most.append(max((1 - toss * step) * most[max(0, at - toss)] for toss in range(1, round(1 / step) + 1)))
    assert math.exp(-y) * 0.9 < most[-1] <= math.exp(-y)
    for largest in generator.uniform(0, 1, 200):
        coins = generator.uniform(0, largest, 10_000)
        beyond = np.argmax(np.cumsum(coins) > y)
        assert np.prod(1 - coins[: beyond + 1]) <= math.exp(-y)
