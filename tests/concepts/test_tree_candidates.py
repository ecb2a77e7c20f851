"""Few nodes that stand for all: against sets by hand, on every small tree, for all sets of nodes and all targets."""

from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Hypothesis, Tree
from dpjax.concepts import tree_generators as trees
from dpjax.concepts.tree.candidates import closure
from dpjax.core import wide

SLOTS = 6


def every_tree(sizes):
    """All rooted trees with these numbers of nodes below the root, each once, also with all improper nodes it may
    have."""
    found = {}
    for count in sizes:
        for above in product(*(range(v) for v in range(1, count + 1))):
            tree = Tree.of_parents([0, *above])
            found[tree.parents] = tree
    shapes = list(found.values())
    may = [np.bincount(tree.parent[1:], minlength=tree.size) >= 2 for tree in shapes]
    thin = [
        Tree.of_parents(tree.parent, ~(two & (np.arange(tree.size) > 0)))
        for tree, two in zip(shapes, may, strict=True)
        if two[1:].any()
    ]
    return shapes + thin


LARGER = [trees.recursive(40, 3, 0.5), trees.prefixes(2, 3), trees.caterpillar(5, 2, 1.0), trees.complete(2, 4, 0.4, 1)]


def above(tree, node):
    """The ancestors-or-self, the root first."""
    path = [node]
    while node:
        node = int(tree.parent[node])
        path.append(node)
    return path[::-1]


def closed_by_hand(tree, nodes):
    common = {0, *nodes}
    for left, right in product(nodes, nodes):
        common.add([v for v in above(tree, left) if v in set(above(tree, right))][-1])
    return sorted(common)


def program(tree):
    @jax.jit
    @jax.vmap
    def run(points, real):
        nodes = jnp.minimum(points[:, 0], jnp.uint32(tree.size - 1)).astype(jnp.int32)
        return closure(tree, nodes, real), *tree.dichotomies(points, real)

    return run


def sets_of(tree, slots, generator):
    """All subsets of a small tree's nodes, or some, with garbage in the unused slots."""
    if tree.size <= slots:
        chosen = np.array([*product([False, True], repeat=tree.size)])
        real = np.pad(chosen, ((0, 0), (0, slots - tree.size)))
        points = np.broadcast_to(np.arange(slots), real.shape).copy()
    else:
        points, real = generator.integers(0, tree.size, (48, slots)), generator.random((48, slots)) < 0.7
    points[~real] = generator.integers(0, 2**32, int((~real).sum()))
    order = generator.permuted(np.broadcast_to(np.arange(slots), real.shape), axis=1)
    points, real = np.take_along_axis(points, order, 1), np.take_along_axis(real, order, 1)
    return points[..., None].astype(np.uint32), real


def gaps(quantiles, nodes):
    """The intervals between quantiles in which the nodes lie; a quantile is in none."""
    assert not set(nodes) & set(quantiles)
    return {sum(q < v for q in quantiles) for v in nodes}


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        pytest.param(lambda: every_tree(range(5)), {(1, 2), (1, 4)}, marks=pytest.mark.slow),
        (lambda: LARGER, {(1, 4), (2, 4)}),
        pytest.param(lambda: every_tree([5]), {(1, 2), (2, 2), (2, 4)}, marks=pytest.mark.slow),
    ],
    ids=["every", "larger", "every-5"],
)
def test_what_a_node_and_its_stand_in_differ_on_lies_in_few_intervals(kind, seen):
    """So err <= intervals x a if every open interval between quantiles has mass at most a, whatever the masses are."""
    generator, reached = np.random.default_rng(0), set()
    for tree in kind():
        points, real = sets_of(tree, SLOTS, generator)
        below_one = tree.all_nodes.differences["thresholds"] // 2
        most = tree.differences["thresholds"] // 2
        made = map(np.asarray, program(tree)(points, real))
        for places, used, closed, number, exists in zip(points, real, *made, strict=True):
            nodes = sorted({int(v) for v in places[used, 0]})
            members = closed[closed < tree.size].tolist()
            assert members == closed_by_hand(tree, nodes) and len(members) <= max(1, 2 * len(nodes))
            stands = {v: max(w for w in members if w in above(tree, v)) for v in range(tree.size)}
            concepts = {stands[int(c)]: int(c) for c in wide.decode(number)[exists]}
            assert set(concepts) == {stands[int(v)] for v in np.flatnonzero(tree.proper)}
            assert len(concepts) == exists.sum() <= tree.growth(max(1, len(nodes)))
            for v, w in stands.items():
                below = [u for u in above(tree, v) if u > w]
                assert len(gaps(nodes, below)) <= below_one
                if tree.proper[v]:
                    other = concepts[w]
                    assert tree.proper[other] and (other == w or not tree.proper[w])
                    differ = set(above(tree, v)) ^ set(above(tree, other))
                    found = len(gaps(nodes, differ))
                    assert found <= most
                    reached.add((found, most))
    assert seen <= reached


def test_four_intervals_are_needed():
    """An improper node with three improper children, each with two leaves, the first of which is a quantile."""
    tree = Tree.of_parents([0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4], [True, *[False] * 4, *[True] * 6])
    most = 0
    for nodes in product(*(np.flatnonzero(tree.parent == c) for c in np.flatnonzero(tree.parent == 1))):
        places = jnp.asarray(np.array(nodes, np.uint32)[:, None])
        number, exists = tree.dichotomies(places, jnp.ones(3, bool))
        for v in np.flatnonzero(tree.proper):
            closed = set(closed_by_hand(tree, [int(n) for n in nodes]))
            cut = closed & set(above(tree, int(v)))
            other = next(
                int(c) for c in wide.decode(number)[np.asarray(exists)] if closed & set(above(tree, int(c))) == cut
            )
            most = max(most, len(gaps([int(n) for n in nodes], set(above(tree, int(v))) ^ set(above(tree, other)))))
    assert most == tree.differences["thresholds"] / 2 == 4


def test_masses_with_heavy_atoms(key):
    """err(c, its stand-in) <= intervals x the largest mass strictly between quantiles, by the class's own labels."""
    generator = np.random.default_rng(7)
    for tree in LARGER:
        run = program(tree)
        for _ in range(20):
            mass = generator.pareto(0.5, tree.size)
            mass[generator.random(tree.size) < 0.3] = 0
            mass = mass / mass.sum()
            quantiles = np.unique(np.searchsorted(np.cumsum(mass), np.arange(1, 8) / 8).clip(0, tree.size - 1))
            places = np.resize(quantiles, 9)[:, None].astype(np.uint32)  # repeated
            closed, number, exists = (np.asarray(a[0]) for a in run(places[None], np.ones((1, 9), bool)))
            edges = [-1, *quantiles, tree.size]
            a = max(mass[low + 1 : high].sum() for low, high in pairwise(edges))
            labels = tree.all_nodes.matrix()
            wrong = np.where(labels[:, None] ^ labels[None], mass[tree.place], 0).sum(axis=-1)  # of any two nodes
            assert a <= 1 / 8 + 1e-9
            kept, chosen = closed[closed < tree.size], wide.decode(number)[exists].astype(int)
            for v in range(tree.size):
                assert wrong[v, kept].min() <= tree.all_nodes.differences["thresholds"] / 2 * a + 1e-9
                if tree.proper[v]:
                    assert wrong[v, chosen].min() <= tree.differences["thresholds"] / 2 * a + 1e-9


def test_lines_of_classes():
    tree = Tree.of_parents([0, 0, 0, 1, 1], place=[4, 2, 0, 1, 3, 1], flip=[1, 0, 0, 1, 0, 1])
    x = jnp.arange(6, dtype=jnp.uint32)[:, None]
    assert tree.line == Domain(5) and trees.star(7).line == Domain(8)
    np.testing.assert_array_equal(tree.on_line(x)[:, 0], tree.place)
    assert tree.all_nodes.maximum and tree.all_nodes.flips == tree.flips
    thin = trees.prefixes(2, 3)
    assert not thin.maximum and thin.all_nodes == trees.complete(3, 2)
    assert [t.differences["thresholds"] for t in (trees.path(5), trees.star(5), trees.complete(2, 3), thin)] == [
        2,
        2,
        4,
        8,
    ]


@pytest.mark.parametrize("agnostic", [False, True])
@pytest.mark.parametrize("tree", [trees.recursive(30, 2), trees.complete(2, 4), trees.star(30)], ids=["a", "b", "c"])
def test_covers_bound_the_sum_over_chosen_nodes(tree, agnostic):
    """Exactly, with all nodes chosen: the sum over the bad ones of E exp(-t D) is at most that over groups."""
    generator, alpha, n = np.random.default_rng(1), 0.2, 40
    noise = 0.1 if agnostic else 0.0
    labels = tree.matrix()
    for _ in range(6):
        mass = generator.dirichlet(np.full(labels.shape[1], 0.2))
        for t in (0.05, 0.5, 2.0):
            target = labels[generator.integers(len(labels))]
            part = (labels ^ target) @ mass  # on which a concept differs from the target
            bad = part[part * (1 - 2 * noise) > alpha]
            one = 1 + bad * ((1 - noise) * np.expm1(-t) + noise * np.expm1(t))
            total = float(np.sum(one**n))
            for cover in tree.covers(alpha, agnostic):
                bound = 0.0
                for group in cover:
                    left = alpha - group.loss
                    r = np.cosh(t) - left * np.sinh(t) if agnostic else 1 + left * np.expm1(-t)
                    bound += group.number * len(labels) ** group.shared * r**n
                assert total <= bound * (1 + 1e-9)


def test_the_predictions_of_candidates_are_those_of_nodes():
    tree = trees.recursive(40, 3, 0.5)
    number, exists = tree.dichotomies(jnp.asarray([[3], [17], [30]], jnp.uint32), jnp.ones(3, bool))
    x = jnp.arange(tree.domain.size, dtype=jnp.uint32)[:, None]
    says = np.asarray(tree.predict(Hypothesis.of(number), x))[:, np.asarray(exists)]
    rows = {row.tobytes() for row in tree.matrix()}
    assert {column.tobytes() for column in says.T.copy()} <= rows
