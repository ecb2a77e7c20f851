"""Random classes of VC dimension at most 1, made from what they are and not by the code under test."""

import numpy as np
import pytest


def random_vc1(generator, points=12):
    """``bool[m, N]``, N <= points: paths of a random tree, with duplicates, complements, constants, improper nodes."""
    nodes = int(generator.integers(0, points))
    parent = [0] + [int(generator.integers(max(0, v - 4), v)) for v in range(1, nodes + 1)]
    children = np.bincount(parent[1:], minlength=nodes + 1)
    proper = (generator.random(nodes + 1) < generator.random()) | (children < 2)
    proper[0] = True
    paths = np.eye(nodes + 1, dtype=bool)
    for v in range(1, nodes + 1):
        paths[v] |= paths[parent[v]]
    width = int(generator.integers(max(1, nodes), points + 1))
    place = np.concatenate([np.arange(1, nodes + 1), generator.integers(0, nodes + 1, width - nodes)])
    rows = np.concatenate([np.flatnonzero(proper), generator.choice(np.flatnonzero(proper), 2)])
    matrix = paths[generator.permutation(rows)][:, generator.permutation(place)]
    return matrix ^ (generator.random(width) < 0.5)


@pytest.fixture(scope="session")
def vc1():
    """`random_vc1`."""
    return random_vc1
