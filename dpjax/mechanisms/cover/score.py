"""The score that a round of a set cover maximizes: what a plan says of it, and its values in a round."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.cover.effects import Difference, Effect, Minimum
from dpjax.core import checks
from dpjax.core.members import Base, member, required

_MOST, _WIDEST = 1e100, 1e12


@register_dataclass
@dataclass(frozen=True)
class Score:
    """The score of one round, q = min(T - share, -O), and its coefficient in the exponent: two ``float64[]``.

    T and O count the targets and the other rows that a function hits; share is budget / k, finite. A subclass
    (registered as a pytree too) may override `quality`; it must be nondecreasing in T and nonincreasing in O, which the
    bounds of `lines` rely on, and needs a proof of its accounting.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 3.
    """

    coefficient: Array
    share: Array

    sensitivity: ClassVar[Any] = 1
    """The largest change of a score when one row is added, removed or replaced."""

    @classmethod
    def of(cls, budget: Array | float, k: int, coefficient: Array) -> "Score":
        """share = budget / k, of any floats. A coefficient that is not a positive number becomes 0."""
        with jax.enable_x64(True):
            known = jnp.asarray(coefficient, jnp.float64)
            known = jnp.where(known > 0, jnp.minimum(known, _MOST), 0.0)
            share = jnp.nan_to_num(jnp.asarray(budget, jnp.float64), nan=0.0, posinf=_WIDEST, neginf=-_WIDEST) / k
            return cls(known, jnp.clip(share, -_WIDEST, _WIDEST))

    def capped(self, most: float) -> "Score":
        """The score with its coefficient clipped to ``most``."""
        with jax.enable_x64(True):
            return replace(self, coefficient=jnp.minimum(self.coefficient, most))

    @property
    def log_least(self) -> Array | float:
        """The log of what is added to every exp(coefficient q), ``float64[]``."""
        return -jnp.inf

    def moved(self, share: Array) -> "Score":
        """With another share: the same law, if min(T - share, -O) is T - share for all functions, or -O for all."""
        return replace(self, share=share)

    def quality(self, hit: Array, wrong: Array) -> Array:
        """q <= 0, ``float64[...]``, from counts of targets and of others; 64-bit types enabled."""
        return jnp.minimum(hit.astype(jnp.float64) - self.share, -wrong.astype(jnp.float64))

    def log_weight(self, hit: Array, wrong: Array) -> Array:
        """Coefficient times q."""
        return self.coefficient * self.quality(hit, wrong)


@register_dataclass
@dataclass(frozen=True)
class Floored(Score):
    """The score whose weight is exp(coefficient q) + exp(least), q = min(T - share, -O); least: ``float64[]``.

    It changes by at most as much as q, in the same direction: docs/proofs/set-cover-game.md#a-floor.
    """

    least: Array

    @property
    def log_least(self) -> Array:
        """See `Score`."""
        return self.least

    def moved(self, share: Array) -> Score:
        """See `Score`."""
        more = self.coefficient * jnp.maximum(self.share - share, 0.0)
        return replace(self, share=share, least=self.least + more)

    def quality(self, hit: Array, wrong: Array) -> Array:
        """log(exp(coefficient q) + exp(least)) / coefficient, or q for the coefficient 0: the law is uniform then."""
        q, some = super().quality(hit, wrong), self.coefficient > 0
        known = jnp.where(some, self.coefficient, 1.0)
        return jnp.where(some, jnp.logaddexp(known * q, self.least) / known, q)


@register_dataclass
@dataclass(frozen=True)
class Gained(Score):
    """The score q = share T - O of one round; lam, static: share is 1 / lam."""

    lam: float = field(default=1.0, metadata={"static": True})

    @property
    def sensitivity(self) -> float:
        """1 + 1 / lam: another row that is hit is replaced by a target that is hit."""
        return 1 + 1 / self.lam

    def quality(self, hit: Array, wrong: Array) -> Array:
        """q, of any sign, ``float64[...]``."""
        return self.share * hit.astype(jnp.float64) - wrong.astype(jnp.float64)


class Scoring(Base):
    """Base class of what a plan says of the score of all rounds: a frozen dataclass, static, equal by value.

    A score of another kind states its effect on neighbors, from which its rounds are accounted for.
    """

    @required
    def counts(self) -> bool:
        """Whether the score depends on the number of targets left, so that noisy counts are of use."""

    @abstractmethod
    def of(self, budget: Array, coefficient: Array) -> Score:
        """The score of one round. budget: ``float64[]``, the number of targets left minus the plan's offset."""

    @required
    def effect(self) -> Effect:
        """How far two runs' scores differ, with exact counts."""

    @member
    def nats(self) -> int | None:
        """See `Saturating`."""
        return None

    @member
    def lam(self) -> float:
        """The number of targets that are worth one other row, for pairs of neighbors that stress the guarantee."""
        return 1.0


@dataclass(frozen=True)
class Saturating(Scoring):
    """q = min{T - b / k, -O}: at most 0 for a function that hits all that one of k members must hit, and no other row.

    nats: None, or a whole number for weights exp(coefficient q) + exp(-nats) in place of exp(coefficient q), with the
      same guarantee: docs/proofs/set-cover-game.md#a-floor. It bounds the time of draws by rejection for all rows.

    The theorem of `theory.set_cover` is about this score.
    """

    k: int
    nats: int | None = None
    counts: ClassVar[bool] = True

    def __post_init__(self):
        checks.integer("k", self.k, 1)
        checks.whole_or_none("nats", self.nats, 1)

    def of(self, budget: Array, coefficient: Array) -> Score:
        """See `Score` and `Floored`."""
        plain = Score.of(budget, self.k, coefficient)
        if self.nats is None:
            return plain
        with jax.enable_x64(True):
            return Floored(plain.coefficient, plain.share, jnp.float64(-self.nats))

    @property
    def effect(self) -> Effect:
        """The minimum's."""
        return Minimum(self.k)


@dataclass(frozen=True)
class Gain(Scoring):
    """q = T / lam - O: lam targets are worth one other row. It has no count and does not saturate.

    lam: in [2**-10, 2**10]. No theorem covers it; in measurements it errs less; docs/gallery/dp-sgd.md has errors.
    """

    lam: float = 2.5
    counts: ClassVar[bool] = False

    def __post_init__(self):
        Difference(self.lam)

    def of(self, budget: Array, coefficient: Array) -> Score:
        """See `Gained`; the budget does not matter."""
        plain = Score.of(1 / self.lam, 1, coefficient)
        return Gained(plain.coefficient, plain.share, self.lam)

    @property
    def effect(self) -> Effect:
        """The difference's."""
        return Difference(self.lam)
