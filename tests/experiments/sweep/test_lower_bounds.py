"""The lower bound of a task: what a class has is found, every argument that applies is used, and results carry it."""

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, exp, inf, log

import numpy as np
import pytest

from dpjax import uniform
from dpjax.attacks.optimum import goal_of, optimum
from dpjax.baselines import ERM
from dpjax.concepts import Domain, Finite, Multiclass, Parities, Points, Thresholds, tree_generators
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.hard_tasks import hard_thresholds, hard_tree
from dpjax.experiments.sweep.lower_bounds import LowerBound, lower_bound, lower_bounds
from dpjax.experiments.sweep.sweep import Search
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN
from dpjax.papers.theorems import search
from dpjax.theory import fingerprinting, generalization, packing

BUDGET, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE


def task(concepts, **rest):
    return Task(concepts, uniform(concepts.domain), **rest)


def names(found):
    return {one.name.split(",")[0].split(" of")[0] for one in found}


@pytest.mark.parametrize(
    ("concepts", "expected"),
    [
        (Finite.of([[0, 1]]), {"one row"}),
        (Finite.of([[0, 1, 0], [1, 0, 1]]), {"one row", "packing"}),  # they agree nowhere
        (Finite.of([[0, 1], [1, 1]]), {"one row", "packing", "an unseen element", "scores"}),
        (Points(Domain(2**64)), {"one row", "packing", "an unseen element"}),
        (Thresholds(Domain(2**40)), {"one row", "packing", "an unseen element", "scores"}),
    ],
    ids=["one", "complements", "two", "points", "thresholds"],
)
def test_what_a_class_has_is_found(concepts, expected):
    assert names(lower_bounds(task(concepts), 3, BUDGET, ACCURACY)) == expected


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("k", [1, 50, 4000])
def test_the_numbers_are_those_of_the_theorems(k):
    bounds = {one.name: one.n for one in lower_bounds(task(Thresholds(Domain(2**20)), noise=0.1), k, BUDGET, ACCURACY)}
    assert bounds["packing, bns:5.2"] == packing.concepts(k, 1.0, 0.1, 0.1, 1e-6)
    assert bounds["agnostic scores, after bns:4.7"] == fingerprinting.agnostic(k, 1.0, 1e-6, 0.1, 0.1)
    scores = fingerprinting.thresholds(k, 1.0, 1e-6, 0.1, 0.1, 2**20)
    assert bounds["scores of thresholds, after bns:4.3"] == scores
    assert lower_bound(task(Thresholds(Domain(2**20)), noise=0.1), k, BUDGET, ACCURACY).n == max(bounds.values())


def test_parities_are_separated():
    found = lower_bound(task(Parities(8)), 5, Privacy(1.0, 0.0), Accuracy(0.2, 0.1))
    assert found.n == packing.parities(8, 5, 1.0, 0.1) and "5.4" in found.name
    other = lower_bound(task(Parities(8)), 5, Privacy(1.0, 0.0), Accuracy(0.3, 0.1))
    assert other.n < found.n  # no two parities are further apart than 1/2


def test_parities_of_any_labels_have_scores_of_uniform_examples():
    bounds = {one.name: one.n for one in lower_bounds(task(Parities(8), noise=0.1), 10**5, BUDGET, ACCURACY)}
    assert bounds["agnostic scores, after bns:4.11"] == fingerprinting.uniform(10**5, 1.0, 1e-6, 0.1, 0.1) > 40
    assert not any("4.7" in name for name in bounds)  # all rows at one element are no uniform examples
    assert "agnostic" not in names(lower_bounds(task(Parities(8)), 10**5, BUDGET, ACCURACY))


def test_packing_of_two_steps_where_rows_are_added_or_removed():
    pure = Privacy(1.0, 0.0)
    one, two = (lower_bound(task(Points(Domain(9))), 100, pure, ACCURACY, neighboring=way).n for way in (REPLACE, ADD))
    assert (one, two) == tuple(packing.concepts(100, epsilon, 0.1, 0.1) for epsilon in (1.0, 2.0))
    found = lower_bounds(task(Points(Domain(9))), 1, Privacy(1.0, 0.4), ACCURACY, neighboring=ADD)
    assert "packing" not in names(found)  # delta (1 + e) > 1


@dataclass(frozen=True)
class Told(Points):
    """Points that tell of a chain and of separated concepts, which they have not."""

    chain = 1000

    def separated(self, alpha):
        return 50.0


def test_own_classes_tell():
    found = {one.name: one.n for one in lower_bounds(task(Told(Domain(4))), 1, Privacy(1.0, 0.0), ACCURACY)}
    assert found["packing, bns:5.1 and bns:5.4"] == packing.separated(50.0, 1, 1.0, 0.1)
    assert found["scores of thresholds, after bns:4.3"] == fingerprinting.thresholds(1, 1.0, 0.0, 0.1, 0.1, 1000)


def test_more_than_two_labels_have_the_trivial_bound():
    assert lower_bounds(task(Multiclass.of([[0, 1], [2, 0]])), 1, BUDGET, ACCURACY) == [LowerBound(1, "one row")]


def test_chains_of_matrices():
    """Thresholds as a matrix, in any order, have the bound of thresholds."""
    shuffled = np.random.default_rng(0).permutation(np.tri(12, dtype=int)[:, ::-1].T)
    found = {one.name: one.n for one in lower_bounds(task(Finite.of(shuffled)), 10**6, BUDGET, ACCURACY)}
    scores = fingerprinting.thresholds(10**6, 1.0, 1e-6, 0.1, 0.1, 12)
    assert found["scores of thresholds, after bns:4.3"] == scores


@pytest.mark.grid
@pytest.mark.parametrize("budget", [(0.5, 0.0), (1.0, 0.0), (2.0, 0.01)])
@pytest.mark.parametrize("matrix", [[[0, 0], [0, 1]], [[0, 1], [1, 0]], [[0, 0], [0, 1], [1, 1]]], ids=str)
def test_no_bound_exceeds_what_the_best_learner_needs(matrix, budget):
    alpha, tried = 0.2, 0
    best = {n: optimum(goal_of(matrix, alpha), n, Privacy(*budget)).everywhere for n in range(1, 6)}
    for beta in (0.3, 0.4, 0.6, 0.7):
        bound = lower_bound(task(Finite.of(matrix)), 1, Privacy(*budget), Accuracy(alpha, beta)).n
        assert all(n >= bound for n, success in best.items() if success >= 1 - beta)
        tried += any(success >= 1 - beta for success in best.values())
    assert tried


@pytest.mark.parametrize(("k", "alpha", "beta"), [(1, 0.3, 0.1), (2, 0.1, 0.4), (3, 0.5, 0.01), (100, 0.2, 0.2)])
def test_an_element_that_is_not_seen(k, alpha, beta):
    """The best learner knows the targets where x is drawn, and guesses otherwise."""
    n = generalization.unseen(k, alpha, beta)
    failure = [(1 - alpha) ** rows * (1 - 0.5**k) for rows in (n - 1, n)]
    assert failure[1] <= beta < failure[0] or (n == 1 and failure[1] <= beta)
    assert generalization.unseen(1, 0.1, 0.6) == 1


def test_rounding_excludes_no_number_of_rows():
    """At the failure probability that n rows have exactly, n rows are possible; a billionth below it they are not."""
    generator = np.random.default_rng(0)
    for _ in range(2000):
        k, n, alpha = int(generator.integers(1, 6)), int(generator.integers(1, 40)), generator.integers(1, 100) / 100
        beta = float((1 - Fraction(str(alpha))) ** n * (1 - Fraction(1, 2**k)))
        assert generalization.unseen(k, alpha, beta) <= n < generalization.unseen(k, alpha, beta * (1 - 1e-9))
    for epsilon in generator.uniform(0.01, 5.0, 300):
        beta = 1 / (1 + exp(epsilon))  # of randomized response
        assert packing.separated(packing.TWO, 1, epsilon, beta) == 1
        assert packing.separated(packing.TWO, 1, epsilon, beta * (1 - 1e-9)) == 2
    bit, budget, beta = task(Finite.of([[0], [1]])), Privacy(0.15), 0.46257015465625045
    best = optimum(goal_of([[0], [1]], 0.1), 1, budget)
    assert float(best.value) == pytest.approx(1 - beta, abs=1e-9)
    assert lower_bound(bit, 1, budget, Accuracy(0.1, beta)).n == 1


def test_packing_of_tiny_deltas():
    """delta_N is computed in logarithms: e^(epsilon N) overflows long before delta_N is 1 for a delta of 1e-320."""
    n = packing.separated(1e5, 1, 1.0, 0.1, 1e-320)
    assert log(0.9) + 320 * log(10) - 1 < n < 320 * log(10) + 2 < packing.separated(1e5, 1, 1.0, 0.1)


def test_a_bound_that_fails_leaves_the_others():
    """At a tiny epsilon packing is beyond 2^62 rows, and the scores are not for more than 2^62 concepts."""
    noisy = task(Thresholds(Domain(64)), noise=0.1)
    found = lower_bounds(noisy, 1, Privacy(1e-20), ACCURACY)
    assert "an unseen element" in names(found)
    assert "packing, bns:5.1 and bns:5.4" not in {one.name for one in found}
    found = lower_bounds(noisy, 2**63, BUDGET, ACCURACY)
    assert {"an unseen element", "packing"} <= names(found) and "scores" not in names(found)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"neighboring": "foo"}, "neighboring: expected a member"),
        ({"k": 0}, "k: expected"),
        ({"task": Thresholds(Domain(8))}, "task: expected Task, got Thresholds; make it with"),
    ],
)
def test_wrong_inputs_are_one_clear_sentence(wrong, message):
    given = {"task": task(Thresholds(Domain(8))), "k": 1, "neighboring": REPLACE} | wrong
    with pytest.raises(InputError, match=message):
        lower_bound(given["task"], given["k"], BUDGET, ACCURACY, neighboring=given["neighboring"])


def test_bounds_of_noisy_tasks_are_about_agnostic_learners():
    """Noise of 0.46 leaves every hypothesis an excess error of at most 0.08: on this task one row may do."""
    quiet, noisy = (lower_bounds(task(Thresholds(Domain(64)), noise=n), 1, BUDGET, ACCURACY) for n in (0.0, 0.46))
    assert all(one.agnostic for one in noisy) and not any(one.agnostic for one in quiet)


def test_packing_of_many_rows_is_a_window():
    """At tiny epsilon rows are too many to list: the bound is never above ln(M) / (alpha epsilon), and near it."""
    for epsilon in (1e-3, 1e-6, 1e-9):
        bound = packing.concepts(1, epsilon, 0.1, 0.1)
        assert 0.5 * log(9) / (0.1 * epsilon) < bound <= ceil(log(9) / (0.1 * epsilon)) + 1000
    with pytest.raises(InputError, match="log_concepts"):
        packing.separated(0.0, 1, 1.0, 0.1)


def test_results_and_lines_have_it(tmp_path):
    learners = {"pure": KLN, "not private": ERM}
    made = {name: kind(Points(Domain(8))) for name, kind in learners.items()}
    study = Study(
        task(Points(Domain(8))),
        made,
        k=2,
        epsilon=4.0,
        search=Search(n_min=20, n_max=64, most_trials=500),
        trials=64,
        points=1,
    )
    below = {line.name: line.below() for line in study.curves}
    assert below["not private"] is None
    assert below["pure"].n == packing.concepts(2, 4.0, 0.1, 0.1, 1e-6)  # the direct sum composes with delta
    result = study.run(tmp_path, quiet=True)
    for star in result.data["n_star"]:
        own = below[star["learner"]]
        assert (star["below"], star["below_by"]) == ((None, None) if own is None else (own.n, own.name))
    again = study.run(tmp_path, quiet=True)
    assert again.data["n_star"] == result.data["n_star"]


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize(("epsilon", "delta"), list(product((0.0, 1e-6, 100.0, 1e4), (0.0, 1e-12, 0.5))))
def test_any_budget_has_a_bound(epsilon, delta):
    if epsilon == 0.0:
        with pytest.raises(InputError, match="epsilon"):
            lower_bound(task(Thresholds(Domain(8))), 1, Privacy(epsilon, delta), ACCURACY)
    else:
        for way in Neighboring:
            found = lower_bound(task(Thresholds(Domain(8))), 3, Privacy(epsilon, delta), ACCURACY, neighboring=way)
            assert 1 <= found.n < inf and str(found).startswith(f"{found.n} (")


def test_a_hard_task_with_one_target_has_the_bounds_of_its_class():
    tree, line = tree_generators.prefixes(2, 4), Thresholds(Domain(2**20))
    for hard in (hard_tree(tree, 0.2), hard_thresholds(line, 0.2)):
        found = lower_bound(hard, 1, BUDGET, ACCURACY)
        assert found == lower_bound(task(hard.concepts), 1, BUDGET, ACCURACY) and found.n > 1


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("concepts", [Thresholds(Domain(2**20)), Parities(8)], ids=["thresholds", "parities"])
def test_theorems_are_named_by_their_keys_in_the_index(concepts, noise):
    found = [one.name for one in lower_bounds(task(concepts, noise=noise), 4000, BUDGET, ACCURACY)]
    keys = [key for name in found for key in re.findall(r"\b\w+:[\w.-]+", name)]
    assert keys and all(search(key).key == key for key in keys)
    assert not [name for name in found if "Theorem" in name or "Remark" in name]
