"""Reorder-slice-compute: the series to many digits, the masses from first principles, whole processes enumerated."""

import itertools
from collections import defaultdict

import mpmath
import numpy as np
import pytest

from dpjax.accounting import Guarantee
from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.accounting.slices import response_masses, slices, slices_delta, slices_epsilon, slices_rate
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

LIMIT = 7  # rows in the larger world


def geometric_noise(epsilon0, most=2):
    """The law of a signed sum with two-sided geometric noise, clamped to [-most, most]: epsilon0-private."""
    step = np.exp(-epsilon0)

    def law(total):
        edges = np.arange(-most, most) + 0.5 - total  # P[noise <= edge]
        whole = np.floor(edges)
        below = np.where(whole >= 0, 1 - step ** (whole + 1) / (1 + step), step ** (-whole) / (1 + step))
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    return {total: law(total) for total in range(-LIMIT, LIMIT + 1)}


def response(epsilon0):
    """Randomized response on the parity of a signed sum."""
    truth = 1 / (1 + np.exp(-epsilon0))
    return {t: np.array([truth, 1 - truth] if t % 2 else [1 - truth, truth]) for t in range(-LIMIT, LIMIT + 1)}


def transcripts(rows, rounds, length_epsilon, noise, ranks, votes, least):
    """The exact law of all outputs; ``ranks`` orders the values in a round, ``votes`` are what a row adds to the sum.

    Both may depend on the round and on the previous output. A slice that would be longer than the list is all of it, so
    the lengths are finitely many and nothing is cut.
    """
    states = {(tuple(rows), ()): 1.0}
    for turn in range(rounds):
        following = defaultdict(float)
        for (left, past), mass in states.items():
            seen = past[-1] if past else 0
            order = sorted(left, key=lambda row, t=turn, s=seen: ranks[t, s, row])
            for length in range(least, max(least, len(order)) + 1):
                chance = np.exp(-length_epsilon * (length - least))
                chance *= 1 if length >= len(order) else -np.expm1(-length_epsilon)
                total = sum(int(votes[turn, seen, row]) for row in order[:length])
                rest = tuple(order[length:])
                for output, probability in enumerate(noise[total]):
                    following[rest, (*past, output)] += mass * chance * probability
        states = following
    law = defaultdict(float)
    for (_, past), mass in states.items():
        law[past] += mass
    outputs = len(next(iter(noise.values())))
    return np.array([law[past] for past in itertools.product(range(outputs), repeat=rounds)])


def worst(rounds, length_epsilon, epsilon0, noise, rng, cases):
    """The largest exact divergence over the claim, over random worlds, orders, votes and epsilons."""
    ratio = 0.0
    for _ in range(cases):
        size, least = int(rng.integers(0, LIMIT)), int(rng.integers(1, 3))
        rows, extra = rng.integers(0, 4, size).tolist(), int(rng.integers(0, 4))
        ranks = np.argsort(rng.random((rounds, 5, 4)), axis=-1)
        votes = rng.choice([-1, 1], (rounds, 5, 4))
        small, large = (
            transcripts(world, rounds, length_epsilon, noise, ranks, votes, least) for world in (rows, [*rows, extra])
        )
        assert small.sum() == pytest.approx(1, abs=1e-12) and large.sum() == pytest.approx(1, abs=1e-12)
        with np.errstate(divide="ignore"):
            small, large = np.log(small), np.log(large)
        top = 1.2 * rounds * (length_epsilon + 2 * epsilon0)
        for epsilon in np.linspace(0, top, 13):
            exact = max(hockey_stick(large, small, epsilon), hockey_stick(small, large, epsilon))
            claim = slices_delta(epsilon, length_epsilon, epsilon0, rounds=rounds)
            assert claim <= slices_delta(epsilon, length_epsilon, epsilon0) * (1 + 1e-12)
            if exact > 1e-13:
                ratio = max(ratio, exact / claim if claim else np.inf)
    return ratio


@pytest.mark.grid(keep=4, per=["noise"])
@pytest.mark.parametrize("noise", [geometric_noise, response])
@pytest.mark.parametrize(("length_epsilon", "epsilon0"), [(0.5, 0.5), (1.0, 0.3), (0.4, 1.2), (2.0, 2.0)])
@pytest.mark.parametrize(("rounds", "cases"), [(1, 20), (2, 4), (3, 1)])
def test_no_process_exceeds_the_claim(rounds, cases, length_epsilon, epsilon0, noise):
    rng = np.random.default_rng([rounds, int(10 * length_epsilon), int(10 * epsilon0)])
    ratio = worst(rounds, length_epsilon, epsilon0, noise(epsilon0), rng, cases)
    assert ratio <= 1 + 1e-9


def test_the_enumeration_would_notice_a_smaller_claim():
    """Slices whose mechanism spends twice what it says exceed the claim."""
    rng = np.random.default_rng(0)
    assert worst(1, 0.5, 0.5, geometric_noise(1.0), rng, 60) > 1.2
    assert worst(1, 2.0, 2.0, geometric_noise(2.0), rng, 60) > 0.8, "how loose the claim is"


@pytest.mark.parametrize("length_epsilon", [0.01, 0.3, 1.0, 4.0])
def test_response_masses_from_first_principles(length_epsilon):
    """Every excess keeps its geometric probability in both worlds, and the label tells no more than its ratio."""
    q, count = np.exp(-length_epsilon), 4000
    mass = response_masses(length_epsilon, count)
    length = (1 - q) * q ** np.arange(count)
    close = {"rtol": 1e-12, "atol": 1e-300}
    np.testing.assert_allclose(mass[0].sum(axis=0), length, **close)
    shifted = np.concatenate([[0.0], mass[1, 0, :-1]])  # an absorption's excess in world 1 is one more
    np.testing.assert_allclose(mass[1, 1] + shifted, length, **close)
    live = mass[0] > 1e-290
    for label, ratio in ((1, 1 / q), (0, q)):
        np.testing.assert_allclose(mass[1, label][live[label]] / mass[0, label][live[label]], ratio, rtol=1e-12)
    truth = 1 / (1 + q)
    np.testing.assert_allclose(mass.sum(axis=2), [[truth, 1 - truth], [1 - truth, truth]], rtol=1e-12)


def series(epsilon, e_g, e_A, rounds):
    """Both sums term by term in 50 digits."""
    with mpmath.workdps(50):
        epsilon, e_g, e_A = mpmath.mpf(epsilon), mpmath.mpf(e_g), mpmath.mpf(e_A)
        sums = []
        for sign, step, last in ((1, e_g + 2 * e_A, max(0, e_A - e_g)), (-1, max(0, 2 * e_A - e_g), e_g + e_A)):
            go = 1 / (1 + mpmath.exp(-sign * e_g))
            total, stop = mpmath.mpf(0), rounds or 1500
            for count in range(stop):
                total += (1 - go) * go**count * max(0, 1 - mpmath.exp(epsilon - step * count - last))
            sums.append(total + go**stop * max(0, 1 - mpmath.exp(epsilon - step * stop)))
        return max(sums)


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize(("e_g", "e_A"), [(0.01, 0.01), (0.3, 0.1), (0.1, 0.3), (1.0, 0.5), (1.0, 2.0), (3.0, 3.0)])
@pytest.mark.parametrize("rounds", [None, 3, *(pytest.param(r, marks=pytest.mark.slow) for r in (1, 40))])
def test_series_to_many_digits(e_g, e_A, rounds):
    for epsilon in (0.0, 0.05, 0.7, 3 * e_g, 3 * e_g * (1 - 1e-12), 2.5):
        exact = float(series(epsilon, e_g, e_A, rounds))
        assert slices_delta(epsilon, e_g, e_A, rounds=rounds) == pytest.approx(exact, rel=1e-9, abs=1e-16)


def test_known_value():
    assert slices_rate(0.5, 1e-6) == pytest.approx(0.01103, abs=5e-6)


@pytest.mark.parametrize("rounds", [None, 1, 2, 3, 30])
def test_monotone_in_everything(rounds):
    grid = np.geomspace(1e-3, 5, 60)
    for e_A in (0.01, 0.2, 1.0):
        by_epsilon = [slices_delta(e, 0.2, e_A, 1e-9, rounds) for e in grid]
        assert np.all(np.diff(by_epsilon) <= 1e-15) and by_epsilon[0] <= 1
        by_rate = [slices_delta(e_A, e, e, 0.0, rounds) for e in grid]
        assert np.all(np.diff(by_rate) >= -1e-12)
        by_part = [slices_delta(0.5, 0.2, e, 1e-9, rounds) for e in grid]
        assert np.all(np.diff(by_part) >= -1e-15)
    if rounds:
        more = [slices_delta(1.0, 0.2, 0.2, 1e-9, r) for r in range(1, 40)]
        assert np.all(np.diff(more) >= -1e-15) and more[-1] <= slices_delta(1.0, 0.2, 0.2, 1e-9)


@pytest.mark.parametrize("rounds", [None, 1, 3, 10, 1000])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_inverses_are_certified_and_sharp(rounds, delta):
    for rate in (1e-3, 0.05, 1.0):
        epsilon = slices_epsilon(delta, rate, rate, rounds=rounds)
        assert slices_delta(epsilon, rate, rate, rounds=rounds) <= delta
        if epsilon > 0:
            assert slices_delta(epsilon * (1 - 1e-6), rate, rate, rounds=rounds) > delta * (1 - 1e-8)
        if rounds:
            assert epsilon <= 3 * rounds * rate * (1 + 1e-8)
    for epsilon in (0.05, 1.0, 10.0):
        rate = slices_rate(epsilon, delta, rounds)
        assert slices_delta(epsilon, rate, rate, rounds=rounds) <= delta
        assert slices_delta(epsilon, rate * (1 + 1e-6), rate * (1 + 1e-6), rounds=rounds) > delta * (1 - 1e-6)
        if rounds:
            assert rate >= slices_rate(epsilon, delta) * (1 - 1e-12)
            assert rate >= epsilon / (3 * rounds) * (1 - 1e-8)


def test_without_delta_the_rounds_add():
    assert slices_rate(0.9, 0.0, rounds=3) == pytest.approx(0.1, rel=1e-8)
    assert slices_epsilon(0.0, 0.1, 0.1, rounds=3) == pytest.approx(0.9, rel=1e-8)
    assert slices_delta(0.9 * (1 + 1e-12), 0.1, 0.1, rounds=3) == 0
    assert slices_delta(0.89, 0.1, 0.1, rounds=3) > 0


def test_closed_form_needs_whole_numbers():
    """Between whole r the printed relation epsilon = 3 e0 (r - 1), delta = s^r is false for large e0."""
    rate, r = 3.0, 2.1
    assert slices_delta(3 * rate * (r - 1), rate, rate) > (1 + np.exp(-rate)) ** -r
    for r in range(2, 20):
        assert slices_delta(3 * rate * (r - 1), rate, rate) <= (1 + np.exp(-rate)) ** -r


@pytest.mark.parametrize(("length_epsilon", "epsilon0"), [(1.0, 301.0), (1.0, 700.0), (800.0, 1.0), (1e4, 1e4)])
@pytest.mark.parametrize("rounds", [None, 3])
def test_a_delta_of_parts_at_a_huge_epsilon_is_no_small_one(length_epsilon, epsilon0, rounds):
    """e^epsilon0 delta0, or e^length_epsilon of it, is more than 1: no cap of an exponent may make it less."""
    assert slices_delta(2e4, length_epsilon, epsilon0, 1e-100, rounds) == 1.0
    with pytest.raises(InputError, match="delta0"):
        slices_epsilon(1e-6, length_epsilon, epsilon0, 1e-100, rounds)


def test_guarantee():
    part = Guarantee(0.01, 1e-9, Neighboring.ADD_OR_REMOVE_ONE, "median of a slice")
    whole = slices(part, 0.01, 1e-6)
    assert whole.neighboring is Neighboring.ADD_OR_REMOVE_ONE
    assert slices_delta(whole.epsilon, 0.01, 0.01, 1e-9) <= whole.delta
    assert whole.delta == pytest.approx(1e-6 + (1 + np.exp(0.01) * (1 + np.exp(0.01))) * 1e-9, rel=1e-12)
    few = slices(part, 0.01, 1e-6, rounds=3)
    assert few.epsilon <= 0.09 * (1 + 1e-8) and few.delta < whole.delta
    assert "median of a slice" in str(whole)
    assert slices_epsilon(whole.delta, 0.01, 0.01, 1e-9) == pytest.approx(whole.epsilon, rel=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: slices_delta(-1.0, 0.1, 0.1),
        lambda: slices_delta(1.0, 0.0, 0.1),
        lambda: slices_delta(1.0, 0.1, float("nan")),
        lambda: slices_delta(1.0, 0.1, 0.1, 1.0),
        lambda: slices_delta(1.0, 0.1, 0.1, rounds=0),
        lambda: slices_epsilon(0.0, 0.1, 0.1),
        lambda: slices_epsilon(1e-6, 0.1, 0.1, 1e-6),
        lambda: slices_rate(1.0, 0.0),
        lambda: slices_rate(0.0, 1e-6),
        lambda: slices(Guarantee(0.1, 0.0, Neighboring.REPLACE_ONE, "part"), 0.1, 1e-6),
        lambda: response_masses(0.1, 0),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
