"""MWEM: multiplicative weights on a finite domain; each round corrects the query with the largest error."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import largest
from dpjax.accounting.numeric.ranges import positive
from dpjax.accounting.optimal_composition import optimal, optimal_epsilon0
from dpjax.accounting.zcdp import bounded_range_rho, exponential_guarantee, pure_rho, zcdp, zcdp_rho
from dpjax.concepts.finite import Finite
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Positive, Slack, Spends, down, plan_type, require_leaves, up
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers, replace_one_only
from dpjax.laws import Categorical, RoundedLaplace
from dpjax.mechanisms.exponential import effective_epsilon, exponential
from dpjax.mechanisms.noise import laplace_mechanism_guarantee
from dpjax.sanitizers.base import Sanitized, noisy_counts
from dpjax.sanitizers.queries import EXACT, OfQueries, answers, histogram, query
from dpjax.theory import sanitizers as sizes

_UNITS = EXACT // 2  # of the synthetic database; rounding to integer units adds at most half a unit per value
_MOST_VALUES, _MOST_ROUNDS = 1 << 14, 1 << 16
_HALVING = 2.0**22 / (2 * math.log(2))  # an exponent of 1 / (2 rows), in units of 2**-22 of a halving
_CHOICE = 2 / 3  # fraction of a round's epsilon; the count has the rest


@register_dataclass
@dataclass(frozen=True)
class Moves:
    """The current distribution in integers, so that results do not depend on the order of summation.

    exponent: ``int64[d]``, in units of 1 / (2 rows). passed: ``int64[d]``, the sum of the previous distributions.
    """

    exponent: Array
    passed: Array


@plan_type
class MWEMPlan:
    """choice: ``float32[]``, epsilon of a round's exponential mechanism. scale: ``float32[]``, of its count's noise.

    slack: ``float32[]``, the delta of the composition. rounds: T. size: the number of values of the domain.
    """

    choice: Positive
    scale: Positive
    slack: Slack
    rounds: int = field(metadata=STATIC)
    size: int = field(metadata=STATIC)


@dataclass(frozen=True)
class MWEM(OfQueries):
    """From the uniform distribution, T rounds choose a query with large error and move towards its noisy count.

    The result is the average of the T + 1 distributions before, between and after the moves, in integer units of about
    2**-23. Estimates and noisy counts are rounded to integers.

    Args:
      queries: the class, as a matrix over at most 2**14 values.
      rounds: T in [1, 2**16]; by default the T for which `theory.sanitizers.mwem` needs the fewest rows, up to 2%.
      replays: how often each round repeats the moves to all counts so far, the latest first. With replays the
        result is the last distribution, which has a smaller error; the theorem is for none. Cost: T^2 / 2 moves each.

    Privacy: (epsilon, delta), replace-one, for every database: T rounds, by the composition theorem with the largest
      budget per round. A round chooses by the exponential mechanism and counts by the Laplace mechanism, at two thirds
      and one third of its epsilon. Replays use noisy counts only.
    Utility: error at most alpha with probability 1 - beta from `theory.sanitizers.mwem`.
    Reference: Hardt, Ligett, McSherry 2012, Theorem 2.2 and Section 2.3; Bun, Nissim, Stemmer 2016, Theorem 2.19.
    """

    queries: Finite
    rounds: int | None = None
    replays: int = 0
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        super().__post_init__()
        replace_one_only(self.neighboring, "its guarantee is for databases of one public size")
        checks.whole_or_none("rounds", self.rounds, 1, _MOST_ROUNDS)
        checks.integer("replays", self.replays, 0, 1 << 8)
        if self.queries.width > _MOST_VALUES:
            advice = "use a sanitizer made for the class"
            raise InputError("MWEM", f"a domain of at most {_MOST_VALUES} values", str(self.queries.width), advice)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> MWEMPlan:
        """A round's budget, by basic or optimal composition or by zCDP, whichever gives the largest."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        rounds = self._fewest_rows(delta, alpha, beta) if self.rounds is None else self.rounds
        slack = down(delta if rounds > 1 else 0.0)
        part = round_epsilon(epsilon, float(slack), rounds)
        return MWEMPlan(down(part * _CHOICE), up(1 / (part * (1 - _CHOICE))), slack, rounds, self.queries.width)

    def sanitize(self, key: Array, x: Array, mask: Array, plan: MWEMPlan) -> Sanitized:
        """All values of the domain, with weights. x: ``uint32[n, 1]``, n below 2**23. mask: ``bool[n]``."""
        checks.rows(x.shape[0], self.most_rows(plan), "MWEM")
        rows = jnp.sum(mask, dtype=jnp.int32)
        truth = answers(self.queries, histogram(self.queries.width, x, mask))

        def one(state: tuple[Moves, Array, Array], step: tuple[Array, Array]) -> tuple[Any, None]:
            moves, queries, counts = state
            (randomness, number), units = step, self.units(moves, rows)
            of_choice, of_count = keys.streams(randomness, "choice", "count")
            estimate = self.estimates(units, rows)
            chosen = self.choice_law(estimate, truth, plan).sample(of_choice)
            count = self.count_law(truth[chosen], rows, x.shape[0], plan).sample(of_count)
            queries, counts = queries.at[number].set(chosen), counts.at[number].set(count)
            moves = self.moved(moves, units, chosen, count - estimate[chosen])
            moves = self.replayed(moves, queries, counts, number + 1, rows)
            return (moves, queries, counts), None

        randomness = keys.per_index(key, plan.rounds)
        with jax.enable_x64(True):
            none = jnp.zeros(plan.rounds, jnp.int32)
            steps = randomness, jnp.arange(plan.rounds, dtype=jnp.int32)
            (end, _, _), _ = jax.lax.scan(one, (self.start(), none, none), steps)
        return self.answer(end, rows, plan.rounds)

    def replayed(self, state: Moves, queries: Array, counts: Array, done: Array, rows: Array) -> Moves:
        """Repeats the moves to the first ``done`` counts ``replays`` times. queries, counts: ``int32[rounds]``."""
        if not self.replays:
            return state

        def again(step: Array, state: Moves) -> Moves:
            number = done - 1 - step % done
            chosen = queries[number]
            units = self.units(state, rows)
            weight = jnp.sum(jnp.where(query(self.queries, chosen), units, 0), dtype=jnp.int32)
            off = counts[number] - self._whole_rows(weight, units, rows)
            return Moves(self.moved(state, units, chosen, off).exponent, state.passed)

        return jax.lax.fori_loop(0, done * self.replays, again, state)

    def choice_law(self, estimate: Array, truth: Array, plan: MWEMPlan) -> Categorical:
        """The law of a round's query, given the estimated and the true counts of all queries, ``int32[concepts]``."""
        return exponential(jnp.abs(truth - estimate), plan.choice)

    def count_law(self, truth: Array, rows: Array, capacity: int, plan: MWEMPlan) -> RoundedLaplace:
        """The noisy count of a query, an integer in [0, rows]."""
        return noisy_counts(truth, plan.scale, sensitivity=1, high=rows, most=capacity)

    def start(self) -> Moves:
        """The uniform distribution."""
        with jax.enable_x64(True):
            return Moves(*(jnp.zeros(self.queries.width, jnp.int64) for _ in range(2)))

    def units(self, state: Moves, rows: Array) -> Array:
        """The distribution in integer units, ``int32[d]``."""
        with jax.enable_x64(True):
            below = (jnp.max(state.exponent) - state.exponent).astype(jnp.float64)
            return in_units(jnp.rint(below * (_HALVING / jnp.maximum(rows, 1).astype(jnp.float64))).astype(jnp.int64))

    def estimates(self, units: Array, rows: Array) -> Array:
        """Estimated counts of all queries among ``rows`` rows of the distribution, rounded, ``int32[concepts]``."""
        return self._whole_rows(answers(self.queries, units), units, rows)

    def _whole_rows(self, weight: Array, units: Array, rows: Array) -> Array:
        with jax.enable_x64(True):
            total = jnp.sum(units.astype(jnp.int64))
            scaled = weight.astype(jnp.int64) * rows.astype(jnp.int64)
            return ((scaled + total // 2) // total).astype(jnp.int32)

    def moved(self, state: Moves, units: Array, asked: Array, off: Array) -> Moves:
        """After a round with query ``asked``, whose noisy count exceeds its estimate by ``off``."""
        with jax.enable_x64(True):
            change = jnp.where(query(self.queries, asked), off, 0).astype(jnp.int64)
            return Moves(state.exponent + change, state.passed + units.astype(jnp.int64))

    def answer(self, end: Moves, rows: Array, rounds: int) -> Sanitized:
        """With replays, the distribution after the last move; else its average with those before each move."""
        weights = self.units(end, rows)
        if not self.replays:
            with jax.enable_x64(True):
                weights = ((end.passed + weights.astype(jnp.int64)) // (rounds + 1)).astype(jnp.int32)
        return Sanitized.of(jnp.arange(self.queries.width, dtype=jnp.uint32)[:, None], weights)

    def most_rows(self, plan: MWEMPlan) -> int:
        """Up to which counts are exact."""
        return EXACT // 2 - 1

    def guarantee(self, plan: MWEMPlan) -> Guarantee:
        """T rounds of a choice and a count."""
        require_leaves(plan)
        parts = (
            exponential_guarantee(float(plan.choice), "the query that is most wrong"),
            laplace_mechanism_guarantee(1 / positive("scale", plan.scale), sensitivity=1, what="its count"),
        )
        what, slack = f"MWEM, {plan.rounds} rounds", float(plan.slack)
        wholes = [basic(parts, what, rounds=plan.rounds)]
        if slack > 0:
            wholes += [optimal(basic(parts, "a round"), plan.rounds, slack, what=what)]
            wholes += [zcdp(parts, slack, plan.rounds, what=what)]
        return min(wholes, key=lambda whole: whole.epsilon)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.mwem`; NoTheoremError if the rounds are too few for this alpha, with replays, and for more
        rows than `most_rows`."""
        if self.replays:
            raise NoTheoremError("replays", "0 for the theorem", str(self.replays), "leave them out, or search for n")
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        part = min(effective_epsilon(plan.choice) / _CHOICE, 1 / float(plan.scale) / (1 - _CHOICE))
        rows = sizes.mwem(self.queries.width, self.queries.size, plan.rounds, part, alpha, beta)
        return checks.rows(rows, self.most_rows(plan), "MWEM", NoTheoremError)

    def _fewest_rows(self, delta: float, alpha: float, beta: float) -> int:
        """The rounds that need the fewest rows at epsilon = 1."""
        values, queries = self.queries.width, self.queries.size
        least = max(1, sizes.mwem_rounds(values, alpha))
        if least > _MOST_ROUNDS:
            raise InputError("alpha", f"one that takes at most {_MOST_ROUNDS} rounds", f"{alpha:g}", "increase alpha")
        tried = sorted({min(_MOST_ROUNDS, math.ceil(least * 1.1**i)) for i in range(60)})
        rho = zcdp_rho(1.0, delta) if delta > 0 else 0.0
        part = lambda rounds: max(1 / rounds, 3 * math.sqrt(rho / rounds))  # noqa: E731  (e^2 / 9 of zCDP a round)
        return min(tried, key=lambda rounds: sizes.mwem(values, queries, rounds, part(rounds), alpha, beta))


def round_epsilon(epsilon: float, delta: float, rounds: int) -> float:
    """The largest epsilon of one of ``rounds`` rounds, a choice at two thirds and a count at one third of it."""
    pure = optimal_epsilon0(epsilon, 0.0, rounds)
    if rounds == 1 or delta == 0:
        return pure
    rho = zcdp_rho(epsilon, delta) / rounds
    fits = lambda part: bounded_range_rho(part * _CHOICE) + pure_rho(part * (1 - _CHOICE)) <= rho  # noqa: E731
    return max(pure, optimal_epsilon0(epsilon, delta, rounds), largest(fits, min(rho, rho**0.5)))


def in_units(below: Array) -> Array:
    """2**(-below / 2**22) for ``int64[d]`` >= 0 with minimum 0, normalized to units of about 2**-23, ``int32[d]``."""
    with jax.enable_x64(True):  # by tables: the last bits of jnp.exp depend on the vector's length and on the batch
        tables = [
            jnp.asarray(np.rint(np.exp2(31 - np.arange(2048) / size)).astype(np.int64)) for size in (2**11, 2**22)
        ]
        high, low = tables[0][(below >> 11) & 2047], tables[1][below & 2047]
        fine = (high * low) >> jnp.minimum(22 + (below >> 22), 63)  # 2**40 and less
        return jnp.rint(fine.astype(jnp.float64) * (_UNITS / jnp.sum(fine).astype(jnp.float64))).astype(jnp.int32)
