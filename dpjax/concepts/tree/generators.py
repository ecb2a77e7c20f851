"""Host: families of trees with one point per node.

``improper`` is the fraction, in [0, 1], of improper nodes among those that may be improper (not the root, two children
or more); ``seed`` in [0, 2**32) determines which ones. Paths and stars have no such node.
"""

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.concepts.tree.layout import LARGEST
from dpjax.concepts.tree.tree import Tree
from dpjax.core import checks, keys, random, wide
from dpjax.core.checks import InputError


def path(nodes: int) -> Tree:
    """Thresholds: node v + 1 is the child of node v. Height ``nodes`` >= 0. Reference: Yan 2025, Example 1."""
    return Tree.of_parents(np.maximum(np.arange(_count(nodes) + 1) - 1, 0))


def star(nodes: int) -> Tree:
    """Points, and the empty concept: all ``nodes`` >= 0 nodes are children of the root."""
    return Tree.of_parents(np.zeros(_count(nodes) + 1, np.int32))


def complete(branching: int, height: int, improper: float = 0.0, seed: int = 0) -> Tree:
    """``branching`` >= 1 children per node, all leaves at depth ``height`` >= 0."""
    checks.integer("branching", branching, 1, LARGEST)
    checks.integer("height", height, 0, LARGEST)
    count, level = (height, 1) if branching == 1 else (0, 1)
    for _ in range(height if branching > 1 else 0):
        level *= branching
        count = _count(count + level)
    return _thinned(np.maximum(np.arange(count + 1) - 1, 0) // branching, improper, seed)


def prefixes(length: int, alphabet: int = 2) -> Tree:
    """Points are the words of up to ``length`` letters; a concept is the set of all prefixes of a word of full length.

    The complete tree with only leaves and the root proper, so few hypotheses are concepts. alphabet: >= 2.
    """
    return complete(checks.integer("alphabet", alphabet, 2), length, improper=1.0)


def recursive(nodes: int, seed: int, improper: float = 0.0) -> Tree:
    """The random recursive tree: the parent of node v = 1, ..., ``nodes`` is uniform in {0, ..., v - 1}."""
    count = _count(nodes)
    parent = np.zeros(count + 1, np.int32)
    if count:
        bound = np.arange(1, count + 1, dtype=np.uint32)[:, None]
        key = keys.stream(keys.root(checks.integer("seed", seed, 0, 2**32 - 1)), "parents")
        drawn = jax.jit(random.randint_below, static_argnums=2)(key, jnp.asarray(bound), (count,))
        parent[1:] = np.asarray(drawn)[:, 0]
    return _thinned(parent, improper, seed)


def caterpillar(spine: int, legs: int, improper: float = 0.0, seed: int = 0) -> Tree:
    """A path of ``spine`` >= 1 nodes below the root, each with ``legs`` >= 0 leaves."""
    checks.integer("spine", spine, 1, LARGEST)
    checks.integer("legs", legs, 0, LARGEST)
    _count(spine * (1 + legs))
    body = np.arange(spine)
    return _thinned(np.concatenate([[0], body, np.repeat(body + 1, legs)]), improper, seed)


def figure_one() -> Tree:
    """Seven points and eight concepts: 1, 2, 3 below the root, 4 and 5 below 1, 6 and 7 below 5.

    Reference: Yan 2025, Section 1.3.2 and Figure 1; the paper's point x_i is domain element i - 1.
    """
    return Tree.of_parents([0, 0, 0, 0, 1, 1, 5, 5])


def _thinned(parent: np.ndarray, improper: float, seed: int) -> Tree:
    """The tree with the rounded number of improper nodes, those with the smallest random words."""
    if not 0 <= checks.number("improper", improper) <= 1:
        raise InputError("improper", "a share in [0, 1]", repr(improper), "choose for example 0.5")
    key = keys.stream(keys.root(checks.integer("seed", seed, 0, 2**32 - 1)), "improper")
    may = np.bincount(parent[1:], minlength=len(parent)) >= 2
    may[0] = False
    chosen = np.flatnonzero(may)
    count = round(improper * len(chosen))
    if 0 < count < len(chosen):
        high, low = jax.jit(random.words, static_argnums=1)(key, (len(chosen),))
        words = wide.decode(np.stack([high, low], axis=-1))
        chosen = chosen[np.argsort(words, kind="stable")]
    proper = np.ones(len(parent), bool)
    proper[chosen[:count]] = False
    return Tree.of_parents(parent, proper)


def _count(nodes: int) -> int:
    return checks.integer("nodes", nodes, 0, LARGEST - 1)
