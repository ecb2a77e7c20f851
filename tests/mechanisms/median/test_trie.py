"""The trie's nodes, heavy path and embedding: against brute force, and what a neighbor does to them."""

from collections import Counter
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.mechanisms.median import trie as T

from .families import FAMILIES, draw

CAPACITY = 15


def looked_at(x, n, deepest, bits):
    """Everything that the trie says of the first n rows of x, in any order."""
    rows = B.sort_rows(x, jnp.arange(x.shape[0], dtype=jnp.int32) < n)
    nodes = T.trie(rows, n, bits)
    parts = T.embed(rows, n, nodes, deepest, bits)
    leaf = rows[nodes.heavy_leaf()]
    split = T.split_points(rows, nodes, bits)
    return rows, nodes.depth, nodes.left, nodes.right, nodes.gamma, leaf, parts.depth, parts.deep, parts.rest, split


@lru_cache
def program(bits):
    return jax.jit(jax.vmap(partial(looked_at, bits=bits)))


# --- many small instances, every node of the full tree counted


class Dense:
    """All prefixes of small databases: node v of level y is number 2**y + v, its children 2 v and 2 v + 1."""

    def __init__(self, x, n, deepest, bits):
        self.bits, self.n, self.count = bits, n, len(x)
        out = program(bits)(x[..., None], n, deepest)
        rows, self.gap_depth, self.left, self.right, self.gamma, leaf, self.depth, self.deep, self.rest, split = (
            np.asarray(part) for part in out
        )
        self.rows, self.leaf, self.split = (part[..., 0].astype(np.int64) for part in (rows, leaf, split))
        self.real = np.arange(x.shape[1]) < n[:, None]
        weights = np.zeros((self.count, 2 << bits), np.int64)
        weights[:, 1 << bits :] = histogram(np.where(self.real, x, 0), self.real, 1 << bits)
        for node in range((1 << bits) - 1, 0, -1):
            weights[:, node] = weights[:, 2 * node] + weights[:, 2 * node + 1]
        self.weights = weights
        inner = np.arange(1, 1 << bits)
        self.light = np.zeros((self.count, 1 << bits), np.int64)
        self.light[:, 1:] = np.minimum(weights[:, 2 * inner], weights[:, 2 * inner + 1])

    def check_nodes(self):
        """Every branching node is one gap with its two weights; nothing else is a gap with weights."""
        alive = np.minimum(self.left, self.right) > 0
        depth = np.where(alive, self.gap_depth, 0)
        number = (1 << depth) + (self.rows[:, :-1] >> (self.bits - depth))
        for weight, child in ((self.left, 0), (self.right, 1)):
            table = np.zeros_like(self.light)
            instance = np.broadcast_to(np.arange(self.count)[:, None], number.shape)
            np.add.at(table, (instance[alive], number[alive]), weight[alive])
            wanted = self.weights[:, child : child + (2 << self.bits) : 2][:, : 1 << self.bits]
            np.testing.assert_array_equal(table, np.where(self.light > 0, wanted, 0))
        np.testing.assert_array_equal(self.gamma, self.light.max(1))
        # a node's split is v0111..., at or above the row before the gap and below the one after it
        free = self.bits - depth - 1
        wanted = (2 * number << free) + (1 << free) - 1 - (1 << self.bits)
        np.testing.assert_array_equal(self.split[alive], wanted[alive])
        assert np.all((self.rows[:, :-1] <= self.split)[alive]) and np.all((self.split < self.rows[:, 1:])[alive])

    def check_heavy_path(self):
        """The heavy path by descent; its largest light weight; each row's depth along it."""
        node, on_path = np.ones(self.count, np.int64), np.zeros(self.count, np.int64)
        everyone = np.arange(self.count)
        shared = np.zeros(self.rows.shape, np.int64)
        for level in range(1, self.bits + 1):
            on_path = np.maximum(on_path, self.light[everyone, node])
            left, right = self.weights[everyone, 2 * node], self.weights[everyone, 2 * node + 1]
            node = 2 * node + (right > left)
            agree = self.rows >> (self.bits - level) == (node - (1 << level))[:, None]
            shared += agree  # once apart, rows stay apart
        some = self.n > 0
        np.testing.assert_array_equal(self.leaf[some], (node - (1 << self.bits))[some])
        np.testing.assert_array_equal(self.gamma, on_path)
        np.testing.assert_array_equal(self.depth[self.real], shared[self.real])
        assert np.all(self.depth[~self.real] == -1)

    def check_interior(self, usable):
        """Any y between two of the rest's depths gives one prefix of all deep rows, and an interior point near it."""
        low, high = extremes(self.depth, self.rest)
        (first, last), (least, largest) = extremes(self.rows, self.deep), extremes(self.rows, self.real)
        seen = 0
        for y in range(self.bits + 1):
            asked = usable & (low <= y) & (y <= high)
            free = self.bits - y
            assert np.all((first >> free == last >> free)[asked])
            start = first >> free << free
            points = (start, start + (1 << free >> 1) - 1, start + (1 << free) - 1) if free else (start,)
            assert np.all(np.any([(least <= p) & (p <= largest) for p in points], axis=0)[asked])
            seen += asked.sum()
        return seen


def histogram(values, where, cells):
    out = np.zeros((len(values), cells), np.int64)
    instance = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    np.add.at(out, (instance[where], values[where].astype(np.int64)), 1)
    return out


def extremes(values, where):
    return np.where(where, values, 1 << 20).min(1), np.where(where, values, -(1 << 20)).max(1)


def instances(bits, count, seed):
    """Uniform, nested around a centre, and mostly one value; one more row that a neighbor has."""
    generator = np.random.default_rng([bits, seed])
    shape = (count, CAPACITY)
    n = generator.integers(0, CAPACITY, count).astype(np.int32)
    uniform = generator.integers(0, 1 << bits, shape)
    centre = generator.integers(0, 1 << bits, (count, 1))
    nested = centre ^ (uniform >> generator.integers(0, bits + 1, shape))
    mostly = np.where(generator.random(shape) < 0.8, centre, centre ^ (1 << generator.integers(0, bits, shape)))
    x = np.choose(generator.integers(0, 3, (count, 1)), [uniform, nested, mostly]).astype(np.uint32)
    deepest = generator.integers(0, np.maximum(n, 1) + 1).astype(np.int32)
    return x, n, deepest


def neighbors(x, n, adding, seed):
    generator = np.random.default_rng(seed)
    other = x.copy()
    everyone = np.arange(len(x))
    place = n if adding else generator.integers(0, np.maximum(n, 1))
    if not adding:
        other[everyone, place] = other[everyone, CAPACITY - 1]
    return other, n + 1 if adding else n


SMALL = {1: 6000, 2: 18000, 3: 34000, 5: 42000}  # bits: instances, 10**5 in all


@pytest.mark.parametrize("adding", [False, True], ids=["replace one", "add one"])
@pytest.mark.parametrize("bits", [*(pytest.param(bits, marks=pytest.mark.slow) for bits in (1, 2)), 3, 5])
def test_what_holds_for_all_neighbors(bits, adding):
    count = SMALL[bits] // 2
    x, n, deepest = instances(bits, count, int(adding))
    other, more = neighbors(x, n, adding, bits)
    one, two = Dense(x, n, deepest, bits), Dense(other, more, deepest, bits)
    for each in (one, two):
        each.check_nodes()
        each.check_heavy_path()
        usable = (deepest >= 1) & (deepest < each.n)
        assert each.check_interior(usable) > count // 4

    assert np.abs(one.light - two.light).max() <= 1
    assert np.abs(one.gamma - two.gamma).max() <= 1
    for before, after in ((one, two), (two, one)):
        fresh = ((before.light == 0) & (after.light > 0)).sum(1)
        assert fresh.max() <= (0 if adding and after is one else 1)

    stable = (2 * one.gamma <= deepest - 4) & (deepest <= n)
    assert stable.sum() > count // 50
    deep = [histogram(each.rows, each.deep, 1 << bits) for each in (one, two)]
    rest = [histogram(each.depth, each.rest, bits + 1) for each in (one, two)]
    moved = np.abs(deep[0] - deep[1]).sum(1), rest[1] - rest[0]
    assert np.all(deep[0].sum(1) == np.minimum(deepest, n)) and np.all(rest[0].sum(1) == n - np.minimum(deepest, n))
    assert moved[0][stable].max() <= 2
    if adding:
        assert np.all(moved[1][stable] >= 0) and np.all(moved[1][stable].sum(1) == 1)
    else:
        assert np.abs(moved[1][stable]).sum(1).max() <= 2
    # and the condition is needed
    assert bits < 2 or np.abs(moved[1]).sum(1).max() > 2 or moved[0].max() > 2


# --- any width, against plain Python


def plain_nodes(values, bits):
    """{(length, prefix): (weight of child 0, weight of child 1)} of the branching nodes."""
    weight = Counter((y, v >> (bits - y)) for v in values for y in range(bits + 1))
    children = {node: tuple(weight[node[0] + 1, 2 * node[1] + side] for side in (0, 1)) for node in weight}
    return {node: pair for node, pair in children.items() if min(pair) > 0}


def plain_heavy_leaf(values, bits):
    path = 0
    for y in range(1, bits + 1):
        sides = [sum(v >> (bits - y) == 2 * path + side for v in values) for side in (0, 1)]
        path = 2 * path + (sides[1] > sides[0])
    return path


@lru_cache
def single(bits):
    return jax.jit(partial(looked_at, bits=bits))


@pytest.mark.parametrize("bits", [33, 1024, *(pytest.param(one, marks=pytest.mark.slow) for one in (32, 65))])
def test_any_width_agrees_with_plain_python(bits):
    for number, name in enumerate(FAMILIES):
        n = (0, 1, 2, 20, 24)[number % 5]
        deepest = (7, 0, n + 3)[number % 3]
        x = draw(name, np.random.default_rng([bits, number]), n, bits, light=3)
        values = sorted(B.decode(x).tolist())
        padded = np.concatenate([x, np.full((24 - n, x.shape[1]), 12345, np.uint32)])
        out = single(bits)(padded, np.int32(n), np.int32(deepest))
        rows, gap_depth, left, right, gamma, leaf, depth, deep, rest, split = (np.asarray(part) for part in out)
        assert B.decode(rows[:n]).tolist() == values
        nodes = plain_nodes(values, bits)
        gaps = [i for i in range(23) if min(left[i], right[i]) > 0]
        got = {(int(gap_depth[i]), values[i] >> int(bits - gap_depth[i])): (left[i], right[i]) for i in gaps}
        assert got == nodes and len(gaps) == len(nodes)
        assert gamma == max((min(pair) for pair in nodes.values()), default=0)
        for i in gaps:
            free = bits - int(gap_depth[i]) - 1
            assert B.decode(split[i]) == (values[i] >> free << free) + (1 << free) - 1
        if n == 0:
            assert not deep.any() and not rest.any()
            continue
        heavy = plain_heavy_leaf(values, bits)
        assert B.decode(leaf) == heavy
        depths = [bits - (v ^ heavy).bit_length() for v in values]
        assert depth[:n].tolist() == depths
        order = sorted(range(n), key=lambda i: (depths[i], values[i]))
        wanted = sorted(values[i] for i in order[max(n - deepest, 0) :])
        assert B.decode(rows[deep]).tolist() == wanted
        assert sorted(depth[rest].tolist()) == sorted(depths[i] for i in order[: max(n - deepest, 0)])


@pytest.mark.parametrize("bits", [5, 65])
def test_prefix_weights_count_prefixes(bits):
    weights, sort = jax.jit(partial(T.prefix_weights, bits=bits)), jax.jit(B.sort_rows)
    generator = np.random.default_rng(bits)
    for name in ("uniform", "nested", "clusters", "constant"):
        x = draw(name, generator, 20, bits, light=4)
        n = int(generator.integers(0, 21))
        where = generator.random(20) < 0.6
        rows = np.asarray(sort(x, np.arange(20) < n))
        values = B.decode(rows[:n]).tolist()
        for length in {0, 1, bits // 2, bits - 1, bits}:
            got = np.asarray(weights(rows, np.int32(n), np.int32(length), where))
            classes = [v >> (bits - length) for v in values]
            first = {c: i for i, c in reversed(list(enumerate(classes)))}
            wanted = np.zeros(20, int)
            for c, counts in zip(classes, where[:n], strict=True):
                wanted[first[c]] += counts
            assert got.tolist() == wanted.tolist()


def test_the_buffer_does_not_matter():
    bits, n = 33, 13
    x = draw("nested and filled", np.random.default_rng(3), n, bits)
    results = []
    for capacity in (13, 24):
        padding = np.random.default_rng(capacity).integers(0, 2**32, (capacity - n, 2), np.uint32)
        out = single(bits)(np.concatenate([x, padding]), np.int32(n), np.int32(5))
        results.append([np.atleast_1d(part)[: n - 1] for part in map(np.asarray, out)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_row_of_room():
    for n in (0, 1):
        out = single(3)(B.encode([5], 3), np.int32(n), np.int32(1))
        gamma, deep, rest = (int(np.sum(out[i])) for i in (4, 7, 8))
        assert (gamma, deep, rest) == (0, n, 0)
