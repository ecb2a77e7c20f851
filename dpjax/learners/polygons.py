"""Learning a convex polygon by a private set cover of its complement."""

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

_KINEMATIC, _PERFORMANCE = Kinematic(), Performance()


@dataclass(frozen=True)
class PolygonLearner(CoveringPlane):
    """Set cover by halfplanes: each round selects one that excludes many negatives and (nearly) no positives.

    The excluded rows are removed; the polygon is the set that no halfplane excludes, with at most ``rounds`` edges.

    Args:
      rounds, noisy: see `Covering`.
      concepts: convex polygons; their number of edges is only the default of k.
      k: the largest number of edges of a target that the theorem covers; None for that of ``concepts``.
      measure: the base measure on lines.
      family: the base family of halfplanes on the concepts' lattice. None for all halfplanes under ``measure``.
      performance: of the sampler of the default family; affects time only.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: all rounds together, by the stopping game.
    Utility: `theory.set_cover.realizable` for targets of at most k edges, at the cost `HalfPlanes.size`.
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
    """Arguments that do well in measurements, beside the theorem's; see `dpjax learn` and scripts/boundary.py."""

    def __post_init__(self):
        usual = (self.measure, self.performance) == (_KINEMATIC, _PERFORMANCE)
        self.check(ConvexPolygons, 1, usual, "measure or performance")

    @property
    def members(self) -> int:
        """The number of edges of a target, k."""
        return self.k or self.concepts.edges

    @property
    def functions(self) -> Any:
        """The base family of halfplanes."""
        if self.family is not None:
            return self.family
        sizes = self.performance
        walls = min(sizes.walls, sizes.bins)
        return HalfPlanes(self.concepts.d, self.measure, sizes.slabs, sizes.bins, sizes.spare, walls)

    @property
    def passes(self) -> int:
        """Approximate number of passes over the rows, most of them for the bounds of a round."""
        return 32 * self.likely_rounds

    def log_sizes(self, rounds: int) -> tuple[float, float]:
        """``size`` of the family, for halfplanes the cost of a line, and ln of the number of ways to cut the grid."""
        return float(self.functions.size), rounds * log((self.concepts.d + 1.0) ** 4 + 2)
