"""Numbers of trees of concepts: how a tree of queries cuts them, and the dimension of what is left.

Of the class of all nodes of a rooted tree, each the path to the root, a query at a node leaves the nodes below it or
all others. Let w be a dimension that is allowed. A tree of concepts is cut at some nodes, each with a level, above
which no two cuts of one level are without a higher one on the path between them, so that K levels are a tree of K
queries; what is left between cuts has dimension at most w. The number of a subtree says what of this concerns the nodes
above it: bit w + j stands for a cut of level j without a higher one above it, and the bits up to w for the part at the
subtree's root, as follows. A part of dimension m has a lowest node below which it has that dimension; bit m, and the
bits of the rest, without the nodes below that one. For a path it is the number of its nodes.

The least number is best in every place: of two numbers the lesser one can be made to lack the highest bit in which they
differ, and a cut with that level at the subtree's root then hides all below (a bit up to w: what carries from below is
at most that bit). So the least numbers are found from the leaves up. Proof: docs/proofs/irreducibility.md#trees.
"""

from collections.abc import Sequence


def joined(parts: Sequence[int], root: bool, allowed: int | None = None, most: int = 0) -> int | None:
    """The least number of a node from those of its children, with at most ``most`` levels; None if there is none.

    root: whether the node itself is a concept. allowed: w; by default nothing is cut.
    """
    parts, floor = list(parts), max(map(int.bit_length, parts), default=0) + 1 if allowed is None else allowed + 1
    while True:
        some = twice = 0
        for number in parts:
            twice, some = twice | (some & number), some | number
        level = floor
        if clash := twice >> floor:
            level += clash.bit_length()
        elif (part := _part(some, twice, root, floor)) is not None:
            return (some >> floor << floor) | part
        while some >> level & 1:
            level += 1
        if level >= floor + most:
            return None
        below = (1 << level) - 1
        at = max(range(len(parts)), key=[number & below for number in parts].__getitem__)
        parts[at] = (parts[at] & ~below) | below + 1


def of_path(nodes: int, allowed: int | None = None) -> int:
    """The number of a path of so many concepts."""
    if allowed is None or nodes == 0:
        return nodes
    cuts, rest = divmod(nodes - 1, (2 << allowed) - 1)
    return (cuts << allowed + 1) + rest + 1


def _part(some: int, twice: int, root: bool, bits: int) -> int | None:
    """The bits of the part at a node, from those that some of its children have, and some two; None if it has no place
    in so many bits.

    Two parts of dimension m make one of m + 1, whose lowest node is this one: nothing is left of lower bits.
    """
    total, carry = 0, root
    for level in range(bits):
        count = (some >> level & 1) + (twice >> level & 1) + carry
        total = 0 if count > 1 else total | count << level
        carry = count > 1
    return None if carry else total
