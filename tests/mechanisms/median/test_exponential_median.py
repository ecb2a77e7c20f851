"""The exponential median against its definition, element by element; its use; what it must not depend on."""

import importlib
from functools import lru_cache, partial
from math import ceil, log

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.core import bit_strings as B
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.mechanisms.median.answer import trimmed
from dpjax.mechanisms.median.exponential import exponential_median, rank_quality, three_candidates

from .families import FAMILIES, draw

ADD = Neighboring.ADD_OR_REMOVE_ONE


@lru_cache
def element_law(bits, size, monotonic=False):
    """log P of each of the ``size`` elements, in float64, for a batch of databases and margins."""
    elements = B.encode(list(range(size)), bits)

    def law(x, mask, epsilon, low, high):
        made = exponential_median(
            x,
            mask,
            epsilon,
            bits=bits,
            size=size,
            margins=(low, high),
            monotonic=monotonic,
            neighboring=ADD if monotonic else Neighboring.REPLACE_ONE,
        )
        return jax.vmap(made.log_prob)(elements)

    return jax.jit(jax.vmap(law, (0, 0, None, 0, 0)))


def log_probs(x, n, epsilon, low, high, bits, size, monotonic=False):
    """The law of each database ``x[i, :n[i]]``, ``float64[count, size]``."""
    mask = np.arange(x.shape[1]) < np.asarray(n)[:, None]
    with jax.enable_x64(True):
        margins = (np.asarray(margin, np.int32) for margin in (low, high))
        return np.asarray(element_law(bits, size, monotonic)(x[..., None], mask, np.float64(epsilon), *margins))


def quality(values, size, low, high):
    """The score of each element, by counting."""
    return np.array(
        [min(sum(v <= z for v in values) - low + 1, sum(v >= z for v in values) - high + 1) for z in range(size)]
    )


def databases(bits, size, count, seed, capacity=7):
    """Small databases with ties, their numbers of rows (0 included), and margins."""
    generator = np.random.default_rng([bits, size, seed])
    n = generator.integers(0, capacity + 1, count)
    x = np.minimum(generator.integers(0, size, (count, capacity)) >> generator.integers(0, 2, (count, 1)), size - 1)
    ends = generator.random((count, capacity)) < 0.2
    x = np.where(ends, generator.choice([0, size - 1], (count, capacity)), x)
    low, high = generator.integers(1, 5, (2, count))
    low[: count // 2] = high[: count // 2] = 1
    return x.astype(np.uint32), n, low, high


DOMAINS = [(1, 1), (1, 2), (3, 8), (5, 27)]  # bits, size


@pytest.mark.parametrize(
    ("bits", "size", "monotonic"),
    [*((*domain, False) for domain in DOMAINS), (5, 27, True), pytest.param(6, 64, False, marks=pytest.mark.slow)],
)
def test_the_law_is_the_exponential_mechanism_over_all_elements(bits, size, monotonic):
    x, n, low, high = databases(bits, size, 400, 0)
    epsilon = 1.3
    beyond = np.random.default_rng(bits).integers(size - 1, 2**32, x.shape, np.uint32)
    raw = np.where(x == size - 1, beyond, x)  # a row outside the domain counts as its last element
    got = log_probs(raw, n, epsilon, low, high, bits, size, monotonic)
    for i in range(400):
        score = quality(x[i, : n[i]].tolist(), size, low[i], high[i])
        weights = np.exp((epsilon if monotonic else epsilon / 2) * score)
        np.testing.assert_allclose(np.exp(got[i]), weights / weights.sum(), rtol=1e-12)
    assert np.any(n == 0)
    np.testing.assert_allclose(np.exp(got[n == 0]), 1 / size, rtol=1e-12)


@pytest.mark.parametrize(("bits", "size"), [(3, 8), (5, 27)])
@pytest.mark.parametrize("relation", Neighboring)
def test_neighbors_have_close_laws(bits, size, relation):
    """Exactly epsilon, and no more, under either relation; the monotonic rate holds when rows come and go."""
    x, n, low, high = databases(bits, size, 400, 1)
    n = np.maximum(np.minimum(n, 6), 1)
    other = x.copy()
    if relation is ADD:
        other_n = n + 1
    else:
        other[np.arange(400), n - 1], other_n = other[:, 6], n
    for monotonic in {False, relation is ADD}:
        one = log_probs(x, n, 0.8, low, high, bits, size, monotonic)
        two = log_probs(other, other_n, 0.8, low, high, bits, size, monotonic)
        claim = 0.4 if relation is ADD and not monotonic else 0.8  # all scores move the same way there
        loss = np.abs(one - two).max()
        assert 0.8 * claim < loss <= claim + 1e-9
        assert hockey_stick(one, two, 0.8).max() < 1e-12


def test_scores_count_rows():
    x, n, low, high = databases(5, 27, 30, 2)
    elements = B.encode(list(range(27)), 5)
    score = jax.jit(jax.vmap(lambda x, mask, low, high: rank_quality(x, mask, elements, (low, high))))
    mask = np.arange(7) < n[:, None]
    got = np.asarray(score(x[..., None], mask, *(margin.astype(np.int32) for margin in (low, high))))
    for i in range(30):
        assert got[i].tolist() == quality(x[i, : n[i]].tolist(), 27, low[i], high[i]).tolist()


@pytest.mark.parametrize("extreme", [-(2**31), 2 - 2**31, 2**31 - 1])
def test_extreme_margins_and_cuts_do_not_wrap(extreme):
    """They may stand in an edited plan: a row still moves a score by one at most, and nothing is left of all rows."""
    scores, left = scores_and_left(np.int32(extreme))
    assert np.all(np.abs(np.diff(scores)) <= 1)
    assert left == (4 if extreme < 0 else 0)


@jax.jit
def scores_and_left(extreme):
    """Of the first 0, 1, ..., 4 of four equal rows the score of their value; what is left of all four."""
    x, z = jnp.asarray(B.encode([3, 3, 3, 3], 4)), jnp.asarray(B.encode(3, 4))
    counts = np.arange(4) < np.arange(5)[:, None]
    scores = jax.vmap(lambda mask: rank_quality(x, mask, z, (1, extreme)))(counts)
    return scores, trimmed(x, jnp.int32(4), extreme, extreme)[1]


@lru_cache
def sampler(bits, size=None):
    def run(key, x, mask, epsilon):
        return exponential_median(x, mask, epsilon, bits=bits, size=size).sample(key)

    return jax.jit(jax.vmap(run, (0, None, None, None)))


@pytest.mark.statistical
def test_samples_follow_the_law(stats):
    bits, size, n = 6, 53, np.array([0, 4, 7])
    x, *_ = databases(bits, size, 3, 3)
    laws = np.exp(log_probs(x, n, 0.9, [1] * 3, [1] * 3, bits, size))
    keys = jax.random.split(jax.random.key(bits), 20000)
    for i in range(3):
        got = B.decode(sampler(bits, size)(keys, x[i, :, None], np.arange(7) < n[i], np.float32(0.9)))
        stats.chi_square(np.bincount(got.astype(int), minlength=size), laws[i])


@pytest.mark.statistical
def test_an_empty_database_gives_a_uniform_element(stats):
    bits, top = 65, 3 << 63
    keys = jax.random.split(jax.random.key(4), 20000)
    got = B.decode(sampler(bits, top)(keys, np.zeros((2, 3), np.uint32), np.zeros(2, bool), np.float32(1)))
    counts = [sum(top * i // 6 <= int(v) < top * (i + 1) // 6 for v in got) for i in range(6)]
    stats.chi_square(counts, np.full(6, 1 / 6))


# --- utility


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("bits", "trials"), [(16, 60), *(pytest.param(*row, marks=pytest.mark.slow) for row in ((64, 60), (1024, 12)))]
)
def test_an_interior_point_at_the_promised_sample_size(bits, trials, stats):
    epsilon, beta = 1.0, 0.1
    n = ceil(4 / epsilon * (bits * log(2) - log(beta)))
    assert n == {16: 54, 64: 187, 1024: 2849}[bits]
    mask = np.ones(n, bool)
    quality = jax.jit(rank_quality)
    for number, name in enumerate(FAMILIES):
        successes = 0
        for again in range(3):
            x = draw(name, np.random.default_rng([bits, number, again]), n, bits)
            keys = jax.random.split(jax.random.key(100 * number + again), trials // 3)
            got = sampler(bits)(keys, x, mask, np.float32(epsilon))
            successes += int((np.asarray(quality(x, mask, got)) >= 1).sum())
        stats.mostly(successes, trials, beta)
    few = np.arange(n) < n // 10
    x = draw("constant", np.random.default_rng(0), n, bits)
    got = sampler(bits)(keys, x, few, np.float32(epsilon))
    assert int((np.asarray(quality(x, few, got)) >= 1).sum()) < trials / 6  # the assertion above can fail


# --- invariance


@pytest.mark.optimized
@pytest.mark.parametrize("bits", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_results_do_not_depend_on_buffer_order_batch_or_types(bits):
    generator = np.random.default_rng(bits)
    n = 21
    x = draw("nested and filled", generator, n, bits)
    keys = jax.random.split(jax.random.key(bits), 200)
    wanted = np.asarray(sampler(bits)(keys, x, np.ones(n, bool), np.float32(1.7)))
    assert len({tuple(row) for row in wanted.tolist()}) > 20

    def elsewhere(capacity):
        """The same rows in other places of a larger buffer, among rubbish."""
        place = generator.permutation(capacity)[:n]
        rows, mask = generator.integers(0, 2**32, (capacity, B.limbs(bits)), np.uint32), np.zeros(capacity, bool)
        rows[place], mask[place] = x, True
        return rows, mask

    if bits > 32:
        np.testing.assert_array_equal(sampler(bits)(keys[:7], *elsewhere(200), np.float32(1.7)), wanted[:7])
    with jax.enable_x64(True):
        one = jax.jit(lambda key, x, mask, epsilon: exponential_median(x, mask, epsilon, bits=bits).sample(key))
        rows, mask = elsewhere(64)
        got = [one(keys[i], rows, mask, np.float32(1.7)) for i in range(200)]
        np.testing.assert_array_equal(jax.device_get(got), wanted)


def test_one_program_for_all_numbers():
    traced = []

    @jax.jit
    def run(x, mask, epsilon, low):
        traced.append(1)
        return exponential_median(x, mask, epsilon, bits=40, margins=(low, low)).choice.log_weights

    for i in range(4):
        x = draw("uniform", np.random.default_rng(i), 9, 40)
        run(x, np.arange(9) < i, np.float32(i + 1), np.int32(i + 1))
    assert len(traced) == 1


# --- the three candidates


@pytest.mark.parametrize("bits", [1, 3, 6])
def test_three_candidates_are_the_exponential_mechanism_over_three_points(bits):
    epsilon, size = 0.7, 1 << bits

    @jax.jit
    @partial(jax.vmap, in_axes=(0, 0, 0, 0, None))
    def run(x, mask, prefix, length, epsilon):
        points, law = three_candidates(x, mask, epsilon, prefix, length, bits=bits, margins=(1, 2))
        return points, law.log_probs()

    x, n, _, _ = databases(bits, size, 60, 5)
    generator = np.random.default_rng(bits)
    prefix, length = generator.integers(0, size, 60), generator.integers(0, bits + 1, 60)
    length[:6] = [0, bits, bits - 1] * 2
    with jax.enable_x64(True):
        points, logs = run(
            x[..., None],
            np.arange(7) < n[:, None],
            prefix[:, None].astype(np.uint32),
            length.astype(np.int32),
            np.float64(epsilon),
        )
    points, logs = np.asarray(points), np.asarray(logs)
    for i in range(60):
        free = bits - int(length[i])
        start = int(prefix[i]) >> free << free
        wanted = {start, start + (1 << free >> 1) - 1 if free else start, start + (1 << free) - 1}
        score = quality(x[i, : n[i]].tolist(), size, 1, 2)
        weight = {z: np.exp(epsilon / 2 * score[z]) for z in wanted}
        got = {}
        for point, value in zip(B.decode(points[i]).tolist(), np.exp(logs[i]), strict=True):
            got[point] = got.get(point, 0) + value
        assert set(got) == wanted
        for z in wanted:
            np.testing.assert_allclose(got[z], weight[z] / sum(weight.values()), rtol=1e-12)


# --- what it refuses, and what it asks


def test_bad_input_is_refused():
    x, mask = np.zeros((3, 2), np.uint32), np.ones(3, bool)
    for wrong in ({"bits": 20}, {"bits": 65}, {"bits": 0}, {"bits": 33, "size": 2**33 + 1}, {"bits": 33, "size": 0}):
        with pytest.raises(InputError):
            exponential_median(x, mask, 1.0, **wrong)
    with pytest.raises(InputError, match="rows of 2 limbs"):
        exponential_median(x, mask[:2], 1.0, bits=33)
    with pytest.raises(InputError, match="monotonic"):
        exponential_median(x, mask, 1.0, bits=33, monotonic=True)


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("bits", [7, 32, 90, 96])
def test_the_pieces_on_which_privacy_rests(bits, monkeypatch):
    """Ends and scores of all pieces, at the ends of the domain and of the limbs too."""
    top = 2**bits - 1
    heard = []

    questions = []
    module = importlib.import_module("dpjax.mechanisms.median.exponential")
    monkeypatch.setattr(module, "asked", lambda value, *what: questions.append(value) or heard.append(what) or value)

    @jax.jit
    def asked(x, mask):
        exponential_median(x, mask, 1.0, bits=bits)
        return [questions.pop()]

    for values in ([1, 3, 3, 90], [0, 0, 1, top - 1], [top, top, 0, 5], [top - 1] * 4):
        (pieces,) = asked(B.encode(values, bits), np.ones(4, bool))
        pieces = np.asarray(pieces)
        half = (pieces.shape[1] - 2) // 2
        assert half == max(2, B.limbs(bits))
        alive = pieces[pieces[:, -1] == 1]
        ends = B.decode(alive[:, : 2 * half].astype(np.uint32).reshape(-1, 2, half)).tolist()
        starts = sorted({0, *values, *(v + 1 for v in values if v < top)})
        assert ends == [[one, two - 1] for one, two in zip(starts, [*starts[1:], top + 1], strict=True)]
        assert alive[:, -2].tolist() == [min(sum(v <= z for v in values), sum(v >= z for v in values)) for z in starts]
    assert heard == [("exponential_median", 1.0, "pieces")]
