"""The classes of the collection of combinatorial parameters in tests/data: a row per concept, a column per element."""

from functools import reduce
from itertools import combinations, product

import numpy as np

EXPLICIT = {
    "antipodal_six_code": "0000 1100 1010 0101 0011 1111",
    "distinguishing_range_projection_gap": "0010 0011 0101 1000",
    "eluder_range_reverse_separation": "000 001 011 110",
    "eluder_range_separation_class": "00111 01000 01001 01111 10000 10010 10100 11111",
    "extremal_extension_gap": "0000 1000 0010 0110 1110 1001 0101 1011 1111",
    "interpolation_conjecture_counterexample": "001 010 011 100",
    "interpolation_effective_vc_radius_counterexample": "000 011 101 110",
    "littlestone_worst_gap": "0000 1000 0100 0001 1101 0011 1011 1111",
    "majority_gap": "0000 1000 0100 1100 0010 1010 1110 0001",
    "minimum_teaching_separation": "000 100 010 110 001",
    "order_shattering_effective_vc_radius_separation": "000 001 010 011 100",
    "positive_degree_gap": "111 110 101 011",
    "positive_teaching_triangle": "110 101 011",
    "projected_positive_noclashing_gap": "001 010 111",
    "projected_rtd_gap": "001 010 011 100",
    "repetitionfree_teaching_separation": (
        "00000 11000 01000 01010 01011 01110 01101 01111 10100 10010 10011 10110 10101"
    ),
    "scvc_interpolation_reverse_separation": "0110 0111 1000 1001",
    "scvc_vc_separation": "0000 1001 1100 1111",
    "three_code_class": "000 011 101",
}

CHEN = (
    "000001010101 000001110101 000011010101 000101110101 000111010101 001101010101 001101110101 010101110111 "
    "011101110111"
)


def build(name, **arguments):
    """A class by its name in the collection, as ``bool[m, N]`` with distinct rows."""
    table = rows(EXPLICIT[name]) if name in EXPLICIT else globals()[name](**arguments)
    return np.unique(table, axis=0).astype(bool)


def rows(text):
    return np.array([[int(bit) for bit in word] for word in text.split()])


def rotations(text):
    return rows(" ".join(word[i:] + word[:i] for word in text.split() for i in range(len(word))))


def members(sets, elements):
    """A row for each set of elements."""
    return np.array([[x in chosen for x in elements] for chosen in sets])


def codes(count):
    """Different rows of ceil(log2(count)) bits."""
    return np.arange(count)[:, None] >> np.arange((count - 1).bit_length()) & 1


def beside(left, right):
    """The product of two classes: every row of the first followed by every row of the second."""
    return np.array([np.concatenate(pair) for pair in product(left, right)])


def trivial_concepts(n):
    return np.array([[0] * n, [1] * n])


def singletons(n):
    return np.eye(n, dtype=int)


def full_cube(n):
    return np.array(list(product((0, 1), repeat=n)))


def singletons_plus_empty_set(n):
    return np.vstack([np.zeros(n, int), singletons(n)])


def halfintervals(n):
    """The initial parts of 1..n that are not empty: the first column is constant."""
    return np.tri(n, dtype=int)


def tagged_singletons(n):
    """Singletons with one of ceil(log2(n)) tags each, the tags alone, and the empty set."""
    tags = (n - 1).bit_length()
    last = [sum(n / 2**j for j in range(1, tag + 1)) + tags + 1 for tag in range(1, tags + 1)]
    of = [next(tag for tag in range(tags) if i <= last[tag]) for i in range(1, n + 1)]
    tagged = np.hstack([singletons(n), singletons(tags)[of]])
    return np.vstack([np.zeros(n + tags, int), np.eye(tags, n + tags, n, dtype=int), tagged])


def majority(n):
    cube = full_cube(n)
    return np.column_stack([cube, 2 * cube.sum(axis=1) > n])


def addressing(n):
    return np.hstack([singletons(n), codes(n)])


def blockwiseaddressing(d):
    """A bit, and two parts of 2^d elements: a singleton in one and its code, repeated, in the other."""
    count = 2**d
    one, repeated = singletons(count), np.tile(codes(count), count // d)
    low, high = np.zeros((count, 1), int), np.ones((count, 1), int)
    return np.vstack([np.hstack([low, one, repeated]), np.hstack([high, repeated, one])])


def warmuth_c5():
    return rotations("10010 10011")


def universal_class(n):
    return full_cube(n).T


def coded_singletons(n):
    return np.hstack([singletons_plus_empty_set(n), codes(n + 1)])


def middle_layers(m):
    cube = full_cube(2 * m + 1)
    return cube[np.isin(cube.sum(axis=1), (m, m + 1))]


def majority_gap_products(t):
    return reduce(beside, [rows(EXPLICIT["majority_gap"])] * t)


def rubinstein_minimum_degree(d):
    """The cube of d + 2 bits without two cubes of four dimensions and one of d - 6."""
    bits, few, many = full_cube(d + 2), full_cube(4), full_cube(d - 6)
    removed = [
        beside(beside(few, rows("00110011")), np.zeros((1, d - 10), int)),
        beside(beside(beside(rows("0011"), few), rows("1100")), np.zeros((1, d - 10), int)),
        beside(rows("11001100"), many),
    ]
    gone = {tuple(row) for part in removed for row in part.tolist()}
    return np.array([row for row in bits.tolist() if tuple(row) not in gone])


def ben_david_eiron_selfdirected(d, n):
    table = full_cube(d)
    for _ in range(n):
        ones, zeros = np.ones_like(table), np.zeros_like(table)
        table = np.block([[table, ones, zeros], [zeros, table, ones], [ones, zeros, table]])
    return table


def common_core_singletons(n):
    return np.hstack([np.ones((n, 1), int), singletons(n)])


def common_core_cube(n):
    return beside([[1]], full_cube(n))


def even_parity_class(n):
    cube = full_cube(n)
    return cube[cube.sum(axis=1) % 2 == 0]


def cube_with_apex(n):
    return np.vstack([beside(full_cube(n), [[0]]), np.eye(1, n + 1, n, dtype=int)])


def quadratic_residue_tournament_classes(p):
    squares = {x * x % p for x in range(1, p)}
    return np.array([[(a - b) % p in squares for b in range(p)] for a in range(p)])


def antipodally_punctured_cube(n):
    return full_cube(n)[1:-1]


def cube_halfinterval_product(m, n):
    return beside(full_cube(m), halfintervals(n))


def branching_batch_tree(b, n):
    """Words of n letters of b bits: the elements are a proper prefix and a bit of the letter that follows it."""
    letters = list(product((0, 1), repeat=b))
    prefixes = [prefix for length in range(n) for prefix in product(letters, repeat=length)]
    return np.array(
        [
            [word[len(prefix)][bit] if word[: len(prefix)] == prefix else 0 for prefix in prefixes for bit in range(b)]
            for word in product(letters, repeat=n)
        ]
    )


def anchored_torsion():
    triples = ["123", "124", "135", "146", "156", "236", "245", "256", "345", "346"]
    around = np.array([[1, *(vertex not in triple for triple in triples)] for vertex in "123456"])
    return np.vstack([np.zeros(11, int), around])


def odd_torsion_dual():
    """Vertices against the triples that are no triangle of a complex on 13 vertices, whose graph becomes complete."""
    triangles = set()
    for i in range(9):
        inner, outer = (i % 3, (i + 1) % 3), (3 + i, 3 + (i + 1) % 9)
        triangles |= {frozenset((*inner, outer[0])), frozenset((*outer, inner[1])), frozenset((*outer, 12))}
    edges = {frozenset(edge) for triangle in triangles for edge in combinations(triangle, 2)}
    while missing := [
        (a, b, w)
        for a, b in combinations(range(13), 2)
        if frozenset((a, b)) not in edges
        for w in range(13)
        if {frozenset((a, w)), frozenset((b, w))} <= edges
    ]:
        a, b, w = missing[0]
        edges.add(frozenset((a, b)))
        triangles.add(frozenset((a, b, w)))
    rest = [triple for triple in combinations(range(13), 3) if frozenset(triple) not in triangles]
    return members(rest, range(13)).T


def balanced_six_split():
    return members([(0, a, b) for a, b in combinations(range(1, 6), 2)], range(6)).T


def chen_teaching_products(n):
    return reduce(beside, [rotations(CHEN)] * n)


def chen_neighbor_puncture():
    """The rotations of Chen's words, the first word replaced by its neighbors."""
    first = rows(CHEN)[0]
    others = [row for row in rotations(CHEN) if (row != first).any()]
    return np.vstack([others, first ^ singletons(12)])


def singleton_cosingleton(n):
    return np.vstack([singletons(n), 1 - singletons(n)])


def private_coordinate_cube(n):
    return np.hstack([full_cube(n), singletons(2**n)])


def repeated_coordinate_cube(n):
    cube = full_cube(n)
    return np.hstack([cube[:, 1:], np.repeat(cube[:, :1], 2 ** (n - 1), axis=1)])


def parity_functions(n):
    vectors = full_cube(2 * n)
    return vectors @ vectors.T % 2


def k4_incidence_with_empty():
    return np.vstack([np.zeros(6, int), members(combinations(range(4), 2), range(4)).T])
