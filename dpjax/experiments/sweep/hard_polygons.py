"""A task on which a set cover by halfplanes errs as much as its rounds allow."""

from dpjax.concepts import ConvexPolygons, PlaneAtoms
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.task import Task
from dpjax.theory.set_cover import rounds_for

_UNIT = 2**40
_INNER, _LOST = 0.05, 1.05  # the mass in the middle; the error, in alphas, if every round errs


def hard_polygon(concepts: ConvexPolygons, alpha: float, width: int | None = None) -> Task:
    """A strip between two long edges, outside of which each round of `rounds_for` (edges, alpha) is tempted to err.

    Along either edge, in turn, negatives on the outside and single positives on the edge follow each other, the
    negatives just farther than ``width`` from the edge. The i-th group of negatives has 1 / edges of the mass of the
    groups from the i-th on, so that a round hits enough of them by cutting off one more positive, which many lines do;
    few lines separate a group from all positives on its edge. If all rounds cut like this, the error is a
    little above alpha, and as long as the loss of a positive costs less than the logarithm of the quotient, most do.

    Args:
      concepts: with two edges or more. alpha: such that a round's part of it is positive.
      width: 1 to d / 64; None for d / 4096, at least 1. It is that of `theory.edges.EdgeMargin`, with ``length`` d.
    """
    checks.instance("concepts", concepts, ConvexPolygons, "the hard task is one of convex polygons")
    d, edges = concepts.d, concepts.edges
    width = max(1, d >> 12) if width is None else checks.integer("width", width, 1, max(1, d // 64))
    rounds = rounds_for(edges, checks.probability("alpha", alpha))
    low, groups, keep = width + 2, rounds + 1, 1 - 1 / edges
    bait = (_LOST * alpha - keep**rounds) / rounds
    left = 1 - _INNER - bait * (groups + 2)
    counts = (groups + 1) // 2, groups // 2
    if edges < 2 or min(bait, left) * _UNIT < 1 or d < max(4 * low, 8 * groups):
        actual = f"{edges} edges, d = {d}, alpha = {alpha:g}"
        raise InputError(
            "concepts", "two edges or more, a finer grid, an alpha from 1e-10 to 1/2", actual, "choose others"
        )
    atoms = [((0, low), bait), ((d, d - low), bait)]
    for i in range(groups):
        edge, place = i % 2, i // 2
        mass = left / edges if i < rounds else left
        left -= mass
        for halves, out, weight in ((2 * place + 1, width + 1, mass), (2 * place + 2, 0, bait)):
            x, y = d * halves // (2 * counts[edge]), low - out
            atoms.append(((d - x, d - y) if edge else (x, y), weight))
    points, masses = [point for point, _ in atoms], [max(1, round(_UNIT * mass)) for _, mass in atoms]
    law = PlaneAtoms.of(d, [*points, (d // 2, d // 2)], [*masses, round(_UNIT * _INNER)])
    target = concepts.of_lines([(0, -2), (0, 2)], [1 - 2 * low, 2 * (d - low) + 1])
    return Task(concepts, law, target[None])
