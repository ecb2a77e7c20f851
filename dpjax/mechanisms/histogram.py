"""The stability histogram: noisy counts of the occupied cells, released above a threshold that hides new cells."""

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks, random
from dpjax.core.checks import InputError
from dpjax.core.draws import asked, drawn
from dpjax.core.types import Neighboring, require_relation
from dpjax.laws import Laplace
from dpjax.laws.base import Law, Support, side_by_side, total
from dpjax.mechanisms._inputs import delta_like, epsilon_of, vector
from dpjax.mechanisms.noise import upper_quantile
from dpjax.mechanisms.stability import CALIBRATIONS, survival


@register_dataclass
@dataclass(frozen=True)
class HistogramLaw(Law):
    """Independent cells: a count of at least ``least`` gets Laplace noise and is released above a threshold.

    counts: ``int32[m]``. least: ``int32[]``; smaller counts are never released.
    rate: ``float[]``, 1 / scale of the noise.
    margin: ``float[]``; threshold minus ``least``, in scales of the noise.
    """

    counts: Array
    least: Array
    rate: Array
    margin: Array

    @property
    def threshold(self) -> Array:
        """Noisy counts of at least this are released, ``float[]``."""
        return self.least.astype(self.rate.dtype) + self.margin / self.rate

    @drawn
    def sample(self, key: Array) -> tuple[Array, Array]:
        """(released ``bool[m]``, noisy count ``float[m]``, 0 if not released), in float64 up to the result."""
        with jax.enable_x64(True):
            law, noise = self._widened(), random.laplace(key, self.counts.shape, jnp.float64)
            released = self._eligible() & (noise >= law._needed())
            noisy = jnp.where(released, self.counts.astype(jnp.float64) + noise / law.rate, 0)
            return released, _not_below(noisy, self.rate.dtype)  # released counts are at or above the threshold

    def release_log_probs(self) -> tuple[Array, Array]:
        """(log P(released), log P(not released)), each ``float[m]``, exact in both tails."""
        needed = self._needed()
        standard = Laplace(jnp.zeros_like(needed), jnp.ones_like(needed))
        yes = jnp.where(self._eligible(), standard.log_survival(needed), -jnp.inf)
        return yes, jnp.where(self._eligible(), standard.log_cdf(needed), 0)

    def log_density(self, noisy: Array) -> Array:
        """log density of a released cell at ``noisy: float[m]``; -inf below the threshold."""
        counts = self.counts.astype(self.rate.dtype)
        inside = self._eligible() & (self.rate * (noisy - counts) >= self._needed())
        return jnp.where(inside, jnp.log(self.rate / 2) - self.rate * jnp.abs(noisy - counts), -jnp.inf)

    def log_prob(self, outcome: tuple[Array, Array]) -> Array:
        """log density, ``float64[]``: of the released noisy counts, times the probabilities of the other cells."""
        released, noisy = outcome
        with jax.enable_x64(True):
            law = self._widened()
            return total(jnp.where(released, law.log_density(noisy.astype(jnp.float64)), law.release_log_probs()[1]))

    def support(self, limit: int) -> Support | None:
        """None: noisy counts are continuous. `rounded` has a support."""
        return None

    def rounded(self, high: Array | int, most: int, occupied: int | None = None) -> "RoundedHistogram":
        """The law with integer noisy counts, clipped to [0, high]; high: traced, public; most: static, at least high.

        occupied: static; only the first ``occupied`` cells can have a count above 0; None for all.
        """
        cells = self.counts.shape[0] if occupied is None else min(occupied, self.counts.shape[0])
        return RoundedHistogram(self, jnp.minimum(jnp.asarray(high, jnp.int32), most), most, cells)

    def _widened(self) -> "HistogramLaw":
        """The same law in float64, 64-bit types enabled."""
        rate, margin = (part.astype(jnp.float64) for part in (self.rate, self.margin))
        return HistogramLaw(self.counts, self.least, rate, margin)

    def _eligible(self) -> Array:
        return self.counts >= self.least

    def _needed(self) -> Array:
        return self.margin - self.rate * (self.counts - self.least).astype(self.rate.dtype)


@register_dataclass
@dataclass(frozen=True)
class RoundedHistogram(Law):
    """A histogram with integer noisy counts: -1 if not released, else clip(rint(noisy count), 0, high).

    high: ``int32[]`` in [0, most]. most: static. occupied: static; cells beyond the first ``occupied`` have count 0.
    """

    histogram: HistogramLaw
    high: Array
    most: int = field(metadata={"static": True})
    occupied: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[m]``."""
        with jax.enable_x64(True):
            released, noisy = self.histogram._widened().sample(key)
            high = self.high.astype(jnp.float64)
            return jnp.where(released, jnp.clip(jnp.rint(noisy), 0, high).astype(jnp.int32), jnp.int32(-1))

    def log_prob(self, outcome: Array) -> Array:
        """The log mass, ``float64[]``, of ``int32[m]``."""
        with jax.enable_x64(True):
            return total(self._each(outcome[:, None])[:, 0])

    def support(self, limit: int) -> Support | None:
        """(most + 2) outcomes per occupied cell, in all combinations."""
        if self.most + 2 > limit:
            return None
        with jax.enable_x64(True):
            values = jnp.arange(-1, self.most + 1, dtype=jnp.int32)
            size = self.histogram.counts.shape[0]
            mass = self._each(jnp.broadcast_to(values[None], (size, self.most + 2)))[: self.occupied]
            listed = jnp.broadcast_to(values[None], mass.shape)
            joint = side_by_side(listed, mass, (self.occupied,), limit)
            if joint is None:
                return None
            behind = ((0, 0), (0, size - self.occupied))
            return Support(jnp.pad(joint.outcomes, behind, constant_values=-1), joint.log_mass)

    def _each(self, value: Array) -> Array:
        """log P of each cell, ``float64[m, o]`` of ``int32[m, o]``."""
        law = self.histogram._widened()
        needed, rate, counts = law._needed()[:, None], law.rate, law.counts.astype(jnp.float64)[:, None]
        yes, no = (part[:, None] for part in law.release_log_probs())
        value, high = value.astype(jnp.float64), self.high.astype(jnp.float64)
        # noise of at least ``needed`` is released; the interval of value v begins there or at v - 1/2
        begin = jnp.where(value <= 0, needed, jnp.maximum(needed, rate * (value - 0.5 - counts)))
        end = jnp.where(value >= high, jnp.inf, jnp.maximum(needed, rate * (value + 0.5 - counts)))
        inside = jnp.where(jnp.isneginf(yes), -jnp.inf, _log_between(begin, end))
        inside = jnp.where((value >= 0) & (value <= high), inside, -jnp.inf)
        return jnp.where(value == -1, no, inside)


def _margin(delta: Array) -> Array:
    """`upper_quantile` in the dtype of delta, rounded up, so that the probability of release is at most delta."""
    with jax.enable_x64(True):
        return _not_below(upper_quantile(delta.astype(jnp.float64)), delta.dtype)


def _not_below(exact: Array, dtype: Any) -> Array:
    """The smallest number of the dtype that is at least a float64 one."""
    near = exact.astype(dtype)
    return jnp.where(near.astype(jnp.float64) < exact, jnp.nextafter(near, jnp.full_like(near, jnp.inf)), near)


def _log_between(begin: Array, end: Array) -> Array:
    """log P(begin <= standard Laplace < end), from the smaller tails, without cancellation."""
    width = jnp.log(-jnp.expm1(begin - end))  # of an interval on one side of 0, relative to its heavier tail
    log_half = -jnp.log(2.0)
    above, below = -begin + log_half + width, end + log_half + width
    around = jnp.log(-0.5 * (jnp.expm1(jnp.minimum(begin, 0.0)) + jnp.expm1(-jnp.maximum(end, 0.0))))
    log_mass = jnp.where(begin >= 0, above, jnp.where(end <= 0, below, around))
    return jnp.where(end > begin, log_mass, -jnp.inf)


def stability_histogram(
    counts: Array,
    epsilon: Array | float,
    delta: Array | float,
    *,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    calibration: str = "corrected",
    alpha: Array | float | None = None,
    n: Array | int | None = None,
) -> HistogramLaw:
    """Noisy counts of the values that occur, from a domain of any size.

    Corrected: noise Lap(b), b = 2 / epsilon (1 / epsilon under ADD_OR_REMOVE_ONE); the threshold is 1 + the upper
    delta-quantile of the noise, which is 1 + b ln(1 / (2 delta)) for delta <= 1/2.
    Printed: counts above alpha n / 4 get Lap(2 / epsilon) and are released above alpha n / 2, independently of delta.

    Args:
      counts: ``int32[m]``; one slot per value that occurs; slots of count 0 are empty. The law is a law on
        values: publish released counts by value, never by slot.
      epsilon: traced scalar > 0.
      delta: traced scalar in (0, 1).
      neighboring: static; determines the noise.
      calibration: static; "corrected" or "printed", which needs alpha and n and REPLACE_ONE.

    Privacy: (epsilon, delta) under ``neighboring``, tight (docs/proofs/stability.md#the-stability-histogram). "printed"
      satisfies it for large alpha n only.
    Utility: a count of 1 + b (ln(1 / (2 delta)) + ln(1 / (2 beta))) or more is released with probability 1 - beta; a
      released count has an error above b s with probability at most exp(-s).
    Reference: Bun, Nissim and Stemmer, "Simultaneous private learning of multiple concepts", Proposition 2.20 and
      Algorithm 1.
    """
    counts = vector("counts", counts)
    epsilon = epsilon_of(epsilon)
    require_relation(neighboring)
    replaced = neighboring is Neighboring.REPLACE_ONE
    counts = asked(counts, "stability_histogram", 2 if replaced else 1, "sorted sum")
    rate = epsilon / 2 if replaced else epsilon
    if checks.choice("calibration", calibration, CALIBRATIONS) == "corrected":
        return HistogramLaw(counts, jnp.int32(1), rate, _margin(delta_like(delta, epsilon)))
    alpha, n = _printed(neighboring, alpha, n)
    with jax.enable_x64(True):  # as in the guarantee
        share = jnp.asarray(alpha, jnp.float64) * jnp.asarray(n).astype(jnp.float64)
        least = jnp.maximum(jnp.floor(share / 4).astype(jnp.int32) + 1, 1)
        margin = _not_below(rate.astype(jnp.float64) * (share / 2 - least.astype(jnp.float64)), epsilon.dtype)
    return HistogramLaw(counts, least, rate, margin)


def stability_histogram_guarantee(
    epsilon: float,
    delta: float,
    *,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    calibration: str = "corrected",
    alpha: float | None = None,
    n: int | None = None,
    what: str = "stability histogram",
) -> Guarantee:
    """(epsilon, delta); for "printed" the delta that its constants give at this alpha and n, instead of ``delta``."""
    checks.delta(delta, positive_for="the stability histogram")
    checks.epsilon(epsilon)
    if checks.choice("calibration", calibration, CALIBRATIONS) == "corrected":
        cells = "two cells move by 1: noise Lap(2 / epsilon)"
        if neighboring is Neighboring.ADD_OR_REMOVE_ONE:
            cells = "one cell moves by 1: noise Lap(1 / epsilon)"
        why = f"{cells}, a count of 1 is released with probability delta"
        return Guarantee(epsilon, delta, neighboring, what, why=why, source="Bun, Nissim and Stemmer, Proposition 2.20")
    alpha, n = _printed(neighboring, alpha, n)
    least = math.floor(checks.probability("alpha", alpha) * checks.integer("n", n, 1) / 4) + 1
    return Guarantee(
        epsilon,
        survival(epsilon / 2 * (alpha * n / 2 - least)),
        neighboring,
        f"{what} as printed",
        why=f"printed for delta = {delta:g}; a count of {least} is released with this probability, one less never",
        source="Bun, Nissim and Stemmer, Algorithm 1",
    )


def _printed(neighboring: Neighboring, alpha, n) -> tuple:
    """alpha and n, which the printed thresholds require."""
    if neighboring is not Neighboring.REPLACE_ONE:
        advice = "the printed thresholds are multiples of n, which is public only under REPLACE_ONE"
        raise InputError("neighboring", "REPLACE_ONE for calibration='printed'", str(neighboring), advice)
    if alpha is None or n is None:
        raise InputError(
            "alpha, n", "both, for calibration='printed'", f"alpha={alpha}, n={n}", "the printed thresholds use both"
        )
    return alpha, n
