"""Plans of private medians: the proved bounds recomputed from the stored integers, and what privacy rests on."""

import math
import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, laplace, nbinom

from dpjax.core.checks import InputError
from dpjax.core.plans import same_plan
from dpjax.mechanisms.median.plan_majority import plan_majority
from dpjax.mechanisms.median.plan_recprefix import pairs_tail, plan_recprefix
from dpjax.mechanisms.median.plan_rsc import plan_rsc
from dpjax.mechanisms.median.plan_search import on_grid, rank_margin, soft_max, spread
from dpjax.mechanisms.median.plan_treelog import plan_treelog, stability_threshold
from dpjax.mechanisms.median.plans import NAMES, RACED, plan_auto, plan_exponential, plan_for
from dpjax.mechanisms.median.treelog import passes_unstable, unstable_from
from dpjax.mechanisms.median.treelog_rsc import two_laplace_tail

FALSE_ALARM = 1e-9
BITS = (16, 32, 64, 128, 256, 1024)
PLANNERS = (plan_recprefix, plan_treelog, plan_rsc)
HARD = [
    (1, 1.0, 1e-6, 0.1, 1),
    (64, 1.0, 1e-6, 0.1, 1),
    (64, 1.0, 1e-6, 0.1, 2),
    (2**20, 0.01, 1e-12, 1e-6, 1),
    (3, 20.0, 0.1, 0.5, 3),
    (64, 20.0, 0.1, 0.5, 1),
    (1024, 0.2, 1e-9, 0.01, 4),
    (7, 1.0, 0.9, 0.9, 2),
]


@pytest.mark.parametrize(
    ("planner", "most"),
    [
        (plan_recprefix, (348, 362, 374, 388, 400, 424)),
        (plan_treelog, (390, 406, 406, 414, 422, 438)),
        (plan_rsc, (5901, 5930, 5958, 5987, 6013, 6067)),
    ],
)
def test_no_more_records_than_the_plain_calibration(planner, most):
    """``most``: every step's failure beta / (3 L + 1), margins and thresholds from separate tail bounds."""
    found = [planner(bits, 1.0, 1e-6, 0.1).required() for bits in BITS]
    assert all(few <= many for few, many in zip(found, most, strict=True)), found
    assert found == sorted(found)


def test_exponential_table():
    assert [plan_exponential(bits, 1.0, 0.1).required() for bits in BITS] == [54, 98, 187, 365, 720, 2849]
    assert plan_exponential(2**20, 1.0, 0.1).failure <= 0.1
    assert plan_exponential(64, 1.0, 0.1, size=65).required() == math.ceil(4 * math.log(650))
    assert plan_exponential(64, 1.0, slack=math.log(10)).required() == 187
    assert plan_exponential(64, 1.0, 0.1).required(1 / 3) == 281  # 1.5 x 187


def null(rate, score, delta):
    """No answer of the choosing mechanism, its null candidate written out."""
    weight = math.exp(rate) / min(delta, math.expm1(rate))
    return weight / (weight + np.exp(np.minimum(rate * score, 700.0)))


def bad(others, rate, gap):
    """``others`` alternatives, each at least ``gap`` below the best one; an exponential mechanism runs a bit below."""
    return others / (others + math.exp(min(rate * (1 - 2**-14) * (1 - 2**-22) * gap, 700.0)))


@pytest.mark.parametrize("case", HARD)
def test_failure_of_recprefix_from_its_integers(case):
    plan = plan_recprefix(*case)
    epsilon, delta = plan.epsilon, plan.delta
    failure = bad(plan.base_size, plan.base * epsilon / 2, plan.base_gap)
    need = 2 * plan.base_gap - 1
    for step in reversed(plan.steps):
        records = 2 * (need + step.margin - 1)
        rate, mean = step.prefix * epsilon / 2, (step.count - 2) / 2
        tails, product = [1.0], 1.0
        for i in range(min(step.margin, records // 2, 20_000)):
            product *= mean * (records - 2 * i) / ((records - 1 - 2 * i) * (step.margin - i))
            tails.append(product)
            if product == 0 or product > 1e3:
                break
        failure += min(tails) if step.count > 2 else 0.0
        failure += null(rate, step.count, step.delta * delta) + bad(2, step.final * epsilon / 2, step.gap)
        need = records + 2 * (step.gap - 1)
    assert need == plan.interior
    assert failure == pytest.approx(plan.failure, rel=1e-9)
    assert plan.failure <= plan.beta


@pytest.mark.grid
@pytest.mark.parametrize("case", HARD)
def test_failure_of_treelog_from_its_integers(case):
    plan = plan_treelog(*case)
    epsilon, delta = plan.epsilon, plan.delta
    failure = bad(plan.base_size, plan.base * epsilon / 2, plan.base_gap)
    records = 2 * plan.base_gap - 1
    for step in reversed(plan.steps):
        passed = failure + null(step.prefix * epsilon / 2, step.deepest, step.prefix_delta * delta)
        passed += bad(2, step.final * epsilon / 2, step.gap)
        threshold = stability_threshold(step.deepest, step.test * epsilon, step.test_delta * delta)
        assert 0 <= threshold <= step.deepest // 2 - 1 and step.deepest >= 4 and step.gap >= 1
        gammas = np.arange(4 * step.deepest)
        fails = laplace.sf(threshold - gammas, scale=1 / (step.test * epsilon))
        silent = null(step.split * epsilon / 2, gammas, step.split_delta * delta)
        failure = float(np.max(fails * silent + (1 - fails) * passed))
        records += step.deepest + 2 * (step.gap - 1)
    assert records == plan.interior
    assert failure <= plan.failure * (1 + 1e-9)
    assert plan.failure <= min(plan.beta, 1.1 * failure)  # blocks of light weights cost little


@pytest.mark.grid
@pytest.mark.parametrize("case", HARD)
def test_failure_of_rsc_from_its_integers(case):
    plan = plan_rsc(*case)
    failure = bad(plan.base_size, plan.whole, plan.base_gap)
    failure += nbinom.sf(plan.spare, 3 * plan.levels, -math.expm1(-plan.rate))
    records = 2 * plan.base_gap - 1 + plan.spare
    for step in plan.steps:
        gammas = np.arange(4 * step.deepest)
        fails = two_laplace_tail((step.threshold - gammas) * plan.test / 2)
        silent = null(plan.whole, gammas, plan.whole_delta)
        failure += float(np.max(fails * silent))
        failure += null(plan.rate, step.deepest, plan.part_delta) + bad(2, plan.rate, step.gap)
        records += step.deepest + 2 * step.gap
        assert 0 <= step.threshold <= step.deepest // 2 - 1 and step.deepest >= 4 and step.gap >= 1
    assert records == plan.interior
    assert failure <= plan.failure * (1 + 1e-9)
    assert plan.failure <= min(plan.beta, 1.05 * failure)


@pytest.mark.parametrize("case", HARD)
def test_budgets_add_up_exactly(case):
    """Sums of fractions, in exact arithmetic, so that no traced budget is exceeded."""
    plan = plan_recprefix(*case)
    assert sum(Fraction(s.prefix) + Fraction(s.final) for s in plan.steps) + Fraction(plan.base) == 1
    assert float(sum(Fraction(s.delta) for s in plan.steps)) == 1
    plan = plan_treelog(*case)
    below, below_delta = Fraction(plan.base), Fraction(0)
    for step in reversed(plan.steps):
        below += Fraction(step.prefix) + Fraction(step.final)
        below_delta += Fraction(step.prefix_delta)
        assert Fraction(step.split) == below and Fraction(step.split_delta) == below_delta
        below += Fraction(step.test)
        below_delta += Fraction(step.test_delta)
    assert below == 1 and below_delta == 1
    for share in (plan.base, *(step.test for step in plan.steps)):
        assert float(np.float32(share)) == share > 0


@pytest.mark.parametrize("case", [*HARD, (64, 100.0, 0.5, 0.5, 2)])
def test_rsc_stays_within_its_budget(case):
    plan = plan_rsc(*case)
    whole = plan.plan().guarantee()
    assert whole.epsilon <= plan.epsilon and whole.delta <= plan.delta
    assert whole.epsilon >= 0.999 * plan.epsilon
    for step in plan.steps:
        pass_unstable = two_laplace_tail((unstable_from(step.deepest) - step.threshold) * plan.test / 2)
        assert pass_unstable <= plan.test_delta / plan.levels * (1 + 1e-9)
    assert plan.levels * two_laplace_tail(float(plan.plan().reserve)) <= plan.test_delta
    assert "slices" in str(whole)


def test_unstable_data_hardly_pass():
    for deepest in range(2, 60):
        assert all((2 * gamma <= deepest - 4) == (gamma < unstable_from(deepest)) for gamma in range(40))
        for epsilon in (0.01, 0.3, 5.0):
            for delta in (1e-12, 1e-3, 0.3, 0.5, 0.8):
                threshold = stability_threshold(deepest, epsilon, delta)
                passes = laplace.cdf(threshold - unstable_from(deepest), scale=1 / epsilon)
                assert passes <= delta * (1 + 1e-9)
                assert passes == pytest.approx(passes_unstable((unstable_from(deepest) - threshold) * epsilon))
                assert delta >= 0.5 or passes >= delta * (1 - 1e-9)


def test_two_laplace_tail_is_a_convolution():
    for value in (-3.0, -0.5, 0.0, 0.7, 4.0):
        exact = quad(lambda x, v=value: laplace.pdf(x) * laplace.sf(v + x), -40, 40, points=[0, -value], limit=400)[0]
        assert two_laplace_tail(np.float64(value)) == pytest.approx(exact, rel=1e-8)


@cache
def agreeing(sizes):
    """How many of the perfect matchings (one record may stay alone for odd sums) have 0, 1, .. agreeing pairs."""
    sizes = tuple(sorted((size for size in sizes if size), reverse=True))
    total = sum(sizes)
    if total <= 1:
        return (1,)
    counts = [0] * (total // 2 + 1)

    def add(ways, rest, extra):
        for agree, number in enumerate(agreeing(tuple(sorted(rest, reverse=True)))):
            counts[agree + extra] += ways * number

    rest = [sizes[0] - 1, *sizes[1:]]
    if total % 2:
        add(1, rest, 0)  # the first record stays alone
    for place, size in enumerate(rest):
        if size:
            add(size, [other - (index == place) for index, other in enumerate(rest)], int(place == 0))
    return tuple(counts)


def profiles(records, most):
    """Class sizes of ``records`` records, none above ``most``."""
    if records == 0:
        yield ()
    for size in range(1, min(records, most) + 1):
        for rest in profiles(records - size, size):
            yield (size, *rest)


def test_pairs_tail_exhaustively():
    closest = 0.0
    for records in range(2, 13):
        for most in range(1, 8):
            worst = np.zeros(records // 2 + 1)
            for sizes in profiles(records, most):
                counts = np.array(agreeing(sizes), float)
                worst = np.maximum(worst, (counts[::-1].cumsum()[::-1] / counts.sum())[: len(worst)])
            for margin in range(1, len(worst)):
                bound = math.exp(pairs_tail(margin, most + 1, records))
                assert worst[margin] <= bound * (1 + 1e-12), (records, most, margin)
                closest = max(closest, worst[margin] / bound if bound else 0.0)
    assert closest == pytest.approx(1), "attained, so that no smaller bound of this form holds"


def test_pairs_tail_in_closed_form():
    """Where the product has many factors it is a quotient of gamma functions, never below the sum of logarithms."""
    for margin, count in ((30_000, 50_000), (200_000, 391_000)):
        records = 2 * (margin + 40_000)
        taken = np.arange(math.ceil(margin - 0.5 * (count - 2)), dtype=np.float64)
        left = records - 2 * taken
        assert len(taken) > 4096
        summed = np.sum(np.log(0.5 * (count - 2)) + np.log(left / (left - 1)) - np.log(margin - taken))
        assert 0 <= pairs_tail(margin, count, records) - summed < 1e-5


@pytest.mark.statistical
def test_pairs_tail_at_the_planned_size():
    plan = plan_recprefix(64, 1.0, 1e-6, 0.1)
    step, trials = plan.steps[0], 4000
    records = 2 * (2 * plan.base_gap - 1 + step.margin - 1)
    rng = np.random.default_rng(5)
    classes = np.arange(records) // (step.count - 1)
    order = rng.permuted(np.tile(classes, (trials, 1)), axis=1)
    agree = (order[:, 0::2] == order[:, 1::2]).sum(axis=1)
    for margin in (step.margin, step.margin - 10):
        bound = math.exp(pairs_tail(margin, step.count, records))
        assert binom.sf(int((agree >= margin).sum()) - 1, trials, bound) >= FALSE_ALARM


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("epsilon", [1e-5, 1e3, *(pytest.param(e, marks=pytest.mark.slow) for e in (0.01, 1.0, 20.0))])
@pytest.mark.parametrize("delta", [1e-16, 0.1])
def test_every_corner_is_planned_quickly_and_kept(planner, epsilon, delta):
    for beta in (1e-6, 0.5):
        for bits in (1, 64, 2**20):
            start = time.process_time()
            plan = planner(bits, epsilon, delta, beta)
            assert time.process_time() - start < 2
            spent = plan.plan().guarantee()
            assert 0 < spent.epsilon <= epsilon and 0 < spent.delta <= delta
            assert spent.epsilon >= 0.999 * epsilon or epsilon == 1e3
            assert 1 <= plan.required() <= plan.required(0.3) <= plan.required(0.1)
            assert 0 < plan.failure <= beta
            assert plan.steps[-1].bits <= bits and plan.base_size == plan.steps[-1].bits + 1


@pytest.mark.parametrize("planner", PLANNERS)
def test_more_budget_needs_fewer_records(planner):
    few = planner(64, 1.0, 1e-6, 0.1).required()
    assert planner(64, 2.0, 1e-6, 0.1).required() < few < planner(64, 0.5, 1e-6, 0.1).required()
    assert planner(64, 1.0, 1e-3, 0.1).required() < few < planner(64, 1.0, 1e-9, 0.1).required()
    assert planner(64, 1.0, 1e-6, 0.4).required() < few < planner(64, 1.0, 1e-6, 0.01).required()
    assert few < planner(64, 1.0, 1e-6, 0.1, 2).required()


@pytest.mark.parametrize("planner", PLANNERS)
def test_slack_instead_of_beta(planner):
    plans = [planner(64, 1.0, 1e-6, slack=slack) for slack in (-1.0, 0.0, 1.0, 2.0, 3.0, 5.0)]
    needs = [plan.required() for plan in plans]
    assert needs == sorted(needs) and needs[0] < planner(64, 1.0, 1e-6, 0.1).required()
    assert all(plan.beta is None for plan in plans) and plans[-1].failure < 0.1 < plans[0].failure <= 1
    gaps = [plan.steps[0].gap for plan in plans]
    assert gaps == sorted(gaps)


def test_the_search_finds_a_known_optimum():
    """The sum of a_i / share_i is least at shares proportional to sqrt(a_i), where it is (sum of sqrt(a_i))^2."""
    costs = np.array([1.0, 4.0, 100.0, 0.25])
    (shares,) = spread([4], lambda parts, _: float(np.sum(costs / np.array(parts[0]))))
    assert np.sum(costs / np.array(shares)) == pytest.approx(np.sqrt(costs).sum() ** 2, rel=1e-4)
    kink = spread(
        [3], lambda parts, p: soft_max([3 / parts[0][0], 1 / parts[0][1]], p) + 1 / parts[0][2], (8, 30, 120, 500)
    )[0]
    assert max(3 / kink[0], 1 / kink[1]) + 1 / kink[2] == pytest.approx(9, rel=1e-2)  # at (1/2, 1/6, 1/3)
    assert sum(map(Fraction, on_grid(shares))) == 1


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.25, 1 / 3, 0.49, 0.5])
def test_records_for_a_median(alpha):
    for plan in (plan_recprefix(64, 1.0, 1e-6, 0.1), plan_treelog(8, 0.5, 1e-6, 0.1), plan_exponential(8, 1.0, 0.1)):
        need = plan.required(alpha)
        assert need == pytest.approx(plan.required() / (2 * alpha), abs=1)
        for records in [*range(need, need + 50), 10 * need]:
            assert records - 2 * (rank_margin(records, alpha) - 1) >= plan.interior
    assert plan.required(0.5) == plan.required()


def test_auto_takes_the_least():
    for bits in (1, 42, 64, 129, 2**14):
        plans = [plan_for(method, bits, 1.0, 1e-6, 0.1) for method in RACED if method != "rsc"]
        assert plan_auto(bits, 1.0, 1e-6, 0.1).required() == min(plan.required() for plan in plans)
    assert plan_auto(42, 1.0, 1e-6, 0.1) == plan_exponential(42, 1.0, 0.1)
    assert plan_auto(64, 1.0, 1e-6, 0.1) == plan_majority(64, 1.0, 1e-6, 0.1)
    for method in NAMES:
        assert plan_for(method, 64, 1.0, 1e-6, 0.1).failure <= 0.1


@pytest.mark.parametrize("planner", PLANNERS)
def test_designs_are_values(planner):
    first = planner(64, 1.0, 1e-6, 0.1, 2)
    assert planner(64, 1.0, 1e-6, 0.1, 2) is first
    again = planner.__wrapped__(64, 1.0, 1e-6, 0.1, 2)
    assert again is not first and again == first and hash(again) == hash(first)
    assert first.levels == 2 and [step.bits for step in first.steps] == [64, 7] and first.base_size == 8
    assert same_plan(first.plan(), again.plan()) and not same_plan(first.plan(), planner(64, 2.0, 1e-6, 0.1, 2).plan())


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize(
    "change",
    [
        {"bits": 0},
        {"bits": 2**20 + 1},
        {"bits": 8.0},
        {"epsilon": 0.0},
        {"epsilon": 9e-6},
        {"epsilon": 1001.0},
        {"delta": 0.0},
        {"delta": 1.0},
        {"beta": 0.0},
        {"beta": 1.0},
        {"beta": None},
        {"slack": 1.0},
        {"levels": 0},
        {"levels": 5},
        {"beta": None, "slack": float("nan")},
        {"beta": None, "slack": 1e6},
        {"bits": True},
    ],
)
def test_bad_input(planner, change):
    with pytest.raises(InputError):
        planner(**({"bits": 64, "epsilon": 1.0, "delta": 1e-6, "beta": 0.1} | change))


@pytest.mark.parametrize(
    "call",
    [
        lambda: plan_exponential(0, 1.0, 0.1),
        lambda: plan_exponential(8, 1.0),
        lambda: plan_exponential(8, 1.0, 0.1, size=257),
        lambda: plan_exponential(8, 1.0, 0.1, size=0),
        lambda: plan_for("magic", 8, 1.0, 1e-6, 0.1),
        lambda: plan_exponential(8, 1.0, 0.1).required(0.6),
        lambda: plan_recprefix(8, 1.0, 1e-6, 0.1).required(0.0),
        lambda: plan_recprefix(8, 1.0, 0.0, 0.1),
    ],
)
def test_more_bad_input(call):
    with pytest.raises(InputError):
        call()
