"""Distributions on which a wrong sample size shows: mass next to the decision boundary, atoms, ends of the domain."""

from contextlib import suppress
from functools import singledispatch
from math import ceil, floor

import numpy as np

from dpjax.concepts import (
    ConvexPolygons,
    Finite,
    Multiclass,
    Parities,
    PlaneAtoms,
    Points,
    PointSets,
    ProductCube,
    Thresholds,
    Tree,
    UniformCube,
)
from dpjax.concepts import distributions as make
from dpjax.concepts.literals import OfLiterals
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.hard_polygons import hard_polygon
from dpjax.experiments.sweep.hard_tasks import (
    gapped_thresholds,
    hard_chain,
    hard_literals,
    hard_point_sets,
    hard_points,
    hard_tree,
    nested_thresholds,
)
from dpjax.experiments.sweep.task import Task

UNIT = 2**40


def beside_the_edges(d, corners, steps, edges=None, spacing=2):
    """Grid points ``steps`` above the first ``edges`` edges of a polygon, by default all, below for steps < 0.

    They have equal mass and ``spacing`` columns (rows, for steep edges) between them. A line that is off by more than
    the steps at one end of an edge is wrong on half of the points that it passes.
    """
    points = set()
    for (x, y), (u, v) in list(zip(corners, corners[1:] + corners[:1], strict=True))[:edges]:
        steep = abs(v - y) > abs(u - x)
        if steep:
            x, y, u, v = y, x, v, u
        low, high = sorted((x, u))
        for place in range(low + (high - low) // 10, high - (high - low) // 10, spacing):
            at = y + (v - y) * (place - x) / (u - x)
            for step in steps:
                other = floor(at) + step if step < 0 else ceil(at) + step
                if 0 <= other <= d:
                    points.add((other, place) if steep else (place, other))
    return PlaneAtoms.of(d, sorted(points), [1] * len(points))


@singledispatch
def tasks(concepts, alpha):
    """Tasks by name: the hardest laws that are known for the class, and its extreme targets."""
    raise NotImplementedError(type(concepts))


def _law(domain, masses):
    """A law from masses by element; what is left of 1 goes to the first one.

    Further elements of mass 2**-40 make laws of one shape, so that they share a program.
    """
    first, *_ = masses
    whole = {place: ceil(UNIT * mass) for place, mass in masses.items()}
    for place in range(1, domain.size, max(1, domain.size // 11)):
        if len(whole) < 6:
            whole.setdefault(place, 1)
    whole[first] = UNIT - sum(mass for place, mass in whole.items() if place != first)
    return make.from_weights(domain, list(whole), list(whole.values()))


@tasks.register
def _(concepts: Thresholds, alpha):
    """Mass just above alpha on either side of the target, at the ends, too; one atom; two atoms; nests."""
    size, domain, above = concepts.domain.size, concepts.domain, 1.01 * alpha
    found = {}
    for name, t in (("bottom", 0), ("above the bottom", 1), ("middle", size // 2 - 1), ("below the top", size - 2)):
        masses = {size - 1: 0.0, 0: (1 - 2 * above) / 2} | {t: above, t + 1: above}
        found[name] = Task(concepts, _law(domain, masses), [t])
        found[f"two atoms, {name}"] = Task(concepts, _law(domain, {t: 0.5, t + 1: 0.5}), [t])
    found["one atom"] = Task(concepts, _law(domain, {size // 2: 1.0}), [size // 2])
    found["all positive"] = Task(concepts, _law(domain, {0: 0.5, size - 1: 0.5}), [size - 1])
    if size >= 4096:
        found["flat"] = gapped_thresholds(concepts, alpha)
        found["nested"] = nested_thresholds(concepts, alpha, 1)
        found["nested twice"] = nested_thresholds(concepts, alpha, 2)
    return found


@tasks.register
def _(concepts: Points, alpha):
    """As many atoms just above alpha as there can be; a target without mass; a target with all of it."""
    domain, last = concepts.domain, concepts.domain.size - 1
    return {
        "atoms": hard_points(concepts, alpha),
        "all negative": Task(concepts, make.adversarial_points(domain, alpha), [last - 1]),
        "all positive": Task(concepts, _law(domain, {last: 1.0}), [last]),
        "just above alpha": Task(concepts, _law(domain, {last: 0.0, 0: 1.01 * alpha}), [0]),
        "neighbors": Task(concepts, _law(domain, {last - 1: 0.0, last: 1 / 2}), [last - 1]),
        "flat": Task(concepts, make.from_segments(domain, [(0, min(last, 4095), 1)]), [last // 2]),
    }


@tasks.register
def _(concepts: Finite | Multiclass, alpha):
    return {
        "elements": Task(concepts, make.adversarial_finite(concepts.domain, alpha)),
        "one element": Task(concepts, _law(concepts.domain, {concepts.domain.size - 1: 1.0})),
    }


@tasks.register
def _(concepts: Tree, alpha):
    """Atoms just above alpha on the path of a deepest concept; a concept with few nodes; improper chains."""
    tree, above = concepts, 1.01 * alpha
    proper = np.flatnonzero(tree.proper)
    deep = int(proper[np.argmax(tree.depth[proper])])
    path = [node for node in range(1, deep + 1) if node <= deep < tree.tout[node] and (tree.place == node).any()]
    point = lambda node: int(np.flatnonzero(tree.place == node)[0])  # noqa: E731
    atoms = path[-max(1, int(0.999 / above)) :]
    law = _law(tree.domain, {point(node): above for node in atoms})
    found = {"path": Task(tree, law, [deep]), "top": Task(tree, law, [int(proper[0])])}
    for name, hard in (("children", hard_tree), ("chain", hard_chain)):
        with suppress(InputError):
            found[name] = hard(tree, alpha)
    return found


@tasks.register
def _(concepts: PointSets, alpha):
    domain = concepts.domain
    return {
        "atoms": hard_point_sets(concepts, alpha),
        "one atom": Task(concepts, _law(domain, {domain.size - 1: 1.0})),
        "two atoms": Task(concepts, _law(domain, {0: 0.5, domain.size - 1: 0.5})),
    }


@tasks.register
def _(concepts: OfLiterals, alpha):
    """Literals that decide alone on mass just above alpha; coordinates that are nearly constant."""
    hard = hard_literals(concepts, alpha)
    return {
        "alone": hard,
        "rare": Task(concepts, ProductCube.of([0.95] * concepts.dimension), hard.targets),
        "balanced": Task(concepts, UniformCube(concepts.dimension), hard.targets),
    }


@tasks.register
def _(concepts: Parities, alpha):
    """Uniform examples, which the theorem is for; the zero function, and all coordinates."""
    law = UniformCube(concepts.dimension)
    return {"zero": Task(concepts, law, [0]), "all": Task(concepts, law, [concepts.size - 1])}


@tasks.register
def _(concepts: ConvexPolygons, alpha):
    """Rows within three steps of the edges; rows that are all inside or all outside; rounds that are tempted to err."""
    d = concepts.d
    corners = [(d // 10, d // 10), (d - d // 8, d // 5), (d // 3, d - d // 7)]
    lines = [(v - y, x - u) for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1], strict=True)]
    offsets = [a * x + b * y for (a, b), (x, y) in zip(lines, corners, strict=True)]
    edges = concepts.edges
    target = concepts.of_lines(lines[:edges], offsets[:edges])[None]
    sides = 3 if edges >= 3 else 1
    found = {
        "edges": Task(concepts, beside_the_edges(d, corners, (-3, -2, -1, 1, 2, 3), sides, 1 + d // 64), target),
        "inside": Task(concepts, PlaneAtoms.of(d, [(d // 3, d // 3)], [1]), target),
        "outside": Task(concepts, PlaneAtoms.of(d, [(0, 0), (1, 0)], [1, 1]), target),
    }
    with suppress(InputError):
        found["tempted"] = hard_polygon(concepts, alpha)
    return found
