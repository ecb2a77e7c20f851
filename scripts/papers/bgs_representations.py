"""Theorem 8.8 of Bun, Gaboardi, Sivakumar 2021 by computation: members of families on paths of a shattered tree."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.baselines.online import randomized_weighted_majority
from dpjax.concepts import outside
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix
from dpjax.dimensions import littlestone_dimension
from dpjax.theory import representations as theory

_MOST_PATHS = 1 << 12


@dataclass(frozen=True)
class Walked:
    """Mistakes on the paths of a shattered tree of depth d, each path equally likely, averaged over drawn families.

    depth: d. size: ln N. best: of the family's best member. follower: expected, of a learner that follows a member by
    weighted majority. good: fraction of pairs of a path and a family with a member of at most d/4 mistakes.
    """

    depth: int
    size: float
    best: float
    follower: float
    good: float

    @property
    def regret(self) -> float:
        """The bound on the follower's mistakes, best + sqrt(d ln(N) / 2)."""
        return self.best + sqrt(self.depth * self.size / 2)

    @property
    def least_size(self) -> float:
        """What the experts' proof says of ln N, from the measured mistakes of the best member: 2 (d/2 - best)^2 / d."""
        return 2 * max(0.0, self.depth / 2 - self.best) ** 2 / self.depth if self.depth else 0.0

    @property
    def most_good(self) -> float:
        """The bound on ``good``: N P[Binomial(d, 1/2) <= d/4], at most 1."""
        return min(1.0, float(np.exp(self.size + _log_few(self.depth))))


def paths(matrix) -> tuple[np.ndarray, np.ndarray]:
    """The points and the labels along every path of a shattered tree of a class ``int[m, X]``, ``int64[2^d, d]`` each.

    Each path is realized by a concept. InputError for more than 4096 paths.
    """
    table = class_matrix(matrix)
    dimension = littlestone_dimension(table)
    depth = int(dimension.value)
    if 1 << depth > _MOST_PATHS:
        raise InputError("class", f"at most {_MOST_PATHS} paths", f"dimension {depth}", "take a smaller class")
    leaves = [(row, [point for point, _, _ in path]) for row, path in dimension.witness.leaves()]
    points = np.array([path for _, path in leaves], np.int64).reshape(len(leaves), depth)
    return points, np.array([table[row, path] for row, path in leaves], np.int64).reshape(points.shape)


def walk(matrix, representation: Any, families: int, seed: int = 0) -> Walked:
    """Draws families and lets their members predict along all paths of a tree that the class shatters.

    matrix: the class, its columns being the elements 0, 1, ... of the representation's domain.

    Reference: Bun, Gaboardi, Sivakumar 2021, Lemmas 8.6 and 8.7, Theorem 8.8.
    """
    points, labels = paths(matrix)
    members, width = representation.count, points.shape[1]
    elements = jnp.arange(class_matrix(matrix).shape[1], dtype=jnp.uint32)[:, None]
    columns = representation.concepts.columns
    weights = 1 << jnp.arange(columns, dtype=jnp.int32)

    def labeled(key: Any) -> Any:
        """The labels of all elements under all members, ``int32[X, N]``."""
        family = representation.draw(key)

        def of_member(index: Any) -> Any:
            member: Hypothesis = representation.member(family, index)
            bits = outside.predict(representation.concepts, member, elements)
            return jnp.sum(jnp.where(bits, weights, 0), axis=1, dtype=jnp.int32)

        return jax.lax.map(of_member, jnp.arange(members, dtype=jnp.int32), batch_size=256).T

    @jax.jit
    def mistakes(key: Any) -> Any:
        table = labeled(key)

        def on_path(path: Any) -> Any:
            wrong = (table[path[0]] != path[1][:, None]).astype(jnp.int32)
            follower = randomized_weighted_majority(wrong.astype(jnp.float32), jnp.zeros(width, jnp.float32))
            return jnp.min(jnp.sum(wrong, axis=0)), follower

        return jax.lax.map(on_path, (jnp.asarray(points, jnp.int32), jnp.asarray(labels, jnp.int32)), batch_size=64)

    every = [mistakes(key) for key in keys.per_index(keys.root(seed), families)]
    best, follower = (np.array([np.asarray(part[i], np.float64) for part in every]) for i in (0, 1))
    return Walked(width, log(members), float(best.mean()), float(follower.mean()), float(np.mean(best <= width / 4)))


def random_families(dimension: int, members: int, trials: int, seed: int = 0) -> float:
    """The fraction of random labelings of d points that one of ``members`` random functions fits up to d/4 mistakes.

    No function does better, and no other tree is easier: at most `Walked.most_good`, and 7/8 is needed.
    """
    key = keys.root(seed)
    words = -(-dimension // 32)

    def one(own: Any) -> Any:
        bits = jax.random.bits(own, (members, words * 32), jnp.uint32)[:, :dimension] & 1
        return jnp.min(jnp.sum(bits, axis=1, dtype=jnp.int32)) <= dimension // 4

    run = jax.jit(lambda trial_keys: jax.lax.map(one, trial_keys, batch_size=64))
    return float(np.mean(np.asarray(run(keys.per_index(key, trials)))))


def least_members(dimension: int) -> int:
    """The least N that `theory.representations.size_by_littlestone_dimension` allows for (1/4, 1/8)."""
    return int(np.ceil(np.exp(theory.size_by_littlestone_dimension(dimension)) * (1 - 1e-12)))


def _log_few(dimension: int) -> float:
    from scipy.stats import binom  # a slow import, deferred

    return float(binom.logcdf(dimension // 4, dimension, 0.5))
