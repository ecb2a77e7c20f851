"""Height and threshold dimension of trees, and the bounds between them."""

import numpy as np
import pytest

from dpjax import dimensions
from dpjax.concepts import tree_generators as families
from dpjax.concepts.tree.tree import Tree
from dpjax.core.checks import InputError


def random_tree(generator, nodes):
    parent = [0] + [int(generator.integers(v)) for v in range(1, nodes + 1)]
    proper = (np.bincount(parent[1:], minlength=nodes + 1) < 2) | (generator.random(nodes + 1) < 0.5)
    proper[0] = True
    return Tree.of_parents(parent, proper, flip=generator.random(nodes) < 0.5)


def test_height_is_the_threshold_dimension_of_the_class_under_its_root():
    """And at most 2**(Littlestone dimension + 1) - 2. All trees have VC dimension at most 1."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        tree = random_tree(generator, int(generator.integers(1, 11)))
        matrix = tree.matrix()
        relative = matrix ^ matrix[0]
        assert dimensions.height(tree.parent) == tree.height
        assert dimensions.tree_threshold_dimension(tree.parent, tree.proper) == tree.height
        assert dimensions.threshold_dimension(relative).value == tree.height
        assert dimensions.vc_dimension(matrix).value == 1
        assert tree.height <= 2 ** (dimensions.littlestone_dimension(matrix).value + 1) - 2


def test_threshold_dimension_of_paths_that_no_concept_tells_apart():
    """Any set of proper nodes; improper nodes with one child or none make the height the larger number."""
    generator, smaller = np.random.default_rng(4), 0
    for _ in range(200):
        nodes = int(generator.integers(1, 10))
        parent = np.array([0] + [int(generator.integers(v)) for v in range(1, nodes + 1)])
        proper = generator.random(nodes + 1) < 0.5
        proper[0] = True
        paths = np.eye(nodes + 1, dtype=bool)
        for v in range(1, nodes + 1):
            paths[v] |= paths[parent[v]]
        dimension = dimensions.tree_threshold_dimension(parent, proper)
        assert dimension == dimensions.threshold_dimension(np.unique(paths[proper, 1:], axis=0)).value
        smaller += dimension < dimensions.height(parent)
    assert smaller > 50


def test_the_threshold_dimension_is_that_of_the_class_under_its_root():
    """Not of the class: five concepts over four points, height 4 under the first one."""
    matrix = np.array([[int(bit) for bit in word] for word in ["1010", "1011", "1001", "1101", "0101"]])
    assert dimensions.threshold_dimension(matrix).value == 3
    assert Tree.of_class(matrix, f=0).height == dimensions.threshold_dimension(matrix ^ matrix[0]).value == 4


@pytest.mark.parametrize(
    ("tree", "height"),
    [
        (families.path(0), 0),
        (families.path(9), 9),
        (families.star(9), 1),
        (families.figure_one(), 3),
        (families.prefixes(3), 3),
        (families.path(2**18), 2**18),
    ],
    ids=["root", "path", "star", "figure 1", "prefixes", "long path"],
)
def test_known_heights(tree, height):
    assert dimensions.height(tree.parent) == height
    assert dimensions.tree_threshold_dimension(tree.parent, tree.proper) == height


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: dimensions.height([]),
        lambda: dimensions.height([0, 1]),
        lambda: dimensions.height([0, 2, 0]),
        lambda: dimensions.height([0, -1]),
        lambda: dimensions.height([0.0]),
        lambda: dimensions.tree_threshold_dimension([0, 0], [True]),
        lambda: dimensions.tree_threshold_dimension([0, 0], [2, 0]),
    ],
)
def test_what_has_no_dimension_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
