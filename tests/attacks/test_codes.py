"""Codes: lengths, what the printed one gets wrong, soundness for any word, completeness, bad input."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from dpjax.attacks import BonehShaw, Tardos, pirates
from dpjax.attacks.codes import biased_bits, first
from dpjax.attacks.codes.base import packed, unpacked
from dpjax.attacks.piracy import measure
from dpjax.core import keys
from dpjax.core.checks import InputError

FALSE_ALARM = 1e-6
CONFIDENCE = 0.999


def zeros(key, bits, members):
    return jnp.zeros(bits.shape[1], bool)


def all_ones(key, bits, members):
    return jnp.ones(bits.shape[1], bool)


def noise(key, bits, members):
    return jax.random.bernoulli(key, 0.5, bits.shape[1:])


def opposite(key, bits, members):
    return ~pirates.majority(key, bits, members)


ANY_WORDS = (zeros, all_ones, noise, opposite)


@pytest.mark.parametrize(("users", "corrected", "printed"), [(4, 425, 489), (8, 3249, 5173), (16, 26282, 49635)])
def test_lengths(users, corrected, printed):
    assert BonehShaw(users).length == corrected < printed == BonehShaw(users, calibration="printed").length
    d, rate = BonehShaw(users).repetitions, math.log(users / 0.05)
    assert d <= users * (users + 1) * rate + 1  # the closed form, which rounds each step up
    assert BonehShaw(users, k=corrected + users).length == corrected  # n more columns make no block longer
    assert BonehShaw(users, k=corrected + users + 1).repetitions == d + 1


def greedy(limits, users):
    """The most ones in the last block without an accusation, by trying every number of ones in every block."""
    d = (len(limits) - 1) // 2
    reached = {0}
    for _ in range(users):
        reached = {w for v in reached for w in range(d + 1) if w - v <= limits[v + w]}
    return max(reached)


@pytest.mark.parametrize("users", [1, 2, 3, 4])
def test_a_feasible_word_accuses_somebody_and_one_column_less_would_not_do(users):
    code = BonehShaw(users, 0.2)
    d, rate = code.repetitions, math.log(users / 0.2)
    for length, complete in ((d, True), (d - 1, False)):
        limits = [math.floor(math.sqrt(2 * rate * both)) for both in range(2 * length + 1)]
        assert (greedy(limits, users) < length) == complete


@pytest.mark.parametrize(("users", "security"), [(2, 0.05), (4, 0.05), (4, 0.5), (8, 1e-3)])
def test_an_innocent_user_is_accused_with_probability_at_most_xi_over_n(users, security):
    """Exactly: the ones of a word in two blocks that look alike are split by a hypergeometric law."""
    d, rate = BonehShaw(users, security).repetitions, math.log(users / security)
    both = np.arange(2 * d + 1)
    accused = (both - np.floor(np.sqrt(2 * rate * both)) - 1) // 2  # ones in the first block, at most
    assert max(hypergeom.cdf(accused, 2 * d, d, both)) <= security / users


def test_codebooks_are_thresholds_in_a_random_order():
    code = BonehShaw(5)
    book = jax.jit(code.generate)(keys.root(3))
    bits, types = np.asarray(book.bits), np.asarray(book.secret)
    assert np.array_equal(bits, np.arange(5)[:, None] < types)
    assert np.array_equal(np.bincount(types), [code.repetitions] * 6)
    assert {row.tobytes() for row in bits.T} == {row.tobytes() for row in code.types()}
    assert not np.array_equal(types, np.asarray(code.generate(keys.root(4)).secret))


def test_packed_columns():
    table = np.random.default_rng(0).random((7, 70)) < 0.5
    assert np.array_equal(np.asarray(unpacked(jnp.asarray(packed(table)), 70)).T, table)


def test_biased_words_have_their_probability():
    bias = jnp.asarray([1, 1 << 22, 1 << 23, (1 << 24) - 1, 3 << 22], jnp.uint32)
    words = jax.vmap(lambda key: biased_bits.biased_words(key, bias))(keys.per_index(keys.root(1), 2000))
    counts = np.bitwise_count(np.asarray(words)).sum(0, dtype=np.int64)
    p = np.asarray(bias) / 2**24
    low, high = binom.ppf(FALSE_ALARM / 10, 64000, p), binom.isf(FALSE_ALARM / 10, 64000, p)
    assert np.all((counts >= low) & (counts <= high))


def test_tardos_scores_by_definition():
    for score in ("symmetric", "original"):
        code = Tardos(40, k=700, score=score, threshold="chernoff")
        book = code.generate(keys.root(5))
        word = noise(jax.random.key(0), book.bits, None)
        p = np.asarray(book.secret.bias) / 2**code.digits
        each = np.where(book.bits, np.sqrt((1 - p) / p), -np.sqrt(p / (1 - p)))
        sign = np.where(word, 1, 0 if score == "original" else -1)
        assert np.allclose(code.scores(book, word), each @ sign, atol=0.05)
        assert p.min() >= 1 / 12000 and p.max() <= 1 - 1 / 12000


def test_the_chernoff_threshold_bounds_the_null_law():
    """At the code's own Z, the moment generating function of the redrawn row gives exactly xi / n."""
    code = Tardos(8, 0.1, threshold="chernoff")
    book = code.generate(keys.root(2))
    word = jnp.arange(code.length) % 3 == 0
    zero, one = (np.asarray(part, float) / code._unit for part in code._values(book.secret.bias, word))
    with jax.enable_x64(True):
        z = float(code._chernoff(book.secret.bias, *code._values(book.secret.bias, word))) / code._unit
    p, c = np.asarray(book.secret.bias) / 2**code.digits, math.sqrt(2 * math.log(80) / code.length)
    bound = np.sum(np.log(p * np.exp(c * one) + (1 - p) * np.exp(c * zero))) - c * z
    assert math.isclose(bound, -math.log(80), rel_tol=1e-3)


def test_a_shorter_code_is_sound_and_incomplete():
    """Ones of all types with probability 1/2, apart from the marked ones: no two blocks of 3 columns differ enough."""
    code = BonehShaw(8, k=3 * 9, complete=False)
    assert code.length == 27 < BonehShaw(8).length
    found = measure(code, pirates.coin, 8, 512)
    assert found.missed.count > 256 and found.feasible.count == 512
    assert measure(code, noise, 7, 512, any_word=True).innocent.count <= binom.isf(FALSE_ALARM, 512, code.security)


CODES = (BonehShaw(4), Tardos(4), Tardos(4, threshold="chernoff"), Tardos(3, score="original", threshold="proof"))


@pytest.mark.parametrize("code", [*CODES[:2], *(pytest.param(c, marks=pytest.mark.slow) for c in CODES[2:])], ids=str)
def test_sound_for_any_word_and_complete(code):
    for pirate in (pirates.minority, noise):
        found = measure(code, pirate, code.users - 1, 512, any_word=pirate is noise)
        assert found.innocent.count <= binom.isf(FALSE_ALARM, 512, code.security)
        assert found.missed.count <= binom.isf(FALSE_ALARM, 512, code.security)
        assert (found.feasible.count == 512) == (pirate is not noise)


def test_the_printed_code_accuses_whoever_the_constant_learner_never_saw():
    printed, corrected = BonehShaw(4, calibration="printed"), BonehShaw(4)
    for code, innocent in ((printed, 256), (corrected, 0)):
        for word, user in ((all_ones, 0), (zeros, 3)):

            def accusation(key, code=code, word=word):
                book = code.generate(key)
                return code.trace(book, word(None, book.bits, None))

            accused = np.asarray(jax.jit(jax.vmap(accusation))(keys.per_index(keys.root(1), 256)))
            assert accused[:, user].sum() == innocent and not np.delete(accused, user, axis=1).any()


def test_the_first_accused():
    assert first(jnp.asarray([[False, True, True], [False, False, False]])).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BonehShaw(4, k=424), "k >= 425 for 4 users at security 0.05"),
        (lambda: BonehShaw(4, calibration="printed", k=425), "k >= 489"),
        (lambda: BonehShaw(4, k=4, complete=False), "k >= 5 for 4 users"),
        (lambda: BonehShaw(4, complete=0), "complete"),
        (lambda: Tardos(4, k=7000, score="original", threshold="proof"), "k >= 7012"),
        (lambda: Tardos(4, threshold="proof"), "score"),
        (lambda: BonehShaw(1, calibration="printed"), "users"),
        (lambda: BonehShaw(4, 1.0), "security"),
        (lambda: BonehShaw(4, float("nan")), "security"),
        (lambda: Tardos(0), "users"),
        (lambda: Tardos(4, score="best"), "original, symmetric"),
        (
            lambda: BonehShaw(3).trace(Tardos(4).generate(keys.root(0)), jnp.ones(BonehShaw(3).length, bool)),
            "codebook: expected one of 3 users",
        ),
        (lambda: Tardos(4, 1e-8), "security: expected at least 3.81e-06 for the exact threshold of 4 users"),
        (lambda: Tardos(4096, 5e-324), "threshold=chernoff"),
        (lambda: BonehShaw(1000), "at most 67108864 columns"),
        (lambda: Tardos(4).trace(Tardos(4).generate(keys.root(0)), jnp.ones(7, bool)), "word"),
        (lambda: measure(BonehShaw(4), all_ones, 4, 16), "in column"),
        (lambda: measure(BonehShaw(4), pirates.ones, 5, 16), "coalition"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_one_user():
    for code in (BonehShaw(1), Tardos(1)):
        assert measure(code, pirates.majority, 1, 64).guilty.count >= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        BonehShaw(4),
        BonehShaw(8),
        Tardos(4),
        Tardos(8, threshold="chernoff"),
        Tardos(4, score="original"),
        Tardos(3, score="original", threshold="proof"),
    ],
    ids=str,
)
def test_ten_thousand_codebooks(code):
    """99.9% intervals of both failures reach below xi, and the upper ends are at most 1.1 xi."""
    for coalition in {1, code.users // 2, code.users - 1, code.users}:
        for pirate in (pirates.majority, pirates.minority, pirates.coin, pirates.ones):
            found = measure(code, pirate, coalition, 10_000, seed=1, confidence=CONFIDENCE)
            for rate in (found.innocent, found.missed):
                assert rate.low <= code.security and rate.high <= 1.1 * code.security, (coalition, pirate, rate)
        for pirate in ANY_WORDS:
            found = measure(code, pirate, coalition, 10_000, seed=2, confidence=CONFIDENCE, any_word=True)
            assert found.innocent.high <= 1.1 * code.security, (coalition, pirate, found.innocent)
