"""Sets of d elements by an oracle that does not bound how long the lists of learners may be."""

from dataclasses import dataclass

from dpjax.concepts import PointSets
from dpjax.concepts.versions.subsets import Subsets


@dataclass(frozen=True)
class Unstated(PointSets):
    """Learned as any class of its Littlestone dimension is."""

    def versions(self) -> "UnboundedSubsets":
        """Of the same sets."""
        return UnboundedSubsets(self.domain.size, self.ones)


@dataclass(frozen=True)
class UnboundedSubsets(Subsets):
    """Without `Versions.longest_list`."""

    def longest_list(self, queries: int) -> None:
        """Unknown."""
        return None
