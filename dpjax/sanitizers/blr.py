"""BLR: the exponential mechanism over all small synthetic databases, listed or counted."""

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Positive, Spends, down, plan_type, require_leaves
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers, replace_one_only
from dpjax.laws import Categorical
from dpjax.mechanisms.exponential import effective_epsilon, exponential
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.multisets import MultisetLaw, resolved_rate
from dpjax.sanitizers.queries import EXACT, OfQueries, answers, histogram
from dpjax.theory import sanitizers as sizes

_MOST_ENTRIES = 1 << 24  # multisets x (queries + points)
_MOST_COUNTS = 1 << 24  # of a class whose queries are sums: values x (points + 1)**2, partial counts of all levels
_MOST_VALUES = 1 << 10  # so there are fewer than e^450 multisets, a float64
_MOST_FACTOR = 16  # times the least number of points; more points gain at most an eighth of alpha


@plan_type
class BLRPlan:
    """epsilon: ``float32[]``, of the exponential mechanism. size: m."""

    epsilon: Positive
    size: int = field(metadata=STATIC)


@dataclass(frozen=True)
class BLR(OfQueries):
    """Chooses one of all multisets of m values by its largest error over all queries. Exact.

    The multisets of a matrix are listed, so that it has to be small. For a class whose queries are sums of counts of a
    line (`ConceptClass.sums`: points, thresholds) they are counted, see `MultisetLaw`, and m = 1 / (2 alpha) and a few
    more are enough: rounded quantiles are one of them.

    Args:
      queries: the class, as a matrix or with ``sums``.
      points: m >= 1, by default the number with which `theory.sanitizers.blr` needs the fewest rows. Listed:
        (d + m - 1 over m) multisets times m + the number of queries are at most 2**24. Counted: d (m + 1)^2 is at most
        2**24, d at most 2**10.

    Privacy: (epsilon, 0), replace-one, for every database: one exponential mechanism. m n times the largest error
      changes by at most m between neighbors.
    Utility: error at most alpha with probability 1 - beta from `theory.sanitizers.blr`.
    Reference: Blum, Ligett, Roth 2013; Bun, Nissim, Stemmer 2016, Theorem 2.18; the law by counts is our own.
    """

    queries: ConceptClass
    points: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "bounded range"

    def __post_init__(self):
        require_class(self.queries)
        if not self.counted:
            super().__post_init__()
        replace_one_only(self.neighboring, "its guarantee is for databases of one public size")
        if self.points is None:
            return
        checks.integer("points", self.points, 1)
        if self.counted:
            self._check_counted(self.points)
            return
        databases = self.databases(self.points)
        if databases * (self.queries.size + self.points) > _MOST_ENTRIES:
            number = str(databases) if databases < 1 << 62 else f"about 2**{databases.bit_length() - 1}"
            expected = f"at most {_MOST_ENTRIES} multisets times (queries + points), which are all listed"
            advice = "take fewer points, or MWEM"
            raise InputError("BLR", expected, f"{number} x ({self.queries.size} + {self.points})", advice)

    @property
    def counted(self) -> bool:
        """Whether multisets are counted, not listed."""
        return bool(self.queries.sums)

    def _check_counted(self, points: int) -> None:
        values = int(self.queries.domain.size)
        if values > _MOST_VALUES or values * (points + 1) ** 2 > _MOST_COUNTS:
            expected = f"at most {_MOST_VALUES} values and {_MOST_COUNTS} partial counts, values x (points + 1)^2"
            advice = "take fewer points, or another sanitizer of the class"
            raise InputError("BLR", expected, f"{values} values, {points} points", advice)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> BLRPlan:
        """InputError with the smallest number of points if there are too many multisets of that size."""
        epsilon, _, alpha, beta = host_numbers(privacy, accuracy)
        points = _fewest_rows(self, alpha, beta) if self.points is None else self.points
        return BLRPlan(down(epsilon), points)

    def databases(self, points: int) -> int:
        """The number of multisets of ``points`` values."""
        return math.comb(int(self.queries.domain.size) + points - 1, points)

    def law(self, x: Array, mask: Array, plan: BLRPlan) -> Categorical | MultisetLaw:
        """The exact law of the number of the chosen multiset, or of its counts."""
        checks.rows(x.shape[0], self.most_rows(plan), "BLR")
        counts = histogram(int(self.queries.domain.size), x, mask)
        if self.counted:
            rate = resolved_rate(jnp.asarray(plan.epsilon), counts.shape[0], plan.size)
            return MultisetLaw(counts, rate, plan.size, "singles" in self.queries.sums, "prefixes" in self.queries.sums)
        queries: Any = self.queries
        n = jnp.sum(mask, dtype=jnp.int32)
        ours = answers(queries, counts)
        table = queries.matrix().astype(np.int32)
        multisets = self._multisets(plan.size)
        theirs = jnp.asarray(sum(table[:, column] for column in multisets.T))  # queries x multisets
        worst = jnp.max(jnp.abs(theirs * n - ours[:, None] * plan.size), axis=0)
        return exponential(-worst, plan.epsilon, sensitivity=plan.size)

    def sanitize(self, key: Array, x: Array, mask: Array, plan: BLRPlan) -> Sanitized:
        """m points of weight 1. x: ``uint32[n, 1]``, n below 2**24 and 2**31 / m. mask: ``bool[n]``."""
        chosen = self.law(x, mask, plan).sample(key)
        if self.counted:
            values = jnp.arange(chosen.shape[0], dtype=jnp.uint32)
            value = jnp.repeat(values, chosen, total_repeat_length=plan.size)
        else:
            value = jnp.asarray(self._multisets(plan.size))[chosen]
        return Sanitized.of(value[:, None], jnp.ones(plan.size, jnp.int32))

    def most_rows(self, plan: BLRPlan) -> int:
        """Up to which counts and scores are exact."""
        return min(EXACT, -(-(1 << 31) // plan.size)) - 1

    def guarantee(self, plan: BLRPlan) -> Guarantee:
        """One exponential mechanism."""
        require_leaves(plan)
        what = f"exponential mechanism over {self.databases(plan.size)} synthetic databases"
        return exponential_guarantee(float(plan.epsilon), what)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.blr`; NoTheoremError for more rows than `most_rows`, and for an epsilon that rounding uses
        up, see `multisets.resolved_rate`."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        databases = self.databases(plan.size)
        if self.counted and not float(
            resolved_rate(jnp.float32(plan.epsilon), int(self.queries.domain.size), plan.size)
        ):
            expected, actual = "one that pays for the rounding of its sums", repr(float(plan.epsilon))
            raise NoTheoremError("epsilon", expected, actual, "increase it, or take fewer values or points")
        if self._least_error(plan.size) >= alpha:
            expected = f"at least {sizes.blr_points(self._least_error, alpha)} for alpha = {alpha:g}"
            raise NoTheoremError("points", expected, str(plan.size), "take more points, or MWEM")
        rows = sizes.blr(databases, self._least_error(plan.size), effective_epsilon(plan.epsilon), alpha, beta)
        return checks.rows(rows, self.most_rows(plan), "BLR", NoTheoremError)

    def _least_error(self, points: int) -> float:
        """An upper bound of the error of the best multiset, for every database."""
        if self.counted:
            return sizes.rounded_error(points, "singles" in self.queries.sums)
        return sizes.sampled_error(self.queries.size, points)

    def _multisets(self, points: int) -> np.ndarray:
        chosen = itertools.combinations_with_replacement(range(int(self.queries.domain.size)), points)
        entries = itertools.chain.from_iterable(chosen)
        return np.fromiter(entries, np.uint32, self.databases(points) * points).reshape(-1, points)


@lru_cache(maxsize=256)
def _fewest_rows(sanitizer: BLR, alpha: float, beta: float) -> int:
    """The points for which `theory.sanitizers.blr` needs the fewest rows, for every epsilon."""
    first = points = replace(sanitizer, points=sizes.blr_points(sanitizer._least_error, alpha)).points or 1
    counts = [first]
    while points < _MOST_FACTOR * first:
        try:
            points = replace(sanitizer, points=points + 1).points or 1
        except InputError:
            break
        counts.append(points)
    return min(counts, key=lambda m: sizes.blr(sanitizer.databases(m), sanitizer._least_error(m), 1e-3, alpha, beta))
