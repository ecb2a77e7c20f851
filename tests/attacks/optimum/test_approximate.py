"""The first-order method with delta > 0: against HiGHS, the checker of pairs, and definitions."""

import dataclasses
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.attacks.optimum import Certificate, goal_of, optimum
from dpjax.attacks.optimum.bounds import approximate_laws, largest_violation
from dpjax.attacks.optimum.constraints import Approximate
from dpjax.attacks.optimum.families import FamilyCertificate
from dpjax.attacks.optimum.first_order import FirstOrder
from dpjax.attacks.optimum.private_table import is_private
from dpjax.attacks.optimum.program import solve
from dpjax.attacks.optimum.relaxed import relaxed_bound
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.dimensions.families import points, thresholds
from tests.attacks.optimum.test_first_order import ALL, TWO, parts


def solved(matrix=None, n=4, epsilon=1.0, delta=0.01):
    goal = goal_of(thresholds(2) if matrix is None else matrix, 0.3)
    return optimum(goal, n, Privacy(epsilon, delta), everywhere=False, method="first-order")


@pytest.mark.parametrize(
    ("matrix", "n", "epsilon", "delta", "how"),
    [
        (thresholds(2), 4, 1.0, 0.01, {}),
        (thresholds(2), 4, 1.0, 1e-6, {}),
        (thresholds(2), 3, 2.0, 0.1, {}),
        (ALL, 3, 0.5, 0.1, {}),
        (TWO, 3, 1.0, 0.01, {}),
        (thresholds(3), 2, 1.0, 0.01, {}),
        (points(3), 2, 0.5, 1e-6, {"proper": True}),
        (thresholds(2), 2, 1.0, 0.1, {"noise": 0.1}),
        (thresholds(2), 2, 1.0, 0.01, {"agnostic": True}),
    ],
)
def test_both_bounds_are_those_of_highs(matrix, n, epsilon, delta, how):
    goal, databases, group, cases = parts(matrix, n, **how)
    best = solve(databases, goal, cases, group, math.exp(epsilon), delta)
    found = FirstOrder(databases, goal, group, math.exp(epsilon), delta).solve(cases, 1e-3)
    assert found.lower <= best.upper + 1e-7 and best.upper <= found.upper + 1e-7
    assert found.upper - found.lower <= 1e-3
    first, second = databases.pairs.T
    excess = np.maximum(found.learner[first] - math.exp(epsilon) * found.learner[second], 0).sum(axis=1)
    assert excess.max() <= delta * (1 + 1e-9) + 1e-12
    assert found.variables <= databases.size * goal.sizes[0] and found.constraints <= len(databases.pairs) * len(
        best.learner[0]
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 1e-6), (4.0, 0.1)])
def test_optimum_is_certified_and_its_table_is_private(epsilon, delta):
    found = solved(n=3, epsilon=epsilon, delta=delta)
    exact = optimum(found.goal, 3, Privacy(epsilon, delta), everywhere=False)
    assert found.certificate.bound() == found.value and found.certificate.delta == delta
    assert is_private(found.table, found.databases, epsilon, delta)
    assert exact.achieved - Fraction(1, 500) <= found.achieved <= exact.value
    assert exact.achieved <= found.value <= exact.value + Fraction(1, 500)


def as_pairs(proof):
    """The same flows for the checker of pairs, which shares no code."""
    pairs, flows = [], []
    for members, numbers in proof.of_all_families():
        for a, b, h, family in zip(*np.nonzero(numbers), strict=True):
            pairs.append((members[family, a], members[family, b], h))
            flows.append(int(numbers[a, b, h, family]))
    counts = proof.stencil.databases.counts
    head = proof.goal, proof.rows, proof.neighboring, proof.epsilon, proof.delta, proof.cases, proof.weights
    return Certificate(*head, counts, np.array(pairs), np.array(flows), 1 << proof.bits)


@pytest.mark.parametrize(
    ("matrix", "n", "epsilon", "delta"), [(thresholds(2), 4, 1.0, 0.01), (ALL, 3, 0.5, 0.1), (points(3), 2, 2.0, 1e-6)]
)
def test_the_certificate_of_pairs_proves_as_much(matrix, n, epsilon, delta):
    found = solved(matrix, n, epsilon, delta)
    other = as_pairs(found.certificate).bound()
    assert other <= found.value <= other + Fraction(1, 10**5)


@pytest.mark.parametrize("epsilon", [0.5, 16.0])
def test_large_flows_do_not_overflow(epsilon):
    """The largest that are allowed prove 1 alone, and any others are added up as the checker of pairs does."""
    proof = solved(n=2, epsilon=epsilon).certificate
    generator, shape = np.random.default_rng(0), (4, 4, 4, proof.flows.shape[3])
    huge = FamilyCertificate.of(proof.goal, 2, epsilon, 0.01, proof.cases, proof.weights, 1e9 * generator.random(shape))
    assert huge.flows.min() >= 0 and huge.flows.max() > 2**9 and huge.bound() == 1
    if epsilon == 16.0:
        with pytest.raises(InputError, match="flows"):
            dataclasses.replace(huge, flows=huge.flows + 2**20).bound()
    flows, bits = generator.integers(0, 1 << 20, shape, np.int32) * (proof.flows > 0), 52 if epsilon > 1 else 40
    some = dataclasses.replace(proof, flows=flows, bits=bits)
    other = as_pairs(some).bound()
    assert other <= some.bound() <= other + Fraction(1, 10**5) and other < 1


def test_flows_take_the_step_of_their_definition():
    """The proximal step of delta times the largest flow over nonnegative flows, by its optimality conditions."""
    generator = np.random.default_rng(1)
    form, kinds, h, families = Approximate(1.7, 0.1), 3, 5, 7
    members = generator.random((kinds, h, families)).astype(np.float32)
    flows = np.maximum(generator.normal(size=(kinds, kinds, h, families)), 0).astype(np.float32)
    sigma = generator.random(families).astype(np.float32)
    new = np.asarray(form.step(*map(jnp.asarray, (flows, sigma, members)), None))
    active = 0
    for a in range(kinds):
        assert not new[a, a].any()
        for b in set(range(kinds)) - {a}:
            for family in range(families):
                moved = flows[a, b, :, family] + sigma[family] * (members[a, :, family] - 1.7 * members[b, :, family])
                rest, one = moved - new[a, b, :, family], new[a, b, :, family]
                owed = sigma[family] * 0.1  # the subgradients of the largest flow: laws on those that attain it
                if one.max() > 0:
                    active += 1
                    attained = one > one.max() * (1 - 1e-6)
                    assert rest[attained].sum() == pytest.approx(owed, abs=1e-5)
                    assert np.all(rest[attained] >= -1e-6) and np.abs(rest[~attained & (one > 0)]).max(initial=0) < 1e-6
                    assert np.all(rest[one == 0] <= 1e-6)
                else:
                    assert np.maximum(rest, 0).sum() <= owed + 1e-6
    assert 5 < active < 42
    absent = np.ones((kinds, 1, families), bool)
    absent[1] = False
    some = np.asarray(form.step(*map(jnp.asarray, (flows, sigma, members, absent))))
    assert not some[1].any() and not some[:, 1].any() and np.array_equal(some[0, 2], new[0, 2])


def test_what_members_give_is_the_transpose_of_their_constraints():
    generator = np.random.default_rng(2)
    form, kinds = Approximate(2.5, 0.1), 4
    flows, members = generator.random((kinds, kinds, 3, 2)), generator.random((kinds, 3, 2))
    flows *= ~np.eye(kinds, dtype=bool)[:, :, None, None]
    slack = members[:, None] - 2.5 * members
    assert np.sum(flows * slack) == pytest.approx(np.sum(form.given(flows) * members))
    rows = [np.eye(kinds)[a] - 2.5 * np.eye(kinds)[b] for a in range(kinds) for b in range(kinds) if a != b]
    assert np.linalg.norm(rows, 2) ** 2 == pytest.approx(form.norm(kinds))


@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6])
def test_a_repaired_learner_is_private_whatever_it_is_made_of(delta):
    goal, databases, group, _ = parts(ALL, 4)
    stencil = Stencil(databases, group[:1], goal.sizes[0])
    generator = np.random.default_rng(3)
    for factor in (1.0001, 1.5, 50.0):
        for laws in (generator.random((4, databases.size)) ** 8, np.eye(4)[generator.integers(0, 4, databases.size)].T):
            assert largest_violation(stencil, laws / laws.sum(axis=0), factor) > delta
            fixed = approximate_laws(stencil, laws, factor, delta)
            first, second = databases.pairs.T
            excess = np.maximum(fixed.T[first] - factor * fixed.T[second], 0).sum(axis=1)
            assert excess.max() <= delta + 1e-12 and fixed.sum(axis=0) == pytest.approx(np.ones(databases.size))
            assert approximate_laws(stencil, fixed, factor, delta) == pytest.approx(fixed)


def test_planted_bugs_are_caught():
    found = solved()
    proof = found.certificate
    assert dataclasses.replace(proof, flows=np.roll(proof.flows, 1, axis=2)).bound() > found.value + Fraction(1, 100)
    assert dataclasses.replace(proof, flows=0 * proof.flows).bound() > found.value + Fraction(1, 100)
    assert dataclasses.replace(proof, flows=proof.flows.swapaxes(0, 1)).bound() > found.value + Fraction(1, 100)
    assert dataclasses.replace(proof, delta=0.05).bound() > found.value + Fraction(1, 100)
    assert dataclasses.replace(proof, epsilon=1.2).bound() > found.value + Fraction(1, 100)
    for wrong in (
        {"delta": 0.0},
        {"delta": -0.1},
        {"flows": -proof.flows},
        {"flows": proof.flows[0]},
        {"flows": proof.flows.astype(float)},
        {"bits": 10},
        {"weights": proof.weights[1:]},
    ):
        with pytest.raises(InputError):
            dataclasses.replace(proof, **wrong).bound()
    assert not is_private(found.table[::-1], found.databases, 1.0, 0.01)
    assert not is_private(found.table, found.databases, 1.0, 0.009)


def test_close_databases_have_a_bound_with_delta():
    goal = goal_of(thresholds(2), 0.3)
    values = [relaxed_bound(goal, 4, Privacy(1.0, 0.01), within)[0] for within in (0, 1, 4)]
    exact = optimum(goal, 4, Privacy(1.0, 0.01), everywhere=False)
    assert values[0] > values[1] + Fraction(1, 1000) and values[1] >= values[2] - Fraction(1, 1000)
    assert exact.value - Fraction(1, 10**6) <= values[2] <= exact.value + Fraction(1, 500)


def test_more_constraints_than_fit_are_refused():
    goal = goal_of(thresholds(3), 0.3)
    with pytest.raises(InputError, match="take n ="):
        optimum(goal, 40, Privacy(1.0, 0.01), method="first-order")


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-12), (16.0, 1e-12), (1e-9, 0.999), (16.0, 0.5)])
def test_extreme_budgets(epsilon, delta):
    found = solved(ALL, 2, epsilon, delta)
    exact = optimum(found.goal, 2, Privacy(epsilon, delta), everywhere=False)
    assert is_private(found.table, found.databases, epsilon, delta)
    assert found.achieved <= exact.value and exact.achieved <= found.value <= 1
    assert exact.achieved - Fraction(1, 200) <= found.achieved
