"""The lattice lines that cut points in a given way, counted in Python integers; and which cuts geometry allows."""

from itertools import combinations, pairwise


def ways(points):
    """The sets of one or more but not all of at most a few points, as sets of their places."""
    places = range(len(points))
    return [set(own) for size in range(1, len(points)) for own in combinations(places, size)]


def allowed(points, above):
    """Whether a line separates one of three points strictly from the two others, which it must not lie between."""
    (i,) = above if len(above) == 1 else set(range(3)) - above
    p, a, b = points[i], *(points[j] for j in range(3) if j != i)
    if (a[0] - p[0]) * (b[1] - p[1]) != (a[1] - p[1]) * (b[0] - p[0]):
        return True
    return (a[0] - p[0]) * (b[0] - p[0]) + (a[1] - p[1]) * (b[1] - p[1]) > 0


class Gap:
    """The slopes theta of one chart at which all values of some points exceed those of the others, and by how much.

    low, high: the first and the last such theta among -2**bits, ..., 2**bits - 1; low > high if there is none.
    """

    def __init__(self, points, above, chart, bits):
        lead, rest = (1, 0) if chart == 0 else (0, 1)
        below = set(range(len(points))) - above
        self.values = [(point[lead] << bits, point[rest]) for point in points]
        self.chart, self.above, self.below = chart, above, below
        self.lines = [
            (self.values[a][0] - self.values[b][0], self.values[a][1] - self.values[b][1]) for a in above for b in below
        ]
        self.low, self.high = -(1 << bits), (1 << bits) - 1
        for constant, slope in self.lines:
            if slope > 0:
                self.high = min(self.high, -(-constant // slope) - 1)
            elif slope < 0:
                self.low = max(self.low, constant // slope + 1)
            elif constant <= 0:
                self.low = self.high + 1

    def ends(self, theta):
        """The largest value below and the smallest above: all t after the first, up to the second, cut in this way."""
        value = [constant - theta * slope for constant, slope in self.values]
        return max(value[i] for i in self.below), min(value[i] for i in self.above)

    def lattice_points(self):
        """The sum over theta of the number of such t."""
        cuts = {self.low - 1, self.high}
        for (c, m), (e, n) in combinations(self.lines, 2):
            if m != n:
                cuts.add(min(max((c - e) // (m - n), self.low - 1), self.high))
        total, cuts = 0, sorted(cuts)
        for before, last in pairwise(cuts):
            size, middle = last - before, (before + 1 + last) // 2
            constant, slope = min(self.lines, key=lambda line: line[0] - middle * line[1])
            total += size * constant - slope * (size * (before + 1 + last) // 2)
        return total if self.low <= self.high else 0
