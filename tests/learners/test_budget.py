"""The traced shares never spend more than the host's accounting allows, and hardly less."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.calibrate import calibrate
from dpjax.accounting.composition import advanced
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.optimal_composition import optimal_epsilon, optimal_epsilon0
from dpjax.accounting.zcdp import exponential_epsilon0, exponential_guarantee, zcdp
from dpjax.concepts import Domain, Thresholds
from dpjax.core.types import Neighboring, Privacy
from dpjax.learners import KLN, Independent, budget

EPSILONS = (0.01, 0.1, 1.0, 3.3, 8.0)
DELTAS = (0.0, 1e-12, 1e-6, 1e-4)
ROUNDS = (1, 2, 3, 8, 100, 1024)
GRID = [(e, d) for e in EPSILONS for d in DELTAS]


def shares(rounds, composition, pure=True):
    """(epsilon0, delta0) of one run for every point of the grid, traced in float32 as learners trace them."""
    epsilon, delta = (jnp.asarray(part, jnp.float32) for part in zip(*GRID, strict=True))
    run = jax.jit(jax.vmap(lambda e, d: budget.per_run(Privacy(e, d), rounds, composition, pure=pure)))
    share = run(epsilon, delta)
    assert share.epsilon.dtype == share.delta.dtype == jnp.float32
    return [(float(e), float(d)) for e, d in zip(share.epsilon, share.delta, strict=True)]


def composed(epsilon0, rounds, delta, composition):
    """The smallest epsilon that the composition theorem gives for these runs, on the host in float64."""
    basic = rounds * epsilon0
    if composition == "basic" or delta == 0:
        return basic
    part = Guarantee(epsilon0, 0.0, Neighboring.REPLACE_ONE, "one run")
    return min(basic, {
        "advanced": lambda: advanced(part, rounds, delta, form="tight").epsilon,
        "optimal": lambda: optimal_epsilon(epsilon0, rounds, delta),
        "zcdp": lambda: zcdp((exponential_guarantee(epsilon0),), delta, rounds).epsilon,
    }[composition]())  # fmt: skip


def largest_share(epsilon, delta, rounds, composition):
    """What the host would give to one run."""
    if composition == "basic" or delta == 0:
        return epsilon / rounds
    return max(epsilon / rounds, {
        "advanced": lambda: calibrate(epsilon, delta, "advanced", rounds),
        "optimal": lambda: optimal_epsilon0(epsilon, delta, rounds),
        "zcdp": lambda: exponential_epsilon0(epsilon, delta, rounds),
    }[composition]())  # fmt: skip


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("composition", budget.COMPOSITIONS)
def test_no_share_is_too_large_and_none_is_much_too_small(composition, rounds):
    if rounds == 1:  # one run has the whole budget, to the last bit
        for (epsilon, delta), share in zip(GRID, shares(1, composition), strict=True):
            assert share == (float(np.float32(epsilon)), float(np.float32(delta)))
        return
    for (epsilon, delta), (epsilon0, delta0) in zip(GRID, shares(rounds, composition), strict=True):
        at = (epsilon, delta, epsilon0)
        assert composed(epsilon0, rounds, delta, composition) <= epsilon, at
        short = 1e-3 if composition == "zcdp" else 1e-5  # zcdp looks at a grid of orders
        assert epsilon0 >= (1 - short) * largest_share(epsilon, delta, rounds, composition), at
        # pure runs need no delta of their own, and basic composition has nothing else to do with it
        assert rounds * delta0 <= delta if composition == "basic" else delta0 == 0


@pytest.mark.parametrize("composition", ["advanced", "optimal", "zcdp"])
def test_a_large_delta_pays_for_more_than_epsilon_a_run(composition):
    """Where delta is of the size of epsilon, one run may have more than epsilon."""
    run = jax.jit(lambda e, d: budget.per_run(Privacy(e, d), 3, composition).epsilon)
    epsilon0 = float(run(jnp.float32(0.01), jnp.float32(0.01)))
    assert composed(epsilon0, 3, 0.01, composition) <= 0.01
    assert epsilon0 >= 0.999 * largest_share(0.01, 0.01, 3, composition)


@pytest.mark.parametrize("composition", budget.COMPOSITIONS)
def test_runs_that_use_delta_get_half_of_it(composition):
    """The runs' deltas and the composition's slack stay within delta, and the slack's half pays for the epsilons."""
    rounds = 10
    for (epsilon, delta), (epsilon0, delta0) in zip(GRID, shares(rounds, composition, pure=False), strict=True):
        if composition == "basic":
            assert rounds * delta0 <= delta
            continue
        assert composed(epsilon0, rounds, delta / 2, composition) <= epsilon
        assert rounds * delta0 <= delta / 2
        assert rounds * delta0 >= (1 - 1e-5) * delta / 2


def test_more_rounds_or_less_budget_never_give_more():
    for composition in budget.COMPOSITIONS:
        table = np.array([[e for e, _ in shares(rounds, composition)] for rounds in (2, 8, 100)]).reshape(3, 5, 4)
        assert np.all(np.diff(table, axis=0) < 0)
        assert np.all(np.diff(table, axis=1) > 0)
        assert np.all(np.diff(table, axis=2) >= -1e-6 * table[..., 1:])


def test_an_explicit_float64_budget_keeps_its_precision():
    with jax.enable_x64(True):
        for composition in budget.COMPOSITIONS:
            share = budget.per_run(Privacy(jnp.float64(1.0), jnp.float64(1e-6)), 8, composition)
            assert share.epsilon.dtype == share.delta.dtype == jnp.float64


def test_64_bit_types_change_no_share():
    seen = []
    for wide in (False, True):
        with jax.enable_x64(wide):
            seen.append([shares(8, composition) for composition in budget.COMPOSITIONS])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("composition", budget.COMPOSITIONS)
@pytest.mark.parametrize("k", [1, 16])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6])
def test_the_printed_guarantee_is_within_the_budget(composition, k, delta):
    learner = Independent(KLN(Thresholds(Domain(100))), k, composition)
    for epsilon in (0.1, 1.0, 7.0):
        whole = learner.guarantee(Privacy(epsilon, delta))
        assert whole.epsilon <= epsilon * (1 + 1e-7) if k == 1 else whole.epsilon <= epsilon
        assert whole.delta <= delta * (1 + 1e-7)
        assert whole.rounds == k and whole.parts[0].epsilon == learner.share(Privacy(epsilon, delta)).epsilon
        assert whole.epsilon >= 0.999 * composed(whole.parts[0].epsilon, k, delta, composition)
