"""Inequalities of docs/proofs, on exact numbers or on all small cases; others have tests beside their code."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, laplace, poisson

from dpjax.accounting.cover.closed import gamma_tail
from dpjax.mechanisms.choosing import choosing
from dpjax.mechanisms.median.plan_search import gate, rank_margin, records_for_median
from dpjax.mechanisms.median.treelog_rsc import two_laplace_tail
from dpjax.mechanisms.stability import release

RNG = 20261126


def hockey_stick(p, q, epsilon):
    """The least delta with p <= e^epsilon q + delta on every event, both directions."""
    factor = math.exp(epsilon)
    return max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum())


# heavy-path.md


def weight(records, prefix):
    return sum(record.startswith(prefix) for record in records)


def prefixes(bits):
    return ["".join(word) for size in range(bits) for word in itertools.product("01", repeat=size)]


def light(records, prefix):
    return min(weight(records, prefix + "0"), weight(records, prefix + "1"))


def test_light_weights_move_by_one_and_one_node_appears():
    words = ["".join(word) for word in itertools.product("01", repeat=3)]
    for size in range(4):
        for records in itertools.combinations_with_replacement(words, size):
            for new in words:
                added = (*records, new)
                replaced = [(*records[:i], new, *records[i + 1 :]) for i in range(size)]
                for other in (added, *replaced):
                    before, after = ([light(each, v) for v in prefixes(3)] for each in (records, other))
                    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1
                    assert sum(a == 0 < b for a, b in zip(before, after, strict=True)) <= 1


def test_one_of_three_points_is_interior():
    words = ["".join(word) for word in itertools.product("01", repeat=3)]
    cases = 0
    for size in range(1, 5):
        for records in itertools.combinations_with_replacement(words, size):
            for v in [*prefixes(3), *words]:
                inside = weight(records, v)
                if not inside or (len(v) < 3 and max(weight(records, v + bit) for bit in "01") == size):
                    continue
                ends = (v.ljust(3, "0"), (v + "0").ljust(3, "1")[:3] if len(v) < 3 else v, v.ljust(3, "1"))
                assert any(min(records) <= end <= max(records) for end in ends)
                cases += 1
    assert cases > 1000


# planners.md


@pytest.mark.parametrize("alpha", [0.5, 0.37, 0.1, 0.013])
def test_medians_from_interior_points(alpha):
    for interior in (1, 2, 17, 373, 4321):
        first = records_for_median(interior, alpha)
        for n in [*range(first, first + 200), 10 * first]:
            assert n - 2 * (rank_margin(n, alpha) - 1) >= interior


# treelog-rsc.md


def test_the_tail_of_two_laplace_variables():
    for value in (0.0, 0.7, 3.0, -1.2):
        exact = quad(lambda x, value=value: laplace.pdf(x) * laplace.sf(value + x), -60, 60, points=[0, -value])[0]
        assert float(two_laplace_tail(value)) == pytest.approx(exact, rel=1e-7)


# stability.md


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.3, 0.8])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_the_stability_test(epsilon, delta):
    spread = 2
    scale = spread / epsilon
    released = lambda gap: laplace.sf(spread + scale * laplace.isf(delta) - gap, scale=scale)  # noqa: E731
    for gap in range(30):
        law = np.exp(np.asarray(release(np.int32(gap), epsilon, delta).log_weights, np.float64)).ravel()
        assert law[0] / law.sum() == pytest.approx(released(gap), rel=1e-5)
        for other in range(max(0, gap - spread), gap + spread + 1):  # the same object
            two = [np.array([released(each), 1 - released(each)]) for each in (gap, other)]
            assert hockey_stick(*two, epsilon) <= 1e-12
    for gap, other in itertools.product(range(spread + 1), repeat=2):  # another object
        p, q = released(gap), released(other)
        assert hockey_stick(np.array([p, 0, 1 - p]), np.array([0, q, 1 - q]), epsilon) <= delta * (1 + 1e-9)


def nodes_of(ends):
    """Nodes and weights of Gauss and Legendre between neighboring ends."""
    x, w = np.polynomial.legendre.leggauss(60)
    parts = [(0.5 * (b - a) * x + 0.5 * (a + b), 0.5 * (b - a) * w) for a, b in itertools.pairwise(ends)]
    return (np.concatenate(part) for part in zip(*parts, strict=True))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 0.05), (3.0, 0.4), (0.5, 0.9)])
def test_the_stability_histogram(epsilon, delta):
    """All four cases under replace-one, with the second cell's count c."""
    scale = 2 / epsilon
    bar = 1 + scale * laplace.isf(delta)
    hidden = lambda count: laplace.cdf(bar - count, scale=scale) if count else 1.0  # noqa: E731
    density = lambda count, x: laplace.pdf(x - count, scale=scale) if count else 0.0  # noqa: E731

    def lost(first, second):
        """The hockey-stick of two pairs of counts (a, b), over released or hidden."""
        total, factor = 0.0, math.exp(epsilon)
        h1, h2 = ([hidden(c) for c in pair] for pair in (first, second))
        total += max(0.0, h1[0] * h1[1] - factor * h2[0] * h2[1])
        top = bar + 60 * scale
        marks = sorted({bar, *(float(c) for c in (*first, *second) if bar < c < top)})
        for shown in (0, 1):
            other = 1 - shown
            f = lambda x, s=shown, o=other: max(  # noqa: E731
                0.0, density(first[s], x) * h1[o] - factor * density(second[s], x) * h2[o]
            )
            total += quad(f, bar, top, points=marks, limit=400)[0]
        nodes, weights = nodes_of(marks[:1] + sorted({*marks[1:], bar + scale, bar + 5 * scale}) + [top])
        f, g = (np.outer(*(density(count, nodes) * np.ones_like(nodes) for count in pair)) for pair in (first, second))
        total += weights @ np.maximum(f - factor * g, 0) @ weights
        return total

    for first, second in [((1, 0), (0, 1)), ((1, 3), (0, 4)), ((0, 4), (1, 3)), ((2, 3), (1, 4))]:
        assert lost(first, second) <= delta * (1 + 1e-4) + 2e-4, (first, second)
    assert lost((1, 0), (0, 1)) == pytest.approx(delta, rel=1e-6)  # attained


@pytest.mark.parametrize(("epsilon", "delta", "growth"), [(0.2, 1e-3, 1), (1.0, 1e-6, 1), (2.0, 0.2, 3), (0.1, 0.9, 2)])
def test_the_choosing_mechanism(epsilon, delta, growth):
    r = epsilon / 2
    d = min(delta, math.expm1(r))
    null = math.exp(r * (1 + math.log(growth / d) / r))
    if growth == 1:
        assert math.log(null) / r == pytest.approx(gate(r, delta))

    def law(scores):
        weights = np.append(np.where(scores >= 1, np.exp(r * scores), 0.0), null)
        return weights / weights.sum()

    rng, worst = np.random.default_rng(RNG), 0.0
    for _ in range(2000):
        scores = rng.integers(0, 6, 7)
        other = np.maximum(scores + rng.integers(-1, 2, 7), 0)
        for zero, one in ((scores, other), (other, scores)):  # at most ``growth`` from 0 to 1, in both directions
            extra = np.flatnonzero((zero == 0) & (one == 1))[growth:]
            one[extra] = 0
        worst = max(worst, hockey_stick(law(scores), law(other), epsilon))
    assert worst <= d * (1 + 1e-9)
    one = hockey_stick(law(np.array([1] * growth)), law(np.array([0] * growth)), epsilon)
    assert one == pytest.approx(d / (1 + d), rel=1e-6)
    ran = np.exp(np.asarray(choosing(np.array([2, 0, 5], np.int32), epsilon, delta, growth=growth).log_weights, float))
    assert ran.ravel() / ran.sum() == pytest.approx(law(np.array([2, 0, 5])), rel=1e-4)


# set-cover-closed.md


def waits(p, events):
    """(W, probability) for all ways in which the first ``events`` events fall on the rounds, or fewer in all."""
    for count in range(events + 1):
        for at in itertools.combinations(range(len(p)), count):
            rounds = range(at[-1] + 1) if count == events else range(len(p))
            quiet = [p[j] for j in rounds if j not in at]
            yield sum(quiet), math.prod(1 - each for each in quiet) * math.prod(p[j] for j in at)


@pytest.mark.parametrize("events", [1, 2])
def test_waiting_times(events):
    """Whatever p an adversary takes: the p of rounds without an event before the first, or the second, event."""
    rng = np.random.default_rng(RNG)
    for _ in range(60):
        p = rng.uniform(0, 1, 14) ** rng.uniform(0.2, 6)
        found = np.array(list(waits(p, events)))
        assert found[:, 1].sum() == pytest.approx(1)
        for y in np.linspace(0, p.sum(), 40):
            assert found[found[:, 0] > y + 1e-9, 1].sum() <= poisson.cdf(events - 1, y) * (1 + 1e-9)


def test_the_last_steps_of_the_closed_form():
    for a in np.geomspace(1e-6, 20, 300):
        c = math.expm1(a)
        assert a / c <= 1  # so (1 + c)^(1 / c) <= e
    for y in np.linspace(math.e - 1, 60, 300):
        assert math.exp(1 - y) <= math.exp(-y) * (1 + y) * (1 + 1e-12)
    for delta in (1e-12, 1e-6, 0.1):
        y = gamma_tail(delta)
        assert math.exp(-y) * (1 + y) == pytest.approx(delta, rel=1e-6)


# set-cover-hidden.md


def test_the_steps_of_claim_3_4():
    """Few rounds by zCDP, many by moments, over all delta below 1/e and epsilon below 1, at the worst m of each."""
    for epsilon, more in itertools.product(np.linspace(1e-3, 1, 60), np.geomspace(1e-6, 400, 200)):
        log_inverse = 1 + more
        c = epsilon / (2 * (1 + log_inverse))
        rho = 8 * (1 + log_inverse) * c**2 / 8
        assert rho + 2 * math.sqrt(rho * log_inverse) <= epsilon
        growth, squares = math.expm1(c), epsilon**2 / (8 * (1 + log_inverse))
        assert growth / c <= 1.137
        for s, lost in ((1 / growth, epsilon / growth), (4 * (1 + log_inverse) / epsilon, None)):
            lost = s * (epsilon - c) if lost is None else lost
            assert -lost + (s + s**2) * squares / 2 <= -log_inverse
        assert epsilon / growth >= log_inverse


def test_a_count_is_subgaussian():
    """A pair of laws whose log-ratio is within r: the mean and the moments that the proof takes; worst at the ends."""
    for r, s, p in itertools.product((0.01, 0.3, 1.0), (0.5, 3.0, 30.0), np.linspace(0, 1, 41)):
        low, high = -r, r  # log-ratios of the first over the second, means of e^-x must be 1
        chance = (1 - math.exp(-low)) / (math.exp(-high) - math.exp(-low))
        mean = chance * high + (1 - chance) * low
        assert mean == pytest.approx(r * math.tanh(r / 2)) and mean <= r**2 / 2
        moment = p * (chance * math.exp(s * high) + (1 - chance) * math.exp(s * low)) + (1 - p)  # or no loss at all
        assert moment <= math.exp((s + s**2) * r**2 / 2)


# fingerprinting-scores.md


def test_the_score_inequality():
    """Random mechanisms of one row that is 0 or 1, with the least delta at which they are private."""
    rng, most = np.random.default_rng(RNG), 0.0
    for _ in range(3000):
        epsilon = rng.uniform(0.05, 3)
        laws = rng.dirichlet(np.full(4, rng.choice([0.3, 1, 5])), 2)
        if rng.random() < 0.5:  # towards one another, so that delta is small
            laws = laws + rng.uniform(0, 20) * laws.mean(0)
            laws /= laws.sum(1, keepdims=True)
        delta = hockey_stick(*laws, epsilon)
        columns = rng.integers(1, 4)
        answers = rng.choice([-1, 1], (4, columns))
        values = np.array([[-1.0], [1.0]]) * rng.uniform(0, 2, columns)  # V of row 0 and of row 1, of mean 0
        scores = values @ answers.T  # [row, output]
        present = 0.5 * (laws * scores).sum()
        absent = 0.5 * (laws.mean(0) * np.abs(scores)).sum()
        bound = math.sinh(epsilon) * absent + delta * (1 + math.exp(-epsilon)) * np.abs(values).sum(1).mean()
        assert present <= bound * (1 + 1e-12)
        most = max(most, present / bound)
    assert most > 0.4  # the inequality is used, not vacuous


# global-stability.md


def test_rare_functions_have_few_votes():
    for m, p, s in itertools.product((20, 100, 1000), (1e-4, 1e-2, 0.05), (5, 20, 60)):
        if m * p < s <= m:
            assert binom.sf(s - 1, m, p) <= (math.e * m * p / s) ** s


# irreducibility.md

POINTS = 3
ALL = tuple(itertools.product((0, 1), repeat=POINTS))


def split(space, x):
    return [frozenset(f for f in space if f[x] == y) for y in (0, 1)]


def dimension(space, known):
    if space not in known:
        sides = [split(space, x) for x in range(POINTS)]
        known[space] = (
            -1
            if not space
            else max((1 + min(dimension(part, known) for part in two) for two in sides if all(two)), default=0)
        )
    return known[space]


def reduced(space, depth, known, memo):
    """W(V, K)."""
    if (space, depth) not in memo:
        found = dimension(space, known)
        if depth:
            queries = [max(reduced(part, depth - 1, known, memo) for part in split(space, x)) for x in range(POINTS)]
            found = min(found, *queries)
        memo[space, depth] = found
    return memo[space, depth]


def test_irreducible_classes():
    """Statements 1 to 3, for every nonempty class of functions on three points."""
    known, memo, seen = {}, {}, 0
    for bits in range(1, 2 ** len(ALL)):
        space = frozenset(f for i, f in enumerate(ALL) if bits >> i & 1)
        top = dimension(space, known)
        assert all(reduced(space, k + 1, known, memo) <= reduced(space, k, known, memo) for k in range(3))
        for r in range(1, 4):
            if reduced(space, r, known, memo) < top:
                continue
            for x in range(POINTS):
                keeping = [part for part in split(space, x) if dimension(part, known) == top]
                assert len(keeping) == 1
                (kept,) = keeping
                assert reduced(kept, r - 1, known, memo) == top
                if r >= 2:  # the optimal prediction stays the same
                    for z in range(POINTS):
                        first = [dimension(part, known) == top for part in split(space, z)]
                        assert [dimension(part, known) == top for part in split(kept, z)] == first
                seen += 1
    assert seen > 100
