"""Divided budgets: k runs at the split spend at most the budget, by their own composition, and hardly less."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpjax.accounting.composition import advanced, basic, joint_delta
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.optimal_composition import optimal_epsilon
from dpjax.accounting.splits import COMPOSITIONS, Split, best_split, composed, require_composition, split
from dpjax.accounting.zcdp import exponential_guarantee, pure_rho, zcdp, zcdp_epsilon
from dpjax.core.checks import InputError
from dpjax.core.plans import down
from dpjax.core.types import Neighboring

EPSILONS = (1e-3, 0.1, 1.0, 3.3, 20.0)
DELTAS = (0.0, 1e-12, 1e-6, 1e-2)
ROUNDS = (1, 2, 3, 8, 100, 1024)
GRID = [(e, d) for e in EPSILONS for d in DELTAS]
KINDS = ("pure", "bounded range", "approximate")
SLACKS = ("advanced", "optimal", "zcdp")
ALLOWED = [(c, kind) for c in COMPOSITIONS for kind in KINDS if (c, kind) != ("zcdp", "approximate")]


def run(part, spends):
    """The guarantee of one run, as a plan of float32 leaves states it."""
    epsilon, delta = float(down(part.epsilon)), float(down(part.delta))
    if spends == "bounded range":
        return exponential_guarantee(epsilon)
    return Guarantee(epsilon, delta, Neighboring.REPLACE_ONE, "one run")


def whole(epsilon, delta, rounds, composition, spends):
    part = split(epsilon, delta, rounds, composition, spends)
    return composed(run(part, spends), rounds, float(down(part.slack)), composition, "all runs")


@pytest.mark.grid(per=["composition"])
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize(("composition", "spends"), ALLOWED)
def test_no_budget_is_exceeded_and_hardly_anything_is_left(composition, spends, rounds):
    for epsilon, delta in GRID:
        found, part = (
            whole(epsilon, delta, rounds, composition, spends),
            split(epsilon, delta, rounds, composition, spends),
        )
        at = (epsilon, delta, found.epsilon / epsilon, found.delta)
        assert found.epsilon <= epsilon and found.delta <= delta, at
        assert found.epsilon >= 0.999 * epsilon, at
        spent = spends == "approximate" or part.slack > 0
        assert found.delta >= 0.999 * delta if spent else found.delta == 0, at


def test_two_hundred_random_budgets():
    """Rounds, composition and kind at random, too."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        epsilon, delta = 10 ** generator.uniform(-3, math.log10(20)), 10 ** generator.uniform(-12, -2)
        composition, spends = ALLOWED[generator.integers(len(ALLOWED))]
        rounds = int(2 ** generator.uniform(0, 12))
        found = whole(epsilon, delta, rounds, composition, spends)
        at = (epsilon, delta, rounds, composition, spends)
        assert 0.999 * epsilon <= found.epsilon <= epsilon and found.delta <= delta, at


def independent_epsilon(part, rounds, composition, spends):
    """What k runs spend by the theorem, from its formula and not from `composed`."""
    if composition == "basic" or part.slack == 0:
        return rounds * part.epsilon
    if composition == "advanced":
        return part.epsilon * math.sqrt(2 * rounds * math.log(1 / part.slack)) + rounds * part.epsilon * math.tanh(
            part.epsilon / 2
        )
    if composition == "optimal":
        return optimal_epsilon(part.epsilon, rounds, part.slack)
    rho = part.epsilon**2 / 8 if spends == "bounded range" else pure_rho(part.epsilon)
    return zcdp_epsilon(rounds * rho, part.slack)


@pytest.mark.grid(keep=2, per=["composition"])
@pytest.mark.parametrize("rounds", [2, 8, 1024])
@pytest.mark.parametrize(("composition", "spends"), ALLOWED)
def test_the_split_solves_the_theorems_equation(composition, spends, rounds):
    for epsilon, delta in GRID:
        part = split(epsilon, delta, rounds, composition, spends)
        assert independent_epsilon(part, rounds, composition, spends) == pytest.approx(epsilon, rel=1e-6)
        assert part.epsilon >= epsilon / rounds * (1 - 1e-15)  # never less than by adding up
        if part.slack and composition in ("advanced", "optimal"):
            assert joint_delta(part.delta, rounds, part.slack) == pytest.approx(delta, rel=1e-6)
        else:
            assert rounds * part.delta + part.slack == pytest.approx(
                delta if spends == "approximate" or part.slack else 0
            )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_one_run_has_everything(composition):
    for epsilon, delta in GRID:
        assert split(epsilon, delta, 1, composition, "bounded range") == Split(epsilon, 0.0, 0.0)
        if composition != "zcdp":
            assert split(epsilon, delta, 1, composition, "approximate") == Split(epsilon, delta, 0.0)


@pytest.mark.parametrize(("composition", "spends"), ALLOWED)
@pytest.mark.parametrize("delta", [0.0, 1e-46])
def test_without_delta_epsilons_just_add_up(composition, spends, delta):
    """A delta that float32 takes for 0 is none."""
    for epsilon in EPSILONS:
        assert split(epsilon, delta, 8, composition, spends) == split(epsilon, delta, 8, "basic", spends)


@pytest.mark.parametrize("composition", SLACKS)
def test_a_large_delta_pays_for_more_than_epsilon_a_run(composition):
    """Where delta is of the size of epsilon, one run may have more than epsilon."""
    part = split(0.01, 0.01, 3, composition, "bounded range")
    assert part.epsilon > 0.01 or composition == "advanced"
    assert whole(0.01, 0.01, 3, composition, "bounded range").epsilon <= 0.01


@pytest.mark.parametrize("composition", ["advanced", "optimal"])
def test_runs_that_spend_delta_get_half_of_it(composition):
    for epsilon, delta in ((0.1, 1e-6), (3.3, 1e-12), (1.0, 1e-2)):
        part = split(epsilon, delta, 200, composition, "approximate")
        assert part.slack == pytest.approx(delta / 2, rel=1e-6) and part.slack <= delta / 2
        assert 200 * part.delta == pytest.approx(delta / 2, rel=0.02)


def test_more_runs_or_less_budget_never_give_more():
    for composition, spends in ALLOWED:
        table = np.array(
            [
                [[split(e, d, rounds, composition, spends).epsilon for d in DELTAS] for e in EPSILONS]
                for rounds in (2, 8, 100)
            ]
        )
        assert np.all(np.diff(table, axis=0) < 0)
        assert np.all(np.diff(table, axis=1) > 0)
        assert np.all(np.diff(table, axis=2) >= -1e-9 * table[..., 1:])


def test_the_best_split_is_the_largest_of_all():
    names = set()
    for epsilon, delta in GRID:
        for rounds in (1, 3, 40, 1000):
            for spends in KINDS:
                best, name = best_split(epsilon, delta, rounds, spends)
                names.add(name)
                for other, kind in ALLOWED:
                    if kind == spends:
                        assert best.epsilon >= split(epsilon, delta, rounds, other, spends).epsilon
    assert {"basic", "optimal", "zcdp"} <= names


def test_runs_that_spend_delta_have_no_zcdp():
    for attempt in (
        lambda: require_composition("zcdp", "approximate"),
        lambda: split(1.0, 1e-6, 3, "zcdp", "approximate"),
        lambda: composed(Guarantee(0.1, 1e-9, Neighboring.REPLACE_ONE, "run"), 3, 1e-6, "zcdp", "all"),
    ):
        with pytest.raises(InputError):
            attempt()
    require_composition("zcdp", "bounded range")
    with pytest.raises(InputError, match="did you mean optimal"):
        require_composition("optimum", "pure")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: split(0.0, 1e-6, 3, "basic", "pure"),
        lambda: split(1.0, 1.0, 3, "optimal", "pure"),
        lambda: split(1.0, -1e-9, 3, "optimal", "pure"),
        lambda: split(1.0, 1e-6, 0, "optimal", "pure"),
        lambda: split(float("nan"), 1e-6, 3, "zcdp", "pure"),
        lambda: split(1.0, 1e-6, 2.0, "basic", "pure"),
    ],
)
def test_budgets_that_are_none_are_refused(attempt):
    with pytest.raises(InputError):
        attempt()


def test_a_whole_is_never_worse_than_adding_up():
    """`composed` takes whichever is smaller in both numbers, whatever slack the plan was edited to."""
    part = exponential_guarantee(0.5)
    for composition in SLACKS:
        for slack in (1e-300, 1e-12, 1e-3, 0.5):
            found, plain = composed(part, 4, slack, composition, "all"), basic((part,), "all", rounds=4)
            assert found.epsilon < plain.epsilon or (found.epsilon, found.delta) == (plain.epsilon, 0)
    assert composed(part, 4, 0.0, "optimal", "all").epsilon == 2.0
    approximate = Guarantee(0.01, 1e-9, Neighboring.REPLACE_ONE, "run")
    by_theorem = composed(approximate, 1000, 1e-6, "advanced", "all")
    assert by_theorem.epsilon == advanced(approximate, 1000, 1e-6, form="tight").epsilon
    assert by_theorem.delta == joint_delta(1e-9, 1000, 1e-6)
    assert composed(part, 1000, 1e-6, "zcdp", "all").epsilon == zcdp((part,), 1e-6, 1000).epsilon


@pytest.mark.parametrize(("delta", "rounds"), [(0.012460419726951838, 3), (1e-6, 7), (0.3, 10), (1e-300, 11)])
def test_equal_parts_of_delta_add_up_to_no_more(delta, rounds):
    part = split(1.0, delta, rounds, "basic", "approximate").delta
    assert Fraction(part) * rounds <= Fraction(delta) < Fraction(np.nextafter(part, 1)) * rounds


def test_basic_composition_is_rounded_up_where_no_delta_helps():
    epsilon0, rounds = 3.7922145262113123, 10
    assert Fraction(optimal_epsilon(epsilon0, rounds, 3.411145783771996e-16)) >= rounds * Fraction(epsilon0)


def test_deltas_that_add_up_to_more_than_one_compose():
    """Optimal composition of two parts of (.1, .9) has delta below 1; adding up would say nothing."""
    whole = composed(Guarantee(0.1, 0.9, Neighboring.REPLACE_ONE, "part"), 2, 1e-3, "optimal", "two")
    assert 1 - 0.1**2 <= whole.delta < 1
