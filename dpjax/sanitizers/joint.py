"""JointExp: all quantiles in one exponential mechanism, as a threshold sanitizer."""

import math
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, as_float
from dpjax.mechanisms.median import bits as B
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.blocks import log_size
from dpjax.sanitizers.joint_law import JointLaw
from dpjax.sanitizers.quantiles import numbered, of_quantiles, shifted_right
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes

_DOWN = 1 - 2.0**-20  # covers the rounding to float32
_MOST_COUNT = 256


@dataclass(frozen=True)
class JointQuantiles:
    """m quantiles drawn together: one exponential mechanism over all of them, whose loss is how the rows fall between.

    Args:
      count: static m in [1, 256]; the sums take m^2 operations a row.
      bits: of a row.
      ties: bits that tell equal rows apart; up to 2^ties equal rows count as distinct. 0 is the published algorithm,
        which may be wrong by any share that a single value has.

    Privacy: (epsilon, 0), REPLACE_ONE, for every database and every n. Of the c_j rows between neighbours, t_j are
      asked for, which depends on n only, and the loss is the sum of max(c_j - t_j, 0): half the sum of |c_j - t_j|,
      since both add up to n. A replaced row lowers one c_j by 1 and raises another one, so the loss moves by at most
      1, and the rate is epsilon / 2. The base measure, m independent uniform elements, sorted, is public.
    Utility: error at most alpha with probability 1 - beta from `sample_size`, if no value occurs more than 2^ties
      times; proof in `theory.sanitizers.joint`.
    Reference: Gillenwater, Joseph, Kulesza 2021, Algorithm 1 (JointExp), where the loss is twice ours and its
      sensitivity 2; on a finite domain, with a sampler and constants of our own.
    """

    count: int
    bits: int
    ties: int = 0
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("count", self.count, 1, _MOST_COUNT)
        checks.integer("ties", self.ties, 0, 31)
        B.limbs(self.bits + self.ties)

    @staticmethod
    def planned(alpha: float, bits: int, privacy: Privacy, beta: float) -> "JointQuantiles":
        """The number of quantiles that needs the fewest rows, with as many bits for ties as that many rows can need."""
        accuracy, least = Accuracy(alpha, beta), math.floor(0.5 / checks.probability("alpha", alpha))
        plans = []
        for count in sorted({least + math.ceil((least + 1) * extra / 16) for extra in range(1, 33)}):
            if count <= _MOST_COUNT:
                ties = (JointQuantiles(count, bits, ties) for ties in range(32))
                plans += [plan for plan in ties if plan._rows(privacy, accuracy) <= 2**plan.ties][:1]
        if not plans:
            what = f"one that {_MOST_COUNT} quantiles and 2**31 rows can reach"
            raise InputError("alpha", what, repr(alpha), "relax alpha, or use Hierarchy")
        return min(plans, key=lambda plan: plan._rows(privacy, accuracy))

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """m + 2 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        n = jnp.sum(mask, dtype=jnp.int32)
        top = jnp.asarray(B.encode(2**self.bits - 1, self.bits))[None]
        rows = B.sort_rows(jnp.where(B.less(top, x)[:, None], top, x), mask)
        rows, _ = numbered(rows, n, self.bits, self.ties)
        rate = as_float(privacy.epsilon) * (_DOWN / 2)
        targets = jnp.diff(boundaries(n, self.count + 1))
        points = JointLaw.of(rows, n, targets, rate, self.bits + self.ties).sample(key)
        points = B.sort_rows(points, jnp.ones(self.count, bool))  # their order would tell who shares a place
        return of_quantiles(shifted_right(points, self.bits, self.ties), self.bits, None)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """One exponential mechanism."""
        return exponential_guarantee(float(privacy.epsilon), f"{self.count} joint quantiles (exponential)")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.joint`, for rows of which no more than 2^ties are equal."""
        rows = self._rows(privacy, accuracy)
        if rows == math.inf:
            raise InputError(
                "alpha", f"more than 1 / {2 * self.count + 2}", repr(accuracy.alpha), "plan it for this alpha"
            )
        return int(rows)

    def _rows(self, privacy: Privacy, accuracy: Accuracy) -> float:
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        rate = checks.epsilon(float(privacy.epsilon)) * _DOWN / 2
        return sizes.joint(log_size(self.bits + self.ties, None), rate, self.count, alpha, beta)
