"""The threshold dimension of a finite class, exactly."""

from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import binary_matrix, bitsets
from dpjax.dimensions.pairing import LongestSequence
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import Chain


def threshold_dimension(matrix, seconds: float | None = None) -> Dimension:
    """The largest t with points x_1, ..., x_t and rows c_1, ..., c_t where c_i(x_j) = 1 iff j >= i.

    By this convention every c_i contains x_t, and only c_1 contains x_1. A convention that also asks for a row with
    none of the points gives the same number or one less.

    matrix ``bool[m, N]``, m >= 1 distinct rows. seconds: time limit, after which the result has the proved bounds. The
    witness is a `Chain`. Time is exponential at worst; 64 rows and points take seconds at most. InputError for other
    labels than 0 and 1, equal rows or none.

    Reference: Yan 2025, Definition 6, Theorem 4 and Corollary 1; Shelah 1990 relates it to the Littlestone dimension.
    """
    clock = Clock(seconds)
    table = binary_matrix(matrix)
    rows, points = ((1 << count) - 1 for count in table.shape)
    try:
        ones, holders = bitsets(table, clock), bitsets(table.T, clock)
    except TimeIsUp:
        return Dimension("threshold dimension", 0, min(table.shape), Chain((), ()), clock.seconds)
    search = LongestSequence(ones, holders, lambda x, c: ones[c] & ~(1 << x), clock)
    try:
        search.run(rows, points)
        most = len(search.best)
    except TimeIsUp:
        most = search.most(rows, points)
    chain = Chain(tuple(x for x, _ in search.best), tuple(c for _, c in search.best))
    return Dimension("threshold dimension", len(search.best), most, chain, clock.seconds)
