"""An oracle for cells of lines, a rectangle cut by one after the other in Fractions; and points hard to cut by."""

from fractions import Fraction

import mpmath
import numpy as np

DIGITS = 200  # a mass may be 2**-300 of the sum of its parts


def cells(points, slopes, offsets):
    """The cells of the lines t = y - x s in a rectangle: polygons, and the points whose line is below, as bits."""
    (left, right), (low, high) = slopes, offsets
    corners = [(left, low), (right, low), (right, high), (left, high)]
    pieces = [([(Fraction(s), Fraction(t)) for s, t in corners], 0)]
    for bit, (x, y) in enumerate(points):
        parts = []
        for polygon, below in pieces:
            over = [t - (y - x * s) for s, t in polygon]
            parts += [(half(polygon, over), below | 1 << bit), (half(polygon, [-value for value in over]), below)]
        pieces = [(polygon, below) for polygon, below in parts if len(polygon) > 2 and area(polygon)]
    return pieces


def half(polygon, height):
    """The part of a convex polygon where a linear function, given at its corners, is at least 0."""
    kept = []
    for i, (here, before) in enumerate(zip(height, [height[-1], *height[:-1]], strict=True)):
        (s0, t0), (s1, t1) = polygon[i - 1], polygon[i]
        if here * before < 0:
            part = before / (before - here)
            kept.append((s0 + part * (s1 - s0), t0 + part * (t1 - t0)))
        if here >= 0:
            kept.append((s1, t1))
    return kept


def area(polygon):
    """By the shoelace formula, a Fraction."""
    ends = zip(polygon, [*polygon[1:], polygon[0]], strict=True)
    return abs(sum((s0 * t1 - s1 * t0 for (s0, t0), (s1, t1) in ends), Fraction(0))) / 2


def kinematic(polygon):
    """The integral of (1 + s**2)**(-3/2), by Green's formula along the sides, an mpf of 200 digits."""
    with mpmath.workdps(DIGITS):
        total = mpmath.mpf(0)
        for (s0, t0), (s1, t1) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
            if s0 != s1:  # the integral of (c + m s) (1 + s**2)**(-3/2) is (c s - m) / sqrt(1 + s**2)
                m = (t1 - t0) / (s1 - s0)
                c = t0 - m * s0
                for s, sign in ((s0, -1), (s1, 1)):
                    top, root = mpmath.mpf((c * s - m).numerator), mpmath.sqrt(exact(1 + s * s))
                    total += sign * top / (c * s - m).denominator / root
        return abs(total)


def exact(value):
    """A Fraction as an mpf."""
    return mpmath.mpf(value.numerator) / value.denominator


def masses(points, frame):
    """The mass of every cell of every chart of a `slabs.Frame`: {(chart, points below as bits): Fraction or mpf}."""
    found = {}
    for chart in range(frame.charts):
        turned = [point[::-1] if chart else point for point in points]
        for polygon, below in cells(turned, (-frame.wall, frame.wall), (frame.low, frame.high)):
            mass = kinematic(polygon) if frame.kinematic else area(polygon)
            found[chart, below] = found.get((chart, below), 0) + mass
    return found


def error(found, points, frame):
    """The largest relative error of {(chart, below): float}, which must have the cells that there are and no other."""
    expected = masses(points, frame)
    assert set(found) == set(expected), (len(found), len(expected))
    with mpmath.workdps(DIGITS):
        ratios = (
            mpmath.mpf(found[cell]) / (mass if frame.kinematic else exact(mass)) for cell, mass in expected.items()
        )
        return float(max(abs(ratio - 1) for ratio in ratios))


FAMILIES = ("random", "duplicates", "parallel", "collinear", "near-collinear", "grid", "Fibonacci")


def points(family, n, d, seed=0):
    """n points of a family in [0, d]^2, ``int64[n, 2]``, or Python's whole numbers for d from 2**62 on."""
    draw = np.random.default_rng([seed, FAMILIES.index(family)])
    anywhere = draw.integers(0, d, (n, 2), np.uint64, endpoint=True).astype(np.int64 if d < 2**62 else object)

    def some(low, high):
        return draw.integers(low, high, n, endpoint=True).astype(anywhere.dtype)

    if family == "random":
        return anywhere
    if family == "duplicates":
        return np.repeat(anywhere, 2, axis=0)[:n]
    if family == "parallel":  # of the dual lines: two columns of points
        columns = anywhere[0, 0] + np.arange(n).astype(anywhere.dtype) % 2
        return np.stack([np.minimum(columns, d), anywhere[:, 1]], axis=1)
    if family == "collinear":
        steps = some(0, min(d, 1000)) * (d // min(d, 1000))
        return np.stack([steps, steps], axis=1)
    if family == "near-collinear":
        steps = anywhere[:, 0]
        return np.stack([steps, np.minimum(np.maximum(steps + some(-1, 1), 0), d)], axis=1)
    if family == "grid":
        return draw.integers(0, min(d, 3), (n, 2), endpoint=True)
    numbers = [1, 1]
    while numbers[-1] + numbers[-2] <= d:
        numbers.append(numbers[-1] + numbers[-2])
    pairs = [(0, 0), *zip(numbers[:0:-1], numbers[-2::-1], strict=True)]
    return np.resize(np.array(pairs[:n], anywhere.dtype), (n, 2))


def histogram(cells, label):
    """{(chart, label): mass} of `slabs.Trapezoids`; label: ``int[m]``, the points below as bits."""
    found = {}
    for chart, mass, below in zip(
        *(np.asarray(part).tolist() for part in (cells.chart, cells.mass, label)), strict=True
    ):
        assert mass >= 0
        if mass > 0:
            found[chart, below] = found.get((chart, below), 0.0) + mass
    return found


def law(rows, read, frame, budget, k, coefficient):
    """{(chart, sign, rows hit as bits): probability} of a line drawn by the quality of the first ``read`` rows.

    Of these the even ones are targets.
    """
    everything, chances = (1 << len(rows)) - 1, {}
    for (chart, below), mass in masses(rows, frame).items():
        for sign, hit in ((1, below), (-1, everything ^ below)):
            target = sum(hit >> i & 1 for i in range(0, read, 2))
            other = sum(hit >> i & 1 for i in range(1, read, 2))
            quality = min(target - budget / k, -other)
            chances[chart, sign, hit] = float(mass) * np.exp(coefficient * quality)
    total = sum(chances.values())
    return {outcome: chance / total for outcome, chance in chances.items()}
