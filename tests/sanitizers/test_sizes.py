"""Shares of the budget, proved numbers of rows, and the choice between sanitizers, on the host."""

import math

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.mechanisms.median import ExponentialPlan, RecPrefixPlan, plan_exponential, plan_rsc
from dpjax.sanitizers import (
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    RankBlocks,
    RecursiveQuantiles,
    Slices,
    candidates,
    default,
)
from dpjax.sanitizers.shares import host_share
from dpjax.theory import sanitizers as sizes

PRIVACY, BETA = Privacy(1.0, 1e-6), 0.1


@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("rounds", [1, 2, 10, 300])
def test_every_guarantee_stays_within_the_budget(rounds, epsilon, delta):
    privacy = Privacy(epsilon, delta)
    plan = plan_exponential(8, 1.0, 0.1)
    sanitizers = [RankBlocks(rounds, plan), IndependentQuantiles(rounds, 8), Hierarchy(min(rounds, 14), 8),
                  RecursiveQuantiles(min(rounds, 14), 8), JointQuantiles(min(rounds, 256), 8)]  # fmt: skip
    if delta > 0:
        sanitizers += [Slices(rounds, 8, epsilon, delta)]
    for sanitizer in sanitizers:
        spent = sanitizer.guarantee(privacy)
        assert spent.neighboring is Neighboring.REPLACE_ONE
        assert epsilon * 0.8 <= spent.epsilon <= epsilon * (1 + 1e-12) and spent.delta <= delta


def test_many_rounds_are_worth_zcdp():
    basic, zcdp = (host_share(Privacy(1.0, delta), 100, pure=True).epsilon for delta in (0.0, 1e-6))
    assert 0.0099 < basic <= 0.01 and zcdp > 4 * basic
    approximate = host_share(PRIVACY, 100, pure=False)
    assert 2 * basic < approximate.epsilon < zcdp and 100 * approximate.delta <= 1e-6 / 2


def test_blocks_of_recprefix_stay_within_the_budget():
    for alpha in (0.3, 0.02):
        plan = RankBlocks.planned(alpha, 1024, PRIVACY, BETA)
        spent = plan.guarantee(PRIVACY)
        assert isinstance(plan.median, RecPrefixPlan) or alpha < 0.1
        assert 0.85 <= spent.epsilon <= 1 and spent.delta <= 1e-6


def test_proved_rows_at_the_reference():
    found = {name: rows for name, (_, rows) in candidates(0.1, 32, PRIVACY, BETA).items()}
    assert found["blocks"] <= 9070 and found["slices"] <= 60000
    assert found["hierarchy"] < found["independent"] < found["blocks"] < found["slices"]
    # by hand: ten interior points at the share of one
    share = host_share(PRIVACY, 10, pure=True).epsilon
    assert found["blocks"] == 10 * math.ceil(4 / share * (32 * math.log(2) + math.log(10 / BETA)))


@pytest.mark.parametrize(("alpha", "bits", "kind"), [
    (0.3, 32, IndependentQuantiles), (0.1, 32, Hierarchy), (0.01, 32, Hierarchy), (0.6, 16, IndependentQuantiles),
    (0.2, 1024, RankBlocks),
])  # fmt: skip
def test_the_default_is_the_least_proved_number(alpha, bits, kind):
    chosen = default(alpha, bits, PRIVACY, BETA)
    assert isinstance(chosen, kind) and chosen.bits == bits
    rows = chosen.sample_size(PRIVACY, Accuracy(alpha, BETA))
    others = candidates(alpha, bits, PRIVACY, BETA)
    assert rows == min(needed for name, (_, needed) in others.items() if name not in ("recursive", "joint"))


def test_without_delta_there_are_no_slices():
    found = candidates(0.2, 16, Privacy(1.0, 0.0), BETA)
    assert "slices" not in found and isinstance(found["blocks"][0].median, ExponentialPlan)


def test_walks_stay_within_their_bounds():
    """Simulated deviations: the bound holds, and is not absurd."""
    generator, trials, rate = np.random.default_rng(1), 4000, 0.02
    steps = generator.geometric(-math.expm1(-rate), (trials, 20)) - 1
    walk = np.abs(np.cumsum(steps - 1 / math.expm1(rate), axis=1)).max(axis=1)
    bound = sizes.lengths_deviation(rate, 20, 0.05)
    assert np.mean(walk > bound) < 0.05 and np.quantile(walk, 0.95) > bound / 2
    noise = np.cumsum(generator.laplace(0, 8, (trials, 31)), axis=1)
    bridge = np.abs(noise - np.arange(1, 32) / 31 * noise[:, -1:]).max(axis=1)
    bound = sizes.counts_deviation(31, 8, 0.05)
    assert np.mean(bridge > bound) < 0.05 and np.quantile(bridge, 0.95) > bound / 3


@pytest.mark.parametrize("kind", [
    RankBlocks, Slices, Hierarchy, IndependentQuantiles, RecursiveQuantiles, JointQuantiles,
])  # fmt: skip
def test_more_is_asked_for_smaller_goals(kind):
    rows = []
    for alpha, beta in ((0.4, 0.2), (0.2, 0.2), (0.2, 0.01)):
        rows.append(kind.planned(alpha, 32, PRIVACY, beta).sample_size(PRIVACY, Accuracy(alpha, beta)))
    assert rows[0] < rows[1] < rows[2]
    with pytest.raises(InputError):
        kind.planned(0.4, 32, PRIVACY, 0.2).sample_size(PRIVACY, Accuracy(0.01, 0.2))


def test_equal_by_value_and_refusals():
    assert Hierarchy(3, 32) == Hierarchy(3, 32) and hash(Hierarchy(3, 32)) != hash(Hierarchy(4, 32))
    with pytest.raises(InputError):
        RankBlocks(2, plan_rsc(16, 1.0, 1e-6, 0.1))
    for wrong in (lambda: Hierarchy(0, 8), lambda: Slices(2, 8, 1.0, 0.0), lambda: default(0.0, 8, PRIVACY),
                  lambda: IndependentQuantiles(0, 8), lambda: RecursiveQuantiles(2, 8, 40),
                  lambda: JointQuantiles(257, 8)):  # fmt: skip
        with pytest.raises(InputError):
            wrong()
