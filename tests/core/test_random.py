"""Random numbers: which bits, exact tails by counting the words behind them, exact integer laws, errors."""

from fractions import Fraction
from unittest import mock

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats as scipy_stats

from dpjax.core import random
from dpjax.core.checks import InputError

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed
SAMPLERS = ("uniform", "exponential", "laplace")
words = jax.jit(random.words, static_argnums=1)


def join(high, low):
    return (np.asarray(high).astype(np.uint64) << np.uint64(32)) | np.asarray(low).astype(np.uint64)


# --- the words ---------------------------------------------------------------------------------------------------


SHAPES = [(), (0,), (1,), (63,), (64,), (65,), (7, 9), (4, 5, 7)]
EAGER = [pytest.param(shape, marks=[] if shape in ((), (7, 9)) else pytest.mark.slow) for shape in SHAPES]


def assert_bits_of_jax_random(key, shape, draw):
    with jax.enable_x64(True):
        expected = np.asarray(jax.random.bits(key, shape, "uint64"))
    high, low = draw(key, shape)
    assert high.dtype == low.dtype == jnp.uint32 and high.shape == low.shape == shape
    np.testing.assert_array_equal(join(high, low), expected)


@pytest.mark.optimized
@pytest.mark.grid(keep=4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_words_are_the_bits_of_jax_random(key, shape):
    assert_bits_of_jax_random(key, shape, words)


@pytest.mark.parametrize("shape", EAGER, ids=str)
def test_words_one_operation_at_a_time_are_the_same(key, shape):
    assert_bits_of_jax_random(key, shape, random.words)


def test_words_are_threefry_by_its_published_vectors():
    """Random123's known answers, counter (0, 0) and key 0; and the key of ones at counter (0, 0xffffffff)."""
    high, low = random.words(jax.random.wrap_key_data(np.zeros(2, np.uint32)))
    assert (int(high), int(low)) == (0x6B200159, 0x99BA4EFE)


@pytest.mark.parametrize("count", [2, 63, 64])
def test_start_reads_on_in_the_same_stream(key, count):
    whole = join(*words(key, (1100,)))
    traced = jax.jit(lambda k, s: random.words_from(random.stream_of(k), (count,), s))
    for start in (0, 1, 2, 63, 64, 1000):
        np.testing.assert_array_equal(join(*traced(key, jnp.uint32(start))), whole[start : start + count])
    plain = jax.jit(lambda k: random.words_from(random.stream_of(k), (count,), 5))
    np.testing.assert_array_equal(join(*plain(key)), whole[5 : 5 + count])


def test_words_under_vmap_are_those_of_each_key(key):
    keys = jax.random.split(key, 5)
    for shape in ((3,), (70,)):
        batched = join(*jax.jit(jax.vmap(lambda k, s=shape: random.words(k, s)))(keys))
        np.testing.assert_array_equal(batched, [join(*words(k, shape)) for k in keys])


def test_too_many_words_are_refused(key):
    with pytest.raises(InputError, match="split the key"):
        random.words(key, (2**16, 2**16))


def draws_of_everything(key, count):
    table = random.geometric_table(3.7)
    bound = jnp.asarray([1, 5], jnp.uint32)
    return {
        "words": jnp.stack(random.words(key, (count,))),
        **{f"{name}32": getattr(random, name)(key, (count,), jnp.float32) for name in SAMPLERS},
        "geometric": random.geometric(key, table, (count,)),
        "discrete_laplace": random.discrete_laplace(key, table, (count,)),
        "randint_below": random.randint_below(key, bound, (count,)),
    }


def test_nothing_leans_on_the_promotion_of_ranks_or_types(key):
    table = random.geometric_table(3.7)

    def draws(k):
        matrix = [draw(k, table, (2, 3)) for draw in (random.geometric, random.discrete_laplace)]
        return draws_of_everything(k, 5), matrix

    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        strict, matrix = jax.jit(draws)(key)
    jax.tree.map(np.testing.assert_array_equal, strict, jax.jit(lambda k: draws_of_everything(k, 5))(key))
    assert all(draw.shape == (2, 3) and draw.dtype == jnp.int32 for draw in matrix)


@pytest.mark.optimized
def test_the_leading_axis_is_prefix_stable(key):
    draw = jax.jit(draws_of_everything, static_argnums=1)
    long = draw(key, 150)
    for count in (1, 20, 64):  # below and above where the hash is written out
        short = draw(key, count)
        for name in long:
            axis = 1 if name == "words" else 0
            prefix = np.take(np.asarray(long[name]), range(count), axis)
            np.testing.assert_array_equal(short[name], prefix, err_msg=name)


def test_prefix_stability_with_trailing_axes_and_in_float64(key):
    with jax.enable_x64(True):
        for dtype in (jnp.float32, jnp.float64):

            def draws(k, n, d=dtype):
                return [getattr(random, name)(k, (n, 3), d) for name in SAMPLERS]

            draw = jax.jit(draws, static_argnums=1)
            for short, whole in zip(draw(key, 20), draw(key, 50), strict=True):
                np.testing.assert_array_equal(short, whole[:20])


@pytest.mark.optimized
@pytest.mark.grid(keep=1, per=["name"])
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(
    "trailing", [(3,), (5,), *(pytest.param(one, marks=pytest.mark.slow) for one in ((2,), (3, 3)))], ids=str
)
def test_no_bit_depends_on_how_many_rows_there_are(name, trailing):
    """Against one long row, at lengths of which some compilers write out or vectorize a part."""
    draw = jax.jit(getattr(random, name), static_argnums=1)
    keys = [jax.random.key(i) for i in range(20)]
    rows = [np.asarray(draw(key, (600,))) for key in keys]
    for count in (1, 8, 24, 50):
        size = count * np.prod(trailing)
        for key, row in zip(keys, rows, strict=True):
            np.testing.assert_array_equal(np.asarray(draw(key, (count, *trailing))).reshape(-1), row[:size])


@pytest.mark.optimized
def test_64_bit_types_change_no_bit(key):
    compiled = []
    for wide in (False, True):
        with jax.enable_x64(wide):
            out = jax.jit(lambda k: draws_of_everything(k, 130))(key)
            compiled.append({name: (str(part.dtype), np.asarray(part).tobytes()) for name, part in out.items()})
    assert compiled[0] == compiled[1]


# --- real samplers: tails by counting words ----------------------------------------------------------------------


def sampler_of_words(name, dtype):
    """The sampler as a function of its words: an array of Python integers of 64 (float32) or 128 bits (float64)."""
    wide = dtype == np.float64

    def run(high, low):
        with mock.patch.object(random, "words", lambda key, shape: (high.reshape(shape), low.reshape(shape))):
            return getattr(random, name)(None, (high.shape[0],), dtype)

    compiled = jax.jit(run)

    def value(words):
        shifts = (96, 64, 32, 0) if wide else (32, 0)
        limbs = np.array([[(w >> shift) & 0xFFFFFFFF for shift in shifts] for w in words], np.uint32)
        high, low = limbs[:, 0::2], limbs[:, 1::2]
        if not wide:
            high, low = high[:, 0], low[:, 0]
        with jax.enable_x64(wide):
            return np.asarray(compiled(jnp.asarray(high), jnp.asarray(low)), np.float64)

    return value, 128 if wide else 64


def probability(name, dtype, thresholds, above):
    """P(value > t) (or < t) for each t, exactly: the words are counted by bisection, for each value of the sign bit."""
    value, bits = sampler_of_words(name, dtype)
    top = 2 ** (bits - 1)
    counts = [0] * len(thresholds)
    for bit in (0, 1):
        first, last = value([bit, (top - 1) * 2 + bit])
        rising = first < last

        def beyond(numbers, bit=bit):
            got = value([2 * v + bit for v in numbers])
            return got > thresholds if above else got < thresholds

        # the words beyond t are an end of the range: the upper end if the value rises and `above`, else the lower
        upper_end = rising == above
        low, high = [-1] * len(thresholds), [top] * len(thresholds)  # (low, high]: where the end begins
        while any(b - a > 1 for a, b in zip(low, high, strict=True)):
            middle = [(a + b) // 2 if b - a > 1 else max(a, 0) for a, b in zip(low, high, strict=True)]
            inside = beyond(middle)
            for i, m in enumerate(middle):
                if high[i] - low[i] > 1:
                    if bool(inside[i]) == upper_end:
                        high[i] = m
                    else:
                        low[i] = m
        for i in range(len(thresholds)):
            counts[i] += top - high[i] if upper_end else high[i]
    return [Fraction(count, 2**bits) for count in counts]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_are_monotone_in_their_words(name, dtype):
    """What the counting below rests on."""
    value, bits = sampler_of_words(name, dtype)
    generator = np.random.default_rng(5)
    numbers = [int(v) for v in generator.integers(0, 2**63, 300)]
    numbers = [(v << (bits - 64)) >> int(s) for v, s in zip(numbers, generator.integers(0, bits - 1, 300), strict=True)]
    near = [v + d for v in numbers[:60] for d in (1, 2, 3, 2**20) if v + d < 2 ** (bits - 1)]
    for bit in (0, 1):
        got = value([2 * v + bit for v in sorted(numbers + near)])
        steps = np.diff(got)
        assert np.all(steps >= 0) or np.all(steps <= 0)


def exact_survival(name, t, above):
    t = mpmath.mpf(float(t))
    if name == "exponential":
        p = mpmath.exp(-t)
        return p if above else 1 - p
    assert name == "laplace" and (t > 0) == above
    return mpmath.exp(-abs(t)) / 2


TAILS = [
    ("exponential", [12, 20, 30, 36, 40], True),
    ("laplace", [12, 20, 30, 36, 40], True),
    ("laplace", [-12, -20, -30, -36, -40], False),
    ("exponential", [float(np.exp(-s)) for s in (12, 20, 30, 36, 40)], False),
]


@pytest.mark.parametrize(("name", "at", "above"), TAILS)
def test_float32_tails(name, at, above):
    """Within 1e-3 to 36 scales. At 40 scales one word is already 1.3% of the tail."""
    thresholds = np.asarray(at, np.float32).astype(np.float64)
    with mpmath.workdps(60):
        found = probability(name, np.float32, thresholds, above)
        for scale, t, got in zip((12, 20, 30, 36, 40), thresholds, found, strict=True):
            ratio = mpmath.mpf(got.numerator) / got.denominator / exact_survival(name, t, above)
            assert abs(ratio - 1) < (1e-3 if scale <= 36 else 0.05), (t, float(ratio))


@pytest.mark.parametrize(("name", "at", "above"), TAILS)
def test_float64_tails(name, at, above):
    """Within 1e-9 to 60 scales, as promised; this includes 1e-3 at 40."""
    with mpmath.workdps(60):
        far = {12: 12, -12: -12}.get(at[0])
        at = [*at, far * 5] if far else at
        thresholds = np.asarray(at, np.float64)
        for t, got in zip(thresholds, probability(name, np.float64, thresholds, above), strict=True):
            ratio = mpmath.mpf(got.numerator) / got.denominator / exact_survival(name, t, above)
            assert abs(ratio - 1) < 1e-9, (t, float(ratio - 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_words_give_finite_values(dtype):
    for name in SAMPLERS:
        value, bits = sampler_of_words(name, dtype)
        extremes = value([0, 1, 2**bits - 1, 2**bits - 2])
        assert np.all(np.isfinite(extremes)), name
        if name == "uniform":
            assert np.all((extremes > 0) & (extremes <= 1))
        if name == "exponential":
            assert np.all(extremes > 0)


def test_uniform_is_uniform_by_counting():
    thresholds = np.array([2.0**-60, 2.0**-40, 1e-9, 0.25, 0.7, 1 - 2.0**-20])
    for dtype, tolerance in ((np.float32, 2e-7), (np.float64, 1e-15)):
        used = thresholds.astype(dtype).astype(np.float64)
        for t, got in zip(used, probability("uniform", dtype, used, False), strict=True):
            assert abs(float(got / Fraction(float(t))) - 1) < max(tolerance, 2.0**-63 / t), (t, dtype)


KS = [("uniform", "uniform"), ("exponential", "expon"), ("laplace", "laplace")]


def assert_kolmogorov_smirnov(key, count):
    with jax.enable_x64(True):
        for (name, law), stream in zip(KS, jax.random.split(key, len(KS)), strict=True):
            for dtype, part in zip((jnp.float32, jnp.float64), jax.random.split(stream), strict=True):
                draw = jax.jit(getattr(random, name), static_argnums=(1, 2))
                drawn = np.asarray(draw(part, (count,), dtype), np.float64)
                assert scipy_stats.kstest(drawn, law).pvalue >= FALSE_ALARM, (name, dtype)


@pytest.mark.statistical
def test_kolmogorov_smirnov(key):
    assert_kolmogorov_smirnov(key, 50_000)


@pytest.mark.slow
@pytest.mark.statistical
def test_kolmogorov_smirnov_long(key):
    assert_kolmogorov_smirnov(key, 3_000_000)


@pytest.mark.slow
@pytest.mark.statistical
def test_kolmogorov_smirnov_has_power(key):
    """The same test at the long sample size sees a scale that is off by one percent."""
    drawn = 1.01 * np.asarray(random.laplace(key, (3_000_000,)), np.float64)
    assert scipy_stats.kstest(drawn, "laplace").pvalue < FALSE_ALARM


def test_only_the_two_float_types(key):
    for dtype in (jnp.float16, jnp.bfloat16, jnp.int32):
        with pytest.raises(InputError, match="float32 or float64"):
            random.laplace(key, (), dtype)


# --- integer samplers: exact laws from the thresholds ------------------------------------------------------------

SCALES = [0.05, 0.8, 1.0, 3.7, 20.0, 1234.5]


def digit_probabilities(table):
    """P(digit i = 1) as the sampler realises it: a 64-bit word lies below the threshold."""
    return [Fraction((int(high) << 32) | int(low), 2**64) for high, low in np.asarray(table.digits)]


def geometric_pmf(digits, g):
    if g >= 2 ** len(digits):
        return Fraction(0)
    p = Fraction(1)
    for i, one in enumerate(digits):
        p *= one if (g >> i) & 1 else 1 - one
    return p


def geometric_survival(digits, g):
    """P(G >= g): either equal so far and then larger at the digit in question, or equal to the end."""
    if g >= 2 ** len(digits):
        return Fraction(0)
    total, equal = Fraction(0), Fraction(1)
    for i in reversed(range(len(digits))):
        if (g >> i) & 1:
            equal *= digits[i]
        else:
            total += equal * digits[i]
            equal *= 1 - digits[i]
    return total + equal


def relative(got, exact):
    return float(abs(mpmath.mpf(got.numerator) / got.denominator / exact - 1))


def places(scale, reach):
    return sorted({max(0, round(s * scale)) for s in np.linspace(0, reach, 60)} | {0, 1, 2, 3})


def assert_geometric(scale, reach, tolerance):
    table = random.geometric_table(scale)
    digits = digit_probabilities(table)
    high, low = np.asarray(table.nonzero).tolist()
    nonzero = Fraction((high << 32) | low, 2**64)
    with mpmath.workdps(60):
        q = mpmath.exp(-1 / mpmath.mpf(scale))
        worst = 0.0
        for g in places(scale, reach):
            if g > reach * scale:
                continue
            worst = max(worst, relative(geometric_pmf(digits, g), (1 - q) * q**g))
            worst = max(worst, relative(geometric_survival(digits, g), q**g))
            if g >= 1:  # the two-sided variable: |Z| - 1 is geometric given Z != 0
                worst = max(worst, relative(nonzero * geometric_pmf(digits, g - 1) / 2, (1 - q) / (1 + q) * q**g))
                worst = max(worst, relative(nonzero * geometric_survival(digits, g - 1) / 2, q**g / (1 + q)))
        worst = max(worst, relative(1 - nonzero, (1 - q) / (1 + q)))
    assert worst < tolerance, worst


@pytest.mark.parametrize("scale", SCALES)
def test_the_integer_law_within_1e_9_to_20_scales(scale):
    assert_geometric(scale, 20, 1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_the_integer_law_within_1e_3_to_36_scales(scale):
    assert_geometric(scale, 36, 1e-3)


def test_nothing_of_the_integer_law_is_cut():
    """The default table keeps every digit whose threshold is not 0; a given number of levels is kept as it is."""
    for scale in SCALES:
        table = random.geometric_table(scale)
        levels = table.digits.shape[0]
        longer = np.asarray(random.geometric_table(scale, min(31, levels + 6)).digits)
        np.testing.assert_array_equal(longer[:levels], table.digits)
        assert not longer[levels:].any()
    assert random.geometric_table(1.0, 3).digits.shape == (3, 2)


def test_integer_samplers_read_their_words_as_the_law_says(key):
    """Digit i is 1 iff word i is below its threshold; the sign is one bit of the last word."""
    table = random.geometric_table(5.0)
    levels = table.digits.shape[0]
    thresholds = [int(p * 2**64) for p in digit_probabilities(table)]
    high, low = np.asarray(table.nonzero).tolist()
    nonzero = (high << 32) | low
    rows = join(*words(key, (300, levels)))
    expected = [sum((int(w) < t) << i for i, (w, t) in enumerate(zip(row, thresholds, strict=True))) for row in rows]
    geometric, two_sided = (jax.jit(f, static_argnums=2) for f in (random.geometric, random.discrete_laplace))
    got = geometric(key, table, (300,))
    assert got.dtype == jnp.int32 and np.asarray(got).tolist() == expected
    expected = []
    for row in join(*words(key, (300, levels + 2))):
        magnitude = 1 + sum((int(w) < t) << i for i, (w, t) in enumerate(zip(row[:levels], thresholds, strict=True)))
        expected.append((-magnitude if (int(row[-1]) >> 32) & 1 else magnitude) if int(row[levels]) < nonzero else 0)
    got = two_sided(key, table, (300,))
    assert got.dtype == jnp.int32 and np.asarray(got).tolist() == expected


def test_words_at_the_threshold_fall_on_the_right_side():
    table = random.geometric_table(2.0)
    is_below = jax.jit(random._below)
    for p, digit in zip(digit_probabilities(table), np.asarray(table.digits), strict=True):
        t = int(p * 2**64)
        if t == 0:
            continue
        near = np.array([t - 1, t, t + 1], np.uint64)
        high, low = (near >> np.uint64(32)).astype(np.uint32), near.astype(np.uint32)
        below = is_below(high, low, digit)
        assert np.asarray(below).tolist() == [True, False, False]


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.8, 3.7])
def test_chi_square_of_the_integer_samplers(key, stats, scale):
    table, count, reach = random.geometric_table(scale), 100_000, int(12 * scale)
    q = np.exp(-1 / scale)
    first, second = jax.random.split(key)
    geometric, two_sided = (jax.jit(f, static_argnums=2) for f in (random.geometric, random.discrete_laplace))
    g = np.minimum(np.asarray(geometric(first, table, (count,))), reach)
    z = np.clip(np.asarray(two_sided(second, table, (count,))), -reach, reach)
    law = (1 - q) * q ** np.arange(reach + 1)
    law[-1] = q**reach
    stats.chi_square(np.bincount(g, minlength=reach + 1), law)
    law = (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    law[[0, -1]] = q**reach / (1 + q)
    stats.chi_square(np.bincount(z + reach, minlength=2 * reach + 1), law)


def test_scales_whose_draws_do_not_fit_are_refused():
    random.geometric_table(2e7)
    with pytest.raises(InputError, match="at most 2e7"):
        random.geometric_table(3e7)
    with pytest.raises(InputError):
        random.geometric_table(1.0, 32)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_that_are_none_are_refused(scale):
    with pytest.raises(InputError):
        random.geometric_table(scale)


# --- uniform integers --------------------------------------------------------------------------------------------


def limbs_of(value, limbs):
    return [(value >> (32 * (limbs - 1 - i))) & 0xFFFFFFFF for i in range(limbs)]


def integer_of(limbs):
    total = 0
    for part in np.asarray(limbs):
        total = (total << 32) | int(part)
    return total


BOUNDS = [1, 2, 3, 10, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1, 2**64, 3 * 2**70, 2**96 - 1, 2**96]
BOUNDS.append(2**128 - 1)


randint_below = jax.jit(random.randint_below, static_argnums=2)


@pytest.mark.parametrize("limbs", [1, 4, *(pytest.param(one, marks=pytest.mark.slow) for one in (2, 3))])
def test_randint_is_the_top_of_word_times_bound(key, limbs):
    bounds = [b for b in BOUNDS if b < 2 ** (32 * limbs)]
    pairs = (limbs + 3) // 2
    bound = np.array([limbs_of(b, limbs) for b in bounds], np.uint32)
    for i, part in enumerate(jax.random.split(key, 20)):
        high, low = map(np.asarray, words(part, (len(bounds), pairs)))
        got = np.asarray(randint_below(part, bound, (len(bounds),)))
        assert got.shape == (len(bounds), limbs) and got.dtype == jnp.uint32
        for j, b in enumerate(bounds):
            halves = [int(h) for pair in zip(high[j], low[j], strict=True) for h in pair][: limbs + 2]
            word = sum(h << (32 * (limbs + 1 - place)) for place, h in enumerate(halves))
            assert integer_of(got[j]) == (word * b) >> (32 * (limbs + 2)) < b, (i, b)


def test_multiplication_carries():
    """All ones times all ones, and other products whose carries run through."""
    multiply = jax.jit(random._multiply)
    for a_limbs, b_limbs in ((3, 1), (4, 2), (6, 4)):
        a_top, b_top = 2 ** (32 * a_limbs) - 1, 2 ** (32 * b_limbs) - 1
        cases = [(a_top, b_top), (a_top // 2 + 2, b_top), (a_top - 2**32 + 1, 2**32 - 1), (0, 5), (1, 1)]
        for a, b in cases:
            left = [np.uint32(v) for v in limbs_of(a, a_limbs)]
            right = [np.uint32(v) for v in limbs_of(b, b_limbs)]
            assert integer_of([int(v) for v in multiply(left, right)]) == a * b


def test_randint_with_one_bound_is_prefix_stable_and_never_reaches_it(key):
    bound = np.array([0, 7], np.uint32)
    long = np.asarray(randint_below(key, bound, (1000,)))
    np.testing.assert_array_equal(randint_below(key, bound, (100,)), long[:100])
    assert long[:, 0].max() == 0 and set(long[:, 1].tolist()) == set(range(7))
    assert not np.asarray(randint_below(key, np.array([1], np.uint32), (50,))).any()


@pytest.mark.statistical
@pytest.mark.grid
@pytest.mark.parametrize(("bound", "limbs"), [(6, 4), (3 * 2**62, 4), (5 * 2**120, 4), (5 * 2**252, 8)])
def test_randint_is_uniform(key, stats, bound, limbs):
    count, cells = 30_000, 6
    drawn = np.asarray(randint_below(key, np.array(limbs_of(bound, limbs), np.uint32), (count,)))
    values = [integer_of(row) for row in drawn]
    stats.chi_square(np.bincount([v * cells // bound for v in values], minlength=cells), np.full(cells, 1 / cells))
    if bound > 2**40:  # the low bits too
        stats.chi_square(np.bincount([v % 16 for v in values], minlength=16), np.full(16, 1 / 16))


def test_more_limbs_than_eight_are_refused(key):
    with pytest.raises(InputError, match="at most 8 limbs"):
        random.randint_below(key, jnp.ones(9, jnp.uint32))


def test_samplers_refuse_raw_keys():
    raw = jax.random.key_data(jax.random.key(0))
    table = random.geometric_table(1.0)
    for draw in (
        lambda k: random.words(k),
        random.uniform,
        random.exponential,
        random.laplace,
        lambda k: random.geometric(k, table),
        lambda k: random.discrete_laplace(k, table),
        lambda k: random.randint_below(k, jnp.ones(1, jnp.uint32)),
    ):
        with pytest.raises(InputError, match="typed key"):
            draw(raw)


def test_the_checker_sees_a_second_draw_from_one_key():
    def twice(key):
        return random.laplace(key), random.exponential(key)

    def once(key):
        first, second = jax.random.split(key)
        return random.laplace(first), random.exponential(second, (100,))

    with jax.debug_key_reuse(True):
        jax.jit(once)(jax.random.key(0))
        with pytest.raises(jax.errors.KeyReuseError):
            jax.jit(twice)(jax.random.key(0))
