"""An assumption about polygons and distributions under which covers by halfplanes need fewer rows."""

from dataclasses import dataclass
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions


@dataclass(frozen=True)
class EdgeMargin:
    """Each edge of the target may move outwards a little without harm, so that more lines than one are good.

    For an edge with ends p and q, a distance L <= ``length`` apart, let the good lines be those that cross the
    rectangle of height ``width`` on the outside of the edge through both of its short sides. It is assumed that

    - the exterior angles of the target at p and q are at least arctan(width / L): good lines do not cut the target;
    - elements outside of the target have mass at most ``missed`` if no edge's good lines all exclude them. An edge's
      good lines exclude what is farther than width (1 + r / L) from the edge's line on its outside, where r is the
      distance along the line from the edge, 0 beside it.

    Nothing is assumed about the mass of the target itself. It changes what a theorem asks for, not what runs.

    Args:
      width, length: > 0, in units of the grid, width at most length and at least 2**-20 of it.
      missed: a mass in [0, 1), much smaller than alpha.

    Reference: our own; docs/proofs/set-cover-rows.md#sets-of-good-functions.
    """

    width: float
    length: float
    missed: float = 0.0

    def __post_init__(self):
        width, length, missed = (checks.number(name, getattr(self, name)) for name in ("width", "length", "missed"))
        if not 0 < length < float("inf"):
            raise InputError("length", "a positive number, of the longest edge", repr(self.length), "in grid units")
        if not length * 2.0**-20 <= width <= length:
            expected = f"at most length = {length:g}, and at least 2**-20 of it"
            raise InputError("width", expected, repr(self.width), "choose a width in grid units, smaller than the edge")
        if not 0 <= missed < 1:
            raise InputError("missed", "a mass in [0, 1)", repr(self.missed), "0 if the rectangles are empty")

    def functions(self, family: Any) -> float:
        """mu(H) / mu(good lines of an edge) at most, for a `mechanisms.cover.Family`; else NoTheoremError."""
        return float(family.size_along(self.width, self.length))


host_functions(globals())
