"""What plans spend at random budgets, and how many programs a sweep of epsilon has: learners of points and lines."""

from dataclasses import dataclass
from functools import cache

import chex
import jax
import numpy as np
import pytest

from dpjax.concepts import Domain, Parities, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.plans import down, same_plan
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import KLN, EmpiricalLearner, Independent, ParityLearner, PointLearner, ThresholdMedian, database
from dpjax.theory import parities

DOMAIN, ACCURACY = Domain(2**40), Accuracy(0.1, 0.1)
LINE, POINTS = KLN(Thresholds(DOMAIN)), PointLearner(Points(DOMAIN))
RESAMPLE = EmpiricalLearner(KLN(Thresholds(Domain(2**10))))


@dataclass(frozen=True)
class Case:
    """A learner; whether all of its delta is spent at every budget ("all"), at some ("some") or none ("none")."""

    learner: object
    delta: str


CASES = {
    "KLN": Case(LINE, "none"),
    "ThresholdMedian": Case(ThresholdMedian(Thresholds(DOMAIN)), "none"),
    "PointLearner": Case(POINTS, "all"),
    "ParityLearner": Case(ParityLearner(Parities(20)), "all"),
    "ParityLearner, given sizes": Case(ParityLearner(Parities(20), 40, 25), "all"),
    "Independent KLN, basic, 2": Case(Independent(LINE, 2), "none"),
    "Independent KLN, basic, 50": Case(Independent(LINE, 50), "none"),
    "Independent KLN, advanced, 2": Case(Independent(LINE, 2, "advanced"), "none"),  # adding up is better at each
    "Independent KLN, advanced, 50": Case(Independent(LINE, 50, "advanced"), "some"),
    "Independent KLN, optimal, 2": Case(Independent(LINE, 2, "optimal"), "some"),
    "Independent KLN, optimal, 50": Case(Independent(LINE, 50, "optimal"), "some"),
    "Independent KLN, zcdp, 2": Case(Independent(LINE, 2, "zcdp"), "some"),
    "Independent KLN, zcdp, 50": Case(Independent(LINE, 50, "zcdp"), "some"),
    **{
        f"Independent PointLearner, {name}, {k}": Case(Independent(POINTS, k, name), "all")
        for name in ("basic", "advanced", "optimal")
        for k in (2, 50)
    },
    "EmpiricalLearner": Case(RESAMPLE, "none"),
    "EmpiricalLearner, given draws": Case(EmpiricalLearner(RESAMPLE.learner, 300), "none"),
    "EmpiricalLearner of Independent, basic": Case(EmpiricalLearner(Independent(LINE, 4)), "none"),
    "EmpiricalLearner of Independent, optimal": Case(EmpiricalLearner(Independent(LINE, 4, "optimal")), "some"),
    "Independent EmpiricalLearner": Case(Independent(RESAMPLE, 4, "optimal"), "some"),
}
LONG = {"EmpiricalLearner of Independent, optimal"}


@cache
def budgets(count):
    """epsilon in [1e-3, 20] and delta in [1e-12, 1e-2], uniform on a logarithmic scale, and the corners."""
    generator = np.random.default_rng(7)
    drawn = [(10 ** generator.uniform(-3, np.log10(20)), 10 ** generator.uniform(-12, -2)) for _ in range(count - 4)]
    return [(float(e), float(d)) for e, d in drawn] + [(e, d) for e in (1e-3, 20.0) for d in (1e-12, 1e-2)]


@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in CASES]
)
def test_no_budget_is_exceeded_and_hardly_anything_is_left(name, count):
    """At random budgets, none of which is refused."""
    case, refused, with_delta = CASES[name], [], 0
    for epsilon, delta in budgets(count):
        try:
            plan = case.learner.plan(Privacy(epsilon, delta), ACCURACY)
        except InputError:
            refused.append((epsilon, delta))
            continue
        whole = case.learner.guarantee(plan)
        at = (epsilon, delta, whole.epsilon / epsilon, whole.delta / delta)
        assert 0.999 * epsilon <= whole.epsilon <= epsilon and whole.delta <= delta, at
        assert case.delta != "none" or whole.delta == 0, at
        assert case.delta != "all" or whole.delta >= 0.999 * delta, at
        assert whole.delta == 0 or whole.delta >= 0.999 * delta, at
        with_delta += whole.delta > 0
    assert not refused
    assert (case.delta == "none") == (with_delta == 0)


def test_a_budget_is_never_rounded_up():
    """0.1 is 0.1000000015 as the nearest float32."""
    assert float(np.float32(0.1)) > 0.1
    for learner in (LINE, ThresholdMedian(Thresholds(DOMAIN)), ParityLearner(Parities(20), 40, 25)):
        plan = learner.plan(Privacy(0.1, 1e-6), ACCURACY)
        assert learner.guarantee(plan).epsilon == float(down(0.1)) < 0.1


@pytest.mark.parametrize("name", ["KLN", "PointLearner", "ThresholdMedian"])
def test_one_program_for_all_budgets_and_accuracies(name):
    learner = CASES[name].learner
    run = jax.jit(chex.assert_max_traces(learner.learn, n=1))
    sample = database(DOMAIN, [1, 2, 3], [1, 1, 0], 16)
    for i, epsilon in enumerate(np.geomspace(0.25, 4, 8).tolist()):
        plan = learner.plan(Privacy(epsilon, 10.0 ** (-3 - i)), Accuracy(0.02 * (i + 1), 0.1 * (i + 1)), i + 1)
        jax.eval_shape(run, jax.random.key(0), sample, plan)


@pytest.mark.parametrize("name", CASES)
def test_a_plan_depends_on_values_alone(name):
    """NumPy scalars of the same values give the same plan to the last bit, and its leaves are scalars of 32 bits."""
    learner = CASES[name].learner
    one = learner.plan(Privacy(0.75, 2.0**-20), Accuracy(0.25, 0.125))
    other = learner.plan(Privacy(np.float32(0.75), np.float32(2.0**-20)), Accuracy(np.float32(0.25), np.float32(0.125)))
    assert same_plan(one, other)
    for leaf in jax.tree.leaves(one):
        assert np.asarray(leaf).dtype in (np.float32, np.int32) and np.shape(leaf) == ()


def test_planned_sizes_are_few_and_hold_the_planned_numbers():
    """Over a factor of 16 in epsilon: at most four, wherever the sweep begins."""
    learner, resample = ParityLearner(Parities(20)), EmpiricalLearner(KLN(Points(Domain(16))))
    for begin in (0.02, 0.1, 0.37, 1.0):
        for one in (learner, resample):
            sweep = np.geomspace(begin, 16 * begin, 8).tolist()
            plans = [one.plan(Privacy(epsilon, 1e-6), ACCURACY) for epsilon in sweep]
            assert len({jax.tree.structure(plan) for plan in plans}) <= 4
            for epsilon, plan in zip(sweep, plans, strict=True):
                if one is learner:
                    m, rows = parities.parity_learner(20, epsilon, 1e-6, 0.1)
                    assert (int(plan.subsamples), int(plan.rows)) == (m, rows)
                    assert m <= plan.most_subsamples <= 2.6 * m + 1 and rows <= plan.most_rows
                else:
                    assert int(plan.draws) <= plan.most <= 2.6 * int(plan.draws) + 1
