"""The first-order method: its steps, its tables and its bounds, against HiGHS and from their definitions."""

import dataclasses
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from dpjax.attacks.optimum import Certificate, Databases, goal_of, optimum
from dpjax.attacks.optimum.bounds import collected, private_laws
from dpjax.attacks.optimum.cones import nearest_in_family, nearest_law
from dpjax.attacks.optimum.first_order import FirstOrder
from dpjax.attacks.optimum.private_table import is_private
from dpjax.attacks.optimum.program import orbits_of_cases, solve
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.dimensions.families import points, thresholds

ALL = [[0, 0], [0, 1], [1, 0], [1, 1]]
TWO = [[0, 0, 0], [0, 0, 1]]


def parts(matrix, n, **how):
    goal = goal_of(matrix, 0.3, **how)
    databases, group = Databases(n, goal.cells), symmetries(goal)
    cases = [case for some in orbits_of_cases(goal, goal.on_grid(4), group) for case in some]
    return goal, databases, group, cases


def test_nearest_laws_and_points_of_the_cone():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(5, 40)).astype(np.float32)
    laws = np.asarray(nearest_law(jnp.asarray(values)))
    assert laws.sum(axis=0) == pytest.approx(np.ones(40), abs=1e-6) and laws.min() >= 0
    for column, law in zip(values.T, laws.T, strict=True):  # optimal: one price for all that are positive
        prices = (column - law)[law > 0]
        assert np.ptp(prices) < 1e-6 and np.all(column[law == 0] <= prices.max() + 1e-6)
    for factor in (1.01, 1.6, 7.4):
        near = np.asarray(nearest_in_family(jnp.asarray(values), jnp.float32(factor)))
        assert near.min() >= 0 and np.all(near.max(axis=0) <= factor * near.min(axis=0) * (1 + 1e-5))
        for column, one in zip(values.T[:10], near.T, strict=False):
            best = minimize(
                lambda low, column=column, factor=factor: np.sum((column - np.clip(column, low, factor * low)) ** 2),
                0.1,
                bounds=[(0, 5)],
                method="Powell",
            )
            assert np.sum((column - one) ** 2) <= best.fun + 1e-5
        inside = np.asarray(nearest_in_family(jnp.asarray(near), jnp.float32(factor)))
        assert inside == pytest.approx(near, abs=1e-5)


@pytest.mark.parametrize(("matrix", "n"), [(ALL, 3), (thresholds(2), 4), (TWO, 2), (points(3), 2)])
def test_tables_are_those_without_symmetries(matrix, n):
    """Laws and flows that are invariant: sums over families, and the images of everything, by the whole program."""
    goal, databases, group, _ = parts(matrix, n)
    whole, some = (Stencil(databases, one, goal.sizes[0]) for one in (group[:1], group))
    generator = np.random.default_rng(1)
    laws = generator.random((goal.sizes[0], len(some.of_databases.kept)))
    laws = np.mean(
        [laws.ravel()[some.whole][image.hypotheses][:, databases.permuted(image.cells)] for image in group], 0
    )
    kept = laws[:, some.of_databases.kept]
    assert kept.ravel()[some.whole] == pytest.approx(laws)
    spread = laws.ravel()[whole.spread]
    members = databases.families[some.of_families.kept].T
    assert kept.ravel()[some.spread] == pytest.approx(np.moveaxis(laws[:, members], 0, 1))
    mine, all_ = collected(some, kept.ravel()[some.spread]), collected(whole, spread)
    assert mine == pytest.approx(all_[:, some.of_databases.kept])
    assert all_ == pytest.approx(laws * (databases.counts > 0).sum(axis=1))  # a diagonal operator
    assert some.of_databases.sizes.sum() == databases.size
    for orbits, of in ((some.of_databases, databases), (some.of_families, databases.without_a_row)):
        images = np.array([of.permuted(image.cells) for image in group])
        assert np.array_equal(orbits.kept[orbits.of], images.min(axis=0))
        assert np.array_equal(orbits.kept[orbits.of], images[orbits.by, np.arange(of.size)])


@pytest.mark.parametrize(
    ("matrix", "n", "epsilon", "how"),
    [
        (thresholds(2), 4, 1.0, {}),
        (ALL, 3, 0.5, {}),
        (TWO, 3, 2.0, {}),
        (thresholds(3), 3, 1.0, {}),
        (points(3), 3, 0.5, {"proper": True}),
        (thresholds(2), 2, 1.0, {"noise": 0.1}),
        (thresholds(2), 2, 1.0, {"agnostic": True}),
    ],
)
def test_both_bounds_are_those_of_highs(matrix, n, epsilon, how):
    goal, databases, group, cases = parts(matrix, n, **how)
    best = solve(databases, goal, cases, group, math.exp(epsilon), 0.0)
    found = FirstOrder(databases, goal, group, math.exp(epsilon)).solve(cases, 1e-3)
    assert found.lower <= best.upper + 1e-7 and best.upper <= found.upper + 1e-7
    assert found.upper - found.lower <= 1e-3
    first, second = databases.pairs.T
    assert np.all(found.learner[first] <= math.exp(epsilon) * found.learner[second] * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 4.0])
def test_optimum_by_the_first_order_method_is_certified(epsilon):
    goal = goal_of(thresholds(2), 0.3)
    exact, found = (
        optimum(goal, 3, Privacy(epsilon), everywhere=False, method=method) for method in ("highs", "first-order")
    )
    assert found.certificate.bound() == found.value and found.certificate.goal == goal
    assert is_private(found.table, found.databases, epsilon, 0.0) and found.symmetries == 2
    assert exact.achieved - Fraction(1, 500) <= found.achieved <= exact.value
    assert exact.achieved <= found.value <= exact.value + Fraction(1, 500)


def test_a_level_ends_the_search_on_either_side():
    goal = goal_of(thresholds(2), 0.3)
    for n, high in ((12, False), (14, True)):
        found = optimum(goal, n, Privacy(1.0), rounds=20, method="first-order", level=0.9)
        assert (found.everywhere >= 0.9, found.value < Fraction(9, 10)) == (high, not high)


def as_pairs(proof):
    """The certificate with a flow for each pair of neighbors: what a member owes is divided as the others give."""
    pairs, flows = [], []
    for members, numbers in proof.of_all_families():
        owed, given = np.maximum(numbers, 0), -np.minimum(numbers, 0)
        for a, h, family in zip(*np.nonzero(owed), strict=True):
            for b in np.flatnonzero(given[:, h, family]):
                pairs.append((members[family, a], members[family, b], h))
                parts = int(owed[a, h, family]) * int(given[b, h, family])
                flows.append((parts << (60 - proof.bits)) // int(given[:, h, family].sum()))
    counts = proof.stencil.databases.counts
    head = proof.goal, proof.rows, proof.neighboring, proof.epsilon, 0.0, proof.cases, proof.weights
    return Certificate(*head, counts, np.array(pairs), np.array(flows), 1 << 60)


@pytest.mark.parametrize(("matrix", "n", "epsilon"), [(thresholds(2), 4, 1.0), (ALL, 3, 0.5), (points(3), 2, 2.0)])
def test_the_certificate_of_pairs_proves_as_much(matrix, n, epsilon):
    """Another checker, which shares no code, for the same numbers."""
    found = optimum(goal_of(matrix, 0.3), n, Privacy(epsilon), everywhere=False, method="first-order")
    other = as_pairs(found.certificate).bound()
    assert other <= found.value <= other + Fraction(1, 10**4)


def test_a_repaired_learner_is_private_whatever_it_is_made_of():
    goal, databases, group, _ = parts(ALL, 4)
    stencil = Stencil(databases, group[:1], goal.sizes[0])
    generator = np.random.default_rng(3)
    first, second = databases.pairs.T
    for factor in (1.0001, 1.5, 50.0):
        for laws in (generator.random((4, databases.size)) ** 8, np.eye(4)[generator.integers(0, 4, databases.size)].T):
            fixed = private_laws(stencil, laws, factor).T
            assert fixed.sum(axis=1) == pytest.approx(np.ones(databases.size)) and fixed.min() >= 0
            assert np.all(fixed[first] <= factor * fixed[second] * (1 + 1e-12))
    private = private_laws(stencil, laws, 50.0)
    assert private_laws(stencil, private, 50.0) == pytest.approx(private)


def test_planted_bugs_are_caught():
    """Flows that are moved, enlarged or of another budget, and a table of another order, prove nothing."""
    goal = goal_of(thresholds(2), 0.3)
    found = optimum(goal, 4, Privacy(1.0), everywhere=False, method="first-order")
    proof = found.certificate
    moved = np.roll(proof.flows, 1, axis=1)
    assert dataclasses.replace(proof, flows=moved).bound() > found.value + Fraction(1, 100)
    assert dataclasses.replace(proof, flows=0 * proof.flows).bound() > found.value + Fraction(1, 100)
    for wrong in (
        {"epsilon": 1.1},
        {"flows": -proof.flows},
        {"flows": proof.flows[:, :, 1:]},
        {"flows": proof.flows.astype(float)},
        {"flows": np.where(proof.flows > 0, 2 * proof.flows, proof.flows)},
        {"bits": 10},
        {"weights": proof.weights[1:]},
    ):
        with pytest.raises(InputError):
            dataclasses.replace(proof, **wrong).bound()
    assert not is_private(found.table[::-1], found.databases, 1.0, 0.0)
    assert not is_private(found.table, found.databases, 0.99, 0.0)


@pytest.mark.parametrize("budget", [Privacy(1.0, 0.01), Privacy(1.0)])
def test_what_it_cannot_solve_is_refused(budget):
    goal = goal_of(ALL, 0.3)
    with pytest.raises(InputError, match="highs"):
        optimum(goal, 2, budget, neighboring=Neighboring.ADD_OR_REMOVE_ONE, method="first-order")


def test_wrong_methods_and_sizes_are_refused():
    goal = goal_of(thresholds(3), 0.3)
    with pytest.raises(InputError, match="first-order"):
        optimum(goal, 2, Privacy(1.0), method="simplex")
    with pytest.raises(InputError, match="take n ="):
        optimum(goal, 60, Privacy(1.0), method="first-order")


@pytest.mark.parametrize("epsilon", [1e-17, 1e-9, 16.0])
def test_extreme_budgets(epsilon):
    goal = goal_of(ALL, 0.3)
    found = optimum(goal, 2, Privacy(epsilon), everywhere=False, method="first-order")
    assert found.achieved <= found.value <= 1
    exact = optimum(goal, 2, Privacy(epsilon), everywhere=False)
    assert exact.achieved - Fraction(1, 200) <= found.value and found.achieved <= exact.value
