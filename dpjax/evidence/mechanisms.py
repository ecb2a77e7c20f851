"""Every mechanism of dpjax as a target, on universes small enough to enumerate and large enough to be informative."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import mechanisms as m
from dpjax.audit.enumeration.exact import table_of_run
from dpjax.audit.sampling.known import KnownLaw
from dpjax.audit.target.databases import Universe, histograms, vectors
from dpjax.audit.target.target import Target
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.evidence.noise import NOISE, histogram_target, laplace_of_two
from dpjax.evidence.worlds import chosen, scalars, target_of
from dpjax.laws import Law
from dpjax.mechanisms.above_threshold import inputs
from dpjax.mechanisms.sparse_vector import SparseVector

_VOTES, _VOTES_OF_PRINTED = 40, 80
_MOST = 1 << 10  # largest number of outcomes of a listed law
_PAIRS = np.array([[0, 0], [0, 0], [0, 1], [0, 2], [0, 1], [0, 2], [1, 2]])  # lists of names: none, one, two of them
_FILLED = np.array([[0, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1], [1, 1]], bool)
_FAR = tuple(6**i for i in range(11))  # distances, some of them 5 to 60 scales of noise for each epsilon


def mechanism_target(
    name: str, relation: Neighboring = Neighboring.REPLACE_ONE, calibration: str = "corrected", n: int = 100
) -> Target:
    """The target of a mechanism, by the name of its function; n: rows, for the printed stability histogram."""
    if calibration == "printed" and name not in ("stability", "stability_histogram"):
        raise InputError("calibration", f"corrected for {name}", "printed", "no paper prints other constants for it")
    checks.choice("target", name, mechanism_names())
    if relation not in relations(name):
        raise InputError("relation", "replace-one", relation.value, f"{name} always has its one record")
    if name == "stability_histogram":
        return histogram_target(relation, calibration, n)
    if name == "stability":
        return _stability(relation, calibration)
    if name in _OF_SCORES:
        return _OF_SCORES[name](_Scores(relation, relation is Neighboring.ADD_OR_REMOVE_ONE))
    return _BUILDERS[name](relation)


def mechanism_configurations() -> list[Target]:
    """Every mechanism under each relation of its claim, and with further arguments."""
    usual = [mechanism_target(name, relation) for name in mechanism_names() for relation in relations(name)]
    added = Neighboring.ADD_OR_REMOVE_ONE
    variants = [(build(_Scores(added, False)), "scores that rise and fall") for build in _OF_SCORES.values()]
    for relation in Neighboring:
        variants += [(build(relation), words) for words, build in _OTHERS.items()]
    return usual + [replace(target, name=f"{target.name}, {words}") for target, words in variants]


def mechanism_names() -> list[str]:
    """All names that `mechanism_target` accepts."""
    return sorted([*_BUILDERS, *_OF_SCORES, "stability", "stability_histogram"])


def relations(name: str) -> tuple[Neighboring, ...]:
    """The relations under which a mechanism claims privacy."""
    return (Neighboring.REPLACE_ONE,) if "randomized_response" in name else tuple(Neighboring)


@dataclass(frozen=True)
class _Scores:
    """How scores or answers of sensitivity 1 may change: all in one direction if ``monotonic``, else independently."""

    relation: Neighboring
    monotonic: bool

    @property
    def how(self) -> dict[str, Any]:
        """Keyword arguments of a mechanism and of its guarantee."""
        return {"neighboring": self.relation, "monotonic": self.monotonic}

    def universe(self, values: Sequence[int], length: int) -> Universe:
        """All vectors over these values, and their neighbors."""
        steps = (0, 1) if self.monotonic else (-1, 0, 1)
        moves = [move for move in itertools.product(steps, repeat=length) if any(move)]
        return vectors(values, length, moves, self.relation)

    def hard(self, one: list[int], any_way: list[int], up: list[int]) -> list[tuple[list[int], list[int]]]:
        """The vector ``one`` with a neighbor."""
        return [(one, up if self.monotonic else any_way)]


def _exponential(scores: _Scores) -> Target:
    return target_of(
        "exponential",
        lambda data, p: m.exponential(data, p.epsilon, **scores.how),
        lambda e, d: m.exponential_guarantee(e, neighboring=scores.relation),
        lambda: [scores.universe((0, 1, 5, 30), 3)],
        scores.hard([0, 30, 30], [1, 29, 29], [1, 30, 30]),
        ("interval_exponential", "exponential_guarantee"),
    )


def _permute_and_flip(scores: _Scores) -> Target:
    return target_of(
        "permute_and_flip",
        lambda data, p: m.permute_and_flip(data, p.epsilon, **scores.how),
        lambda e, d: m.permute_and_flip_guarantee(e, **scores.how),
        lambda: [scores.universe((0, 1, 5, 30), 3)],
        scores.hard([3, 0, 0], [2, 1, 1], [3, 1, 0]),
        ("permute_and_flip_sample",),
        run=lambda key, data, p: m.permute_and_flip_sample(key, data, p.epsilon, **scores.how),
        known=KnownLaw(lambda data, p: m.permute_and_flip(data, p.epsilon, **scores.how)),
    )


def _above_threshold(scores: _Scores) -> Target:
    return target_of(
        "above_threshold",
        lambda data, p: m.above_threshold(data, 0, p.epsilon, **scores.how),
        lambda e, d: m.above_threshold_guarantee(e, **scores.how),
        lambda: [scores.universe((-8, 0, 2, 8), 3), _runs(1, scores)],
        scores.hard([2, 2, 2, 0], [1, 1, 1, 1], [3, 3, 3, 0]),
    )


def _runs(count: int, scores: _Scores) -> Universe:
    """Queries far above the threshold, then one far below it: if that one is answered first, all noise is large."""
    pairs = []
    for far in _FAR:
        old = np.array(([far] * 5 + [-far]) * count)
        pairs.append((old, old + np.where(old > 0, 1, 0 if scores.monotonic else -1)))
    return chosen(pairs, scores.relation, "queries far above the threshold before one far below it")


@dataclass(frozen=True)
class _Listed:
    """A law with a support as a law on 0, 1, ..., the indices of the support."""

    law: Law

    def log_probs(self) -> Array:
        support = self.law.support(_MOST)
        assert support is not None
        return support.log_mass


def _sparse_vector(scores: _Scores) -> Target:
    def law(data: Array, p: Privacy) -> _Listed:
        lead, factor, _ = inputs(data, 0, p.epsilon / 2, 1, neighboring=scores.relation, monotonic=scores.monotonic)
        return _Listed(SparseVector(lead, factor, jnp.ones(lead.shape, bool), scores.monotonic, 2))

    def run(key: Array, data: Array, p: Privacy) -> Array:
        return m.sparse_vector(key, data, 0, p.epsilon, count=2, **scores.how)

    return target_of(
        "sparse_vector",
        law,
        lambda e, d: m.sparse_vector_guarantee(e, count=2, **scores.how),
        lambda: [scores.universe((-8, 2), 3), _runs(2, scores)],
        scores.hard([2, 2, 0, 0], [1, 1, 1, 1], [3, 3, 0, 0]),
        run=run,
    )


def _choosing(scores: _Scores) -> Target:
    return target_of(
        "choosing",
        lambda data, p: m.choosing(data, p.epsilon, p.delta, **scores.how),
        lambda e, d: m.choosing_guarantee(e, d, **scores.how),
        lambda: [histograms(_VOTES, 3, scores.relation), _many(scores.relation)],
        [([1, 0], [0, 1] if scores.relation is Neighboring.REPLACE_ONE else [0, 0])],
    )


def _choosing_growing(relation: Neighboring) -> Target:
    """Two candidates appear at once, and scores rise and fall."""
    how: dict[str, Any] = {"growth": 2, "neighboring": relation}
    return target_of(
        "choosing",
        lambda data, p: m.choosing(data, p.epsilon, p.delta, **how),
        lambda e, d: m.choosing_guarantee(e, d, **how),
        lambda: [_Scores(relation, False).universe((0, 1, 3, 30), 2)],
        [([1, 1], [0, 0])],
    )


def _sparse_selection(relation: Neighboring) -> Target:
    """Three lists of at most two of the names 0, 1, 2; a database holds the number of each list."""

    def run(key: Array, data: Array, p: Privacy) -> Array:
        names, valid = (jnp.asarray(part)[data] for part in (_PAIRS, _FILLED))
        law, candidates = m.sparse_selection(
            names[..., None].astype(jnp.uint32), valid, p.epsilon, p.delta, neighboring=relation
        )
        slot = law.sample(key)
        return jnp.where(slot < 0, slot, candidates.names[jnp.maximum(slot, 0), 0].astype(jnp.int32))

    def pairs() -> Universe:
        codes = range(len(_PAIRS))
        near = [(first, second) for first in codes for second in codes if first < second]
        if relation is Neighboring.ADD_OR_REMOVE_ONE:
            near = [(first, second) for first, second in near if first == 0]
        rest = list(itertools.combinations_with_replacement(codes, 2))
        return chosen(
            [([first, *r], [second, *r]) for r in rest for first, second in near], relation, "three lists of two names"
        )

    return target_of(
        "sparse_selection",
        None,
        lambda e, d: m.sparse_selection_guarantee(e, d, 2, relation),
        lambda: [pairs()],
        [([4, 0, 0], [3 if relation is Neighboring.REPLACE_ONE else 0, 0, 0])],
        run=run,
        table=table_of_run(run),
    )


def _exponential_based(relation: Neighboring) -> Target:
    """Sensitivity 3, a base measure, and an empty slot."""

    def law(data: Array, p: Privacy) -> Any:
        base = jnp.log(jnp.asarray([1e-3, 1.0, 5.0, 1.0], jnp.result_type(p.epsilon)))
        exists = jnp.asarray([True, True, True, False])
        return m.exponential(3 * data, p.epsilon, sensitivity=3, where=exists, log_base=base, neighboring=relation)

    return target_of(
        "exponential",
        law,
        lambda e, d: m.exponential_guarantee(e, neighboring=relation),
        lambda: [_Scores(relation, False).universe((0, 1, 30), 4)],
        [([0, 30, 30, 9], [1, 29, 29, 9])],
    )


def _many(relation: Neighboring) -> Universe:
    """Histograms of many votes; one vote moves to another cell, or is removed."""
    to = 1 if relation is Neighboring.REPLACE_ONE else 0
    sizes = [2**i for i in range(4, 27)]
    near = [([8 * n, 7 * n, 0], [8 * n + to, 7 * n - 1, 0]) for n in sizes]
    alone = [([n, 0, 0], [n - 1, to, 0]) for n in sizes]
    return chosen(near + alone, relation, f"histograms with {sizes[0]} to {8 * sizes[-1]} votes in a cell")


def _stability(relation: Neighboring, calibration: str) -> Target:
    spread = 2 if relation is Neighboring.REPLACE_ONE else 1
    how: dict[str, Any] = {"gap_sensitivity": spread, "calibration": calibration}

    def universes() -> list[Universe]:
        if calibration == "printed":
            return [histograms(_VOTES_OF_PRINTED, 3, relation)]
        return [histograms(_VOTES, 3, relation), _many(relation)]

    return target_of(
        "stability",
        lambda data, p: m.stability(data, p.epsilon, p.delta, **how),
        lambda e, d: m.stability_guarantee(e, d, gap_sensitivity=spread, neighboring=relation),
        universes,
        [([2, 0], [1, 1]), ([14, 0], [13, 1])] if spread == 2 else [([1, 0], [0, 0]), ([14, 0], [13, 0])],
        ("release",),
        calibration=calibration,
    )


def _randomized_response(relation: Neighboring) -> Target:
    return target_of(
        "randomized_response",
        lambda data, p: m.randomized_response(data, p.epsilon, categories=3),
        lambda e, d: m.randomized_response_guarantee(e),
        lambda: [scalars((0, 1, 2), (1, 2), relation)],
        [(0, 1)],
    )


def _revealing_randomized_response(relation: Neighboring) -> Target:
    return target_of(
        "revealing_randomized_response",
        lambda data, p: m.revealing_randomized_response(data, p.epsilon, p.delta, categories=3),
        lambda e, d: m.revealing_randomized_response_guarantee(e, d),
        lambda: [scalars((0, 1, 2), (1, 2), relation)],
        [(0, 1)],
    )


_BUILDERS: dict[str, Callable[[Neighboring], Target]] = {
    **NOISE,
    "randomized_response": _randomized_response,
    "revealing_randomized_response": _revealing_randomized_response,
    "sparse_selection": _sparse_selection,
}
_OF_SCORES: dict[str, Callable[[_Scores], Target]] = {
    "above_threshold": _above_threshold,
    "choosing": _choosing,
    "exponential": _exponential,
    "permute_and_flip": _permute_and_flip,
    "sparse_vector": _sparse_vector,
}
_OTHERS: dict[str, Callable[[Neighboring], Target]] = {
    "a base measure": _exponential_based,
    "growth 2": _choosing_growing,
    "two counts": laplace_of_two,
}
