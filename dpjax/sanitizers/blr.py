"""BLR: the exponential mechanism over all small synthetic databases."""

import itertools
import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.finite import Finite
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.laws import Categorical
from dpjax.mechanisms.exponential import exponential, exponential_guarantee
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.queries import EXACT, answers, check_rows, histogram
from dpjax.theory import sanitizers as sizes

_MOST_ENTRIES = 1 << 24  # multisets x (queries + points)
_MOST_FACTOR = 16  # of the least number of points: more of them help by an eighth of alpha at most


@dataclass(frozen=True)
class BLR:
    """Chooses one of all multisets of m values by the largest error over all queries. Exact, so for small classes only.

    Args:
      queries: the class, as a matrix.
      points: m >= 1, static. (d + m - 1 over m) multisets times m + the number of queries must be at most 2**24.

    Privacy: (epsilon, 0), replace-one, for every database: one exponential mechanism. m n times the largest error moves
      by at most m.
    Utility: error at most alpha with probability 1 - beta from `theory.sanitizers.blr`.
    Reference: Blum, Ligett, Roth 2013; Bun, Nissim, Stemmer 2016, Theorem 2.18.
    """

    queries: Finite
    points: int
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("points", self.points, 1)
        databases = self.databases
        if databases * (self.queries.size + self.points) > _MOST_ENTRIES:
            number = str(databases) if databases < 1 << 62 else f"about 2**{databases.bit_length() - 1}"
            raise InputError(
                "BLR", f"at most {_MOST_ENTRIES} multisets times (queries + points), which are all listed",
                f"{number} x ({self.queries.size} + {self.points})", "take fewer points, or MWEM",
            )  # fmt: skip

    @staticmethod
    def planned(queries: Finite, privacy: Privacy, accuracy: Accuracy) -> "BLR":
        """With the points for which `theory.sanitizers.blr` needs the fewest rows, on the host.

        Raises InputError with the least number of points where so many are too many to list.
        """
        alpha = checks.probability("alpha", float(accuracy.alpha))
        first = one = BLR(queries, sizes.blr_points(queries.size, alpha))
        found = [first]
        while one.points < _MOST_FACTOR * first.points:
            try:
                one = BLR(queries, one.points + 1)
            except InputError:
                break
            found.append(one)
        return min(found, key=lambda one: one.sample_size(privacy, accuracy))

    @property
    def databases(self) -> int:
        """The number of multisets of ``points`` values."""
        return math.comb(self.queries.width + self.points - 1, self.points)

    @property
    def bits(self) -> int:
        """Of a value."""
        return max(1, (self.queries.width - 1).bit_length())

    def law(self, x: Array, mask: Array, privacy: Privacy) -> Categorical:
        """The exact law of the chosen multiset's number."""
        check_rows(x.shape[0], min(EXACT, -(-(1 << 31) // self.points)))
        n = jnp.sum(mask, dtype=jnp.int32)
        ours = answers(self.queries, histogram(self.queries, x, mask))
        table = self.queries.matrix().astype(np.int32)
        theirs = jnp.asarray(sum(table[:, column] for column in self._multisets().T))  # queries x multisets
        worst = jnp.max(jnp.abs(theirs * n - ours[:, None] * self.points), axis=0)
        return exponential(-worst, privacy.epsilon, sensitivity=self.points)

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """m points of weight 1. x: ``uint32[n, 1]``, n below 2**24 and 2**31 / m. mask: ``bool[n]``."""
        chosen = self.law(x, mask, privacy).sample(key)
        value = jnp.asarray(self._multisets())[chosen]
        return Sanitized.of(value[:, None], jnp.ones(self.points, jnp.int32))

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """One exponential mechanism."""
        what = f"exponential mechanism over {self.databases} synthetic databases"
        return exponential_guarantee(float(privacy.epsilon), what)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.blr`."""
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        epsilon = checks.epsilon(float(privacy.epsilon))
        return sizes.blr(self.databases, self.queries.size, self.points, epsilon, alpha, beta)

    def _multisets(self) -> np.ndarray:
        chosen = itertools.combinations_with_replacement(range(self.queries.width), self.points)
        entries = itertools.chain.from_iterable(chosen)
        return np.fromiter(entries, np.uint32, self.databases * self.points).reshape(-1, self.points)
