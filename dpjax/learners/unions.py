"""Learning a union of polygons by a private set cover of its inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb, log
from types import MappingProxyType
from typing import Any, ClassVar

from dpjax.concepts.unions import Unions
from dpjax.core.types import Neighboring
from dpjax.learners.covering import CoveringPlane
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.triangles.triangles import Triangles

_DIRECTIONS, _BINS = 12, 16


@dataclass(frozen=True)
class UnionLearner(CoveringPlane):
    """Set cover by triangles: each round selects one that contains many positives and (nearly) no negatives.

    The covered rows are removed; the union of all triangles is returned, one per round.

    Args:
      rounds, noisy: see `Covering`.
      concepts: unions of triangles; their number is only the default of k.
      k: the largest number of triangles of a target that the theorem covers; None for that of ``concepts``.
      directions, bins: the finite set of lines, see `Triangles`. A triangle costs
        ln(C(directions, 3) (2 bins)^3) nats; edges are off by at most one strip and one direction.
      family: the base family of triangles on the concepts' lattice. None for those of ``directions`` and ``bins``.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: all rounds together, by the stopping game.
    Utility: `theory.set_cover.realizable` for unions of at most k triangles of the family. For other targets no bound
      holds for all distributions.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 5,
      with the accounting corrected and a finite family.
    """

    concepts: Unions
    rounds: int | None = None
    k: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    directions: int = _DIRECTIONS
    bins: int = _BINS
    family: Family | None = None
    what: ClassVar[str] = "triangles on a grid of side {0.d}"
    usual: ClassVar[Mapping[str, int]] = MappingProxyType({"rounds": 10, "k": 4, "directions": 8})
    """Arguments that do well in measurements, beside the theorem's; see `dpjax learn` and scripts/boundary.py."""

    def __post_init__(self):
        usual = (self.directions, self.bins) == (_DIRECTIONS, _BINS)
        self.check(Unions, 3, usual, "directions or bins")

    @property
    def members(self) -> int:
        """The number of triangles of a target, k."""
        return self.k or self.concepts.triangles

    @property
    def functions(self) -> Any:
        """The base family of triangles."""
        if self.family is not None:
            return self.family
        return Triangles(self.concepts.d, self.directions, self.bins)

    @property
    def passes(self) -> int:
        """Approximate number of passes over the rows: one for each three directions and round."""
        return comb(self.directions, 3) * self.likely_rounds

    def log_sizes(self, rounds: int) -> tuple[float, float]:
        """The cost of a triangle. A given family counts as finite too, with ``size`` functions."""
        size = float(self.functions.size)
        return size, rounds * log(size)
