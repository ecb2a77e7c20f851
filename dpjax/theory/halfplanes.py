"""The cost of a base measure on lines: plain numbers on the host."""

from dpjax.core import checks

_COSTS = {"kinematic": lambda d: 443 * d**4, "box": lambda d: 64 * d**7}


def line_cost(d: int, measure: str) -> float:
    """An upper bound of mu(H) / mu(C), for the halfplanes C that cut the points of {0, ..., d}^2 in any one way.

    In the dual plane C is a cell of the arrangement of the points' lines; three consecutive vertices of it
    span a triangle of area at least 1/(2 d^3), and unbounded cells have larger area.

    "kinematic": rotated so that the middle vertex is in its chart, the triangle keeps a density of 5^(-3/2), and all
    lines have mass at most 20 d: 443 d^4. "box": 32 d^4 over 1/(2 d^3): 64 d^7, including the two signs.

    Args:
      d: side of the grid, >= 1. measure: "kinematic" or "box".

    Reference: compare Kaplan, Mansour, Matias, Stemmer 2019, Claim 4.6; constants are our own.
    """
    checks.integer("d", d, 1)
    return float(_COSTS[checks.choice("measure", measure, _COSTS)](d))
