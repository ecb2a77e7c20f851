"""Every mechanism of dpjax as a target, on worlds small enough to go through and sharp enough to matter."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
from dpjax.laws import DiscreteLaplace, Laplace

_VOTES = 60
_CELLS = 1 / 8  # width of the cells that continuous outcomes are merged into
_REACH = 48
_PRINTED_ALPHA = 0.1
_MERGED = f"outcomes merged into cells of width {_CELLS:g}, whose edges hold every kink of the densities"


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
    return _BUILDERS[name](relation)


def mechanism_names() -> list[str]:
    """Every name that `mechanism_target` knows."""
    return sorted([*_BUILDERS, "stability", "stability_histogram"])


def relations(name: str) -> tuple[Neighboring, ...]:
    """Under which relations a mechanism makes its claim."""
    return (Neighboring.REPLACE_ONE,) if "randomized_response" in name else tuple(Neighboring)


def _target(
    name: str, law: Callable[[Any, Privacy], Any], claim: Callable[[float, float], Guarantee],
    universe: Callable[[], Universe], hard: Sequence[tuple[Any, Any]], covers: Sequence[str] = (), **how: Any,
) -> Target:  # fmt: skip
    """A mechanism whose output is one draw from ``law(database, privacy)``."""
    how = {"run": lambda key, data, privacy: law(data, privacy).sample(key), "table": table_of(law), **how}
    pairs = [Pair(np.asarray(one, np.int32), np.asarray(other, np.int32), show_numbers) for one, other in hard]
    covered = tuple(f"dpjax.mechanisms.{x}" for x in (name, *covers))
    return Target(name, claim, universes=lambda: [universe()], pairs=lambda: pairs, covers=covered, **how)


def _moves(relation: Neighboring, length: int) -> list[tuple[int, ...]]:
    """How a neighbour moves answers of sensitivity 1: any way; under ADD_OR_REMOVE_ONE all up, to be monotone."""
    steps = (-1, 0, 1) if relation is Neighboring.REPLACE_ONE else (0, 1)
    return [move for move in itertools.product(steps, repeat=length) if any(move)]


def _how(relation: Neighboring) -> dict[str, Any]:
    return {"neighboring": relation, "monotonic": relation is Neighboring.ADD_OR_REMOVE_ONE}


def _exponential(relation: Neighboring) -> Target:
    return _target(
        "exponential", lambda data, p: m.exponential(data, p.epsilon, **_how(relation)),
        lambda e, d: m.exponential_guarantee(e, neighboring=relation),
        lambda: vectors((0, 1, 5, 30), 3, _moves(relation, 3), relation),
        [([0, 30, 30], [1, 29, 29]) if relation is Neighboring.REPLACE_ONE else ([0, 30, 30], [1, 30, 30])],
        ("interval_exponential", "exponential_guarantee"),
    )  # fmt: skip


def _permute_and_flip(relation: Neighboring) -> Target:
    return _target(
        "permute_and_flip", lambda data, p: m.permute_and_flip(data, p.epsilon, **_how(relation)),
        lambda e, d: m.permute_and_flip_guarantee(e, **_how(relation)),
        lambda: vectors((0, 1, 5, 30), 3, _moves(relation, 3), relation),
        [([3, 0, 0], [2, 1, 1]) if relation is Neighboring.REPLACE_ONE else ([3, 0, 0], [3, 1, 0])],
        ("permute_and_flip_sample",),
        run=lambda key, data, p: m.permute_and_flip_sample(key, data, p.epsilon, **_how(relation)),
    )  # fmt: skip


def _above_threshold(relation: Neighboring) -> Target:
    return _target(
        "above_threshold", lambda data, p: m.above_threshold(data, 0, p.epsilon, **_how(relation)),
        lambda e, d: m.above_threshold_guarantee(e, **_how(relation)),
        lambda: vectors((-8, 0, 2, 8), 3, _moves(relation, 3), relation),
        [([2, 2, 2, -1], [1, 1, 1, 0]) if relation is Neighboring.REPLACE_ONE else ([2, 2, 2, 0], [1, 1, 1, 0])],
    )  # fmt: skip


@dataclass(frozen=True)
class _SparseVectorLaw:
    """All answers of `sparse_vector`: each run is AboveThreshold on the queries behind the last answer above."""

    queries: Array
    epsilon: Array
    count: int
    how: dict[str, Any]

    def log_probs(self) -> Array:
        size = self.queries.shape[0]
        start = [m.above_threshold(self.queries, 0, self.epsilon / self.count, where=jnp.arange(size) >= i, **self.how)
                 for i in range(size)]  # fmt: skip
        run = [law.log_probs() for law in start]
        total = []
        for stops in itertools.chain(*(itertools.combinations(range(size), c) for c in range(self.count + 1))):
            begins = [0, *(stop + 1 for stop in stops)]
            ends = [*stops, *([size] if len(stops) < self.count else [])]
            total.append(sum((run[b][e] for b, e in zip(begins, ends, strict=False) if b < size), jnp.zeros(())))
        return jnp.stack(total)


def _sparse_vector(relation: Neighboring) -> Target:
    law = lambda data, p: _SparseVectorLaw(data, p.epsilon, 2, _how(relation))  # noqa: E731
    return _target(
        "sparse_vector", law, lambda e, d: m.sparse_vector_guarantee(e, count=2, **_how(relation)),
        lambda: vectors((-8, 0, 2, 8), 3, _moves(relation, 3), relation),
        [([2, 2, -1, -1], [1, 1, 0, 0]) if relation is Neighboring.REPLACE_ONE else ([2, 2, 0], [1, 1, 0])],
        run=lambda key, data, p: m.sparse_vector(key, data, 0, p.epsilon, count=2, **_how(relation)),
    )  # fmt: skip


def _choosing(relation: Neighboring) -> Target:
    return _target(
        "choosing", lambda data, p: m.choosing(data, p.epsilon, p.delta, **_how(relation)),
        lambda e, d: m.choosing_guarantee(e, d, **_how(relation)),
        lambda: histograms(_VOTES, 3, relation),
        [([1, 0], [0, 1]) if relation is Neighboring.REPLACE_ONE else ([1, 0], [0, 0])],
    )  # fmt: skip


def _stability(relation: Neighboring, calibration: str) -> Target:
    spread = 2 if relation is Neighboring.REPLACE_ONE else 1
    how: dict[str, Any] = {"gap_sensitivity": spread, "calibration": calibration}
    return _target(
        "stability", lambda data, p: m.stability(data, p.epsilon, p.delta, **how),
        lambda e, d: m.stability_guarantee(e, d, gap_sensitivity=spread, neighboring=relation),
        lambda: histograms(80, 3, relation),
        [([2, 0], [1, 1]), ([14, 0], [13, 1])] if spread == 2 else [([1, 0], [0, 0]), ([14, 0], [13, 0])],
        ("release",), calibration=calibration,
    )  # fmt: skip


def _randomized_response(relation: Neighboring) -> Target:
    return _target(
        "randomized_response", lambda data, p: m.randomized_response(data, p.epsilon, categories=3),
        lambda e, d: m.randomized_response_guarantee(e), lambda: _scalars((0, 1, 2), (1, 2), relation), [(0, 1)],
    )  # fmt: skip


def _revealing_randomized_response(relation: Neighboring) -> Target:
    return _target(
        "revealing_randomized_response",
        lambda data, p: m.revealing_randomized_response(data, p.epsilon, p.delta, categories=3),
        lambda e, d: m.revealing_randomized_response_guarantee(e, d),
        lambda: _scalars((0, 1, 2), (1, 2), relation), [(0, 1)],
    )  # fmt: skip


def _scalars(values: Sequence[int], moves: Sequence[int], relation: Neighboring) -> Universe:
    whole = vectors(values, 1, [(move,) for move in moves], relation)
    keep = np.isin(whole.databases[:, 0], values)
    place = np.cumsum(keep) - 1
    pairs = place[whole.pairs[np.all(keep[whole.pairs], axis=1)]]
    words = f"all values in {list(values)}"
    return Universe(whole.databases[keep, 0], pairs, relation, words, show_numbers)


@dataclass(frozen=True)
class _Merged:
    """A law on numbers as a law on cells between ``edges``, outermost ones to infinity."""

    law: Laplace
    edges: np.ndarray

    def log_probs(self) -> Array:
        edges = jnp.asarray(self.edges, self.law.loc.dtype)
        survival = jnp.exp(self.law.log_survival(edges))
        other = jnp.exp(self.law.log_cdf(edges))
        middle = edges[:-1] < self.law.loc  # differences of the smaller tail, so that no digit is lost
        inside = jnp.where(middle, other[1:] - other[:-1], survival[:-1] - survival[1:])
        return jnp.log(jnp.concatenate([other[:1], inside, survival[-1:]]))


def _laplace(relation: Neighboring) -> Target:
    edges = np.arange(-_REACH, _REACH + _CELLS, _CELLS)
    return _target(
        "laplace_mechanism", lambda data, p: _Merged(m.laplace_mechanism(data, p.epsilon, sensitivity=1), edges),
        lambda e, d: m.laplace_mechanism_guarantee(e, sensitivity=1, neighboring=relation),
        lambda: _scalars((0, 1, 2), (1,), relation), [(0, 1)],
        run=_noisy, canaries=_noisy, caveat=_MERGED,
    )  # fmt: skip


def _noisy(key: Array, counts: Array, privacy: Privacy) -> Array:
    """Also with many canaries: each is a count of its own, and a row of one."""
    return m.laplace_mechanism(counts.astype(jnp.int32), privacy.epsilon, sensitivity=1).sample(key)


def _discrete_laplace(relation: Neighboring) -> Target:
    values = jnp.arange(-_REACH, _REACH + 1, dtype=jnp.int32)

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        def one(value: Array) -> Array:
            law = m.discrete_laplace_mechanism(value, float(privacy.epsilon), sensitivity=1)
            inside = law.log_probability(values)
            above = law.log_survival(jnp.int32(_REACH + 1))
            below = DiscreteLaplace(-law.loc, law.scale, law.table).log_survival(jnp.int32(_REACH + 1))
            return jnp.concatenate([below[None], inside, above[None]])

        with jax.enable_x64(True):
            return np.asarray(jax.vmap(one)(jnp.asarray(databases)))

    def run(key: Array, data: Any, privacy: Privacy) -> Array:
        return m.discrete_laplace_mechanism(data, float(privacy.epsilon), sensitivity=1).sample(key)

    return _target(
        "discrete_laplace_mechanism", lambda data, p: None,
        lambda e, d: m.discrete_laplace_mechanism_guarantee(e, sensitivity=1, neighboring=relation),
        lambda: _scalars((0, 1, 2), (1,), relation), [(0, 1)], table=table, run=run,
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

    def universe() -> Universe:
        return vectors(counts, 2, moves, relation)

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        cells = _histogram_cells(np.arange(int(np.max(databases)) + 1), privacy, how)
        one, other = (cells[np.maximum(np.asarray(databases)[:, i], 0)] for i in range(2))
        return (one[:, :, None] + other[:, None, :]).reshape(len(databases), -1)

    edge = max(counts[-1], 2)
    return _target(
        "stability_histogram", lambda data, p: m.stability_histogram(data, p.epsilon, p.delta, **how),
        lambda e, d: m.stability_histogram_guarantee(e, d, neighboring=relation),
        universe, [([edge, 0], [edge - 1, 1]) if replaced else ([1, 0], [0, 0])],
        table=table, caveat=_MERGED, calibration=calibration,
    )  # fmt: skip


def _histogram_cells(counts: np.ndarray, privacy: Privacy, how: dict[str, Any]) -> np.ndarray:
    """Log-probabilities of one cell of the histogram for each count: not released, or its noisy count in a cell."""
    with jax.enable_x64(True):
        epsilon, delta = jnp.float64(privacy.epsilon), jnp.float64(privacy.delta)
        law = m.stability_histogram(jnp.asarray(counts, jnp.int32), epsilon, delta, **how)
        yes, no = (np.asarray(part) for part in law.release_log_probs())
        threshold, rate = float(law.threshold), float(law.rate)
        edges = np.arange(0, counts[-1] + 1 + _CELLS, _CELLS)  # likelihood ratios are constant beyond
        merged = Laplace(jnp.asarray(counts, jnp.float64)[:, None], jnp.float64(1 / rate))
        edges = np.concatenate([[threshold], edges[edges > threshold + 1e-9]])
        survival = np.exp(np.asarray(merged.log_survival(jnp.asarray(edges)[None, :])))
    with np.errstate(divide="ignore"):
        inside = np.log(np.append(survival[:, :-1] - survival[:, 1:], survival[:, -1:], axis=1))
        inside = np.where(np.isneginf(yes)[:, None], -np.inf, inside)
    return np.concatenate([no[:, None], inside], axis=1)


_BUILDERS: dict[str, Callable[[Neighboring], Target]] = {
    "above_threshold": _above_threshold, "choosing": _choosing, "discrete_laplace_mechanism": _discrete_laplace,
    "exponential": _exponential, "laplace_mechanism": _laplace, "permute_and_flip": _permute_and_flip,
    "randomized_response": _randomized_response, "revealing_randomized_response": _revealing_randomized_response,
    "sparse_vector": _sparse_vector,
}  # fmt: skip
