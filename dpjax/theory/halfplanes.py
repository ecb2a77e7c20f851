"""The cost of a base measure on lines: plain numbers on the host. Proofs: docs/proofs/lines.md."""

from math import log

from dpjax.core import checks

_SPARE = 6


def slope_bits(d: int) -> int:
    """b such that slopes that are multiples of 2**-b meet every cell of {0, ..., d}^2 in its due share of slopes.

    A cell of the dual arrangement has slopes of an interval of length at least 1 / d^2; 2**b is at least 64 d^2.
    """
    return 2 * (checks.integer("d", d, 1) - 1).bit_length() + _SPARE


def kinematic_log_cost(d: int, margin: float = 0.25) -> float:
    """An upper bound of ln(mu(H) / mu(C)), for the halfplanes C that cut the points of {0, ..., d}^2 in any one way.

    In the dual plane C is a cell of the arrangement of the points' lines; three consecutive vertices of it
    span a triangle of area at least 1/(2 d^3), and unbounded cells have larger area. The triangle, rotated so that the
    middle vertex is in its chart, keeps a density of 5^(-3/2), and all lines, with both signs, have mass
    4 sqrt(2) (3 + 2 margin) d: together 126.5 (3 + 2 margin) d^4. Slopes are multiples of 2**-b, b >= `slope_bits`.

    Args:
      d: side of the grid, >= 1. margin: of `mechanisms.cover.lines.measures.Kinematic`, in [0, 1].

    Reference: compare Kaplan, Mansour, Matias, Stemmer 2019, Claim 4.6; constants are our own.
    """
    checks.integer("d", d, 1)
    return log(126.5 * (3 + 2 * margin)) + 4 * log(d)


def box_log_cost(d: int) -> float:
    """As `kinematic_log_cost`, for Lebesgue measure on [-2 d^2, 2 d^2]^2 and both signs.

    Without the lattice it is 32 d^4 over 1/(2 d^3), 64 d^7. The lattice of slopes costs at most a factor of 1.5, since
    the density of the steepest lines, s^-3 for slope 1 / s, varies from one multiple to the next: 96 d^7.
    """
    return log(96) + 7 * log(checks.integer("d", d, 1))
