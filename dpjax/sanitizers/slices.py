"""S-RSC: an interior point of each slice of random length; one row more changes few slices, however many there are."""

import math
from dataclasses import dataclass
from functools import lru_cache

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.slices import slices as slices_guarantee
from dpjax.accounting.slices import slices_epsilon, slices_rate
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import checks, keys, random
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import exponential_median
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.blocks import blocks_for, log_size
from dpjax.sanitizers.shares import each
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes


@dataclass(frozen=True)
class Slices:
    """Reorder-slice-compute over ranks: slice i is the next m_i + g_i rows, g_i geometric; the last is all the rest.

    Weights are those of equal blocks of ranks, m_i what they exceed the mean of g_i by (at least 1): both public.
    **Its budget is static** (`epsilon`, `delta`), since tables of the slice lengths are made from it on the host; the
    budget in the arguments of its methods is not looked at.

    Args:
      count: static number of slices, >= 1.
      bits: of a row.
      epsilon, delta: the budget, REPLACE_ONE.
      size: the domain is {0..size - 1}, or None for all 2**bits values.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database: each slice is read by one exponential median of rate
      e0, which is (e0, 0)-private when a row is added, since its score never falls then. `accounting.slices` has the
      theorem for any number of rows, a short or empty slice being all that is left; the last slice is a round whose m
      is the capacity. m_i depends on n, which is public: a replaced row is one removed and one added at the same m_i.
    Utility: error at most alpha with probability 1 - beta from `sample_size`; proof in `theory.sanitizers.slices`.
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (reorder-slice-compute), for a sanitizer; constants our own.
    """

    count: int
    bits: int
    epsilon: float
    delta: float
    size: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("count", self.count, 1)
        B.limbs(self.bits)
        checks.epsilon(self.epsilon)
        checks.delta(self.delta, positive_for="slices of random length")

    @staticmethod
    def planned(alpha: float, bits: int, privacy: Privacy, beta: float, size: int | None = None) -> "Slices":
        """The number of slices, from 1 / alpha to 4 / alpha, that needs the fewest rows."""
        least, accuracy = blocks_for(alpha), Accuracy(alpha, beta)
        budget = float(privacy.epsilon), float(privacy.delta)
        counts = sorted(
            {least + math.ceil(least * extra / 50) for extra in (1, 2, 4, 6, 9, 13, 18, 25, 35, 50, 75, 150)}
        )
        plans = [Slices(count, bits, *budget, size) for count in counts]
        return min(plans, key=lambda plan: plan._rows(accuracy))

    @property
    def rate(self) -> float:
        """e0: of the slice lengths and of the medians."""
        return _rate(self.epsilon, self.delta, self.count)

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy | None = None) -> Sanitized:
        """``count`` points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        of_lengths, of_points = keys.streams(key, "lengths", "points")
        table = random.geometric_table(1 / self.rate)
        return self.of_lengths(of_points, x, mask, random.geometric(of_lengths, table, (self.count,)))

    def of_lengths(self, key: Array, x: Array, mask: Array, lengths: Array) -> Sanitized:
        """The rest of `sanitize`, given g_1, ..., g_count, ``int32[count]``; the last is not looked at."""
        rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
        ends, mean = boundaries(n, self.count), 1 / math.expm1(self.rate)
        means = jnp.asarray([math.floor(i * mean) for i in range(self.count + 1)], jnp.int32)
        least = jnp.maximum(jnp.diff(ends) - jnp.diff(means), 1)
        begins, begin = [], jnp.int32(0)
        for i in range(self.count):
            begins.append(begin)
            begin = jnp.minimum(begin + least[i] + jnp.minimum(lengths[i], jnp.int32(x.shape[0])), n)
        first, behind = jnp.stack(begins), jnp.stack([*begins[1:], n])
        place = jnp.arange(x.shape[0], dtype=jnp.int32)

        def one(own: Array, low: Array, high: Array) -> Array:
            law = exponential_median(
                rows, (place >= low) & (place < high), self.rate, bits=self.bits, size=self.size, monotonic=True,
                neighboring=Neighboring.ADD_OR_REMOVE_ONE,
            )  # fmt: skip
            return law.sample(own)

        points = each(one, keys.per_index(key, self.count), first, behind)
        return Sanitized.of(points, jnp.diff(ends))

    def guarantee(self, privacy: Privacy | None = None) -> Guarantee:
        """Slices under ADD_OR_REMOVE_ONE, then twice, for a replaced row."""
        add = Neighboring.ADD_OR_REMOVE_ONE
        part = exponential_guarantee(self.rate, "interior point of a slice (exponential)", add)
        slack = _slack(self.epsilon, self.delta)
        whole = as_replace_one(slices_guarantee(part, self.rate, slack, self.count, f"{self.count} slices of ranks"))
        return basic((whole,), f"threshold sanitizer, {self.count} slices")

    def sample_size(self, privacy: Privacy | None, accuracy: Accuracy) -> int:
        """`theory.sanitizers.slices` at its own budget."""
        rows = self._rows(accuracy)
        if rows == math.inf:
            raise InputError(
                "alpha", f"more than 1 / {self.count} slices", repr(accuracy.alpha), "plan it for this alpha"
            )
        return int(rows)

    def _rows(self, accuracy: Accuracy) -> float:
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        return sizes.slices(log_size(self.bits, self.size), self.rate, self.rate, self.count, alpha, beta)


@lru_cache(maxsize=1024)
def _rate(epsilon: float, delta: float, count: int) -> float:
    """The largest rate, and a little less where the guarantee, computed by another route, would exceed the budget."""
    half, slack = epsilon / 2, _slack(epsilon, delta)
    rate, safe = slices_rate(half, delta / (1 + math.exp(half)), count), 1e-9
    while slices_epsilon(slack, rate * (1 - safe), rate * (1 - safe), rounds=count) > half:
        safe *= 10
    return rate * (1 - safe)


def _slack(epsilon: float, delta: float) -> float:
    return delta / (1 + math.exp(epsilon / 2)) * (1 - 1e-9)
