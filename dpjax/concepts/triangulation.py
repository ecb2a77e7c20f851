"""Triangulation of simple polygons in integer arithmetic, on the host."""

from collections.abc import Sequence
from typing import Any

from dpjax.core.checks import InputError

Point = tuple[int, int]
Triangle = tuple[Point, Point, Point]


def triangulated(corners: Sequence[Any]) -> list[Triangle]:
    """At most c - 2 triangles, each counterclockwise, whose union is a simple polygon; c: the corners of `outline`.

    Reference: Meisters 1975, "Polygons have ears"; O(c^3) here.
    """
    loop = outline(corners)
    triangles: list[Triangle] = []
    while len(loop) > 3:
        i = next(i for i in range(len(loop)) if _is_ear(loop, i))
        triangles.append((loop[i - 1], loop[i], loop[(i + 1) % len(loop)]))
        loop = _without_flat(loop[:i] + loop[i + 1 :])
    return [*triangles, (loop[0], loop[1], loop[2])] if len(loop) == 3 else triangles


def outline(corners: Sequence[Any]) -> list[Point]:
    """The corners of a simple polygon, counterclockwise.

    corners: pairs of integers in either orientation; those on a line between their neighbors, or equal
    to one of them, are dropped. InputError for fewer than three others and for edges that meet elsewhere.
    """
    points: list[Point] = [(int(x), int(y)) for x, y in corners]
    loop = _without_flat(points if doubled_area(points) > 0 else points[::-1])
    if len(loop) < 3 or not _simple(loop):
        raise InputError(
            "polygon", "corners of a simple polygon in order", repr(points)[:200], "no two edges may cross or overlap"
        )
    return loop


def turn(a: Point, b: Point, c: Point) -> int:
    """Twice the area of a triangle, positive if it is counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def doubled_area(loop: Sequence[Point]) -> int:
    """Twice the area of a simple polygon, positive if its corners are counterclockwise."""
    following = [*loop[1:], *loop[:1]]
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(loop, following, strict=True))


def _is_ear(loop: list[Point], i: int) -> bool:
    """Whether corner i is convex, and no other corner is in its triangle with its neighbors."""
    a, b, c = loop[i - 1], loop[i], loop[(i + 1) % len(loop)]
    others = (p for p in loop if p not in (a, b, c))
    return turn(a, b, c) > 0 and not any(min(turn(a, b, p), turn(b, c, p), turn(c, a, p)) >= 0 for p in others)


def _without_flat(loop: list[Point]) -> list[Point]:
    """Drops corners at which the boundary continues straight, and repeated corners."""
    kept = list(loop)
    i = 0
    while len(kept) >= 3 and i < len(kept):
        a, b, c = kept[i - 1], kept[i], kept[(i + 1) % len(kept)]
        ahead = (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) >= 0
        if turn(a, b, c) == 0 and ahead:
            kept.pop(i)
            i = max(0, i - 1)
        else:
            i += 1
    return kept


def _simple(loop: list[Point]) -> bool:
    """Whether edges meet only at common corners."""
    edges = list(zip(loop, loop[1:] + loop[:1], strict=True))
    if any(turn(a, b, c) == 0 for (a, b), (_, c) in zip(edges, edges[1:] + edges[:1], strict=True)):
        return False
    apart = ((i, j) for i in range(len(edges)) for j in range(i + 2, len(edges)) if (j + 1) % len(edges) != i)
    return not any(_meet(*edges[i], *edges[j]) for i, j in apart)


def _meet(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two closed segments have a point in common."""

    def between(p: Point, q: Point, r: Point) -> bool:
        return min(p[0], q[0]) <= r[0] <= max(p[0], q[0]) and min(p[1], q[1]) <= r[1] <= max(p[1], q[1])

    first, second, third, fourth = turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)
    if first * second < 0 and third * fourth < 0:
        return True
    ends = ((first, a, b, c), (second, a, b, d), (third, c, d, a), (fourth, c, d, b))
    return any(side == 0 and between(p, q, r) for side, p, q, r in ends)
