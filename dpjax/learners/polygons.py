"""Learning a convex polygon by a private set cover of the outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import Any, ClassVar

from dpjax.concepts.polygons import ConvexPolygons
from dpjax.core.types import Neighboring
from dpjax.learners.covering import CoveringPlane
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Kinematic, LineMeasure
from dpjax.mechanisms.cover.lines.rejection import Performance
from dpjax.theory.halfplanes import line_cost

_KINEMATIC, _PERFORMANCE = Kinematic(), Performance()


@dataclass(frozen=True)
class PolygonLearner(CoveringPlane):
    """SetCoverLearner over halfplanes: in each round one that excludes many negatives and (nearly) no positives.

    What is excluded is gone; what no halfplane excludes is the polygon, of up to as many edges as rounds.

    Args:
      rounds, noisy: see `Covering`.
      concepts: convex polygons; nothing that is learned depends on their edges but the default of k.
      k: the most edges of a target that the theorem is for; None for those of ``concepts``.
      measure: the base measure on lines.
      family: what is chosen from: halfplanes on the concepts' lattice. None for all of them, under ``measure``.
      performance: of the sampler of the default family; only time depends on it.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable` for targets of at most k edges, at the cost `theory.halfplanes.line_cost`.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 4,
      with the accounting corrected.
    """

    concepts: ConvexPolygons
    rounds: int | None = None
    k: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    measure: LineMeasure = _KINEMATIC
    family: Family | None = None
    performance: Performance = _PERFORMANCE
    what: ClassVar[str] = "halfplanes on a grid of side {0.d}"
    usual: ClassVar[Mapping[str, int]] = MappingProxyType({"rounds": 14, "k": 4})
    """Arguments with which it measures well, beside those of the theorem: `dpjax learn` and scripts/boundary.py."""

    def __post_init__(self):
        usual = (self.measure, self.performance) == (_KINEMATIC, _PERFORMANCE)
        self.check(ConvexPolygons, 1, usual, "measure or performance")

    @property
    def members(self) -> int:
        """The edges of a target."""
        return self.k or self.concepts.edges

    @property
    def functions(self) -> Any:
        """The family that is chosen from."""
        if self.family is not None:
            return self.family
        sizes = self.performance
        walls = min(sizes.walls, sizes.bins)
        return HalfPlanes(self.concepts.domain.coarse.d, self.measure, sizes.slabs, sizes.bins, sizes.spare, walls)

    @property
    def passes(self) -> int:
        """About how often the rows are gone through; loops that end when they end do badly in large batches."""
        return 32 * self.likely_rounds

    def log_sizes(self, rounds: int) -> tuple[float, float]:
        """The cost of a line. A family of one's own is taken as finite, of ``size`` functions."""
        d, family = self.concepts.domain.coarse.d, self.functions
        cost = line_cost(d, family.measure.name) if isinstance(family, HalfPlanes) else float(family.size)
        return cost, rounds * log((d + 1.0) ** 4 + 2)
