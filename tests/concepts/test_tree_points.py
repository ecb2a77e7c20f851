"""Deterministic points against enumeration of the class's concepts, and ancestors against climbing."""

import math
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from dpjax.concepts import tree_generators as families
from dpjax.concepts.tree.points import ancestor_at_depth, deterministic_points, lowest_common_ancestor
from dpjax.concepts.tree.tree import Tree

CLASSES, SAMPLES, ROWS, WIDTH = 600, 16, 6, 12
FAMILIES = {
    "root alone": families.path(0),
    "one node": families.path(1),
    "path": families.path(40),
    "star": families.star(40),
    "binary": families.complete(2, 5, improper=0.5),
    "ternary": families.complete(3, 3, improper=0.3, seed=1),
    "random": families.recursive(120, 4, improper=0.7),
    "caterpillar": families.caterpillar(12, 3, improper=0.6),
    "broom": Tree.of_parents([0, *range(9), *[9] * 8], proper=np.arange(18) != 9),
    "prefixes": families.prefixes(5),
    "figure 1": families.figure_one(),
}


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def padded(tree, width=WIDTH):
    """The tables that the functions read, of one shape for all small trees, so that one program runs them all."""
    tables = {name: np.zeros(width + 2, np.int32) for name in ("parent", "head", "depth", "tout", "preceding")}
    for name, table in tables.items():
        table[: tree.size] = getattr(tree, name)
    tables["following"] = np.full(width + 2, width + 1, np.int32)
    real = tree.following[:-1]
    tables["following"][: tree.size] = np.where(real == tree.size, width + 1, real)
    return tables


@partial(jax.jit, static_argnames="maximum")
def of_family(tables, nodes, labels, mask, maximum):
    """The points of a tree that is padded to the largest of the families."""
    turns = max(tree.turns for tree in FAMILIES.values())
    tree = SimpleNamespace(**tables, maximum=maximum, turns=turns, size=len(tables["parent"]) - 1)
    return deterministic_points(tree, nodes, labels, mask)


def random_samples(generator, tree, matrix):
    """Elements, labels and mask, ``[SAMPLES, ROWS]``: of a concept, of a node, of a concept but one, at random."""
    x = generator.integers(0, matrix.shape[1], (SAMPLES, ROWS))
    mask = generator.random((SAMPLES, ROWS)) < generator.random((SAMPLES, 1)) ** 0.5
    y = matrix[generator.integers(0, len(matrix), SAMPLES)][np.arange(SAMPLES)[:, None], x]
    node = generator.integers(0, tree.size, (SAMPLES, 1))
    y[4:8] = (((tree.place[x] <= node) & (node < tree.tout[tree.place[x]])) ^ tree.flip[x])[4:8]
    y[8:12, 0] ^= True
    y[12:] = generator.random((4, ROWS)) < 0.5
    return x, y, mask


def expected_labels(matrix, f, x, y, mask):
    """Of each sample, the points where all consistent concepts differ from f, ``bool[SAMPLES, N]``, from the matrix."""
    varies = matrix.any(axis=0) & ~matrix.all(axis=0)
    wrong = (matrix[:, x] != y) & mask & varies[x]  # [concept, sample, row]
    consistent = ~wrong.any(axis=2)
    differs = matrix ^ matrix[f]
    common = (differs[:, None] | ~consistent[:, :, None]).all(axis=0)
    return common & consistent.any(axis=0)[:, None]


@pytest.mark.parametrize("general", [False, True], ids=["as is", "without the shortcut"])
def test_against_enumeration(vc1, general):
    """Improper nodes, duplicates, complements, constants, noisy and adversarial labels."""
    generator = np.random.default_rng(1)
    groups = {}
    for _ in range(CLASSES):
        matrix = vc1(generator, WIDTH)
        f = int(generator.integers(len(matrix)))
        tree = Tree.of_class(matrix, f)
        x, y, mask = random_samples(generator, tree, matrix)
        answer = expected_labels(matrix, f, x, y, mask)
        case = padded(tree), tree.place[x], y ^ tree.flip[x], mask, tree, answer
        groups.setdefault(tree.maximum and not general, []).append(case)

    def run(tables, nodes, labels, mask, maximum):
        tree = SimpleNamespace(**tables, maximum=maximum, turns=4, size=WIDTH + 1)
        return deterministic_points(tree, nodes, labels, mask)

    none = some = 0
    for maximum, cases in groups.items():
        arguments = jax.tree.map(lambda *parts: np.stack(parts), *[case[:4] for case in cases])
        got = jax.jit(jax.vmap(lambda *parts, maximum=maximum: run(*parts, maximum)))(*arguments)
        assert got.dtype == jnp.int32 and max(case[4].turns for case in cases) <= 4
        for node, (*_, tree, answer) in zip(np.asarray(got), cases, strict=True):
            place = tree.place[None]
            path = (place > 0) & (place <= node[:, None]) & (node[:, None] < tree.tout[place])
            np.testing.assert_array_equal(path, answer)
            some, none = some + int(answer.any(axis=1).sum()), none + int((~answer.any(axis=1)).sum())
    assert some > 1500 and none > 1500
    assert {*groups} == ({False} if general else {False, True})


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("name", FAMILIES)
def test_ancestors_against_climbing(name):
    tree = FAMILIES[name]
    paths = []
    for v in range(tree.size):
        paths.append(([*paths[tree.parent[v]], v]) if v else [0])
    assert [len(path) - 1 for path in paths] == tree.depth.tolist() and tree.turns <= math.log2(tree.size)
    node, depth = (part.reshape(-1) for part in np.mgrid[: tree.size, -1 : tree.height + 2])
    got = jax.jit(lambda n, d: ancestor_at_depth(tree, n, d))(*map(np.int32, (node, depth)))
    answers = [paths[n][min(max(d, 0), len(paths[n]) - 1)] for n, d in zip(node, depth, strict=True)]
    np.testing.assert_array_equal(got, answers)
    left, right = (part.reshape(-1) for part in np.mgrid[: tree.size, : tree.size])
    got = jax.jit(lambda a, b: lowest_common_ancestor(tree, a, b))(*map(np.int32, (left, right)))
    answers = [max(set(paths[a]) & set(paths[b])) for a, b in zip(left, right, strict=True)]
    np.testing.assert_array_equal(got, answers)


def enumerated(tree, nodes, labels, mask):
    """The lowest common ancestor of the consistent proper nodes, one by one."""
    consistent = []
    for v in np.flatnonzero(tree.proper):
        on_path = (nodes <= v) & (v < tree.tout[nodes])
        if not np.any(mask & (nodes > 0) & (on_path != labels)):
            consistent.append(v)
    if not consistent:
        return 0
    low, high = min(consistent), max(consistent)
    return int(max(v for v in range(low + 1) if high < tree.tout[v]))


@pytest.mark.parametrize(
    "parent",
    [
        [0, 0, 1, 1, 2, 2, 3, 3],
        [0, 0, 0, 1, 2, 3, 3, 4],
        *(pytest.param(one, marks=pytest.mark.slow) for one in ([0, 0, 1, 1, 3, 3, 0, 6], [0, 0, 0, 1, 1, 2, 2, 2])),
    ],
    ids=str,
)
def test_every_sample_of_a_small_tree(parent):
    """Each of seven nodes absent, labelled 0 or labelled 1; as many improper nodes as there may be."""
    proper = np.bincount(parent[1:], minlength=8) < 2
    proper[0] = True
    tree = Tree.of_parents(parent, proper)
    state = np.stack(np.unravel_index(np.arange(3**7), (3,) * 7), axis=1)
    nodes = np.tile(np.arange(1, 8, dtype=np.int32), (len(state), 1))
    got = jax.jit(lambda n, y, m: deterministic_points(tree, n, y, m))(nodes, state == 1, state > 0)
    assert len(set(np.asarray(got).tolist())) >= 6
    rows = zip(nodes, state == 1, state > 0, strict=True)
    np.testing.assert_array_equal(got, [enumerated(tree, *row) for row in rows])


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("name", FAMILIES)
def test_families_in_any_buffer(name):
    """Against enumeration; alone, in a batch, permuted, and with other rubbish under the mask: the same integers."""
    tree, generator, count = FAMILIES[name], np.random.default_rng(7), 60
    tables = padded(tree, max(tree.size for tree in FAMILIES.values()))
    run = partial(of_family, tables, maximum=tree.maximum)
    nodes = generator.integers(0, tree.size, (count, 5)).astype(np.int32)
    aim = generator.integers(0, tree.size, (count, 1))
    labels = ((nodes <= aim) & (aim < tree.tout[nodes])) ^ (generator.random((count, 5)) < 0.05)
    mask = generator.random((count, 5)) < 0.8
    got = np.asarray(run(nodes, labels, mask))
    np.testing.assert_array_equal(got, [enumerated(tree, *row) for row in zip(nodes, labels, mask, strict=True)])
    wide = generator.integers(-9, 2 * tree.size + 9, (count, 16)).astype(np.int32)
    wide_labels, wide_mask = generator.random((count, 16)) < 0.5, np.zeros((count, 16), bool)
    column = generator.permutation(16)[:5]
    wide[:, column], wide_labels[:, column], wide_mask[:, column] = nodes, labels, mask
    wide = np.where(wide_mask, wide, generator.integers(-9, 2 * tree.size + 9, wide.shape)).astype(np.int32)
    np.testing.assert_array_equal(run(wide, wide_labels, wide_mask), got)
    np.testing.assert_array_equal(run(nodes[7:8], labels[7:8], mask[7:8]), got[7:8])


@pytest.mark.parametrize("name", ["path", "random"])
def test_empty_samples_and_64_bit_types(name):
    """Nothing seen: the node above all concepts, the root. The same integers with 64-bit types enabled."""
    tree, generator = FAMILIES[name], np.random.default_rng(11)
    run = jax.jit(lambda nodes, labels, mask: deterministic_points(tree, nodes, labels, mask))
    nodes = generator.integers(0, tree.size, (40, 3)).astype(np.int32)
    labels, mask = generator.random((40, 3)) < 0.3, generator.random((40, 3)) < 0.7
    got = run(nodes, labels, mask)
    with jax.enable_x64(True):
        again = run(nodes, labels, mask)
    assert got.dtype == again.dtype == jnp.int32 and np.any(got)
    np.testing.assert_array_equal(got, again)
    assert not np.any(run(nodes[:, :0], labels[:, :0], mask[:, :0]))
    assert not np.any(run(nodes, labels, np.zeros((40, 3), bool)))


def test_one_replaced_row_changes_one_answer():
    tree, generator = FAMILIES["random"], np.random.default_rng(8)
    nodes = generator.integers(0, tree.size, (30, 4)).astype(np.int32)
    labels, mask = generator.random((30, 4)) < 0.2, np.ones((30, 4), bool)
    run = jax.jit(lambda n, y: deterministic_points(tree, n, y, mask))
    other = nodes.copy()
    other[3, 1] = 0
    assert np.sum(np.asarray(run(nodes, labels)) != np.asarray(run(other, labels))) <= 1


def test_constant_points_are_ignored():
    """Even with labels that no concept gives them."""
    tree = Tree.of_class([[0, 0, 1], [1, 0, 1], [1, 1, 1]], f=0)
    x, y = np.array([[[2], [1]]], np.uint32), np.array([[False, True]])
    run = jax.jit(lambda x, y, mask: deterministic_points(tree, tree.node_of(x), tree.relabel(x, y), mask))
    got = run(x, y, np.ones((1, 2), bool))
    assert tree.depth[np.asarray(got)].tolist() == [2]


@pytest.mark.parametrize(
    "family",
    ["path", *(pytest.param(name, marks=pytest.mark.slow) for name in ("recursive", "complete", "caterpillar"))],
)
def test_a_million_nodes(family):
    """Numbering is right at size, and memory beyond the tree's tables grows with rows, not with nodes times samples."""
    count = 2**20 - 1
    tree = {
        "path": lambda: families.path(count),
        "recursive": lambda: families.recursive(count, 1, improper=0.5),
        "complete": lambda: families.complete(2, 19, improper=0.5),
        "caterpillar": lambda: families.caterpillar(2**18, 3, improper=0.5),
    }[family]()
    generator, t, m = np.random.default_rng(9), 50, 8
    nodes = generator.integers(1, tree.size, t)
    np.testing.assert_array_equal(tree.depth[1:], tree.depth[tree.parent[1:]] + 1)
    assert np.all(tree.parent[1:] < np.arange(1, tree.size)) and np.all(tree.tout[1:] <= tree.tout[tree.parent[1:]])
    assert (
        int((tree.tout - np.arange(tree.size)).astype(np.int64).sum())
        == int(tree.depth.astype(np.int64).sum()) + tree.size
    )

    def run(nodes, labels, mask):
        found = deterministic_points(tree, nodes, labels, mask)
        return found, ancestor_at_depth(tree, found, tree.depth[tree.size // 2])

    arguments = np.tile(nodes[:, None], (1, m)).astype(np.int32), np.ones((t, m), bool), np.ones((t, m), bool)
    got, _ = jax.jit(run)(*arguments)
    held = np.asarray(got)
    assert np.all((nodes <= held) & (held < tree.tout[nodes])) and np.all(
        held[tree.proper[nodes]] == nodes[tree.proper[nodes]]
    )

    def sizes(jaxpr):
        for equation in jaxpr.eqns:
            yield from (math.prod(out.aval.shape) for out in equation.outvars)
            for inner in jaxprs_in_params(equation.params):
                yield from sizes(inner)

    largest = max(sizes(jax.make_jaxpr(run)(*arguments).jaxpr))
    assert largest <= tree.size + 1
