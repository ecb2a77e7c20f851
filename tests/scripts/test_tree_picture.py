"""Trees as figures: where nodes are, what files carry, refusals."""

import numpy as np
import pytest

from dpjax.concepts import tree_generators
from dpjax.core.checks import InputError
from dpjax.papers.pages import about
from dpjax.plots import read_metadata
from scripts.tree_picture import plot_tree, tree_places


def test_places_in_a_tree():
    """Leaves from left to right, no two nodes of a depth at one place, parents amid their children."""
    for tree in (tree_generators.figure_one(), tree_generators.recursive(40, 1, 0.5), tree_generators.path(0)):
        place = tree_places(tree)
        assert len({(int(d), float(x)) for d, x in zip(tree.depth, place, strict=True)}) == tree.size
        leaves = [node for node in range(tree.size) if tree.tout[node] == node + 1]
        np.testing.assert_array_equal(place[leaves], np.arange(len(leaves)))


def test_a_tree_is_drawn(tmp_path):
    tree = tree_generators.prefixes(2)
    paths = plot_tree(
        tree, tmp_path / "tree", about({}, 0), "Title", "caption", marks={3: "here"}, counts=[1] * tree.size
    )
    assert [path.suffix for path in paths] == [".png", ".svg"] and read_metadata(paths[1])["config"] == {}
    with pytest.raises(InputError, match="counts"):
        plot_tree(tree, tmp_path / "tree", {}, "", counts=[1])
    with pytest.raises(InputError, match="nodes"):
        plot_tree(tree_generators.star(300), tmp_path / "tree", {}, "")
