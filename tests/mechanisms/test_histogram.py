"""The stability histogram: exact audits of two cells at once, with the released values."""

import itertools
import math
from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.laws import RoundedLaplace
from dpjax.mechanisms import laplace_mechanism, stability_histogram, stability_histogram_guarantee

ADD = Neighboring.ADD_OR_REMOVE_ONE


@partial(jax.jit, static_argnames=("neighboring", "calibration", "alpha"))
def law_and_log_probs(counts, epsilon, delta, **how):
    """The law, its threshold, and log P[released] and log P[not released] of each cell."""
    law = stability_histogram(counts, epsilon, delta, **how)
    return law, law.threshold, law.release_log_probs()


def laws(counts, epsilon, delta, **how):
    """The same of one cell for each count, in float64."""
    with jax.enable_x64(True):
        return law_and_log_probs(np.asarray(counts, np.int32), np.float64(epsilon), np.float64(delta), **how)


def table(counts, epsilon, delta, bins=16, **how):
    """Exact probabilities of "not released" and of a partition of the released values, ``float64[counts, cells]``.

    The values are cut at every whole number and ``bins`` times between, so the likelihood ratio of two counts that
    differ by 1 moves by at most exp(rate / bins) in a cell: what is lost by not looking closer is below that.
    """
    law, threshold, logs = laws(counts, epsilon, delta, **how)
    cut, rate = float(threshold), float(law.rate)
    yes, no = (np.exp(np.asarray(x)) for x in logs)
    edges = np.arange(0, (max(counts) + 1) * bins + 1) / bins  # beyond them likelihood ratios are constant
    edges = np.concatenate([[cut], edges[edges > cut], [np.inf]])
    counts = np.asarray(counts)[:, None]
    z = rate * (edges[None, :] - counts)
    upper = np.where(z > 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2)
    cells = np.where(yes[:, None] > 0, upper[:, :-1] - upper[:, 1:], 0)
    np.testing.assert_allclose(cells.sum(1), yes, rtol=1e-6, atol=1e-15)
    return np.concatenate([no[:, None], cells], axis=1)


def worst(cells, epsilon, moves):
    """max over moves of the hockey-stick divergence of the product law; a move lists (from, to) for each cell."""
    found = 0.0
    for move in moves:
        p, q = np.ones(1), np.ones(1)
        for before, after in move:
            p, q = np.outer(p, cells[before]).ravel(), np.outer(q, cells[after]).ravel()
        found = max(found, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return found


def replacements(top):
    """One row leaves a cell of count a and enters a cell of count b."""
    return [((a, a - 1), (b, b + 1)) for a, b in itertools.product(range(1, top), range(top))]


def additions(top):
    return [((a, a + s),) for a in range(top) for s in (-1, 1) if a + s >= 0]


GRID = [(1.0, 1e-6), (1.0, 0.05), (0.1, 1e-6), (0.1, 0.3), (0.5, 0.6), (0.01, 0.97), (4.0, 0.5), (8.0, 0.9)]


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_replace_one_is_attained_for_every_delta(epsilon, delta):
    """Also where delta > 1 - exp(-epsilon / 2): no condition ties the two."""
    cells = table(range(9), epsilon, delta)
    found = worst(cells, epsilon, replacements(8))
    assert delta * (1 - 1e-6) <= found <= delta * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_add_or_remove_one_is_attained_for_every_delta(epsilon, delta):
    cells = table(range(9), epsilon, delta, neighboring=ADD)
    found = worst(cells, epsilon, additions(8))
    assert delta * (1 - 1e-6) <= found <= delta * (1 + 1e-6)
    if delta < 0.01 and epsilon == 1:
        cells = table(range(70), epsilon, delta, bins=1, neighboring=ADD)
        assert worst(cells, epsilon, [((40, 39), (40, 41))]) > 1.5 * delta


def test_constants_are_the_stated_ones():
    assert float(laws([1], 0.5, 1e-6)[1]) == pytest.approx(1 + 4 * math.log(1 / 2e-6))
    assert float(laws([1], 0.5, 1e-6, neighboring=ADD)[1]) == pytest.approx(1 + 2 * math.log(1 / 2e-6))
    assert np.exp(np.asarray(laws([1], 0.5, 0.8)[2][0])[0]) == pytest.approx(0.8)


def printed_leak(epsilon, alpha, n):
    least = math.floor(alpha * n / 4) + 1
    cells = table(range(least + 2), epsilon, 1e-6, bins=4, calibration="printed", alpha=alpha, n=n)
    moves = [((a, a - 1), (b, b + 1)) for a in (least, least + 1) for b in (least - 1, least)]
    return worst(cells, epsilon, moves)


@pytest.mark.parametrize(
    ("alpha", "epsilon", "last"), [(0.1, 1.0, 1084), (0.1, 0.5, 2129), (0.01, 1.0, 10848), (0.25, 1.0, 433)]
)
def test_printed_violates_up_to_the_last_n(alpha, epsilon, last):
    assert printed_leak(epsilon, alpha, last) > 1e-6
    assert printed_leak(epsilon, alpha, last + 1) <= 1e-6
    for n in (last // 2, last, last + 1):
        truth = stability_histogram_guarantee(epsilon, 1e-6, calibration="printed", alpha=alpha, n=n)
        assert printed_leak(epsilon, alpha, n) == pytest.approx(truth.delta, rel=1e-6)


def test_printed_at_one_hundred_rows():
    assert printed_leak(1.0, 0.1, 100) == pytest.approx(0.184, abs=5e-4)


def test_the_audit_catches_broken_twins():
    halved = table(range(40), 2.0, 1e-6, bins=2)
    assert worst(halved, 1.0, [((30, 29), (30, 31))]) > 0.1
    low_threshold = table([0, 2, 3, 4, 5, 6, 7, 8, 9], 1.0, 0.01)  # every count one higher
    assert worst(low_threshold, 1.0, replacements(8)) == pytest.approx(0.01 * math.exp(0.5), rel=1e-6)


@pytest.mark.statistical
def test_what_is_sampled_is_the_law(audit):
    law, threshold, logs = law_and_log_probs(np.array([0, 1, 5, 9, 30], np.int32), 1.0, 1e-2)
    trials = 100_000
    run = jax.jit(jax.vmap(law.sample))
    released, noisy = (np.asarray(x) for x in run(jax.random.split(jax.random.key(3), trials)))
    chance = np.exp(np.asarray(logs[0], np.float64))
    for cell in range(5):
        audit.assert_frequency(int(released[:, cell].sum()), trials, chance[cell])
    assert np.all(noisy[~released] == 0)
    assert np.all(noisy[released] >= float(threshold) - 1e-4)
    above = int((noisy[:, 4] > 32).sum())
    audit.assert_frequency(above, trials, math.exp(-1) / 2)


def test_far_tails_and_float32():
    for delta in (1e-6, 1e-12, 1e-30):
        yes, no = map(np.asarray, law_and_log_probs(np.array([1, 200], np.int32), 1.0, delta)[2])
        assert float(yes[0]) == pytest.approx(math.log(delta), rel=1e-6)
        miss = math.log(0.5) - (199 / 2 - math.log(1 / (2 * delta)))
        assert float(no[1]) == pytest.approx(miss, rel=1e-5)
    # a cell of count 1 at delta = 1e-10 needs 22.3 scales of noise, which plain float32 samplers never reach
    law, *_ = law_and_log_probs(np.array([1], np.int32), 1.0, 1e-10)
    assert float(law.margin) == pytest.approx(22.33, abs=0.01)


def test_density_matches_the_release_probability():
    law, threshold, logs = laws([3, 12], 1.0, 0.01)
    edges = np.linspace(float(threshold), 80, 400_001)
    middle = (edges[1:] + edges[:-1]) / 2
    with jax.enable_x64(True):
        log_density = jax.jit(lambda law, y: jax.vmap(law.log_density)(y))
        density = np.exp(np.asarray(log_density(law, np.stack([middle, middle], axis=1))))
        mass = density.sum(0) * (edges[1] - edges[0])
        np.testing.assert_allclose(mass, np.exp(np.asarray(logs[0])), rtol=1e-6)
        assert np.all(np.isneginf(log_density(law, np.array([[0.0, 1.0]]))))


def test_total_and_padding():
    @jax.jit
    def both(key, counts, epsilon, delta):
        law = stability_histogram(counts, epsilon, delta)
        return *law.sample(key), *law.release_log_probs()

    zero, one = jax.random.key(0), jax.random.key(1)
    for epsilon, delta in itertools.product((1e-6, 1.0, 1e4), (0.0, 1e-30, 0.5, 0.999)):
        released, noisy, yes, no = map(np.asarray, both(zero, np.array([0, 0, 1, 10**6], np.int32), epsilon, delta))
        assert not np.any(np.isnan(np.concatenate([noisy, yes, no])))
        assert (bool(released[0]), float(noisy[0]), float(yes[0]), float(no[0])) == (False, 0, -np.inf, 0)
    assert both(zero, np.zeros(0, np.int32), 1.0, 1e-6)[0].shape == (0,)
    long = both(one, np.array([4, 40, 7, 0, 0, 0, 0, 0], np.int32), 1.0, 0.01)
    short = both(one, np.array([4, 40, 7], np.int32), 1.0, 0.01)
    np.testing.assert_array_equal(np.asarray(long[0])[:3], short[0])
    np.testing.assert_array_equal(np.asarray(long[1])[:3], short[1])


def test_refusals():
    counts = jnp.array([1], jnp.int32)
    for bad in (
        dict(calibration="printed"),
        dict(calibration="printed", alpha=0.1, n=10, neighboring=ADD),
        dict(calibration="loose"),
    ):
        with pytest.raises(InputError):
            stability_histogram(counts, 1.0, 0.1, **bad)
        with pytest.raises(InputError):
            stability_histogram_guarantee(1.0, 0.1, **bad)
    with pytest.raises(InputError, match="whole"):
        stability_histogram(jnp.array([0.1]), 1.0, 0.1)
    assert stability_histogram_guarantee(1.0, 0.1, neighboring=ADD).neighboring is ADD


def test_n_and_epsilon_are_traced():
    @jax.jit
    @chex.assert_max_traces(n=1)
    def run(c, e, n):
        return stability_histogram(c, e, 1e-6, calibration="printed", alpha=0.1, n=n).release_log_probs()

    for epsilon, n in ((1.0, 100), (0.5, 1000)):
        run(np.array([3, 4], np.int32), epsilon, n)


@pytest.mark.parametrize("law", ["histogram", "laplace"])
def test_counts_beyond_24_bits_stay_apart(law):
    """With one key the outcomes of counts c and c + 1 differ by 1, as the sensitivity says."""
    most = 2**30
    counts = np.arange(2**24 + 1, 2**24 + 5, dtype=np.int32)
    made = {
        "histogram": lambda c: stability_histogram(c[None], 0.5, 1e-6).rounded(most, most),
        "laplace": lambda c: RoundedLaplace.of(laplace_mechanism(c[None], 0.5, sensitivity=1), most, most),
    }[law]
    keys = jax.random.split(jax.random.key(0), 50)
    draw = jax.jit(jax.vmap(jax.vmap(lambda c, k: made(c).sample(k)[0], (0, None)), (None, 0)))
    drawn = np.asarray(draw(counts, keys))
    assert np.all(np.diff(drawn, axis=1) == 1)
    assert len(np.unique(drawn[:, 0])) > 5
