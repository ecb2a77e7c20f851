"""Every mechanism of dpjax as a target, on worlds small enough to go through and sharp enough to matter."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import mechanisms as m
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.databases import Universe, histograms, show_numbers, vectors
from dpjax.audit.exact import table_of
from dpjax.audit.target import Pair, Target
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.laws import DiscreteLaplace, Laplace, Law
from dpjax.mechanisms.above_threshold import inputs
from dpjax.mechanisms.sparse_vector import SparseVector

_VOTES, _VOTES_OF_PRINTED = 40, 80
_CELLS = 8  # between neighbouring kinks of a density, of those that continuous outcomes are merged into
_REACH = 48
_MOST = 1 << 10  # outcomes of a listed law
_LARGE = 6**10  # votes that are many at every epsilon from 1e-6 on
_FAR = tuple(6**i for i in range(11))  # distances, some of which are 5 to 60 scales of noise at such an epsilon
_SCALES = np.append(-np.geomspace(40, 1 / 4, 24), np.geomspace(1 / 4, 40, 24))  # edges beyond, in scales of the noise
_PRINTED_ALPHA = 0.1
_MERGED = f"outcomes merged into {_CELLS} cells between kinks of the densities, and others that scale with the noise"


def mechanism_target(
    name: str, relation: Neighboring = Neighboring.REPLACE_ONE, calibration: str = "corrected", n: int = 100
) -> Target:
    """The target of a mechanism by the name of its function; n: rows, for the printed stability histogram."""
    if calibration == "printed" and name not in ("stability", "stability_histogram"):
        raise InputError("calibration", f"corrected for {name}", "printed", "no paper prints other constants for it")
    checks.choice("target", name, mechanism_names())
    if relation not in relations(name):
        raise InputError("relation", "replace-one", relation.value, f"{name} always has its one record")
    if name == "stability_histogram":
        return _stability_histogram(relation, calibration, n)
    if name == "stability":
        return _stability(relation, calibration)
    if name in _OF_SCORES:
        return _OF_SCORES[name](_Scores(relation, relation is Neighboring.ADD_OR_REMOVE_ONE))
    return _BUILDERS[name](relation)


def mechanism_configurations() -> list[Target]:
    """Every mechanism under each relation that it makes its claim for, and with other arguments."""
    usual = [mechanism_target(name, relation) for name in mechanism_names() for relation in relations(name)]
    added = Neighboring.ADD_OR_REMOVE_ONE
    found = [(build(_Scores(added, False)), "scores that rise and fall") for build in _OF_SCORES.values()]
    for relation in Neighboring:
        found += [(build(relation), words) for words, build in _OTHERS.items()]
    return usual + [replace(target, name=f"{target.name}, {words}") for target, words in found]


def mechanism_names() -> list[str]:
    """Every name that `mechanism_target` knows."""
    return sorted([*_BUILDERS, *_OF_SCORES, "stability", "stability_histogram"])


def relations(name: str) -> tuple[Neighboring, ...]:
    """Under which relations a mechanism makes its claim."""
    return (Neighboring.REPLACE_ONE,) if "randomized_response" in name else tuple(Neighboring)


def _target(
    name: str, law: Callable[[Any, Any], Any], claim: Callable[[float, float], Guarantee],
    universes: Callable[[], list[Universe]], hard: Sequence[tuple[Any, Any]], covers: Sequence[str] = (), **how: Any,
) -> Target:  # fmt: skip
    """A mechanism whose output is one draw from ``law(database, plan)``."""
    how = {"run": lambda key, data, plan: law(data, plan).sample(key), "table": table_of(law), **how}
    pairs = [Pair(np.asarray(one, np.int32), np.asarray(other, np.int32), show_numbers) for one, other in hard]
    covered = tuple(f"dpjax.mechanisms.{x}" for x in (name, *covers))
    return Target(name, claim, universes=universes, pairs=lambda: pairs, covers=covered, **how)


def _chosen(pairs: Sequence[tuple[Any, Any]], relation: Neighboring, what: str) -> Universe:
    """Pairs of neighbouring vectors, given one by one."""
    databases = np.array(pairs, np.int32).reshape(2 * len(pairs), -1)
    one = 2 * np.arange(len(pairs))
    places = np.concatenate([np.stack([one, one + 1], 1), np.stack([one + 1, one], 1)])
    return Universe(databases, places, relation, what, show_numbers)


@dataclass(frozen=True)
class _Scores:
    """How scores or answers of sensitivity 1 move: all in one direction if ``monotonic``, else any way."""

    relation: Neighboring
    monotonic: bool

    @property
    def how(self) -> dict[str, Any]:
        """Arguments of a mechanism and of its guarantee."""
        return {"neighboring": self.relation, "monotonic": self.monotonic}

    def universe(self, values: Sequence[int], length: int) -> Universe:
        """All vectors over these values, and their neighbours."""
        steps = (0, 1) if self.monotonic else (-1, 0, 1)
        moves = [move for move in itertools.product(steps, repeat=length) if any(move)]
        return vectors(values, length, moves, self.relation)

    def hard(self, one: list[int], any_way: list[int], up: list[int]) -> list[tuple[list[int], list[int]]]:
        """The pair of ``one`` and its neighbour."""
        return [(one, up if self.monotonic else any_way)]


def _exponential(scores: _Scores) -> Target:
    return _target(
        "exponential", lambda data, p: m.exponential(data, p.epsilon, **scores.how),
        lambda e, d: m.exponential_guarantee(e, neighboring=scores.relation),
        lambda: [scores.universe((0, 1, 5, 30), 3)],
        scores.hard([0, 30, 30], [1, 29, 29], [1, 30, 30]),
        ("interval_exponential", "exponential_guarantee"),
    )  # fmt: skip


def _permute_and_flip(scores: _Scores) -> Target:
    return _target(
        "permute_and_flip", lambda data, p: m.permute_and_flip(data, p.epsilon, **scores.how),
        lambda e, d: m.permute_and_flip_guarantee(e, **scores.how), lambda: [scores.universe((0, 1, 5, 30), 3)],
        scores.hard([3, 0, 0], [2, 1, 1], [3, 1, 0]), ("permute_and_flip_sample",),
        run=lambda key, data, p: m.permute_and_flip_sample(key, data, p.epsilon, **scores.how),
    )  # fmt: skip


def _above_threshold(scores: _Scores) -> Target:
    return _target(
        "above_threshold", lambda data, p: m.above_threshold(data, 0, p.epsilon, **scores.how),
        lambda e, d: m.above_threshold_guarantee(e, **scores.how),
        lambda: [scores.universe((-8, 0, 2, 8), 3), _runs(1, scores)],
        scores.hard([2, 2, 2, 0], [1, 1, 1, 1], [3, 3, 3, 0]),
    )  # fmt: skip


def _runs(count: int, scores: _Scores) -> Universe:
    """Queries far above the threshold, and behind them one far below: if that is answered first, all noise is large."""
    pairs = []
    for far in _FAR:
        old = np.array(([far] * 5 + [-far]) * count)
        pairs.append((old, old + np.where(old > 0, 1, 0 if scores.monotonic else -1)))
    return _chosen(pairs, scores.relation, "queries far above the threshold before one far below it")


@dataclass(frozen=True)
class _Listed:
    """A law with a support as a law on 0, 1, ..., in its order."""

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

    return _target(
        "sparse_vector", law, lambda e, d: m.sparse_vector_guarantee(e, count=2, **scores.how),
        lambda: [scores.universe((-8, 2), 3), _runs(2, scores)],
        scores.hard([2, 2, 0, 0], [1, 1, 1, 1], [3, 3, 0, 0]),
        run=run,
    )  # fmt: skip


def _choosing(scores: _Scores) -> Target:
    return _target(
        "choosing", lambda data, p: m.choosing(data, p.epsilon, p.delta, **scores.how),
        lambda e, d: m.choosing_guarantee(e, d, **scores.how),
        lambda: [histograms(_VOTES, 3, scores.relation), _many(scores.relation)],
        [([1, 0], [0, 1] if scores.relation is Neighboring.REPLACE_ONE else [0, 0])],
    )  # fmt: skip


def _choosing_growing(relation: Neighboring) -> Target:
    """Two candidates appear at once, and scores rise and fall."""
    how: dict[str, Any] = {"growth": 2, "neighboring": relation}
    return _target(
        "choosing", lambda data, p: m.choosing(data, p.epsilon, p.delta, **how),
        lambda e, d: m.choosing_guarantee(e, d, **how),
        lambda: [_Scores(relation, False).universe((0, 1, 3, 30), 2)], [([1, 1], [0, 0])],
    )  # fmt: skip


def _exponential_based(relation: Neighboring) -> Target:
    """Sensitivity 3, a base measure, and a slot without candidate."""

    def law(data: Array, p: Privacy) -> Any:
        base = jnp.log(jnp.asarray([1e-3, 1.0, 5.0, 1.0], jnp.result_type(p.epsilon)))
        exists = jnp.asarray([True, True, True, False])
        return m.exponential(3 * data, p.epsilon, sensitivity=3, where=exists, log_base=base, neighboring=relation)

    return _target(
        "exponential", law, lambda e, d: m.exponential_guarantee(e, neighboring=relation),
        lambda: [_Scores(relation, False).universe((0, 1, 30), 4)], [([0, 30, 30, 9], [1, 29, 29, 9])],
    )  # fmt: skip


def _many(relation: Neighboring) -> Universe:
    """Histograms of many votes, one of which moves from a cell to another, or is not there."""
    to = 1 if relation is Neighboring.REPLACE_ONE else 0
    sizes = [2**i for i in range(4, 27)]
    near = [([8 * n, 7 * n, 0], [8 * n + to, 7 * n - 1, 0]) for n in sizes]
    alone = [([n, 0, 0], [n - 1, to, 0]) for n in sizes]
    return _chosen(near + alone, relation, f"histograms with {sizes[0]} to {8 * sizes[-1]} votes in a cell")


def _stability(relation: Neighboring, calibration: str) -> Target:
    spread = 2 if relation is Neighboring.REPLACE_ONE else 1
    how: dict[str, Any] = {"gap_sensitivity": spread, "calibration": calibration}

    def universes() -> list[Universe]:
        if calibration == "printed":
            return [histograms(_VOTES_OF_PRINTED, 3, relation)]
        return [histograms(_VOTES, 3, relation), _many(relation)]

    return _target(
        "stability", lambda data, p: m.stability(data, p.epsilon, p.delta, **how),
        lambda e, d: m.stability_guarantee(e, d, gap_sensitivity=spread, neighboring=relation),
        universes,
        [([2, 0], [1, 1]), ([14, 0], [13, 1])] if spread == 2 else [([1, 0], [0, 0]), ([14, 0], [13, 0])],
        ("release",), calibration=calibration,
    )  # fmt: skip


def _randomized_response(relation: Neighboring) -> Target:
    return _target(
        "randomized_response", lambda data, p: m.randomized_response(data, p.epsilon, categories=3),
        lambda e, d: m.randomized_response_guarantee(e), lambda: [_scalars((0, 1, 2), (1, 2), relation)], [(0, 1)],
    )  # fmt: skip


def _revealing_randomized_response(relation: Neighboring) -> Target:
    return _target(
        "revealing_randomized_response",
        lambda data, p: m.revealing_randomized_response(data, p.epsilon, p.delta, categories=3),
        lambda e, d: m.revealing_randomized_response_guarantee(e, d),
        lambda: [_scalars((0, 1, 2), (1, 2), relation)], [(0, 1)],
    )  # fmt: skip


def _scalars(values: Sequence[int], moves: Sequence[int], relation: Neighboring) -> Universe:
    whole = vectors(values, 1, [(move,) for move in moves], relation)
    keep = np.isin(whole.databases[:, 0], values)
    place = np.cumsum(keep) - 1
    pairs = place[whole.pairs[np.all(keep[whole.pairs], axis=1)]]
    words = f"all values in {list(values)}"
    return Universe(whole.databases[keep, 0], pairs, relation, words, show_numbers)


class _Continuous(Protocol):
    @property
    def scale(self) -> Array: ...

    def log_mass(self, low: Array, high: Array) -> Array: ...


@dataclass(frozen=True)
class _Merged:
    """A law on numbers as a law on the cells between ``kinks``, finer ones there, and others that scale with it."""

    law: _Continuous
    kinks: Array

    def log_probs(self) -> Array:
        steps = jnp.arange(_CELLS, dtype=self.kinks.dtype) / _CELLS
        fine = (self.kinks[:-1, None] + jnp.diff(self.kinks)[:, None] * steps[None, :]).reshape(-1)
        outside = jnp.mean(self.kinks) + self.law.scale * jnp.asarray(_SCALES, self.kinks.dtype)
        ends = jnp.asarray([-jnp.inf, jnp.inf], self.kinks.dtype)
        edges = jnp.sort(jnp.concatenate([ends, self.kinks[-1:], fine, outside]))
        return self.law.log_mass(edges[:-1], edges[1:])


def _laplace(relation: Neighboring) -> Target:
    def law(data: Array, p: Privacy) -> _Merged:
        noisy = m.laplace_mechanism(data, p.epsilon, sensitivity=1)
        return _Merged(noisy, jnp.arange(3, dtype=noisy.loc.dtype))

    return _target(
        "laplace_mechanism", law, lambda e, d: m.laplace_mechanism_guarantee(e, sensitivity=1, neighboring=relation),
        lambda: [_scalars((0, 1, 2), (1,), relation)], [(0, 1)], run=_noisy, canaries=_noisy, caveat=_MERGED,
    )  # fmt: skip


def _noisy(key: Array, counts: Array, privacy: Privacy) -> Array:
    """Also with many canaries: each is a count of its own, and a row of one."""
    return m.laplace_mechanism(counts.astype(jnp.int32), privacy.epsilon, sensitivity=1).sample(key)


def _laplace_of_two(relation: Neighboring) -> Target:
    """Two counts, of which a row that is replaced moves both."""
    both = 2 if relation is Neighboring.REPLACE_ONE else 1

    def law(data: Array, p: Privacy) -> Any:
        return m.laplace_mechanism(data, p.epsilon, sensitivity=both)

    def table(databases: Any, p: Privacy) -> np.ndarray:
        one = table_of(lambda value, p: _Merged(law(value, p), jnp.arange(3, dtype=jnp.result_type(p.epsilon))))
        first, second = (one(np.asarray(databases)[:, i], p) for i in range(2))
        return (first[:, :, None] + second[:, None, :]).reshape(len(databases), -1)

    moves = [(1, -1)] if both == 2 else [(0, 1), (1, 0)]
    return _target(
        "laplace_mechanism", law,
        lambda e, d: m.laplace_mechanism_guarantee(e, sensitivity=both, neighboring=relation),
        lambda: [vectors((0, 1, 2), 2, moves, relation)], [([0, 1], [1, 0] if both == 2 else [1, 1])],
        table=table, caveat=_MERGED,
    )  # fmt: skip


def _gaussian(relation: Neighboring) -> Target:
    def law(data: Array, plan: m.GaussianPlan) -> _Merged:
        noisy = m.gaussian_mechanism(data, plan, sensitivity=1)
        kink = plan.claim.epsilon * plan.sigma * plan.sigma  # the loss is epsilon this far from the middle of a pair
        middles = jnp.asarray([0.5, 1.5], kink.dtype)
        return _Merged(noisy, jnp.sort(jnp.concatenate([middles - kink, middles + kink])))

    def run(key: Array, data: Array, plan: m.GaussianPlan) -> Array:
        return m.gaussian_mechanism(data.astype(jnp.int32), plan, sensitivity=1).sample(key)

    return _target(
        "gaussian_mechanism", law, lambda e, d: Guarantee(e, d, relation, "Gaussian mechanism"),
        lambda: [_scalars((0, 1, 2), (1,), relation)], [(0, 1)], ("gaussian_plan",),
        run=run, canaries=run, caveat=_MERGED, plan=lambda privacy: m.gaussian_plan(privacy, sensitivity=1),
    )  # fmt: skip


@dataclass(frozen=True)
class _Lattice:
    """A law on whole numbers as a law on -48, ..., 48 and on what is below or above."""

    law: DiscreteLaplace

    def log_probs(self) -> Array:
        values = jnp.arange(-_REACH, _REACH + 1, dtype=jnp.int32)
        mirrored = DiscreteLaplace(-self.law.loc, self.law.scale, self.law.table)
        below, above = (part.log_survival(jnp.int32(_REACH + 1)) for part in (mirrored, self.law))
        return jnp.concatenate([below[None], self.law.log_probability(values), above[None]])


def _discrete_laplace(relation: Neighboring) -> Target:
    def law(data: Array, plan: m.DiscreteLaplacePlan) -> DiscreteLaplace:
        return m.discrete_laplace_mechanism(data, plan, sensitivity=1)

    return _target(
        "discrete_laplace_mechanism", lambda data, plan: _Lattice(law(data, plan)),
        lambda e, d: m.discrete_laplace_mechanism_guarantee(e, sensitivity=1, neighboring=relation),
        lambda: [_scalars((0, 1, 2), (1,), relation)], [(0, 1)], ("discrete_laplace_plan",),
        run=lambda key, data, plan: law(data, plan).sample(key),
        plan=lambda privacy: m.discrete_laplace_plan(float(privacy.epsilon), sensitivity=1),
    )  # fmt: skip


def _stability_histogram(relation: Neighboring, calibration: str, n: int) -> Target:
    how: dict[str, Any] = {"neighboring": relation}
    counts: Sequence[int] = range(8)
    if calibration == "printed":
        how |= {"calibration": "printed", "alpha": _PRINTED_ALPHA, "n": n}
        least = int(_PRINTED_ALPHA * n / 4) + 1
        counts = sorted({max(least + step, 0) for step in range(-2, 3)})
    replaced = relation is Neighboring.REPLACE_ONE
    moves = [(-1, 1), (1, -1)] if replaced else [(0, 1), (1, 0)]

    def universes() -> list[Universe]:
        few = vectors(counts, 2, moves, relation)
        more = _LARGE + 1 if replaced else _LARGE
        large = _chosen([([_LARGE, _LARGE], [_LARGE - 1, more])], relation, f"{_LARGE} rows in each cell")
        return [few] if calibration == "printed" else [few, large]

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        different, place = np.unique(np.maximum(databases, 0), return_inverse=True)
        one, other = _histogram_cells(different, privacy, how)[place.reshape(-1, 2)].transpose(1, 0, 2)
        return (one[:, :, None] + other[:, None, :]).reshape(len(databases), -1)

    edge = max(counts[-1], 2)
    return _target(
        "stability_histogram", lambda data, p: m.stability_histogram(data, p.epsilon, p.delta, **how),
        lambda e, d: m.stability_histogram_guarantee(e, d, neighboring=relation),
        universes, [([edge, 0], [edge - 1, 1]) if replaced else ([1, 0], [0, 0])],
        table=table, caveat=_MERGED, calibration=calibration,
    )  # fmt: skip


def _histogram_cells(counts: np.ndarray, privacy: Privacy, how: dict[str, Any]) -> np.ndarray:
    """Log-probabilities of one cell of the histogram for each count: not released, or its noisy count in a cell."""
    with jax.enable_x64(True):
        epsilon, delta = jnp.float64(privacy.epsilon), jnp.float64(privacy.delta)
        law = m.stability_histogram(jnp.asarray(counts, jnp.int32), epsilon, delta, **how)
        yes, no = (np.asarray(part) for part in law.release_log_probs())
        threshold, rate = float(law.threshold), float(law.rate)
        edges = np.unique(counts[:, None] + np.arange(_CELLS + 1) / _CELLS)  # likelihood ratios are constant beyond
        noisy = Laplace(jnp.asarray(counts, jnp.float64)[:, None], jnp.float64(1 / rate))
        edges = np.concatenate([[threshold], edges[edges > threshold + 1e-9], [np.inf]])
        inside = np.asarray(noisy.log_mass(jnp.asarray(edges[None, :-1]), jnp.asarray(edges[None, 1:])))
        inside = np.where(np.isneginf(yes)[:, None], -np.inf, inside)
    return np.concatenate([no[:, None], inside], axis=1)


_BUILDERS: dict[str, Callable[[Neighboring], Target]] = {
    "discrete_laplace_mechanism": _discrete_laplace, "gaussian_mechanism": _gaussian, "laplace_mechanism": _laplace,
    "randomized_response": _randomized_response, "revealing_randomized_response": _revealing_randomized_response,
}  # fmt: skip
_OF_SCORES: dict[str, Callable[[_Scores], Target]] = {
    "above_threshold": _above_threshold, "choosing": _choosing, "exponential": _exponential,
    "permute_and_flip": _permute_and_flip, "sparse_vector": _sparse_vector,
}  # fmt: skip
_OTHERS: dict[str, Callable[[Neighboring], Target]] = {
    "a base measure": _exponential_based,
    "growth 2": _choosing_growing,
    "two counts": _laplace_of_two,
}
