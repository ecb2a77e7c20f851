"""Trees against the class matrix they stand for: the concepts, the order, the root, predictions and errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Hypothesis
from dpjax.concepts import distributions as make
from dpjax.concepts.tree.tree import Tree
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.dimensions import vc_dimension

CLASSES = 500
SHATTERING = 500


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def above(tree):
    """``bool[V + 1, V + 1]``: whether node i is node j or an ancestor of it, by climbing."""
    table = np.eye(tree.size, dtype=bool)
    for v in range(1, tree.size):
        assert tree.parent[v] < v
        table[:, v] |= table[:, tree.parent[v]]
    return table


def test_random_classes_are_their_trees(vc1):
    """Concepts, order, improper nodes, the Euler intervals; with any row as the root."""
    generator = np.random.default_rng(1)
    improper = 0
    for _ in range(CLASSES):
        matrix = vc1(generator)
        f = int(generator.integers(len(matrix)))
        tree = Tree.of_class(matrix, f)
        assert {*map(bytes, tree.matrix())} == {*map(bytes, matrix)}
        assert len(tree.matrix()) == len(np.unique(matrix, axis=0)) == tree.proper.sum() and tree.proper[0]
        np.testing.assert_array_equal(tree.matrix()[0], matrix[f])
        relative, order, real = matrix ^ matrix[f], above(tree), tree.place > 0
        np.testing.assert_array_equal(real, matrix.any(axis=0) & ~matrix.all(axis=0))
        below = ~(relative[:, :, None] & ~relative[:, None, :]).any(axis=0)  # [x, y]: y is 1 wherever x is
        np.testing.assert_array_equal(
            order[np.ix_(tree.place, tree.place)].T[np.ix_(real, real)], below[np.ix_(real, real)]
        )
        node = np.arange(tree.size)
        np.testing.assert_array_equal(order, (node[:, None] <= node) & (node < tree.tout[:, None]))
        np.testing.assert_array_equal(tree.depth, order.sum(axis=0) - 1)
        children = np.diff(tree.child_start)
        np.testing.assert_array_equal(children, np.bincount(tree.parent[1:], minlength=tree.size))
        np.testing.assert_array_equal(tree.parent[tree.child], np.repeat(node, children))
        assert np.all(tree.proper[1:] | (children[1:] >= 2)) and set(tree.place) | {0} == set(node)
        improper += int((~tree.proper).sum())
    assert improper > CLASSES / 10


def test_the_root_is_the_first_concept_of_least_height(vc1):
    generator = np.random.default_rng(2)
    for _ in range(300):
        matrix = vc1(generator)
        heights = [Tree.of_class(matrix, f).height for f in range(len(matrix))]
        assert Tree.of_class(matrix) == Tree.of_class(matrix, int(np.argmin(heights)))


def test_classes_of_larger_dimension_are_refused_with_a_shattered_pair(vc1):
    generator = np.random.default_rng(3)
    refused = accepted = 0
    while refused < SHATTERING:
        if generator.random() < 0.5:
            matrix = generator.random((generator.integers(4, 8), generator.integers(2, 8))) < generator.random()
        else:
            matrix = vc1(generator)
            matrix = np.concatenate([matrix, matrix[:1] ^ (generator.random((1, matrix.shape[1])) < 0.3)])
        if vc_dimension(np.unique(matrix, axis=0)).value <= 1:
            Tree.of_class(matrix)
            accepted += 1
            continue
        with pytest.raises(InputError, match="VC dimension at most 1") as caught:
            Tree.of_class(matrix)
        points, concepts = caught.value.given.split(" shattered by concepts ")
        pair = [int(word) for word in points.removeprefix("points ").split(" and ")]
        rows = matrix[[int(word) for word in concepts.split(", ")]][:, pair]
        assert len(np.unique(rows, axis=0)) == 4
        refused += 1
    assert accepted > 50


def test_figure_one():
    """Eight concepts over seven points, f all zero: four layers; the least height has another root."""
    sets = [[0], [1], [2], [0, 3], [0, 4], [0, 4, 5], [0, 4, 6], []]
    matrix = np.array([[x in concept for x in range(7)] for concept in sets])
    tree = Tree.of_class(matrix, f=7)
    assert tree.depth[tree.place].tolist() == [1, 1, 1, 2, 2, 3, 3] and tree.maximum and not tree.flip.any()
    up = [int(np.flatnonzero(tree.place == v)[0]) + 1 if v else 0 for v in tree.parent[tree.place]]
    assert up == [0, 0, 0, 1, 1, 5, 5]
    assert Tree.of_class(matrix).height == 2


def test_equal_and_complementary_columns_share_a_node():
    tree = Tree.of_class([[0, 1, 0, 1, 0], [1, 0, 1, 1, 0], [0, 1, 1, 1, 0]], f=0)
    assert tree.place[0] == tree.place[1] > 0 and tree.place[3] == tree.place[4] == 0
    assert tree.flip.tolist() == [False, True, False, False, True]


@pytest.mark.parametrize("matrix", [[[0]], [[1, 0, 1]], [[0, 1], [0, 1]]], ids=str)
def test_a_single_concept_is_a_root(matrix):
    tree = Tree.of_class(matrix)
    assert (tree.size, tree.height, tree.turns) == (1, 0, 0) and tree.maximum
    np.testing.assert_array_equal(tree.matrix(), np.array(matrix[:1], bool))


def hypotheses(tree):
    nodes = np.tile(np.arange(tree.size), 2)
    zero = np.arange(2 * tree.size) >= tree.size
    return Hypothesis(wide.encode(nodes), zero, np.zeros(len(nodes), np.int32))


def labels_of(tree):
    """``bool[2 (V + 1), N]``, what `hypotheses` answer."""
    labels = above(tree)[tree.place].T ^ tree.flip
    return np.concatenate([labels, np.zeros_like(labels)])


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_predictions_errors_and_pieces(vc1, seed):
    generator = np.random.default_rng(10 + seed)
    matrix = vc1(generator)
    tree = Tree.of_class(matrix)
    width, count = tree.domain.size, 2 * tree.size
    expected, x = labels_of(tree), tree.domain.encode(range(width))
    value, label, mask = generator.integers(0, width, 20), generator.random(20) < 0.5, np.arange(20) < 13

    @jax.jit
    def run(one, x, *rows):
        said = tree.predict(one, x), tree.predict(one, x[None]), tree.is_member(one)
        return said, tree.pieces(*rows), tree.relabel(x, jnp.ones((width, 2), bool))

    (got, batched, member), pieces, relabelled = run(hypotheses(tree), x, tree.domain.encode(value), label, mask)
    assert got.dtype == jnp.bool_
    np.testing.assert_array_equal(got, expected.T)
    np.testing.assert_array_equal(batched, expected.T[None])
    members = {bytes(row) for row in matrix}
    np.testing.assert_array_equal(member, [bytes(row) in members for row in expected])
    wrong = (expected[: tree.size, value] != label) & mask
    np.testing.assert_array_equal(pieces.errors, wrong.sum(axis=1))
    np.testing.assert_array_equal(pieces.alive, tree.proper)
    assert wide.decode(pieces.first).tolist() == wide.decode(pieces.last).tolist() == list(range(tree.size))
    np.testing.assert_array_equal(relabelled, np.tile(~tree.flip[:, None], (1, 2)))

    weights = generator.integers(1, 9, width)
    pair = np.divmod(np.arange(count**2), count)
    ours, theirs = (jax.tree.map(lambda part, i=i: part[i], hypotheses(tree)) for i in pair)
    flat = [(0, width - 1, 3)]
    for law, mass in (
        (make.from_weights(tree.domain, range(width), weights), weights),
        (make.from_segments(tree.domain, flat), np.full(width, 3)),
    ):
        with jax.enable_x64(True):
            error = jax.jit(tree.error)(law, ours, theirs)
        assert error.dtype == jnp.uint64
        np.testing.assert_array_equal(error, ((expected[pair[0]] != expected[pair[1]]) * mass).sum(axis=1))


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 1, 0], [1, 1, 0], [0, 0, 0]],
        [[0, 1], [1, 1]],
        [[1, 0], [0, 1]],
        [[0, 0, 1, 0], [0, 0, 0, 1]],
        [[0, 0]],
        [[0, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 0]],
        [[1, 1, 0], [1, 0, 1], [0, 0, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ],
    ids=str,
)
def test_whether_the_zero_function_is_a_member(matrix):
    zero = Hypothesis(np.zeros((1, 2), np.uint32), np.ones(1, bool), np.zeros(1, np.int32))
    trees = [Tree.of_class(matrix, f) for f in range(len(matrix))]
    members = jax.jit(lambda zero: jnp.stack([tree.is_member(zero) for tree in trees]))(zero)
    assert members.tolist() == [[any(not any(row) for row in matrix)]] * len(matrix)


def test_an_error_of_the_whole_mass_does_not_wrap_to_zero():
    tree = Tree.of_class([[0, 0], [1, 1]])
    for law in (
        make.from_weights(tree.domain, [0, 1], [2**63, 2**63]),
        make.from_segments(tree.domain, [(0, 1, 2**63)]),
    ):
        with jax.enable_x64(True):
            one, other = (Hypothesis.of(jnp.asarray(wide.encode([v]))) for v in (0, 1))
            error = jax.jit(tree.error)
            assert error(law, one, other).tolist() == [2**64 - 1]
            assert error(law, one, one).tolist() == [0]


def test_numbers_and_elements_beyond_the_end_do_not_fail():
    tree = Tree.of_parents([0, 0, 1])
    far = Hypothesis.of(jnp.asarray(np.array([[0, 99]], np.uint32)))
    x = np.array([[0], [77]], np.uint32)
    said, member = jax.jit(lambda far, x: (tree.predict(far, x), tree.is_member(far)))(far, x)
    assert said.tolist() == [[True], [True]] and member.tolist() == [True]


def test_any_order_of_the_nodes_is_the_same_tree():
    """Numbered by largest subtree, then by point: here no two siblings are alike."""
    parent, order = np.array([0, 0, 1, 1, 2, 0, 4, 6]), np.array([0, 5, 3, 7, 1, 2, 6, 4])
    moved = np.empty(8, int)
    moved[order] = order[parent]
    tree, again = Tree.of_parents(parent), Tree.of_parents(moved, place=order[1:])
    assert tree == again and hash(tree) == hash(again) and tree.parent.tolist() == [0, 0, 1, 2, 3, 4, 1, 0]
    assert tree != Tree.of_parents(parent, flip=[True] + [False] * 6)


def test_targets_are_proper_and_spread():
    parent = np.maximum(np.arange(31) - 1, 0) // 2
    proper = np.arange(31) >= 7
    proper[0] = True
    tree = Tree.of_parents(parent, proper)
    assert tree.targets().dtype == np.uint32 and tree.targets().shape == (25, 2)
    np.testing.assert_array_equal(wide.decode(tree.targets()), np.flatnonzero(tree.proper))
    few = wide.decode(tree.targets(5)).astype(int)
    assert len(set(few.tolist())) == 5 and tree.proper[few].all()
    assert Tree.of_parents([0]).targets(64).tolist() == [[0, 0]] and Tree.of_parents([0]).domain == Domain(1)


@pytest.mark.parametrize(
    ("attempt", "name"),
    [
        (lambda: Tree.of_class([]), "class matrix"),
        (lambda: Tree.of_class([[0, 2]]), "label in row 0, column 1"),
        (lambda: Tree.of_class(np.zeros((0, 3))), "class matrix"),
        (lambda: Tree.of_class([[0, 0], [0, 1], [1, 0], [1, 1]]), "class matrix"),
        (lambda: Tree.of_class([[0, 1]], f=1), "f"),
        (lambda: Tree.of_parents([]), "tree parents"),
        (lambda: Tree.of_parents([1, 0]), "tree parents"),
        (lambda: Tree.of_parents([0, 2, 1]), "tree parents"),
        (lambda: Tree.of_parents([0, 1]), "tree parents"),
        (lambda: Tree.of_parents([0, -1]), "tree parents"),
        (lambda: Tree.of_parents([0, 5]), "tree parents"),
        (lambda: Tree.of_parents([0.0, 0.0]), "tree parents"),
        (lambda: Tree.of_parents([0, 0], [False, True]), "proper"),
        (lambda: Tree.of_parents([0, 0], [True, False]), "proper"),
        (lambda: Tree.of_parents([0, 0, 1], [True, False, True]), "proper"),
        (lambda: Tree.of_parents([0, 0], [True]), "proper"),
        (lambda: Tree.of_parents([0, 0], place=[2]), "place"),
        (lambda: Tree.of_parents([0, 0], place=[]), "place"),
        (lambda: Tree.of_parents([0, 0, 0], place=[2, 0]), "place"),
        (lambda: Tree.of_parents([0, 0], flip=[False, True]), "flip"),
        (lambda: Tree.of_parents([0, 0]).targets(0), "count"),
    ],
)
def test_what_is_no_tree_is_refused(attempt, name):
    with pytest.raises(InputError, match=f"^{name}: "):
        attempt()


def test_a_large_matrix():
    """2000 thresholds over 2000 points, shuffled and flipped."""
    generator = np.random.default_rng(5)
    matrix = np.tri(2000, dtype=bool)[generator.permutation(2000)][:, generator.permutation(2000)]
    tree = Tree.of_class(matrix ^ (generator.random(2000) < 0.5))
    assert (tree.size, tree.height) == (2000, 1000)
