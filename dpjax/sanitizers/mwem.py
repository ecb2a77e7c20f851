"""MWEM: multiplicative weights on a finite domain, corrected round by round at the query that is most wrong."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import zcdp
from dpjax.concepts.finite import Finite
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, as_float
from dpjax.laws import Categorical, Laplace
from dpjax.mechanisms.exponential import exponential, exponential_guarantee
from dpjax.mechanisms.noise import laplace_mechanism, laplace_mechanism_guarantee
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.queries import EXACT, answers, check_rows, histogram, query
from dpjax.sanitizers.shares import host_share, share
from dpjax.theory import sanitizers as sizes

_UNITS = EXACT // 2  # of the synthetic database; rounding to whole units adds half a unit a value at most
_MOST_VALUES, _MOST_ROUNDS = 1 << 14, 1 << 16
_HALVING = 2.0**22 / (2 * math.log(2))  # an exponent of 1 / (2 rows), in 2**-22 of a halving
_DOWN = 1 - 2.0**-20  # covers the rounding to float32
_CHOICE, _COUNT = 2 / 3 * _DOWN, 1 / 3 * _DOWN  # of the epsilon of a round


@register_dataclass
@dataclass(frozen=True)
class Moves:
    """Where the distribution stands, in whole numbers, so that no order of summation can be seen in it.

    exponent: ``int64[d]``, in units of 1 / (2 rows). passed: ``int64[d]``, the sum of the distributions before.
    """

    exponent: Array
    passed: Array


@dataclass(frozen=True)
class MWEM:
    """Starts with the uniform distribution; T times it asks for the query that is most wrong and moves to its count.

    The answer is the average of the T + 1 distributions before, between and after the moves, in whole units of about
    2**-23. Estimates and noisy counts are rounded to whole rows.

    Args:
      queries: the class, as a matrix over at most 2**14 values.
      rounds: T in [1, 2**16], static.
      replays: static; how often each round moves to all counts so far once more, the latest first. With replays the
        answer is the last distribution, which errs less; the theorem is for none. They take T^2 / 2 moves each.

    Privacy: (epsilon, delta), replace-one, for every database: T rounds at e = `shares.share`, by sums or by zCDP. A
      round chooses by the exponential mechanism at 2 e / 3 and counts by the Laplace mechanism at e / 3. That is e in
      all, and (2 e / 3)^2 / 8 + (e / 3)^2 / 2 = e^2 / 9 of zCDP, less than the e^2 / 8 that the share allows.
      Replays look at nothing but noisy counts.
    Utility: error at most alpha with probability 1 - beta from `theory.sanitizers.mwem`.
    Reference: Hardt, Ligett, McSherry 2012, Theorem 2.2 and Section 2.3; Bun, Nissim, Stemmer 2016, Theorem 2.19.
    """

    queries: Finite
    rounds: int
    replays: int = 0
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("rounds", self.rounds, 1, _MOST_ROUNDS)
        checks.integer("replays", self.replays, 0, 1 << 8)
        if self.queries.width > _MOST_VALUES:
            raise InputError(
                "MWEM", f"a domain of at most {_MOST_VALUES} values", str(self.queries.width),
                "use a sanitizer made for the class",
            )  # fmt: skip

    @staticmethod
    def planned(queries: Finite, privacy: Privacy, accuracy: Accuracy) -> "MWEM":
        """With the rounds for which `theory.sanitizers.mwem` needs the fewest rows, up to 2%, on the host."""
        alpha = checks.probability("alpha", float(accuracy.alpha))
        least = max(1, sizes.mwem_rounds(queries.width, alpha))
        if least > _MOST_ROUNDS:
            raise InputError("alpha", f"one that takes at most {_MOST_ROUNDS} rounds", f"{alpha:g}", "take more alpha")
        tried = {min(_MOST_ROUNDS, math.ceil(least * 1.1**i)) for i in range(60)}
        return min(
            (MWEM(queries, rounds) for rounds in sorted(tried)), key=lambda one: one.sample_size(privacy, accuracy)
        )

    @property
    def bits(self) -> int:
        """Of a value."""
        return max(1, (self.queries.width - 1).bit_length())

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """All values of the domain, with weights. x: ``uint32[n, 1]``, n below 2**23. mask: ``bool[n]``."""
        check_rows(x.shape[0], EXACT // 2)
        part = self.part(privacy)
        rows = jnp.sum(mask, dtype=jnp.int32)
        truth = answers(self.queries, histogram(self.queries, x, mask))

        def one(state: tuple[Moves, Array, Array], step: tuple[Array, Array]) -> tuple[Any, None]:
            moves, queries, counts = state
            (own, number), units = step, self.units(moves, rows)
            of_choice, of_count = keys.streams(own, "choice", "count")
            estimate = self.estimates(units, rows)
            asked = self.choice_law(estimate, truth, part).sample(of_choice)
            noisy = self.count_law(truth[asked], part).sample(of_count)
            count = jnp.clip(jnp.rint(noisy), 0, rows.astype(part.dtype)).astype(jnp.int32)
            queries, counts = queries.at[number].set(asked), counts.at[number].set(count)
            moves = self.moved(moves, units, asked, count - estimate[asked])
            moves = self.replayed(moves, queries, counts, number + 1, rows)
            return (moves, queries, counts), None

        own = keys.per_index(key, self.rounds)
        with jax.enable_x64(True):
            none = jnp.zeros(self.rounds, jnp.int32)
            steps = own, jnp.arange(self.rounds, dtype=jnp.int32)
            (end, _, _), _ = jax.lax.scan(one, (self.start(), none, none), steps)
        return self.answer(end, rows)

    def replayed(self, state: Moves, queries: Array, counts: Array, done: Array, rows: Array) -> Moves:
        """After moving to the first ``done`` counts again, ``replays`` times. queries, counts: ``int32[rounds]``."""
        if not self.replays:
            return state

        def again(step: Array, state: Moves) -> Moves:
            number = done - 1 - step % done
            asked = queries[number]
            units = self.units(state, rows)
            weight = jnp.sum(jnp.where(query(self.queries, asked), units, 0), dtype=jnp.int32)
            off = counts[number] - self._whole_rows(weight, units, rows)
            return Moves(self.moved(state, units, asked, off).exponent, state.passed)

        return jax.lax.fori_loop(0, done * self.replays, again, state)

    def part(self, privacy: Privacy) -> Array:
        """The epsilon of a round, ``float[]``."""
        return as_float(share(privacy, self.rounds, pure=True).epsilon)

    def choice_law(self, estimate: Array, truth: Array, part: Array) -> Categorical:
        """Which query a round asks for, given the estimated and the true counts of all of them, ``int32[concepts]``."""
        return exponential(jnp.abs(truth - estimate), part * _CHOICE)

    def count_law(self, truth: Array, part: Array) -> Laplace:
        """The noisy count of a query, before it is rounded to [0, rows]."""
        return laplace_mechanism(truth, part * _COUNT, sensitivity=1)

    def start(self) -> Moves:
        """The uniform distribution."""
        with jax.enable_x64(True):
            return Moves(*(jnp.zeros(self.queries.width, jnp.int64) for _ in range(2)))

    def units(self, state: Moves, rows: Array) -> Array:
        """The distribution in whole units, ``int32[d]``."""
        with jax.enable_x64(True):
            below = (jnp.max(state.exponent) - state.exponent).astype(jnp.float64)
            return in_units(jnp.rint(below * (_HALVING / jnp.maximum(rows, 1).astype(jnp.float64))).astype(jnp.int64))

    def estimates(self, units: Array, rows: Array) -> Array:
        """Counts of all queries among ``rows`` rows of the distribution, in whole rows, ``int32[concepts]``."""
        return self._whole_rows(answers(self.queries, units), units, rows)

    def _whole_rows(self, weight: Array, units: Array, rows: Array) -> Array:
        with jax.enable_x64(True):
            total = jnp.sum(units.astype(jnp.int64))
            scaled = weight.astype(jnp.int64) * rows.astype(jnp.int64)
            return ((scaled + total // 2) // total).astype(jnp.int32)

    def moved(self, state: Moves, units: Array, asked: Array, off: Array) -> Moves:
        """After a round that asked for this query, whose count is ``off`` above its estimate."""
        with jax.enable_x64(True):
            change = jnp.where(query(self.queries, asked), off, 0).astype(jnp.int64)
            return Moves(state.exponent + change, state.passed + units.astype(jnp.int64))

    def answer(self, end: Moves, rows: Array) -> Sanitized:
        """With replays the distribution after the last move; else the average with those before each move."""
        weights = self.units(end, rows)
        if not self.replays:
            with jax.enable_x64(True):
                weights = ((end.passed + weights.astype(jnp.int64)) // (self.rounds + 1)).astype(jnp.int32)
        return Sanitized.of(jnp.arange(self.queries.width, dtype=jnp.uint32)[:, None], weights)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """T rounds of a choice and a count."""
        part = float(host_share(privacy, self.rounds, pure=True).epsilon)
        parts = (
            exponential_guarantee(part * _CHOICE, "the query that is most wrong"),
            laplace_mechanism_guarantee(part * _COUNT, sensitivity=1, what="its count"),
        )
        what, delta = f"MWEM, {self.rounds} rounds", float(privacy.delta)
        plain = basic(parts, what, rounds=self.rounds)
        if self.rounds == 1 or delta == 0:
            return plain
        whole = zcdp(parts, delta, self.rounds, what=what)
        return plain if plain.epsilon <= whole.epsilon else whole

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.mwem`; InputError where the rounds are too few for this alpha, and with replays."""
        if self.replays:
            raise InputError("replays", "0 for the theorem", str(self.replays), "leave them out, or search for n")
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        part = float(host_share(privacy, self.rounds, pure=True).epsilon)
        return sizes.mwem(self.queries.width, self.queries.size, self.rounds, part, alpha, beta)


def in_units(below: Array) -> Array:
    """The distribution proportional to 2**(-below / 2**22) in whole units of about 2**-23, ``int32[d]``.

    below: ``int64[d]`` >= 0, among them a 0; d <= 2**14. By tables, since the last bits of `jnp.exp` depend on the
    length of the vector and on the batch.
    """
    with jax.enable_x64(True):
        tables = [
            jnp.asarray(np.rint(np.exp2(31 - np.arange(2048) / size)).astype(np.int64)) for size in (2**11, 2**22)
        ]
        high, low = tables[0][(below >> 11) & 2047], tables[1][below & 2047]
        fine = (high * low) >> jnp.minimum(22 + (below >> 22), 63)  # 2**40 and less
        return jnp.rint(fine.astype(jnp.float64) * (_UNITS / jnp.sum(fine).astype(jnp.float64))).astype(jnp.int32)
