"""The search's claim holds against known curves; the e-values are exact and obey Ville's inequality."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom, norm

from dpjax.core.checks import InputError
from dpjax.experiments.statistics import sequential_search as module
from dpjax.experiments.statistics.sequential_search import Bracket, Visit, geometric_grid, log_evidence_below, search

FALSE_ALARM = 1e-6  # of each statistical test, over its seed
BETA, ERROR = 0.1, 0.05
GRID = geometric_grid(16, 65536)
CURVES = {
    "steep logistic": lambda n: 1 / (1 + math.exp(-4 * math.log2(n / 700))),
    "probit in sqrt n": lambda n: float(norm.cdf((math.sqrt(n) - 20) / 8)),
    "slow 1 - 3/sqrt n": lambda n: max(0.0, 1 - 3 / math.sqrt(n)),
    "plateau at 1 - beta": lambda n: 0.9 if n > 500 else 0.6 * n / 500,
}
# Mean trials of 200 runs within gamma = 0.02, measured; a tenth more fails. Clopper-Pearson at all 97 points takes
# 1,135,000.
TRIALS = {
    ("steep logistic", None): 5_700,
    ("probit in sqrt n", None): 7_400,
    ("slow 1 - 3/sqrt n", None): 33_600,
    ("plateau at 1 - beta", None): 13_900,
    ("steep logistic", 400): 5_600,
    ("probit in sqrt n", 400): 7_000,
    ("slow 1 - 3/sqrt n", 400): 31_700,
    ("plateau at 1 - beta", 400): 8_700,
}
GAMMA = 0.02
WITHIN = {"gamma": GAMMA, "trials": 10**7}


class Trials:
    """Keyed trials of a known curve: the first t outcomes at n never change, and are counted in whole tiles."""

    def __init__(self, curve, seed, tile=1):
        self.curve, self.seed, self.tile, self.seen = curve, seed, tile, {}

    def __call__(self, n, trials):
        rng, successes, done = self.seen.get(n, (np.random.default_rng((self.seed, n)), 0, 0))
        target = -(-trials // self.tile) * self.tile
        successes += int(rng.binomial(target - done, self.curve(n)))
        self.seen[n] = rng, successes, target
        return successes, target


def wrong(result, curve, gamma=0.0):
    """Whether a result's claim is false."""
    low = result.n_low is not None and curve(result.n_low) >= 1 - BETA
    bad = result.n_high is not None and (
        curve(result.n_high) <= 1 - BETA - gamma if gamma else curve(result.n_high) < 1 - BETA
    )
    return low or bad


def n_star(curve):
    """n* on the grid, of an increasing curve."""
    return next(n for n in GRID if curve(n) >= 1 - BETA)


def exact_log_evidence(hits, misses, bound):
    """By 40-digit quadrature: Jeffreys' prior is uniform in the angle whose squared sine is p."""
    with mpmath.workdps(40):
        end = mpmath.asin(mpmath.sqrt(mpmath.mpf(bound)))

        def log_ratio(angle):
            sine = mpmath.sin(angle) ** 2
            return hits * mpmath.log(sine / bound) + misses * mpmath.log((1 - sine) / (1 - mpmath.mpf(bound)))

        total = max(hits + misses, 1)
        peak = min(mpmath.asin(mpmath.sqrt(mpmath.mpf(hits) / total)), end)
        nudged = min(max(peak, end * mpmath.mpf(10) ** -30), end)
        top = log_ratio(nudged)
        slope = abs(mpmath.diff(log_ratio, end, h=mpmath.mpf(10) ** -20)) + 1
        scales = {1 / mpmath.sqrt(total), 1 / slope}
        cuts = {peak + sign * scale * 2**j for scale in scales for j in range(-4, 9) for sign in (-1, 1)}
        cuts = sorted({mpmath.mpf(0), peak, end} | {cut for cut in cuts if 0 < cut < end})
        mass = mpmath.quad(lambda angle: mpmath.exp(log_ratio(angle) - top) if angle > 0 else mpmath.mpf(0), cuts)
        return float(top + mpmath.log(mass / end))


CORNERS = [
    (0, 0, 0.9),
    (1, 0, 0.9),
    (0, 1, 0.9),
    (5, 3, 0.9),
    (64, 0, 0.12),
    (64, 0, 0.9),
    (0, 64, 0.9),
    (900, 100, 0.9),
    (10**6, 10**5, 0.9),
    (90_030_000, 9_970_000, 0.9),
    (89_970_000, 10_030_000, 0.9),
    (9 * 10**7, 10**7, 0.9),
    (10**8, 10**8, 0.5),
    (10**8, 0, 0.9),
    (0, 10**8, 0.9),
    (10**8, 3, 1 - 1e-6),
    (10**8, 10**7, 0.1),
    (10**8, 10**8, 0.01),
    (10**8, 0, 1e-3),
    (3, 10**8, 1e-3),
]


@pytest.mark.grid(keep=7)
@pytest.mark.parametrize(("hits", "misses", "bound"), CORNERS)
def test_evidence_is_exact_at_the_corners(hits, misses, bound):
    got = log_evidence_below(hits, misses, bound)
    assert got == pytest.approx(exact_log_evidence(hits, misses, bound), rel=1e-12, abs=1e-6)


@pytest.mark.slow
def test_evidence_is_exact_at_random():
    rng = np.random.default_rng(0)
    for _ in range(40):
        hits, misses = (int(10 ** rng.uniform(0, 8)) for _ in range(2))
        total = hits + misses
        near = hits / total + rng.normal() * math.sqrt(hits * misses / total**3) * rng.choice([1, 10, 40])
        bound = float(np.clip(rng.choice([near, rng.uniform(0.01, 0.99)]), 1e-4, 1 - 1e-4))
        want = exact_log_evidence(hits, misses, bound)
        assert log_evidence_below(hits, misses, bound) == pytest.approx(want, rel=1e-12, abs=1e-6)


def test_evidence_joins_where_betainc_gives_up():
    """The two formulas agree where the code changes from one to the other, and nothing is ever infinite."""
    values = [log_evidence_below(hits, 100, 0.1) for hits in range(4000)]
    assert np.isfinite(values).all()
    assert np.abs(np.diff(values, 3)[200:]).max() < 1e-6  # smooth: no jump on the way through 1e-250


@pytest.mark.parametrize("bound", [0.3, 0.9])
@pytest.mark.parametrize("level", [0.5, 0.05])
def test_evidence_ever_crosses_with_probability_at_most_the_level(bound, level):
    """Exactly, by dynamic programming over the counts, looking after each of 300 trials."""
    alive, crossed = np.array([1.0]), 0.0
    for total in range(1, 301):
        alive = np.append(alive * (1 - bound), 0) + np.insert(alive * bound, 0, 0)
        over = np.array([log_evidence_below(h, total - h, bound) >= -math.log(level) for h in range(total + 1)])
        crossed += alive[over].sum()
        alive[over] = 0
    assert level / 100 < crossed <= level


def peek(evidence, p, bound, level, runs=2000, seed=3):
    """How many of ``runs`` streams of trials ever show evidence >= 1/level at looks that grow by 1.3."""
    rng, crossed = np.random.default_rng(seed), 0
    for _ in range(runs):
        hits, total = 0, 0
        while total < 20_000:
            step = max(10, int(0.3 * total))
            hits, total = hits + int(rng.binomial(step, p)), total + step
            if evidence(hits, total - hits, bound) >= -math.log(level):
                crossed += 1
                break
    return crossed


@pytest.mark.parametrize("p", [0.9, 0.92])
def test_evidence_holds_its_level_when_looked_at_again_and_again(p):
    assert peek(log_evidence_below, p, 0.9, level=0.05) <= binom.isf(FALSE_ALARM, 2000, 0.05)


def test_the_same_simulation_catches_a_test_that_may_be_looked_at_once():
    """The broken twin: a p-value of the binomial, looked at again and again."""

    def once(hits, misses, bound):
        return -binom.logcdf(hits, hits + misses, bound)

    assert peek(once, 0.9, 0.9, level=0.05, runs=400) > binom.isf(FALSE_ALARM, 400, 0.05)


@pytest.mark.parametrize("start", [None, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CURVES)
def test_n_star_is_in_the_bracket(name, start):
    """In at least 95 % of 60 runs of known curves, whatever ends the search."""
    curve = CURVES[name]
    results = [search(Trials(curve, seed), GRID, BETA, ERROR, start=start) for seed in range(60)]
    assert sum(wrong(result, curve) for result in results) <= ERROR * 60
    for result in results:
        assert result.confidence == 1 - ERROR and result.gamma == 0
        if result.n_high is None:  # nothing is above 1 - beta
            assert name == "plateau at 1 - beta" and result.n_low < n_star(curve)
            continue
        assert result.n_low < n_star(curve) <= result.n_high
        steps = GRID.index(result.n_high) - GRID.index(result.n_low)
        assert result.ended == ("one step" if steps == 1 else "trials spent")
        assert result.trials_total == 10_000 if steps > 1 else result.trials_total <= 10_000


@pytest.mark.parametrize("runs", [300, pytest.param(6000, marks=pytest.mark.slow)])
def test_the_confidence_is_that_of_the_whole_search(runs):
    """Random increasing curves, some exactly at 1 - beta on a stretch of the grid, at an error large enough to count:
    the number of wrong brackets is at most what the error allows."""
    rng, error, bad = np.random.default_rng(11), 0.3, 0
    for seed in range(runs):
        where, slope = rng.uniform(5, 15), 10 ** rng.uniform(-0.5, 1)
        level = 0.9 if seed % 2 else 1.0

        def curve(n, where=where, slope=slope, level=level):
            p = 1 / (1 + math.exp(-slope * (math.log2(n) - where)))
            return min(p, level) if n < 2 ** (where + 9) else p

        result = search(Trials(curve, seed), GRID, BETA, error, trials=1500, start=2 ** rng.uniform(5, 15))
        bad += wrong(result, curve)
    assert bad <= binom.isf(FALSE_ALARM, runs, error)
    assert bad <= error * runs


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("probit in sqrt n", 60),
        *(
            pytest.param(name, 200, marks=pytest.mark.slow)
            for name in ("steep logistic", "probit in sqrt n", "slow 1 - 3/sqrt n")
        ),
    ],
)
def test_brackets_of_equal_laws_overlap(name, number):
    """Pairs of searches of one curve with different trials. Within a gamma many do not, and hardly any bracket
    contains n*: a reader would take one learner for the better one."""
    curve = CURVES[name]

    def apart(pairs, **how):
        both = [[search(Trials(curve, 2 * s + i), GRID, BETA, ERROR, start=400, **how) for i in (0, 1)] for s in pairs]
        missed = sum(not star.n_low < n_star(curve) <= star.n_high for pair in both for star in pair)
        return missed, sum(max(a.n_low, b.n_low) >= min(a.n_high, b.n_high) for a, b in both)

    missed, disjoint = apart(range(number), trials=5000)
    assert missed <= ERROR * 2 * number and disjoint <= 2 * ERROR * number
    missed, disjoint = apart(range(40), gamma=0.05, trials=10**6)
    assert missed > 20 and (disjoint > 2 * ERROR * 40 or name == "steep logistic")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("steep logistic", None),
        ("slow 1 - 3/sqrt n", 400),
        *(pytest.param(name, start, marks=pytest.mark.slow) for start in (None, 400) for name in CURVES),
    ],
)
def test_claim_within_gamma_holds_against_known_curves(name, start, record_property):
    """Right in at least 95 % of 200 runs; the bound of a claim that held only just is FALSE_ALARM's."""
    curve = CURVES[name]
    results = [search(Trials(curve, seed), GRID, BETA, ERROR, start=start, **WITHIN) for seed in range(200)]
    failures = sum(wrong(result, curve, GAMMA) for result in results)
    trials = float(np.mean([result.trials_total for result in results]))
    record_property("mean_trials", trials)
    print(f"{name}, start {start}: {failures} of 200 wrong, mean trials {trials:.0f}")
    assert failures <= 0.05 * 200 <= binom.isf(FALSE_ALARM, 200, ERROR)
    assert trials <= 1.1 * TRIALS[name, start]
    for result in results:
        assert result.confidence == 1 - ERROR
        assert result.ended == "one step" and not result.undecided
        assert GRID.index(result.n_high) == GRID.index(result.n_low) + 1


def test_the_same_runs_catch_a_search_that_peeks(monkeypatch):
    """The broken twin: each test ends at the first binomial p-value below its part of the error."""
    monkeypatch.setattr(module, "log_evidence_below", lambda h, m, bound: -binom.logcdf(h, h + m, bound))
    curve = CURVES["plateau at 1 - beta"]
    results = [search(Trials(curve, seed), GRID, BETA, ERROR, trials=20_000) for seed in range(20)]
    assert sum(wrong(result, curve) for result in results) > 0.05 * 20


@pytest.mark.grid(keep=2, per=["start"])
@pytest.mark.parametrize("start", [None, 30, 20_000])
@pytest.mark.parametrize("name", CURVES)
def test_few_trials_make_the_bracket_wider_and_not_wrong(name, start):
    curve = CURVES[name]
    results = [search(Trials(curve, s), GRID, BETA, ERROR, trials=1500, start=start) for s in range(40)]
    assert sum(wrong(result, curve) for result in results) <= 0.05 * 40
    assert all(result.ended == "trials spent" and result.trials_total == 1500 for result in results)
    assert any(result.undecided for result in results)


@pytest.mark.parametrize("start", [None, 700])
def test_whole_tiles_are_counted_and_the_claim_still_holds(start):
    curve = CURVES["probit in sqrt n"]
    results = [search(Trials(curve, s, tile=500), GRID, BETA, ERROR, start=start) for s in range(100)]
    assert sum(wrong(result, curve) for result in results) <= 0.05 * 100
    assert all(visit.trials % 500 == 0 for result in results for visit in result.visits)
    assert all(result.trials_total < 10_500 for result in results)


def test_equal_answers_give_equal_results():
    one, two = (search(Trials(CURVES["steep logistic"], 5), GRID, BETA, ERROR) for _ in range(2))
    assert one == two
    assert one.trials_total == sum(visit.trials for visit in one.visits)


def certain(threshold):
    """Trials that succeed exactly from ``threshold`` on."""
    return lambda n, trials: (trials if n >= threshold else 0, trials)


@pytest.mark.parametrize("start", [None, 1, 300, 10**6])
def test_ends_of_the_grid_are_said(start):
    grid = geometric_grid(10, 1000)
    passing = search(certain(0), grid, BETA, ERROR, start=start)
    assert (passing.n_low, passing.n_high) == (None, 10)
    failing = search(certain(10**9), grid, BETA, ERROR, start=start)
    assert (failing.n_low, failing.n_high) == (1000, None)
    assert passing.ended == failing.ended == "end of the grid"
    # 0.9 refutes neither null, so nothing is known
    unknown = search(lambda n, t: (round(0.9 * t), t), grid, BETA, ERROR, start=start)
    assert (unknown.n_low, unknown.n_high, unknown.ended) == (None, None, "trials spent")
    assert {10, 1000} & set(unknown.undecided)


@pytest.mark.parametrize("start", [None, 1, 40, 333, 10**6])
def test_every_threshold_is_found_within_the_planned_visits(start):
    grid = geometric_grid(10, 1000)
    plan = module._Plan(len(grid), None if start is None else module._nearest(grid, start), 4)
    most = plan.worst(-1, len(grid), ())
    if start is None:
        assert most == math.ceil(math.log2(len(grid) + 1))
    counts = []
    for low, high in itertools.pairwise((None, *grid, None)):
        result = search(certain(math.inf if high is None else high), grid, BETA, ERROR, start=start)
        assert (result.n_low, result.n_high) == (low, high)
        counts.append(len(result.visits))
    assert max(counts) == most


@pytest.mark.parametrize(("threshold", "sign"), [(0, -1), (10**9, 1)])
def test_the_gallop_doubles_its_steps(threshold, sign):
    result = search(certain(threshold), GRID, BETA, ERROR, start=GRID[48])
    visited = [GRID.index(visit.n) for visit in result.visits]
    assert visited[:4] == [48, 48 + sign * 4, 48 + sign * 12, 48 + sign * 28]


def test_a_good_start_does_not_visit_large_n():
    result = search(certain(300), GRID, BETA, ERROR, start=290)
    assert max(visit.n for visit in result.visits) < 600


@pytest.mark.grid
@pytest.mark.parametrize("undecided", [0.0, 0.7])
@pytest.mark.parametrize("start", [None, 16, 1000, 65536])
def test_whatever_happens_the_parts_of_the_error_add_up_to_less_than_it(start, undecided, monkeypatch):
    """Random decisions, no monotone truth: the search ends, and each n has one part of the error."""
    rng, made = np.random.default_rng(6), []

    class Chance(module._Test):
        def __init__(self, *of):
            super().__init__(*of)
            made.append(self)

        def extend(self, evaluate, target):
            before, self.trials = self.trials, target
            if rng.random() > undecided:
                self.decision = str(rng.choice(["pass", "fail"]))
            return target - before

    monkeypatch.setattr(module, "_Test", Chance)
    for _ in range(300):
        made.clear()
        result = search(certain(1), GRID, BETA, ERROR, start=start)
        assert sum(math.exp(-test.threshold) for test in made) < ERROR
        by_n = {visit.n: visit.decision for visit in result.visits}
        assert len(by_n) == len(result.visits) == len(made)
        assert result.n_low == max((n for n, d in by_n.items() if d == "fail"), default=None)
        assert result.n_high == min((n for n, d in by_n.items() if d == "pass"), default=None)
        low = -1 if result.n_low is None else GRID.index(result.n_low)
        high = len(GRID) if result.n_high is None else GRID.index(result.n_high)
        assert (high - low > 1) == (result.ended == "trials spent")


@pytest.mark.parametrize(
    ("low", "high", "ratio"), [(1, 100, 2 ** (1 / 8)), (16, 65536, 2 ** (1 / 8)), (7, 7, 2.0), (3, 1000, 1.5)]
)
def test_grid_is_ascending_and_geometric(low, high, ratio):
    grid = geometric_grid(low, high, ratio)
    assert grid[0] == low
    assert grid[-1] == high
    assert all(isinstance(n, int) for n in grid)
    assert all(a < b <= max(a + 1, a * ratio + 1) for a, b in itertools.pairwise(grid))
    assert set(grid[:-1]) <= set(geometric_grid(low, 10 * high, ratio))


def test_bracket_lists_the_undecided_inside_it():
    visits = tuple(Visit(n, 0, 1, d) for n, d in [(4, "undecided"), (1, "fail"), (9, "undecided"), (8, "pass")])
    assert Bracket(1, 8, 0.95, 0.1, 0.0, "trials spent", visits, 4).undecided == (4,)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"beta": 0.0}, "beta"),
        ({"gamma": 0.95}, "1 - beta"),
        ({"gamma": -0.1}, "1 - beta"),
        ({"error": 1.0}, "error"),
        ({"grid": []}, "geometric_grid"),
        ({"grid": [3, 2]}, "ascending"),
        ({"grid": [0, 2]}, "ascending"),
        ({"first": 0}, "first"),
        ({"growth": 1.0}, "growth"),
        ({"trials": 10}, "trials"),
        ({"start": 0}, "start"),
        ({"stride": 0}, "stride"),
        ({"evaluate": lambda n, trials: (0, trials - 1)}, "at least 64 trials"),
        ({"evaluate": lambda n, trials: (trials + 1, trials)}, "65 successes in 64"),
        ({"evaluate": lambda n, trials: (57, 64) if trials == 64 else (5, trials)}, "cumulative counts"),
    ],
)
def test_bad_input_says_what_to_do(change, says):
    given = {"evaluate": certain(10), "grid": GRID, "beta": BETA, "error": ERROR} | change
    with pytest.raises(InputError, match=says):
        search(**given)


@pytest.mark.parametrize("arguments", [(0, 5), (5, 4), (1, 5, 1.0)])
def test_bad_grid_is_refused(arguments):
    with pytest.raises(InputError):
        geometric_grid(*arguments)


SHAPES = {
    "steep": lambda n: 1 / (1 + math.exp(-4 * math.log2(n / 700))),
    "medium": lambda n: norm.cdf((math.sqrt(n) - 20) / 8),
    "shallow": lambda n: max(0.0, 1 - 3 / math.sqrt(n)),
}


def trials_of_the_grid(beta, gamma, error):
    """Trials of a design without a search: every point of the grid, a fixed number at each, Clopper-Pearson intervals
    that separate 1 - beta from 1 - beta - gamma at all points at once."""
    at_each, level = 500, error / len(GRID)
    while True:
        hits = round(at_each * (1 - beta - gamma / 2))
        low = betaincinv(hits, at_each - hits + 1, level)
        high = betaincinv(hits + 1, at_each - hits, 1 - level)
        if low > 1 - beta - gamma and high < 1 - beta:
            return at_each * len(GRID)
        at_each = math.ceil(1.05 * at_each)


@pytest.mark.parametrize("runs", [12, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SHAPES)
def test_a_search_takes_a_thirtieth_of_the_trials_of_a_grid(name, runs):
    """At the same error, in blocks of 64 trials as an engine computes them."""
    beta, gamma, error, curve = 0.1, 0.02, 0.05, SHAPES[name]
    rng, totals, wrong = np.random.default_rng(7), [], 0
    for _ in range(runs):
        counts = {}

        def evaluate(n, trials, counts=counts):
            successes, done = counts.get(n, (0, 0))
            if (more := -(-trials // 64) * 64 - done) > 0:
                counts[n] = (successes + int(rng.binomial(more, curve(n))), done + more)
            return counts[n]

        found = search(evaluate, GRID, beta, error, gamma=gamma, trials=10**7)
        totals.append(found.trials_total)
        wrong += (found.n_low is not None and curve(found.n_low) >= 1 - beta) or (
            found.n_high is not None and curve(found.n_high) <= 1 - beta - gamma
        )
    assert np.mean(totals) <= trials_of_the_grid(beta, gamma, error) / 30
    assert binom.sf(wrong - 1, runs, error) > FALSE_ALARM
