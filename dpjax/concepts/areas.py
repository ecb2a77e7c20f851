"""Polygons and unions of triangles as shapes of the plane, and the exact area of the difference of two of them.

Needs shapely, the extra `geo`, which is imported on first use.
"""

from typing import Any

import numpy as np

from dpjax.concepts.clipping import clipped, square
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.concepts.unions import Unions
from dpjax.core.checks import InputError

Geometry = Any
"""A shapely geometry; its coordinates are those of the grid."""
Box = tuple[float, float, float, float]
"""x0, y0, x1, y1: the user's coordinates of the grid points (0, 0) and (d, d)."""

_FINE = 2.0**-36


def shapely_module() -> Any:
    """shapely, or InputError if it is not installed."""
    try:
        import shapely
    except ImportError as error:
        raise InputError(
            "shapely", "shapely >= 2 for shapes and areas", "none installed", "pip install 'dpjax[geo]'"
        ) from error
    return shapely


def pieces(concepts: ConvexPolygons | Unions, hypothesis: Hypothesis) -> np.ndarray:
    """Host: (a, b, c) of every halfplane a x + b y <= c, ``float64[p, e, 3]``, of one concept.

    The concept is the union of p intersections of e halfplanes: p = 1 for a convex polygon, e = 3 for a union of
    triangles. Coordinates are those of the grid; lines are in the order in which the learner found them.
    """
    return concepts.halfplanes(hypothesis.concept[0])


def region(concepts: ConvexPolygons | Unions, hypothesis: Hypothesis) -> Geometry:
    """The part of the square [0, d]^2 in one concept, as a shapely geometry: empty, a polygon or several of them.

    Corners are rounded to 2**-36 d, so that shared edges of triangles leave neither slits nor extra corners.
    """
    shapely = shapely_module()
    if hypothesis.concept.shape[0] != 1:
        raise InputError("hypothesis", "one concept", str(hypothesis.concept.shape[0]), "give them one by one")
    if bool(hypothesis.zero[0]):
        return shapely.Polygon()
    corners = [clipped(square(concepts.d), piece[:, :2], piece[:, 2]) for piece in pieces(concepts, hypothesis)]
    convex = [shapely.MultiPoint(loop).convex_hull for loop in corners if loop]
    whole = [polygon for polygon in convex if polygon.area > 0]
    fine = concepts.d * _FINE
    return shapely.union_all(whole, grid_size=fine).simplify(2 * fine) if whole else shapely.Polygon()


def area_error(concepts: ConvexPolygons | Unions, hypothesis: Hypothesis, truth: Hypothesis | Geometry) -> float:
    """The fraction of the square [0, d]^2 on which a concept and the truth differ, exactly.

    truth: another concept of the class, or a valid Polygon or MultiPolygon of shapely, clipped to the square. This is
    the error under the uniform law on the square; the error under the uniform law on the grid points differs from it by
    at most about the length of both boundaries over d^2.
    """
    shapely = shapely_module()
    d, other = concepts.d, region(concepts, truth) if isinstance(truth, Hypothesis) else truth
    if not isinstance(other, shapely.Polygon | shapely.MultiPolygon) or not other.is_valid:
        expected = "a Hypothesis, or a valid Polygon or MultiPolygon of shapely"
        raise InputError("truth", expected, repr(truth)[:80], "shapely.make_valid repairs a geometry")
    differ = region(concepts, hypothesis).symmetric_difference(other)
    return float(differ.intersection(shapely.box(0, 0, d, d)).area) / d**2


def rings(geometry: Geometry) -> list[np.ndarray]:
    """The closed boundaries of a shapely geometry's polygons, including holes, ``float64[corners + 1, 2]`` each."""
    shapely = shapely_module()
    polygons = [part for part in shapely.get_parts(geometry) if part.geom_type == "Polygon" and not part.is_empty]
    return [np.asarray(ring.coords)[:, :2] for part in polygons for ring in (part.exterior, *part.interiors)]


def placed(points: Any, d: int, box: Box) -> np.ndarray:
    """Grid points in the user's coordinates, ``float64[..., 2]``."""
    x0, y0, x1, y1 = box
    return np.array([x0, y0]) + np.asarray(points, np.float64) * np.array([x1 - x0, y1 - y0]) / d
