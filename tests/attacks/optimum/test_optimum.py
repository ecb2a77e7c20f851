"""The best success of private learners: closed forms, an independent program over sequences, certificates, bounds."""

import dataclasses
import itertools
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.optimize import linprog

from dpjax.attacks.optimum import exact_success, goal_of, optimum
from dpjax.attacks.optimum.best import success_of
from dpjax.attacks.optimum.certificate import exponential
from dpjax.attacks.optimum.private_table import TOTAL, is_private
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.dimensions.families import points, thresholds
from dpjax.learners import KLN, EmpiricalLearner, GenericLearner
from dpjax.sanitizers import BLR

ADDED = Neighboring.ADD_OR_REMOVE_ONE
BIT = [[0], [1]]  # both functions on one element


def close(found, expected, off=1e-7):
    """Between achieved and value, which are this close."""
    assert found.achieved <= found.value and float(found.achieved) == pytest.approx(expected, abs=off)
    assert float(found.value) == pytest.approx(expected, abs=off)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 4.0])
def test_one_row_of_one_element_is_randomized_response(epsilon):
    goal = goal_of(BIT, 0.3)
    close(optimum(goal, 1, Privacy(epsilon)), exp(epsilon) / (1 + exp(epsilon)), 1e-6)
    close(optimum(goal, 1, Privacy(epsilon, 0.01)), (exp(epsilon) + 0.01) / (1 + exp(epsilon)), 1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_three_databases_in_a_line(epsilon):
    """Two rows, or none and one: the database in between answers 1/2, so that an end has 1 - e^-epsilon / 2."""
    goal = goal_of(BIT, 0.3)
    close(optimum(goal, 2, Privacy(epsilon)), 1 - exp(-epsilon) / 2)
    close(optimum(goal, 1, Privacy(epsilon), neighboring=ADDED), 1 - exp(-epsilon) / 2)


def test_without_a_budget_all_concepts_are_equally_likely():
    close(optimum(goal_of(thresholds(2), 0.3), 3, Privacy(1e-9)), 1 / 3, 1e-4)
    close(optimum(goal_of(points(3), 0.3, proper=True), 2, Privacy(1e-9)), 1 / 3, 1e-4)


def sequences(table, n, epsilon, delta, alpha, grid):
    """The same program over all sequences of rows, without multisets, symmetries, or our code."""
    m = len(table[0])
    hypotheses = list(itertools.product((0, 1), repeat=m))
    rows = list(itertools.product(itertools.product(range(m), (0, 1)), repeat=n))
    place = {row: i * len(hypotheses) for i, row in enumerate(rows)}
    pairs = [(a, b) for a in rows for b in rows if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    h, slack = len(hypotheses), len(pairs) * len(hypotheses) * (delta > 0)
    size, matrix, bound = len(rows) * h + 1 + slack, [], []
    for number, (a, b) in enumerate(pairs):
        for j in range(h):
            line = np.zeros(size)
            line[place[a] + j], line[place[b] + j] = 1, -exp(epsilon)
            if slack:
                line[len(rows) * h + 1 + number * h + j] = -1
            matrix.append(line)
            bound.append(0)
        if slack:
            line = np.zeros(size)
            line[len(rows) * h + 1 + number * h : len(rows) * h + 1 + (number + 1) * h] = 1
            matrix.append(line)
            bound.append(delta)
    for masses in itertools.product(range(grid + 1), repeat=m):
        if sum(masses) != grid:
            continue
        for concept in table:
            line = np.zeros(size)
            line[len(rows) * h] = 1
            for row in rows:
                chance = np.prod([masses[x] / grid * (concept[x] == y) for x, y in row])
                for j, one in enumerate(hypotheses):
                    error = sum(mass for mass, a, b in zip(masses, one, concept, strict=True) if a != b) / grid
                    line[place[row] + j] -= chance * (error <= alpha)
            matrix.append(line)
            bound.append(0)
    equal = np.zeros((len(rows), size))
    for row, start in place.items():
        equal[start // h, start : start + h] = 1 + 0 * len(row)
    cost = np.zeros(size)
    cost[len(rows) * h] = -1
    return -linprog(cost, np.array(matrix), bound, equal, np.ones(len(rows)), method="highs").fun


@pytest.mark.parametrize(
    ("matrix", "n", "delta"),
    [
        (thresholds(2), 1, 0.0),
        (thresholds(2), 2, 0.0),
        (thresholds(2), 2, 0.05),
        (points(2), 2, 0.0),
        ([[0, 0], [1, 1]], 2, 0.0),
        (points(3), 1, 0.02),
    ],
)
def test_it_is_the_program_over_sequences(matrix, n, delta):
    table = [tuple(map(int, row)) for row in matrix]
    found = optimum(goal_of(matrix, 0.3), n, Privacy(0.7, delta), grid=3)
    close(found, sequences(table, n, 0.7, delta, 0.3, 3))


@pytest.mark.parametrize(
    ("n", "best", "kln"),
    [
        (4, 0.7273, 0.5479),
        (8, 0.8861, 0.7467),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 0.5785, 0.4371), (6, 0.8236, 0.6542))),
    ],
)
def test_thresholds_on_two_points(n, best, kln):
    found = optimum(goal_of(thresholds(2), 0.3), n, Privacy(1.0), everywhere=False)
    close(found, best, 5e-5)
    learner = KLN(Finite.of(thresholds(2)))
    plan = learner.plan(found.privacy, Accuracy(0.3, 0.1))
    own = exact_success(learner, plan, found.goal, found.databases, found.cases)
    assert own == pytest.approx(kln, abs=5e-5) and own < found.value


def test_no_learner_reaches_nine_tenths_before_nine_rows():
    goal = goal_of(thresholds(2), 0.3)
    assert optimum(goal, 8, Privacy(1.0), everywhere=False).value < Fraction(9, 10)
    assert optimum(goal, 9, Privacy(1.0), everywhere=False).achieved > Fraction(9, 10)


def test_three_points():
    found = optimum(goal_of(thresholds(3), 0.3), 6, Privacy(1.0), everywhere=False)
    close(found, 0.8221, 5e-5)
    assert found.symmetries == 2 and found.seconds < 20 and found.databases.pairs.shape[0] * found.goal.sizes[0] > 6e4


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"proper": True},
        {"noise": 0.1},
        {"k": 2, "n": 2},
        {"agnostic": True, "n": 2, "rounds": 3},
        {"delta": 0.01, "n": 3},
        {"neighboring": ADDED, "n": 3},
    ],
    ids=str,
)
def test_rounds_close_the_gap_over_all_distributions(how):
    how = {"n": 4, "rounds": 20, "delta": 0.0, "neighboring": Neighboring.REPLACE_ONE} | how
    n, rounds, delta, neighboring = (how.pop(name) for name in ("n", "rounds", "delta", "neighboring"))
    goal = goal_of(thresholds(2), 0.3, **how)
    found = optimum(goal, n, Privacy(1.0, delta), neighboring=neighboring, rounds=rounds)
    start = optimum(goal, n, Privacy(1.0, delta), neighboring=neighboring)
    assert start.everywhere <= found.everywhere <= found.achieved <= found.value <= start.value
    assert rounds < 20 or float(found.value) - found.everywhere <= 2e-3
    generator = np.random.default_rng(0)  # no distribution is worse than the bound for all of them
    targets = [None] if goal.agnostic else [tuple(map(int, one)) for one in goal.targets]
    for masses in generator.dirichlet(np.full(goal.parts, 0.5), 40):
        case = goal.case(targets[generator.integers(len(targets))], [int(1000 * mass) for mass in masses])
        assert success_of(found.table, found.databases, case) >= found.everywhere


def test_symmetries_change_nothing(monkeypatch):
    goal, budget = goal_of(points(3), 0.3), Privacy(1.0)
    found = optimum(goal, 3, budget, everywhere=False)
    identity = [one for one in symmetries(goal) if list(one.cells) == list(range(goal.cells))]
    assert len(identity) == 1 and found.symmetries == 6
    monkeypatch.setattr("dpjax.attacks.optimum.best.symmetries", lambda goal: identity)
    plain = optimum(goal, 3, budget, everywhere=False)
    assert plain.variables > 3 * found.variables
    close(plain, float(found.value))


def test_the_certificate_proves_the_bound():
    found = optimum(goal_of(thresholds(2), 0.3), 3, Privacy(1.0, 0.01), everywhere=False)
    proof = found.certificate
    assert proof.bound() == found.value and found.value - found.achieved < Fraction(1, 10**6)
    generator = np.random.default_rng(1)
    for _ in range(20):  # any multipliers prove a bound that the learner keeps
        flows = generator.integers(0, 1 << 50, len(proof.flows)) * generator.integers(0, 2, len(proof.flows))
        weights = tuple(generator.integers(0, 1 << 40, len(proof.weights)).tolist())
        assert dataclasses.replace(proof, flows=flows, weights=weights).bound() >= found.achieved
    assert dataclasses.replace(proof, epsilon=2.0).bound() > found.value
    assert dataclasses.replace(proof, delta=0.02).bound() > found.value


@pytest.mark.parametrize("neighboring", Neighboring)
def test_repeated_rows_of_a_certificate_are_added(neighboring):
    """64 rows with 1/64 of the flow each are one row with all of it, whichever copy of a database they name."""
    goal = goal_of(thresholds(2), 0.3)
    found = optimum(goal, 3, Privacy(1.0, 0.1), neighboring=neighboring, everywhere=False)
    proof = dataclasses.replace(found.certificate, flows=found.certificate.flows // 64 * 64)
    parts = dataclasses.replace(proof, pairs=np.repeat(proof.pairs, 64, 0), flows=np.repeat(proof.flows // 64, 64))
    assert parts.bound() == proof.bound() >= found.achieved
    copies = np.tile(proof.counts, (64, 1))
    moved = parts.pairs + len(proof.counts) * np.tile(np.arange(64), len(proof.pairs))[:, None] * [1, 1, 0]
    assert dataclasses.replace(parts, counts=copies, pairs=moved).bound() == proof.bound()


def changed(array, *, to, at=0):
    copy = np.array(array)
    copy[at] = to
    return copy


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda proof: {"flows": changed(proof.flows, to=-1)}, "numbers >= 0 of pairs of neighbors"),
        (lambda proof: {"pairs": changed(proof.pairs, to=(0, len(proof.counts) - 1, 0))}, "pairs of neighbors"),
        (
            lambda proof: {"pairs": changed(proof.pairs, to=(0, 1, 4))},
            "10 databases and 4 hypotheses, got the pair 0, 1",
        ),
        (lambda proof: {"pairs": changed(proof.pairs, to=(0, 1, -1))}, "with hypothesis -1"),
        (lambda proof: {"pairs": changed(proof.pairs, to=(0, 10, 0))}, "the pair 0, 10"),
        (lambda proof: {"pairs": changed(proof.pairs, to=(-1, 1, 0))}, "the pair -1, 1"),
        (lambda proof: {"pairs": proof.pairs[:, :2]}, "rows of 3 numbers in pairs"),
        (lambda proof: {"counts": proof.counts[:, :3]}, "rows of 4 numbers in counts"),
        (lambda proof: {"flows": proof.flows[:-1]}, "a flow for each row of pairs"),
        (lambda proof: {"flows": proof.flows / 2}, "whole numbers in flows"),
        (lambda proof: {"weights": (0,) * len(proof.weights)}, "not all 0"),
        (lambda proof: {"weights": (-1, *proof.weights[1:])}, "weights >= 0"),
        (lambda proof: {"weights": (0.5, *proof.weights[1:])}, "whole numbers in weights"),
        (lambda proof: {"weights": proof.weights[:-1]}, "weights >= 0 of all cases"),
        (lambda proof: {"scale": -1}, "scale: expected"),
        (lambda proof: {"scale": 0}, "scale: expected"),
        (lambda proof: {"scale": 1.0}, "scale: expected"),
        (lambda proof: {"epsilon": -1.0}, "epsilon: expected"),
        (lambda proof: {"epsilon": 1e308}, "epsilon: expected at most 16"),
        (lambda proof: {"delta": -1.0}, "delta: expected"),
        (lambda proof: {"rows": 0}, "rows: expected"),
        (lambda proof: {"neighboring": "both"}, "neighboring: expected"),
        (lambda proof: {"cases": [_with(proof.cases[0], good=(False,) * 4)] * len(proof.cases)}, "cases of the goal"),
        (lambda proof: {"cases": [_with(proof.cases[0], masses=(1, 0, 0, 0))] * len(proof.cases)}, "cases of the goal"),
        (lambda proof: {"cases": [_with(proof.cases[0], target=None)] * len(proof.cases)}, "target: expected 1 of 3"),
        (lambda proof: {"cases": [_with(proof.cases[0], target=(-1,))] * len(proof.cases)}, "target: expected 1 of 3"),
        (lambda proof: {"cases": [_with(proof.cases[0], elements=(5, -1))] * len(proof.cases)}, "2 whole masses"),
        (lambda proof: {"goal": goal_of(thresholds(2), 0.6)}, "cases of the goal"),
    ],
)
def test_certificates_that_prove_nothing_are_refused(wrong, message):
    proof = optimum(goal_of(thresholds(2), 0.3), 2, Privacy(1.0), everywhere=False).certificate
    with pytest.raises(InputError, match=message):
        dataclasses.replace(proof, **wrong(proof)).bound()


_with = dataclasses.replace


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 1.0, 2.0, 16.0])
def test_rational_bounds_of_the_exponential(epsilon):
    import mpmath

    with mpmath.workdps(80):
        exact = mpmath.exp(mpmath.mpf(epsilon))
        low, high = (exponential(epsilon, up) for up in (False, True))
        assert mpmath.mpf(low.numerator) / low.denominator < exact < mpmath.mpf(high.numerator) / high.denominator
        assert high - low < Fraction(1, 1 << 100)


def test_tables_are_private_to_the_last_weight():
    found = optimum(goal_of(thresholds(2), 0.3), 2, Privacy(1.0), everywhere=False)
    table, databases = found.table.astype(np.int64), found.databases
    assert is_private(table, databases, 1.0, 0.0) and np.all(table.sum(axis=1) == TOTAL)
    assert not is_private(table, databases, 0.99, 0.0)
    ratios = table[databases.pairs[:, 0]] / np.maximum(table[databases.pairs[:, 1]], 1)
    one, _ = databases.pairs[ratios.max(axis=1).argmax()]
    most = ratios.max(axis=0).argmax()
    broken = table.copy()
    broken[one, most] += TOTAL // 10**6
    broken[one, (most + 1) % 4] -= TOTAL // 10**6
    assert not is_private(broken, databases, 1.0, 0.0) and is_private(broken, databases, 1.0, 1e-5)


@pytest.mark.parametrize(
    ("matrix", "budget"),
    [
        (thresholds(2), (0.5, 0.0)),
        (points(2), (2.0, 1e-2)),
        pytest.param(points(3), (2.0, 1e-2), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_no_learner_exceeds_the_bound(matrix, budget):
    concepts = Finite.of(matrix)
    found = optimum(goal_of(matrix, 0.3), 3, Privacy(*budget), everywhere=False)
    blr = GenericLearner(concepts, 1, BLR(concepts.xor(), 2))
    for learner in (KLN(concepts), EmpiricalLearner(KLN(concepts), 2), blr):
        plan = learner.plan(found.privacy, Accuracy(0.3, 0.1), 3)
        assert exact_success(learner, plan, found.goal, found.databases, found.cases) <= found.value


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n": 0}, "n: expected a whole number >= 1"),
        ({"n": 100}, "take n = 28 or less"),
        ({"privacy": Privacy(50.0)}, "epsilon: expected at most 16"),
        ({"grid": 0}, "grid: expected a whole number"),
        ({"rounds": -1}, "rounds: expected a whole number"),
        ({"grid": 10**6}, "take a coarser grid"),
        ({"distributions": [[1, 2, 3]]}, "distributions: expected 2 whole masses"),
        ({"distributions": [[0, 0]]}, "not all 0"),
        ({"distributions": [[0.5, 0.5]]}, "2 whole masses"),
        ({"privacy": 1.0}, "privacy: expected Privacy, got 1.0"),
        ({"goal": [[0], [1]]}, "goal: expected Goal, got list"),
        ({"neighboring": "replace-one"}, "neighboring: expected a member"),
    ],
)
def test_wrong_inputs_are_one_clear_sentence(how, message):
    given = {"goal": goal_of(thresholds(2), 0.3), "n": 2, "privacy": Privacy(1.0)} | how
    with pytest.raises(InputError, match=message):
        optimum(given.pop("goal"), given.pop("n"), given.pop("privacy"), **given)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"k": 0}, "k: expected"),
        ({"noise": 0.5}, r"noise: expected a number in \[0, 0.5\)"),
        ({"agnostic": True, "noise": 0.1}, "noise: expected 0 in the agnostic setting"),
        ({"concepts": [[2]]}, "row 0, column 0: expected 0 or 1"),
    ],
)
def test_goals_that_make_no_sense(how, message):
    given = {"concepts": thresholds(2), "alpha": 0.3} | how
    with pytest.raises(InputError, match=message):
        goal_of(given.pop("concepts"), given.pop("alpha"), **given)
