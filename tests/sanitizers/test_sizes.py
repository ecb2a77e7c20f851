"""Proved numbers of rows, and the choice between sanitizers, on the host."""

import math

import numpy as np
import pytest

from dpjax.accounting.zcdp import exponential_epsilon0
from dpjax.concepts import Parities
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.mechanisms.median import ExponentialPlan, MajorityPlan
from dpjax.sanitizers import (
    BLR,
    MWEM,
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    RankBlocks,
    RecursiveQuantiles,
    Slices,
    WindowHierarchy,
    candidates,
    default,
)
from dpjax.theory import hierarchy
from dpjax.theory import sanitizers as sizes

PRIVACY, BETA = Privacy(1.0, 1e-6), 0.1
ACCURACY = Accuracy(0.3, BETA)


@pytest.mark.grid(keep=8)
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("parts", [1, 2, 10, 300])
def test_every_guarantee_spends_the_budget(parts, epsilon, delta):
    levels = min(parts, 14)
    sanitizers = [
        RankBlocks(8, blocks=parts),
        IndependentQuantiles(8, count=parts),
        Hierarchy(8, levels=levels),
        RecursiveQuantiles(8, levels=levels),
        JointQuantiles(8, count=min(parts, 256)),
    ]
    if delta > 0:
        sanitizers += [Slices(8, count=parts)]
    for sanitizer in sanitizers:
        spent = sanitizer.guarantee(sanitizer.plan(Privacy(epsilon, delta), ACCURACY))
        assert spent.neighboring is Neighboring.REPLACE_ONE
        assert 0.999 * epsilon <= spent.epsilon <= epsilon and spent.delta <= delta


def test_many_parts_are_worth_zcdp():
    sanitizer = IndependentQuantiles(8, count=100)
    basic, zcdp = (float(sanitizer.plan(Privacy(1.0, delta), ACCURACY).epsilon) for delta in (0.0, 1e-6))
    assert 0.00999 < basic <= 0.01 and zcdp > 4 * basic
    plan = RankBlocks(64, blocks=100, median="recprefix").plan(PRIVACY, ACCURACY)
    part = plan.median.guarantee()
    assert 2 * basic < part.epsilon < zcdp and 100 * part.delta < 0.5001e-6


def test_blocks_of_majority():
    for alpha in (0.3, 0.02):
        sanitizer = RankBlocks(1024)
        plan = sanitizer.plan(PRIVACY, Accuracy(alpha, BETA))
        assert isinstance(plan.median, MajorityPlan)
        assert 0.999 <= sanitizer.guarantee(plan).epsilon <= 1 and sanitizer.guarantee(plan).delta <= 1e-6


def test_proved_rows_at_the_reference():
    found = {name: rows for name, (_, rows) in candidates(0.1, 32, PRIVACY, BETA).items()}
    assert found["blocks"] <= 9070 and found["slices"] <= 60000
    assert found["hierarchy"] < found["independent"] < found["blocks"] < found["slices"]
    # by hand: ten interior points at a tenth of the concentrated budget
    part = exponential_epsilon0(1.0, 1e-6, 10)
    assert found["blocks"] == pytest.approx(40 / part * (32 * math.log(2) + math.log(10 / BETA)), abs=10)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("alpha", "bits", "kind"),
    [
        (0.3, 16, IndependentQuantiles),
        (0.1, 32, Hierarchy),
        (0.01, 32, Hierarchy),
        (0.6, 16, IndependentQuantiles),
        (0.2, 1024, WindowHierarchy),
    ],
)
def test_the_default_is_the_least_proved_number(alpha, bits, kind):
    chosen = default(alpha, bits, PRIVACY, BETA)
    assert isinstance(chosen, kind) and chosen.bits == bits
    rows = chosen.sample_size(PRIVACY, Accuracy(alpha, BETA))
    others = candidates(alpha, bits, PRIVACY, BETA)
    assert rows == min(needed for name, (_, needed) in others.items() if name not in ("recursive", "joint"))


def test_structure_that_is_planned_is_the_best_that_a_person_could_set():
    accuracy = Accuracy(0.1, BETA)
    chosen = Hierarchy(32).sample_size(PRIVACY, accuracy)
    rest = [Hierarchy(32, levels=levels, counts=0.3) for levels in (4, 8)]
    assert chosen <= min(other.sample_size(PRIVACY, accuracy) for other in rest)
    chosen = IndependentQuantiles(32).sample_size(PRIVACY, accuracy)
    rest = [IndependentQuantiles(32, count=count) for count in range(5, 20, 7)]
    assert chosen <= 1.01 * min(other.sample_size(PRIVACY, accuracy) for other in rest)
    for sanitizer in (RecursiveQuantiles(32), JointQuantiles(32)):
        plan = sanitizer.plan(PRIVACY, accuracy)
        assert sanitizer.sample_size(PRIVACY, accuracy) <= 2**plan.ties  # all rows may be equal


def test_without_delta_there_are_no_slices():
    found = candidates(0.2, 16, Privacy(1.0, 0.0), BETA)
    plan = found["blocks"][0].plan(Privacy(1.0, 0.0), Accuracy(0.2, BETA))
    assert "slices" not in found and isinstance(plan.median, ExponentialPlan)


def test_walks_stay_within_their_bounds():
    """Simulated deviations: the bound holds, and is not absurd."""
    generator, trials, rate = np.random.default_rng(1), 4000, 0.02
    steps = generator.geometric(-math.expm1(-rate), (trials, 20)) - 1
    walk = np.abs(np.cumsum(steps - 1 / math.expm1(rate), axis=1)).max(axis=1)
    bound = sizes.lengths_deviation(rate, 20, 0.05)
    assert np.mean(walk > bound) < 0.05 and np.quantile(walk, 0.95) > bound / 2


def test_noise_of_running_sums_has_its_tails():
    """The exact tail is the simulated sum of tails, and its exponential moment the simulated one."""
    generator, trials, scale = np.random.default_rng(1), 20000, 8.0
    noise = np.cumsum(np.rint(generator.laplace(0, scale, (trials, 31))), axis=1)
    bridge = np.abs(noise - np.arange(1, 32) / 31 * noise[:, -1:])[:, :-1]
    values, mass = hierarchy._largest_noise(31, scale)
    assert mass.min() >= 0 and mass.sum() == pytest.approx(1, abs=1e-9)
    for x in (70, 90, 110):
        tail, simulated = mass[values > x].sum(), (bridge > x).mean(axis=0).sum()
        assert tail == pytest.approx(simulated, abs=0.03) and tail > (bridge.max(axis=1) > x).mean() - 0.01
    u = np.array([0.01, 0.04])
    simulated = [np.log((2 * np.cosh(one * bridge)).mean(axis=0).sum()) for one in u]
    np.testing.assert_allclose(hierarchy._log_sum_of_noise(u, (31,), scale), simulated, rtol=0.03)


def test_exact_tails_ask_for_no_more_rows():
    for bits, alpha in ((16, 0.3), (32, 0.1)):
        plan = Hierarchy(bits).plan(PRIVACY, Accuracy(alpha, BETA))
        given = bits * math.log(2), tuple(map(float, plan.medians)), float(plan.scale), alpha, BETA
        assert 0.75 * hierarchy.hierarchy(*given) < hierarchy.hierarchy_exact(*given) < hierarchy.hierarchy(*given)
    assert hierarchy.hierarchy_exact(9.0, (0.1,), 8.0, 0.2, BETA) == math.inf


def test_the_hierarchy_has_rows_for_tiny_beta_and_huge_epsilon():
    """Where sums end in rounding Chernoff's bound counts; noise of a tiny scale is rounded away."""
    rows = [Hierarchy(32).sample_size(PRIVACY, Accuracy(0.1, beta)) for beta in (1e-9, 1e-11, 1e-13, 1e-20)]
    assert rows == sorted(rows) and rows[-1] < 2 * rows[0]
    rows = [Hierarchy(32).sample_size(Privacy(epsilon, 0.0), Accuracy(0.1, BETA)) for epsilon in (10.0, 1e3, 1e5)]
    assert rows == sorted(rows, reverse=True) and rows[-1] >= 1


def test_unseen_points_have_no_jumps_in_n():
    """The bound moves evenly with the rows, so that more of them are enough where some are."""
    for rate, margin, kept in ((8.0, 13.0, 5), (0.5, 13.0, 3), (2.0, 3.0, 1)):
        found = np.array([sizes.unseen_points(rate, margin, kept, n, 0.01) for n in range(100, 220)])
        turn = np.abs(np.diff(found, 2))
        assert np.all(found <= np.arange(100, 220)) and np.all(turn[found[2:] < np.arange(102, 220)] < 0.1)


@pytest.mark.parametrize(
    "kind", [RankBlocks, Slices, Hierarchy, IndependentQuantiles, RecursiveQuantiles, JointQuantiles]
)
def test_more_is_asked_for_smaller_alpha_and_beta(kind):
    rows = [
        kind(32).sample_size(PRIVACY, Accuracy(alpha, beta)) for alpha, beta in ((0.4, 0.2), (0.2, 0.2), (0.2, 0.01))
    ]
    assert rows[0] < rows[1] < rows[2]


@pytest.mark.parametrize(
    "sanitizer",
    [
        RankBlocks(32, blocks=3),
        Slices(32, count=3),
        Hierarchy(32, levels=1),
        IndependentQuantiles(32, count=2),
        RecursiveQuantiles(32, levels=1),
        JointQuantiles(32, count=2),
    ],
)
def test_structure_too_small_for_an_accuracy_is_planned_and_not_proved(sanitizer):
    sanitizer.plan(PRIVACY, Accuracy(0.01, 0.2))
    with pytest.raises(InputError, match="alpha"):
        sanitizer.sample_size(PRIVACY, Accuracy(0.01, 0.2))


def test_equal_by_value_and_refusals():
    assert Hierarchy(32, levels=3) == Hierarchy(32, levels=3)
    assert hash(Hierarchy(32, levels=3)) != hash(Hierarchy(32, levels=4))
    for wrong in (
        lambda: Hierarchy(8, levels=0),
        lambda: Hierarchy(8, levels=1, counts=1e-17).plan(PRIVACY, ACCURACY),
        lambda: WindowHierarchy(8, levels=1, counts=1e-17).plan(PRIVACY, ACCURACY),
        lambda: Slices(8, count=2).plan(Privacy(1.0, 0.0), ACCURACY),
        lambda: default(0.0, 8, PRIVACY),
        lambda: IndependentQuantiles(8, count=0),
        lambda: RecursiveQuantiles(8, levels=2, ties=40),
        lambda: JointQuantiles(8, count=257),
        lambda: RankBlocks(8, median="mean"),
        lambda: RankBlocks(8, median="recprefix", domain_size=9),
        lambda: BLR(Parities(3)),
        lambda: MWEM("queries"),
        lambda: RankBlocks(64, median="recprefix").plan(Privacy(1.0, 0.0), ACCURACY),
    ):
        with pytest.raises(InputError):
            wrong()
