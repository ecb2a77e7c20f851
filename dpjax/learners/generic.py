"""GenericLearner: sanitize the points once, then choose for each of k concepts among the few that still differ."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.finite import Finite
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.points import Points
from dpjax.concepts.thresholds import Thresholds
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float, at_most
from dpjax.learners import budget
from dpjax.learners.base import flipped_label_pairs
from dpjax.learners.column_errors import column_errors
from dpjax.mechanisms.exponential import exponential, exponential_guarantee
from dpjax.sanitizers.base import Sanitizer
from dpjax.sanitizers.points import PointCounts
from dpjax.sanitizers.shares import each
from dpjax.theory import generic as theory
from dpjax.theory.generalization import finite, line

_DOWN = 1 - 2.0**-20  # covers the rounding of the two parts to float32


@dataclass(frozen=True)
class GenericLearner:
    """Algorithm 2: a synthetic database of the points B, one concept for each way in which the class cuts B, and an
    exponential mechanism among these for each of the k columns. Proper and agnostic.

    Args:
      concepts: points, thresholds, or a matrix.
      k: static number of concepts, >= 1.
      sanitizer: of the points: for a matrix one of counting queries (`BLR`, `MWEM`), which should answer all of
        `Finite.xor`; for thresholds of thresholds; for points of points or thresholds.
      composition: of the k choices, as in `Independent`.
      share: static; the sanitizer's part of epsilon, in (0, 1).

    The sanitizer gets half of delta where composition takes some, else all of it.

    Privacy: (epsilon, delta), replace-one, for every sample: the sanitizer and k exponential mechanisms over concepts
      that are known from its answer.
    Utility: `theory.generic`.
    Reference: Bun, Nissim, Stemmer 2016, Algorithm 2, Lemmas 3.6 and 3.7; constants are our own.
    """

    concepts: Points | Thresholds | Finite
    k: int
    sanitizer: Sanitizer
    composition: str = "basic"
    share: float = 0.5
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("k", self.k, 1)
        checks.choice("composition", self.composition, budget.COMPOSITIONS)
        checks.probability("share", self.share)
        if not isinstance(self.concepts, Points | Thresholds | Finite):
            raise InputError(
                "concepts", "Points, Thresholds or Finite", type(self.concepts).__name__, "use another learner"
            )
        if self.sanitizer.neighboring is not self.neighboring:
            raise InputError(
                "sanitizer", f"one for {self.neighboring.value}", self.sanitizer.neighboring.value, "take another one"
            )
        bits = max(1, (self.concepts.domain.size - 1).bit_length())
        if self.sanitizer.bits != bits:
            raise InputError(
                "sanitizer", f"one of values of {bits} bits", f"{self.sanitizer.bits}", "plan it for the domain"
            )
        _parts_of_a_difference(self.concepts, self.sanitizer)

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """k concepts; an empty sample gives concepts at random."""
        if sample.y.shape[1] != self.k:
            raise InputError("labels", f"{self.k} concepts", f"{sample.y.shape[1]}", "make k the number of columns")
        of_points, of_columns = keys.streams(key, "sanitize", "columns")
        first, second = self.parts(privacy)
        synthetic = self.sanitizer.sanitize(of_points, sample.x, sample.mask, first)
        number, exists = self.concepts.dichotomies(synthetic.points, synthetic.weights > 0)
        errors = column_errors(self.concepts.predict(Hypothesis.of(number), sample.x), sample)
        part = budget.per_run(second, self.k, self.composition)

        def choose(own: Array, column: Array) -> Array:
            return exponential(-column, part.epsilon, where=exists).sample(own)

        chosen = each(choose, keys.per_index(of_columns, self.k), errors)
        return Hypothesis.of(number[jnp.maximum(chosen, 0)])

    def parts(self, privacy: Privacy) -> tuple[Privacy, Privacy]:
        """What the sanitizer and what the k choices together may spend."""
        epsilon, delta = as_float(privacy.epsilon), as_float(privacy.delta)
        of_columns = 0.0 if self.composition == "basic" or self.k == 1 else 0.5
        one, other = self.share * _DOWN, (1 - self.share) * _DOWN
        return Privacy(epsilon * one, delta * (1 - of_columns)), Privacy(epsilon * other, delta * of_columns)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]``."""
        return self.concepts.predict(hypothesis, x)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """The sanitizer and the k choices."""
        first, second = self._host_parts(privacy)
        own = float(budget.share(second, self.k, self.composition).epsilon)
        part = exponential_guarantee(own, "a concept of each column")
        columns = budget.composed(part, self.k, float(second.delta), self.composition, f"{self.k} concepts")
        return basic((self.sanitizer.guarantee(first), columns), "GenericLearner")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.generic.realizable`; see `theory.generic.agnostic` for the other case."""
        return self._rows(theory.realizable, privacy, accuracy)

    def agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.generic.agnostic`: errors exceed the best concept's by at most alpha."""
        return self._rows(theory.agnostic, privacy, accuracy)

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled in every column at once."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)

    def _rows(self, bound: Callable[..., int], privacy: Privacy, accuracy: Accuracy) -> int:
        first, second = self._host_parts(privacy)
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        _require_differences(self.concepts, self.sanitizer)
        of_query = alpha / 4 / _parts_of_a_difference(self.concepts, self.sanitizer)
        sanitized = self.sanitizer.sample_size(first, Accuracy(of_query, beta / 3))
        part = float(budget.share(second, self.k, self.composition).epsilon)
        restrictions = finite(self.concepts.size) if isinstance(self.concepts, Finite) else line
        return max(sanitized, bound(restrictions, self._choices(), self.k, part, alpha, beta))

    def _host_parts(self, privacy: Privacy) -> tuple[Privacy, Privacy]:
        """`parts` as plain numbers: exactly those with which a program runs."""
        numbers = at_most(checks.epsilon(float(privacy.epsilon))), at_most(checks.delta(float(privacy.delta)))
        first, second = (Privacy(float(p.epsilon), float(p.delta)) for p in self.parts(Privacy(*numbers)))
        return first, second

    def _choices(self) -> int:
        """Concepts that there are to choose from, at most."""
        if isinstance(self.concepts, Finite):
            return self.concepts.size
        x = jax.ShapeDtypeStruct((1, self.concepts.domain.limbs), jnp.uint32)
        run = lambda x: self.sanitizer.sanitize(keys.root(0), x, jnp.ones(1, bool), Privacy(1.0, 1e-6))  # noqa: E731
        return min(self.concepts.size, jax.eval_shape(run, x).points.shape[0] + 1)


def _parts_of_a_difference(concepts: Points | Thresholds | Finite, sanitizer: Sanitizer) -> int:
    """How many of the sanitizer's queries make up the symmetric difference of two concepts.

    Raises InputError for a sanitizer of something else.
    """
    queries = getattr(sanitizer, "queries", None)
    if isinstance(queries, Finite):
        fits = queries.width == concepts.domain.size
        parts = 1 if isinstance(concepts, Finite) else 2
    elif isinstance(sanitizer, PointCounts):
        fits = isinstance(concepts, Points)
        parts = 2
    else:  # thresholds: an interval takes two of them, and so does a point
        fits = not isinstance(concepts, Finite)
        parts = 4 if isinstance(concepts, Points) else 2
    if not fits:
        raise InputError(
            "sanitizer", f"one for {type(concepts).__name__} over {concepts.domain.size} values", repr(sanitizer),
            "take BLR or MWEM for a matrix, PointCounts for points, another one for thresholds",
        )  # fmt: skip
    return parts


def _require_differences(concepts: Points | Thresholds | Finite, sanitizer: Sanitizer) -> None:
    """Raises InputError if a sanitizer of a matrix's values is not known to answer all symmetric differences."""
    if not isinstance(concepts, Finite):
        return
    asked = {row.tobytes() for row in sanitizer.queries.matrix()}  # type: ignore[attr-defined]
    if any(row.tobytes() not in asked for row in concepts.xor().matrix()):
        raise InputError(
            "sanitizer", "one whose queries hold all symmetric differences of concepts", "others",
            "make it with queries = concepts.xor(), or search for n",
        )  # fmt: skip
