"""The Boneh-Shaw code: blocks of equal columns in a secret order; every column labels the users as a threshold."""

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.attacks.codes.base import LONGEST, Code, Codebook, check_code, check_length, check_word, packed
from dpjax.core import checks, random

_CALIBRATIONS = ("corrected", "printed")


@dataclass(frozen=True)
class BonehShaw(Code):
    """Block t has d equal columns, in which the first t users have a 1, for t = 0..n; k = (n + 1) d columns in all.

    The columns are in a secret random order. Blocks t - 1 and t differ for one user only, so whoever does not have this
    user's code word cannot tell them apart, and a word has about equally many ones in both. User t (counted from 1) is
    accused if block t has more ones than block t - 1 by over sqrt(2 L K), where K is the number of ones in both and
    L = ln(n / xi).

    Soundness: for every coalition and every word, an innocent user is accused with probability at most xi / n, one of
    all innocent users with probability at most xi.
    Completeness: a word that satisfies the marking assumption for some nonempty coalition accuses somebody, always,
    unless ``complete`` is False.

    Args:
      users: n >= 1, static.
      security: xi in (0, 1), in total, static.
      k: columns, static; the largest multiple of n + 1 that is at most this is used. By default the least with which
        the code is complete. InputError, with the k needed, if it is too small.
      calibration: "corrected", or "printed" for the code of the paper: types 1..n-1, L = ln(2 n / xi),
        d = 2 n^2 L; user 1 is accused for any 1 in block 1 and user n for any 0 in block n - 1. It is **not
        sound**: the constant word 1...1 accuses user 1 although it does not depend on the code words.
      complete: False allows any k of at least n + 1 columns, static: sound, but words that satisfy the marking
        assumption may accuse nobody.

    Reference: Boneh and Shaw 1998; Bun, Nissim, Stemmer 2016, Lemma 4.5. Proof of the corrected code:
    docs/proofs/fingerprinting.md#boneh-shaw.
    """

    users: int
    security: float = 0.05
    k: int | None = None
    calibration: str = "corrected"
    complete: bool = True

    def __post_init__(self):
        checks.choice("calibration", self.calibration, _CALIBRATIONS)
        check_code("BonehShaw", self.users, self.security, 2 if self._printed else 1)
        checks.instance("complete", self.complete, bool, "True or False")
        least = self._least if self.complete or self.k is None else 1
        check_length("BonehShaw", self.k, self._blocks * least, self.users, self.security)

    @property
    def _printed(self) -> bool:
        return self.calibration == "printed"

    @property
    def _blocks(self) -> int:
        return self.users - 1 if self._printed else self.users + 1

    @property
    def _rate(self) -> float:
        """L."""
        return math.log((2 if self._printed else 1) * self.users / self.security)

    @property
    def _least(self) -> int:
        """The least number of columns of a block."""
        printed = math.ceil(2 * self.users**2 * self._rate)
        return printed if self._printed else _undetected(self.users, self._rate) + 1

    @property
    def repetitions(self) -> int:
        """d, the number of columns of each block."""
        return self._least if self.k is None else self.k // self._blocks

    @property
    def length(self) -> int:
        """k, a multiple of the number of blocks."""
        return self._blocks * self.repetitions

    def types(self) -> np.ndarray:
        """``bool[n + 1, n]``, of the printed code ``bool[n - 1, n]``: in row t the first users have ones."""
        rows = np.arange(1, self.users) if self._printed else np.arange(self.users + 1)
        return np.arange(self.users) < rows[:, None]

    def generate(self, key: Array) -> Codebook:
        """A random order of the columns; the secret is the type of each column, ``int32[k]``."""
        blocks = jnp.arange(self._blocks, dtype=jnp.int32) + int(self._printed)
        types = jnp.repeat(blocks, self.repetitions, total_repeat_length=self.length)
        *_, types = jax.lax.sort((*random.words(key, (self.length,)), types), num_keys=2, is_stable=False)
        masks = jnp.asarray(packed(np.arange(self.users) < np.arange(self.users + 1)[:, None]))
        return Codebook(masks[:, types], types, self.users)

    def trace(self, codebook: Codebook, word: Array) -> Array:
        """Compares the ones of neighboring blocks."""
        check_word(word, codebook, self.users, self.length)
        ones = self.weights(codebook, word)
        more, both = ones[1:] - ones[:-1], ones[1:] + ones[:-1]
        limit = jnp.asarray(_limits(self._rate, self.repetitions))[both]
        if self._printed:
            ends = np.isin(np.arange(self.users), (0, self.users - 1))
            limit = jnp.where(jnp.asarray(ends), 0, limit)
        return more > limit

    def weights(self, codebook: Codebook, word: Array) -> Array:
        """Ones of the word in blocks 0..n, ``int32[n + 1]``; the printed code has no first and last block, and they
        count as all zeros and all ones."""
        block = jnp.arange(self.users + 1, dtype=jnp.int32)[:, None]
        ones = jnp.sum((codebook.secret == block) & word, axis=1, dtype=jnp.int32)
        return ones.at[self.users].set(self.repetitions) if self._printed else ones


def _undetected(users: int, rate: float) -> int:
    """The most ones that block n can have if block 0 has none and no user is accused; at most n (n + 1) L.

    From w ones in a block, the next has at most w + u, with u the largest integer such that u^2 <= 2 L (2 w + u).
    """
    ones = 0
    for _ in range(users):
        ones += math.floor(rate + math.sqrt(rate * rate + 4 * rate * ones))
        if ones > LONGEST:
            break
    return ones


@functools.lru_cache(64)
def _limits(rate: float, repetitions: int) -> np.ndarray:
    """The largest difference that is not accused, ``int32[2 d + 1]``, by the number of ones in both blocks."""
    return np.floor(np.sqrt(2 * rate * np.arange(2 * repetitions + 1))).astype(np.int32)
