"""The Tardos code: independent columns of secret biases; users whose code word agrees too well are accused."""

import math
from dataclasses import dataclass
from fractions import Fraction

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.attacks.codes.base import Code, Codebook, check_code, check_length, check_word, words_of
from dpjax.attacks.codes.biased_bits import biased_words
from dpjax.core import checks, keys, random
from dpjax.core.checks import InputError

_SCORES = ("original", "symmetric")
_THRESHOLDS = ("chernoff", "exact", "proof")
_LANES, _STEPS = 64, 256  # partial sums of a score, and the columns that each adds in 32 bits
_WORD = 32
_PARTS = 8  # of the biases
_MOST_REDRAWN = 1 << 20


@register_dataclass
@dataclass(frozen=True)
class TardosSecret:
    """bias: ``uint32[k]``, P[1] in each column in units of 2**-digits. redraw: the key of the redrawn rows."""

    bias: Array
    redraw: Array


@dataclass(frozen=True)
class Tardos(Code):
    """Column j has a secret bias p = sin^2 r, r uniform with t <= p <= 1 - t, t = 1 / (300 n), and bits Bernoulli(p).

    p is rounded to a multiple of 2^-`digits`, and the bits have exactly this probability.

    The score of user i is the sum over columns of sign_j U_ij, with U_ij = sqrt((1 - p) / p) if the user's bit is 1 and
    -sqrt(p / (1 - p)) if it is 0; sign_j is the word's bit for the original score, and 1 or -1 for the symmetric one. A
    user is accused if the score exceeds a threshold Z.

    Given biases and word, the row of an innocent user is redrawn: its bits are still independent Bernoulli(p_j). All
    thresholds use this and nothing else, so they are sound for any word: an innocent user is accused with probability
    at most xi / n, one of all innocent users with probability at most xi.

    Args:
      users: n >= 1, static.
      security: xi in (0, 1), in total, static.
      k: columns, static. By default the k of the paper's theorem for "proof", and for the other thresholds
        about twice the k at which a coalition's average score is Z. Shorter codes are sound, but may accuse nobody; of
        "proof" they are an InputError.
      score: "symmetric" or "original".
      threshold: "exact": a user is accused if the score is among the largest of the scores of R redrawn rows, at the
        rank that has probability at most xi / n; R is about n / xi, at most 2^20, and tracing costs R / n times as much
        as drawing the code. "chernoff": Z = (ln E e^(c S) + ln(n / xi)) / c given biases and word,
        c = sqrt(2 ln(n / xi) / k): one pass. "proof" (original score only): Z = k / (5 n) for k >= 100 n^2 L,
        L = ln(n / xi), so that Z >= 20 n L: Tardos's constants, with L at least (4 / n) ln(1 / xi) for his bound on
        completeness.

    Completeness: with "proof", a feasible word accuses nobody with probability at most xi. With the others it is
    measured, not proved.
    Reference: Tardos 2008, "Optimal probabilistic fingerprint codes"; Skoric, Katzenbeisser, Celik 2008 (symmetric
    score); Bun, Nissim, Stemmer 2016, Proposition 4.9. Proofs of soundness: docs/proofs/fingerprinting.md#tardos.
    """

    users: int
    security: float = 0.05
    k: int | None = None
    score: str = "symmetric"
    threshold: str = "exact"

    def __post_init__(self):
        checks.choice("score", self.score, _SCORES)
        checks.choice("threshold", self.threshold, _THRESHOLDS)
        check_code("Tardos", self.users, self.security)
        if self.threshold == "proof" and self.score != "original":
            advice = 'write score="original", or threshold="exact"'
            raise InputError("score", "original for the threshold of the proof", self.score, advice)
        if self.threshold == "exact" and self.users / self.security > _MOST_REDRAWN:
            least = f"at least {self.users / _MOST_REDRAWN:.3g} for the exact threshold of {self.users} users"
            raise InputError("security", least, f"{self.security:g}", "take a larger one, or threshold=chernoff")
        needed = self._default if self.threshold == "proof" or self.k is None else 1
        check_length("Tardos", self.k, needed, self.users, self.security)

    @property
    def _rate(self) -> float:
        return math.log(self.users / self.security)

    @property
    def _default(self) -> int:
        n = self.users
        if self.threshold == "proof":
            return math.ceil(100 * n * n * max(self._rate, 4 / n * -math.log(self.security)))
        mean = 2 / math.pi if self.score == "symmetric" else math.sqrt(2) / math.pi  # of the score in deviations / n
        return math.ceil((n / mean) ** 2 * 4 * self._rate)

    @property
    def length(self) -> int:
        """k."""
        return self._default if self.k is None else self.k

    @property
    def redrawn(self) -> int:
        """R, the number of redrawn rows of the exact threshold, a multiple of 32."""
        return max(_WORD, math.ceil((self.users / self.security - 1) / _WORD) * _WORD)

    @property
    def rank(self) -> int:
        """A user is accused if fewer redrawn rows than this have at least the user's score: m / (R + 1) <= xi / n."""
        return math.floor(Fraction(self.security) / self.users * (self.redrawn + 1))

    @property
    def digits(self) -> int:
        """Biases are multiples of 2**-digits: 24 for "proof" and for many users, else t is at least 4 of them."""
        return 24 if self.threshold == "proof" else min(24, 2 * math.ceil(math.log2(4 * 300 * self.users) / 2))

    def types(self) -> None:
        """Every column can occur."""
        return None

    def generate(self, key: Array) -> Codebook:
        """Biases and bits."""
        of_bias, of_bits, of_redraw = keys.streams(key, "bias", "bits", "redraw")
        bias = jax.lax.map(self._biases, keys.per_index(of_bias, _PARTS)).ravel()[: self.length]
        groups = keys.per_index(of_bits, words_of(self.users))
        columns = jax.lax.map(lambda group: biased_words(group, bias, self.digits), groups)
        return Codebook(columns, TardosSecret(bias, of_redraw), self.users)

    def _biases(self, key: Array) -> Array:
        """One of the parts of the biases. They are drawn in a loop, whose result XLA stores: it would otherwise draw
        them again for each of their uses."""
        low, unit = math.asin(math.sqrt(1 / (300 * self.users))), 1 << self.digits
        angle = low + (math.pi / 2 - 2 * low) * random.uniform(key, (-(-self.length // _PARTS),))
        least = math.ceil(unit / (300 * self.users))
        return jnp.clip(jnp.round(_sine(angle) ** 2 * unit).astype(jnp.uint32), least, unit - least)

    def trace(self, codebook: Codebook, word: Array) -> Array:
        """Compares the scores with the threshold."""
        check_word(word, codebook, self.users, self.length)
        bias = codebook.secret.bias
        if_zero, if_one = self._values(bias, word)
        scores = _sums(codebook.columns, if_zero, if_one)[: self.users]
        with jax.enable_x64(True):
            if self.threshold != "exact":
                least = self._chernoff(bias, if_zero, if_one) if self.threshold == "chernoff" else self._proof()
                return scores > least

            def one_group(key: Array) -> Array:
                return _sums(biased_words(key, bias, self.digits)[None], if_zero, if_one)

            others = jax.lax.map(one_group, keys.per_index(codebook.secret.redraw, self.redrawn // _WORD)).ravel()
            below = jnp.searchsorted(jnp.sort(others), scores)
            return self.redrawn - below < self.rank

    def scores(self, codebook: Codebook, word: Array) -> Array:
        """The score of each user, ``float32[n]``."""
        check_word(word, codebook, self.users, self.length)
        sums = _sums(codebook.columns, *self._values(codebook.secret.bias, word))[: self.users]
        with jax.enable_x64(True):
            return (sums.astype(jnp.float64) / self._unit).astype(jnp.float32)

    @property
    def _unit(self) -> int:
        """Scores are multiples of 1 / unit, a power of two with which a block's sum fits in 31 bits."""
        largest = math.sqrt(300 * self.users) + 1
        return 1 << math.floor(math.log2(2**31 / (2 * _STEPS * largest)))

    def _values(self, bias: Array, word: Array) -> tuple[Array, Array]:
        """What a 0 and what a 1 adds to the score in each column, ``int32[k]`` each."""
        unit = jnp.float32(2.0**-self.digits)
        p = bias.astype(jnp.float32) * unit
        rest = (jnp.uint32(1 << self.digits) - bias).astype(jnp.float32) * unit
        if self.score == "symmetric":
            sign = jnp.where(word, jnp.float32(1), jnp.float32(-1))
        else:
            sign = word.astype(jnp.float32)
        scaled = sign * jnp.float32(self._unit)
        if_zero, if_one = -jnp.sqrt(p / rest) * scaled, jnp.sqrt(rest / p) * scaled
        return jnp.round(if_zero).astype(jnp.int32), jnp.round(if_one).astype(jnp.int32)

    def _proof(self) -> Array:
        return jnp.asarray(math.ceil(self.length / (5 * self.users) * self._unit), jnp.int64)

    def _chernoff(self, bias: Array, if_zero: Array, if_one: Array) -> Array:
        """Z in units of scores. The law is that of the rounded scores."""
        c = math.sqrt(2 * self._rate / self.length) / self._unit
        p = bias.astype(jnp.float32) * jnp.float32(2.0**-self.digits)
        at_zero, at_one = (jnp.float32(c) * value.astype(jnp.float32) for value in (if_zero, if_one))
        log_moment = jnp.sum(at_zero + jnp.log1p(p * jnp.expm1(at_one - at_zero)), dtype=jnp.float64)
        return jnp.ceil((log_moment + self._rate) / c).astype(jnp.int64)


def _sine(angle: Array) -> Array:
    """sin on [0, pi/2] within 2**-23, by its series: XLA's own reduces angles of any size, at four times the cost."""
    square, total = angle * angle, jnp.zeros_like(angle)
    for i in range(6, -1, -1):
        total = total * square + jnp.float32((-1) ** i / math.factorial(2 * i + 1))
    return total * angle


def _sums(columns: Array, if_zero: Array, if_one: Array) -> Array:
    """The scores of the users of columns ``uint32[words, k]``, ``int64[32 words]``; exact, so in any order.

    A scan with one partial sum for each user and lane: several times faster than a reduction of the unpacked bits.
    """
    k = if_zero.shape[0]
    lanes = -(-k // (_STEPS * _LANES)) * _LANES
    spare = -k % lanes
    extra = jnp.pad(if_one - if_zero, (0, spare)).reshape(-1, lanes)
    users = (jnp.uint32(1) << jnp.arange(_WORD, dtype=jnp.uint32))[:, None]

    def of_words(words: Array) -> Array:
        def step(sums: Array, row: tuple[Array, Array]) -> tuple[Array, None]:
            return sums + jnp.where((row[0][None] & users) != 0, row[1][None], 0), None

        rows = jnp.pad(words, (0, spare)).reshape(-1, lanes), extra
        return jax.lax.scan(step, jnp.zeros((_WORD, lanes), jnp.int32), rows)[0]

    totals = jax.lax.map(of_words, columns)
    with jax.enable_x64(True):
        return (jnp.sum(if_zero, dtype=jnp.int64) + jnp.sum(totals, axis=-1, dtype=jnp.int64)).ravel()
