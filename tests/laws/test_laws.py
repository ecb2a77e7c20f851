"""Output laws: the sampler realises the law that is audited, in both tails and for any spread of weights."""

import functools
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import log_softmax

from dpjax import laws
from dpjax.core import random
from dpjax.laws import Categorical, DiscreteLaplace, Laplace, Product
from dpjax.laws.table import Bounds, rounded_units
from tests.oracles.categorical import sampler_probabilities

LARGE = 2**16


def spreads(nats, size=LARGE):
    """Log-weights of several shapes, all over ``nats`` nats."""
    generator = np.random.default_rng(int(nats) + size)
    line = np.linspace(0, nats, size)
    one = np.full(size, 0.0)
    one[size // 3] = nats
    few = np.zeros(size)
    few[generator.integers(0, size, 5)] = nats - generator.random(5)
    return {
        "line": line,
        "shuffled line": generator.permutation(line),
        "uniform": generator.random(size) * nats,
        "one dominates": one,
        "a few dominate": few,
        "two levels": np.where(np.arange(size) % 2 == 0, nats, 0.0),
        "whole counts": -np.round(generator.exponential(size=size) * nats / 12) * 0.5,
        "far from zero": 1000.0 + generator.random(size) * nats,
        "all equal": np.zeros(size),
    }


def exact(log_weights):
    return np.exp(log_softmax(np.asarray(log_weights, np.float64)))


def make(log_weights, dtype, **options):
    with jax.enable_x64(True):
        return Categorical(jnp.asarray(np.asarray(log_weights, dtype)), **options)


@jax.jit
def log_probs(law):
    return law.log_probs()


@pytest.mark.optimized
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nats", [40, 200])
def test_the_sampler_realises_the_law(nats, dtype):
    for name, weights in spreads(nats).items():
        weights = np.asarray(weights, dtype)
        law, got = exact(weights), sampler_probabilities(make(weights, dtype))
        assert np.max(np.abs(got - law)) < 1e-12, name
        seen = law > 1e-12
        np.testing.assert_allclose(got[seen], law[seen], rtol=1e-9, err_msg=name)
        assert np.all(got[law > 1e-290] > 0), f"{name}: a candidate is unreachable"


def columns(table, filler=0):
    """``[columns, 8]``, the entries of each column in order; short ones are filled up."""
    whole = np.asarray(table).swapaxes(1, 2)
    whole = np.pad(whole, ((0, 0), (0, 0), (0, 8 - whole.shape[2])), constant_values=filler)
    return whole.reshape(-1, 8)


@jax.jit
def parts_of(log_weights, null=None):
    """The table, with units and weights of each segment of cells and of null."""
    table = Bounds.of(log_weights, None, null)
    of_null = None if null is None else (*table.weights(table.null), table.null_bound)
    return [table.weights(part) for part in table.cells], of_null, table.bounds, table.levels, table.ends


@jax.jit
def proposals(log_weights, null, high, low):
    return jax.vmap(Bounds.of(log_weights, None, null).propose)(high, low)


@pytest.mark.optimized
@pytest.mark.grid(per=["dtype"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 33, 1000, LARGE])
def test_bounds_hold_and_acceptance_is_a_probability(size, dtype):
    """A column's bound covers the units of its candidates, sums are exact, and a proposal is rarely refused."""
    for nats in (0.001, 3, 40, 64, 90, 200, 1e6):
        for name, weights in spreads(nats, size).items():
            with jax.enable_x64(True):
                parts, _, bounds, _, ends = jax.tree.map(np.asarray, parts_of(weights.astype(dtype)))
            units, exact_weights = (np.concatenate([columns(part[i]) for part in parts]) for i in range(2))
            assert np.all((exact_weights >= 0) & (exact_weights <= units)), (name, nats)
            used = bounds > 0  # a column without a candidate has no bound
            assert np.all(units.sum(axis=1)[used] <= bounds[used]), (name, nats)
            assert np.all(exact_weights.sum(axis=1)[~used] == 0), (name, nats)
            assert ends[-1] == bounds.sum() < 2**53
            accepted = exact_weights.sum() / bounds.sum()
            assert accepted > 0.9 - size / 2**21 or size == LARGE, (name, nats, accepted)
            assert accepted > 0.5, (name, nats, accepted)


def below(table, index):
    """The entries under an index of the table's columns, in order."""
    blocks, rows, lanes = table.shape
    return np.arange(blocks * rows * lanes).reshape(table.shape)[index // lanes, :, index % lanes].tolist()


def leaves(levels, index, columns):
    """The columns below a node, in the order in which a running sum meets them."""
    if not levels:
        return [index] if index < columns else []  # the others are padding
    size = levels[-2].shape[0] * levels[-2].shape[2] if len(levels) > 1 else columns
    return [leaf for child in below(levels[-1], index) if child < size for leaf in leaves(levels[:-1], child, columns)]


@pytest.mark.parametrize(
    ("size", "null"),
    [
        (7, False),
        (9, True),
        (150, True),
        (3000, False),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, False), (64, False), (72, True))),
    ],
)
def test_a_proposal_is_the_inverse_of_the_whole_number_weights(size, null):
    """At every boundary of the cumulated units, one target on either side: no unit is lost or counted twice."""
    generator = np.random.default_rng(size)
    weights = (generator.random(size) * 30).astype(np.float32)
    weights[::5] = -np.inf if size > 1 else 0
    null = np.float32(20) if null else None
    with jax.enable_x64(True):
        parts, of_null, bounds, levels, ends = jax.tree.map(np.asarray, parts_of(weights, null))
    units, exact_weights = (np.concatenate([columns(part[i], 1 - i) for part in parts]) for i in range(2))
    places, first = [], 0
    for part, _ in parts:
        places.append(columns(np.arange(first, first + part.size).reshape(part.shape)))
        first += part.size
    cells, width = np.concatenate(places), len(bounds)
    order = [leaf for node in range(len(ends)) for leaf in leaves(levels, node, width)]
    assert sorted(order) == list(range(width))
    targets, indices, accepts, start = [], [], [], 0

    def visit(units, exact_weights, indices_of, bound):
        nonlocal targets, indices, accepts, start
        ends = start + np.cumsum(units).astype(int)
        for row, (begin, end) in enumerate(zip([start, *ends[:-1]], ends, strict=True)):
            targets += [begin, int(end) - 1]
            indices += [indices_of[row] if exact_weights[row] > 0 else None] * 2
            accepts += [exact_weights[row] / units[row]] * 2
        start += int(bound)
        if ends[-1] < start:  # what the candidates do not fill
            targets += [int(ends[-1]), start - 1]
            indices += [None, None]
            accepts += [0.0, 0.0]

    if of_null is not None:
        visit(*(part[None] for part in of_null[:2]), [0], of_null[2])
    for column in order:
        if bounds[column] > 0:
            visit(units[column], exact_weights[column], cells[column] + (null is not None), bounds[column])
    words = [-(-int(target) * 2**128 // start) for target in targets]  # the least word mapped to the target
    assert [(w * start) >> 128 for w in words] == targets
    halves = [np.array([w >> 64 for w in words], np.uint64), np.array([w % 2**64 for w in words], np.uint64)]
    with jax.enable_x64(True):
        index, accept = (np.asarray(part) for part in proposals(weights, null, *halves))
    np.testing.assert_allclose(accept, accepts, rtol=1e-14)
    assert all(cell is None or cell == i for cell, i in zip(indices, index.tolist(), strict=True))


@pytest.mark.optimized
def test_the_fast_power_is_as_close_as_the_bounds_need():
    """Relative error 1.2e-4 and half a unit, over a fine grid and the corners."""
    grid = np.concatenate(
        [-np.linspace(0, 30, 300_001), -np.arange(200) * np.log(2), [-100, -1e4, -3e38, -np.inf, -1e-38]]
    )
    logs = np.asarray(grid, np.float32)
    got = np.asarray(jax.jit(rounded_units)(jnp.asarray(logs))).astype(np.int64) - 0x4B000000
    exact_units = np.exp(logs.astype(np.float64)) * 2.0**22
    assert np.all(np.abs(got - exact_units) <= 1.2e-4 * exact_units + 0.501)


@functools.partial(jax.jit, static_argnums=(2, 3))
def draws(law, key, count, method="sample"):
    return jax.vmap(getattr(law, method))(jax.random.split(key, count))


def sample_counts(law, key, count, method="sample"):
    drawn = np.asarray(draws(law, key, count, method))
    assert drawn.dtype == np.int32
    assert np.all((drawn >= 0) & (drawn < law.log_weights.shape[0]))
    return np.bincount(drawn, minlength=law.log_weights.shape[0])


WEIGHTS = {
    "one": [3.0],
    "two": [0.0, -2.0],
    "nine": [0, -1, -2, -3, -4, -3.3, -2.2, -1.1, 0.5],
    "ties": [1.0, 1.0, -np.inf, 1.0, 1.0, 0.0, 1.0],
    "200 nats": [-200, -199, -100, -1, 0, -0.5, -120, -np.inf, -2],
    "leading masks": [-np.inf] * 30 + [0, -1, -2],
    "line of 150": list(-np.linspace(0, 9, 150)),
}


@pytest.mark.statistical
@pytest.mark.grid(keep=3, per=["method"])
@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(("method", "count"), [("sample", 40_000), ("sample_race", 20_000)])
def test_frequencies(key, stats, name, method, count):
    weights = WEIGHTS[name]
    stats.chi_square(sample_counts(make(weights, np.float32), key, count, method), exact(weights))


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(("method", "count"), [("sample", 1_000_000), ("sample_race", 1_000_000)])
def test_frequencies_long(key, stats, name, method, count):
    weights = WEIGHTS[name]
    stats.chi_square(sample_counts(make(weights, np.float32), key, count, method), exact(weights))


@pytest.mark.statistical
def test_frequencies_of_a_large_law(key, stats):
    weights = spreads(40)["uniform"].astype(np.float32)
    law = exact(weights)
    groups = np.minimum((-np.log(law / law.max())).astype(int), 12)
    seen = sample_counts(Categorical(jnp.asarray(weights)), key, 2_000)
    stats.chi_square(np.bincount(groups, seen, 13), np.bincount(groups, law, 13))


@pytest.mark.optimized
@pytest.mark.statistical
def test_the_race_draws_what_lies_far_below_at_its_rate(key):
    """65536 candidates at -25 beside one at 0 win 9e-7 of the races; exponentials with a spacing of 2**-24 near 0
    let them win one in 500. More than one of 2000 has a probability of 2e-6."""
    law = make([0.0, *[-25.0] * 65536], np.float32)
    race = jax.jit(lambda keys: jax.lax.map(law.sample_race, keys))
    assert np.count_nonzero(race(jax.random.split(key, 2000))) <= 1


@pytest.mark.parametrize("method", ["sample", "sample_race"])
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([-np.inf] * 3, -1),
        ([-np.inf], -1),
        ([0.0, np.nan, 1.0], -1),
        ([np.nan], -1),
        ([np.inf, 0.0], -1),
        ([-np.inf, -1e30, -np.inf], 1),
        ([-np.inf, 5.0], 1),
        ([3e38, -3e38], 0),
        ([0.0], 0),
    ],
)
def test_degenerate_laws(key, method, weights, expected):
    law = make(weights, np.float32)
    assert set(np.asarray(draws(law, key, 50, method)).tolist()) == {expected}


@pytest.mark.parametrize("method", ["sample", "sample_race"])
def test_the_no_answer_cell_is_sampled_as_minus_one(key, stats, method):
    law = make([0.0, -1.0, 0.3], np.float32, no_answer=True)
    drawn = np.asarray(draws(law, key, 20_000, method))
    stats.chi_square([np.sum(drawn == value) for value in (0, 1, -1)], exact([0.0, -1.0, 0.3]))
    np.testing.assert_allclose(np.exp(log_probs(law)), exact(np.float32([0.0, -1.0, 0.3])), rtol=1e-12)


@pytest.mark.optimized
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("failure", [1e-10, 1e-12, 1e-15])
def test_a_rare_failure_keeps_its_probability(failure, dtype):
    """delta = 1e-12 is ordinary. float32 holds ln(1e-10) to 1e-6."""
    tolerance = 2e-6 if dtype == np.float32 else 1e-9
    for weights in ([np.log1p(-failure), np.log(failure)], [np.log(failure), np.log1p(-failure)]):
        rare = int(weights[1] < weights[0])
        law = make(weights, dtype)
        np.testing.assert_allclose(sampler_probabilities(law)[rare], failure, rtol=tolerance)
        np.testing.assert_allclose(np.exp(np.asarray(log_probs(law))[rare]), failure, rtol=tolerance)
        # what is audited is what runs, much more closely than float32 holds the number itself
        np.testing.assert_allclose(sampler_probabilities(law), np.exp(log_probs(law)), rtol=1e-12)


def test_log_probs_are_normalised_float64():
    for name in ("nine", "200 nats"):
        weights = WEIGHTS[name]
        got = np.asarray(log_probs(make(weights, np.float32)))
        assert got.dtype == np.float64
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(got, np.log(exact(np.float32(weights))), rtol=1e-12, atol=1e-12)


def test_laws_are_pytrees_for_vmap_and_jit(key):
    rows = jnp.asarray(np.float32([[0.0, -1.0, -2.0], [-5.0, 0.0, -np.inf], [-np.inf] * 3]))
    batch = Categorical(rows, no_answer=True)
    keys = jax.random.split(key, 3)
    together = jax.jit(jax.vmap(lambda law, k: law.sample(k)))(batch, keys)
    one = jax.jit(lambda law, k: law.sample(k))
    alone = [int(one(Categorical(row, True), k)) for row, k in zip(np.asarray(rows), keys, strict=True)]
    assert np.asarray(together).tolist() == alone
    again = jax.tree.unflatten(jax.tree.structure(batch), jax.tree.leaves(batch))
    assert again.no_answer and again.log_weights is rows


@pytest.mark.optimized
def test_sampling_needs_no_64_bit_types_and_gives_the_same(key):
    weights = jnp.asarray(spreads(30, 200)["uniform"], jnp.float32)
    seen = []
    for wide in (False, True):
        with jax.enable_x64(wide):
            law = Categorical(weights)
            draw = jax.jit(jax.vmap(lambda k, law=law: (law.sample(k), law.sample_race(k))))
            seen.append([np.asarray(part).tolist() for part in draw(jax.random.split(key, 300))])
    assert seen[0] == seen[1]


# --- Laplace, discrete Laplace, products -------------------------------------------------------------------------

POINTS = [-700.0, -80.0, -30.0, -3.0, -1e-3, 0.0, 1e-3, 0.5, 3.0, 30.0, 80.0, 700.0]


def assert_logs_close(got, exact_log, scales, dtype):
    """Relative, also where the log is tiny: exp(-x) is as good as the rounding of x allows, about x eps."""
    slack = float(np.finfo(dtype).eps) * (4 + abs(scales))
    smallest = mpmath.mpf(float(np.finfo(dtype).tiny))
    assert float(abs(mpmath.mpf(float(got)) - exact_log) / max(abs(exact_log), smallest)) <= slack, (scales, float(got))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (2.0, 0.5), (-1.5, 8.0)])
def test_laplace_against_mpmath(dtype, loc, scale):
    z = np.asarray(POINTS, dtype)
    with jax.enable_x64(True), mpmath.workdps(400):
        value = jnp.asarray((loc + scale * z).astype(dtype))
        law = Laplace(jnp.asarray(loc, dtype), jnp.asarray(scale, dtype))
        for method in ("log_survival", "log_cdf", "log_density"):
            got = np.asarray(jax.jit(lambda law, v, method=method: getattr(law, method)(v))(law, value))
            assert got.dtype == dtype
            for v, g in zip(np.asarray(value, np.float64), got, strict=True):
                x = (mpmath.mpf(float(v)) - loc) / scale
                upper = mpmath.exp(-abs(x)) / 2
                below = {"log_survival": x <= 0, "log_cdf": x >= 0}.get(method)
                exact_log = mpmath.log(1 - upper if below else upper)
                if method == "log_density":
                    exact_log = -abs(x) - mpmath.log(2 * scale)
                assert_logs_close(g, exact_log, float(x), dtype)


@jax.jit
def masses(law, values):
    return law.log_probability(values), law.log_survival(values)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
@pytest.mark.parametrize("loc", [0, -3])
def test_discrete_laplace_against_mpmath(loc, scale):
    law = DiscreteLaplace.of(loc, scale)
    values = np.array([-60, -20, -4, -3, -2, -1, 0, 1, 2, 5, 25, 60]) * max(1, round(scale)) + loc
    probability, survival = (np.asarray(part) for part in masses(law, values.astype(np.int32)))
    with mpmath.workdps(200):
        q = mpmath.exp(-1 / mpmath.mpf(scale))
        for v, p, s in zip(values, probability, survival, strict=True):
            z = int(v) - loc
            exact_p = mpmath.log((1 - q) / (1 + q) * q ** abs(z))
            exact_s = mpmath.log(q**z / (1 + q) if z > 0 else 1 - q ** (1 - z) / (1 + q))
            assert abs(p - float(exact_p)) <= 4e-7 * (1 + abs(z / scale))
            assert_logs_close(s, exact_s, z / scale, np.float32)


@pytest.mark.statistical
def test_noise_laws_sample_around_their_location(key, stats):
    count = 20_000
    first, second = jax.random.split(key)
    loc = np.full(count, 3.0, np.float32)
    draw = jax.jit(lambda law, k: law.sample(k))
    drawn = np.asarray(draw(Laplace(loc, jnp.float32(2.0)), first))
    stats.frequency(np.sum(drawn > 3.0), count, 0.5)
    stats.frequency(np.sum(drawn > 7.0), count, np.exp(-2) / 2)
    stats.frequency(np.sum(drawn < -3.0), count, np.exp(-3) / 2)
    law = DiscreteLaplace.of(np.full(count, -4), 2.0)
    drawn = np.asarray(draw(law, second))
    assert drawn.dtype == np.int32
    values = np.array([-9, -5, -4, 0], np.int32)
    for value, log_p in zip(values, masses(DiscreteLaplace.of(-4, 2.0), values)[0], strict=True):
        p = float(np.exp(log_p))
        stats.frequency(np.sum(drawn == value), count, p)


def test_discrete_laplace_has_one_program_for_many_scales(key):
    """With levels given, the table is an argument."""
    traced = []

    @jax.jit
    def draw(k, law):
        traced.append(1)
        return law.sample(k)

    for scale in (0.5, 1.0, 30.0):
        draw(key, DiscreteLaplace.of(0, scale, levels=12))
    assert len(traced) == 1


def test_products_are_independent(key, stats):
    first, second = [0.0, -1.0], [0.5, 0.0, -2.0]
    law = Product((make(first, np.float32), make(second, np.float32)))
    joint = np.exp(log_probs(law))
    np.testing.assert_allclose(joint, np.outer(exact(first), exact(second)), rtol=1e-6)
    assert joint.shape == (2, 3) and joint.dtype == np.float64
    a, b = (np.asarray(part) for part in jax.jit(jax.vmap(law.sample))(jax.random.split(key, 20_000)))
    stats.chi_square(np.bincount(3 * a + b, minlength=6), joint.reshape(-1))


def test_a_tail_beyond_a_threshold_is_simulated(monkeypatch, key):
    """The noise behind a threshold at ln(1/delta), delta = 1e-12, really exceeds it with about that probability."""
    table = Fraction(1, 2) * Fraction(1, 10**12)
    law = Laplace(jnp.float32(0), jnp.float32(1))
    at = float(-np.log(2 * float(table)))
    survival = np.float64(jax.jit(law.log_survival)(np.float32(at)))
    np.testing.assert_allclose(np.exp(survival), float(table), rtol=1e-5)
    monkeypatch.setattr(random, "words", lambda key, shape: (jnp.zeros(shape, jnp.uint32), jnp.ones(shape, jnp.uint32)))
    assert float(jax.jit(lambda k: random.exponential(k, (), jnp.float32))(key)) > at


def test_no_key_is_used_twice():
    law = make([0.0, -1.0, -2.0], np.float32)
    with jax.debug_key_reuse(True):
        jax.jit(law.sample_race)(jax.random.key(0))
        jax.jit(Product((law, law)).sample)(jax.random.key(0))
        jax.jit(law.sample)(jax.random.key(0))


@pytest.mark.parametrize("method", ["sample", "sample_race"])
def test_two_draws_from_one_key_are_caught(method):
    law = make([0.0, -1.0, -2.0], np.float32)
    with jax.debug_key_reuse(True), pytest.raises(jax.errors.KeyReuseError):
        jax.jit(lambda k: getattr(law, method)(k) + getattr(law, method)(k))(jax.random.key(0))


def cases(short, *values):
    """All combinations, of which those that are not among ``short`` are slow."""
    return [one if one in short else pytest.param(*one, marks=pytest.mark.slow) for one in itertools.product(*values)]


SIZES = [5, 63, 1, 8, 64, 65, 200, 1024, 1500]


@pytest.mark.optimized
@pytest.mark.parametrize(("size", "no_answer"), cases([(63, True)], SIZES, [False, True]))
def test_impossible_candidates_at_the_end_change_no_draw(size, no_answer):
    """The same key names the same candidate under any padding, in programs of every width and depth."""
    weights = (np.random.default_rng(size).random(size) * 3).astype(np.float32)
    last = np.full(int(no_answer), 2 + np.log(size), np.float32)  # as likely at every size
    drawn = []
    for padding in (0, 1, 3000):
        padded = np.concatenate([weights, np.full(padding, -np.inf, np.float32), last])
        drawn.append(np.asarray(draws(make(padded, np.float32, no_answer=no_answer), jax.random.key(5), 200)))
    assert len(set(drawn[0].tolist())) > min(20, size - 1)
    assert not no_answer or (drawn[0] == -1).any()
    for other in drawn[1:]:
        np.testing.assert_array_equal(other, drawn[0])


@pytest.mark.optimized
@pytest.mark.parametrize("size", [5, pytest.param(100, marks=pytest.mark.slow), 300])
def test_a_draw_does_not_depend_on_the_batch(size):
    rows = (np.random.default_rng(size).random((60, size)) * 9).astype(np.float32)
    key_array = jax.random.split(jax.random.key(6), 60)
    together = jax.jit(jax.vmap(lambda logs, k: Categorical(logs).sample(k)))(rows, key_array)
    in_turn = jax.jit(lambda *all_: jax.lax.map(lambda one: Categorical(one[0]).sample(one[1]), all_))(rows, key_array)
    np.testing.assert_array_equal(together, in_turn)


NARROW, WIDE = [(np.float32, size) for size in (3, 100, 1024)], [(np.float64, size) for size in (64, 300)]


@pytest.mark.optimized
@pytest.mark.grid
@pytest.mark.parametrize(("dtype", "size"), cases(NARROW + WIDE, [np.float32, np.float64], [3, 64, 100, 300, 1024]))
def test_one_nan_anywhere_is_seen_in_a_batch(size, dtype):
    """XLA's vectorized maximum skips some."""
    weights = np.tile(np.random.default_rng(size).random(size).astype(dtype), (size, 1))
    np.fill_diagonal(weights, np.nan)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(1), size)
        drawn = jax.jit(jax.vmap(lambda logs, k: Categorical(logs).sample(k)))(weights, keys)
        assert np.all(np.asarray(drawn) == -1)
        assert not np.isfinite(jax.jit(jax.vmap(laws.fold_max))(weights)).any()


@pytest.mark.parametrize("size", [1, 127, 128, 300, 5000])
def test_the_largest_whole_number_is_found_at_every_place(size):
    values = np.tile(-np.random.default_rng(size).integers(1, 1000, size), (64, 1)).astype(np.int32)
    places = np.linspace(0, size - 1, 64).astype(int)
    values[np.arange(64), places] = 7
    np.testing.assert_array_equal(jax.jit(jax.vmap(laws.fold_max))(values), np.full(64, 7))
