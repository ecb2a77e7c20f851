"""Noise on numbers as targets: continuous laws are discretized into cells, integer laws truncated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import mechanisms as m
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.enumeration.exact import table_of
from dpjax.audit.sampling.known import KnownLaw
from dpjax.audit.target.databases import Universe, vectors
from dpjax.audit.target.target import Target
from dpjax.core.types import Neighboring, Privacy
from dpjax.evidence.worlds import chosen, scalars, target_of
from dpjax.laws import DiscreteLaplace, Laplace

_CELLS = 8  # cells between adjacent kinks of a density, for continuous outcomes
_REACH = 48
_SCALES = np.append(-np.geomspace(40, 1 / 4, 24), np.geomspace(1 / 4, 40, 24))  # outer edges, in scales of the noise
_PRINTED_ALPHA = 0.1
_LARGE = 6**10  # a large number of votes for every epsilon >= 1e-6
_MERGED = f"outcomes merged into {_CELLS} cells between kinks of the densities, and others that scale with the noise"


class _Continuous(Protocol):
    @property
    def scale(self) -> Array: ...

    def log_mass(self, low: Array, high: Array) -> Array: ...


@dataclass(frozen=True)
class _Merged:
    """A law on numbers as a law on cells: fine ones between ``kinks``, and others that scale with the noise."""

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
        return _Merged(noisy, jnp.arange(3, dtype=noisy.scale.dtype))

    return target_of(
        "laplace_mechanism",
        law,
        lambda e, d: m.laplace_mechanism_guarantee(e, sensitivity=1, neighboring=relation),
        lambda: [scalars((0, 1, 2), (1,), relation)],
        [(0, 1)],
        run=_noisy,
        canaries=_noisy,
        caveat=_MERGED,
        known=KnownLaw(lambda data, p: m.laplace_mechanism(data, p.epsilon, sensitivity=1)),
    )


def _noisy(key: Array, counts: Array, privacy: Privacy) -> Array:
    """The noisy counts, also for many canaries, each a count of one row."""
    return m.laplace_mechanism(counts.astype(jnp.int32), privacy.epsilon, sensitivity=1).sample(key)


def laplace_of_two(relation: Neighboring) -> Target:
    """Two counts, both of which change if a row is replaced."""
    both = 2 if relation is Neighboring.REPLACE_ONE else 1

    def law(data: Array, p: Privacy) -> Any:
        return m.laplace_mechanism(data, p.epsilon, sensitivity=both)

    def table(databases: Any, p: Privacy) -> np.ndarray:
        marginal = table_of(lambda value, p: _Merged(law(value, p), jnp.arange(3, dtype=jnp.result_type(p.epsilon))))
        first, second = (marginal(np.asarray(databases)[:, i], p) for i in range(2))
        return (first[:, :, None] + second[:, None, :]).reshape(len(databases), -1)

    moves = [(1, -1)] if both == 2 else [(0, 1), (1, 0)]
    return target_of(
        "laplace_mechanism",
        law,
        lambda e, d: m.laplace_mechanism_guarantee(e, sensitivity=both, neighboring=relation),
        lambda: [vectors((0, 1, 2), 2, moves, relation)],
        [([0, 1], [1, 0] if both == 2 else [1, 1])],
        table=table,
        caveat=_MERGED,
    )


def _gaussian(relation: Neighboring) -> Target:
    def law(data: Array, plan: m.GaussianPlan) -> _Merged:
        noisy = m.gaussian_mechanism(data, plan, sensitivity=1)
        kink = plan.claim.epsilon * plan.sigma * plan.sigma  # the loss is epsilon this far from the middle of a pair
        middles = jnp.asarray([0.5, 1.5], kink.dtype)
        return _Merged(noisy, jnp.sort(jnp.concatenate([middles - kink, middles + kink])))

    def run(key: Array, data: Array, plan: m.GaussianPlan) -> Array:
        return m.gaussian_mechanism(data.astype(jnp.int32), plan, sensitivity=1).sample(key)

    return target_of(
        "gaussian_mechanism",
        law,
        lambda e, d: Guarantee(e, d, relation, "Gaussian mechanism"),
        lambda: [scalars((0, 1, 2), (1,), relation)],
        [(0, 1)],
        ("gaussian_plan",),
        run=run,
        canaries=run,
        caveat=_MERGED,
        plan=lambda privacy: m.gaussian_plan(privacy, sensitivity=1),
        known=KnownLaw(lambda data, plan: m.gaussian_mechanism(data, plan, sensitivity=1)),
    )


@dataclass(frozen=True)
class _Lattice:
    """A law on integers as a law on -48, ..., 48 and the two tails."""

    law: DiscreteLaplace

    def log_probs(self) -> Array:
        values = jnp.arange(-_REACH, _REACH + 1, dtype=jnp.int32)
        mirrored = DiscreteLaplace(-self.law.loc, self.law.scale, self.law.table)
        below, above = (part.log_survival(jnp.int32(_REACH + 1)) for part in (mirrored, self.law))
        return jnp.concatenate([below[None], self.law.log_probability(values), above[None]])


def _discrete_laplace(relation: Neighboring) -> Target:
    def law(data: Array, plan: m.DiscreteLaplacePlan) -> DiscreteLaplace:
        return m.discrete_laplace_mechanism(data, plan, sensitivity=1)

    return target_of(
        "discrete_laplace_mechanism",
        lambda data, plan: _Lattice(law(data, plan)),
        lambda e, d: m.discrete_laplace_mechanism_guarantee(e, sensitivity=1, neighboring=relation),
        lambda: [scalars((0, 1, 2), (1,), relation)],
        [(0, 1)],
        ("discrete_laplace_plan",),
        run=lambda key, data, plan: law(data, plan).sample(key),
        plan=lambda privacy: m.discrete_laplace_plan(float(privacy.epsilon), sensitivity=1),
        known=KnownLaw(law),
    )


def histogram_target(relation: Neighboring, calibration: str, n: int) -> Target:
    """The stability histogram; n: rows, for the printed one."""
    how: dict[str, Any] = {"neighboring": relation}
    counts: Sequence[int] = range(8)
    if calibration == "printed":
        how |= {"calibration": "printed", "alpha": _PRINTED_ALPHA, "n": n}
        least = int(_PRINTED_ALPHA * n / 4) + 1
        counts = sorted({max(least + step, 0) for step in range(-2, 3)})
    replaced = relation is Neighboring.REPLACE_ONE
    moves = [(-1, 1), (1, -1)] if replaced else [(0, 1), (1, 0)]

    def law(data: Array, p: Any) -> m.HistogramLaw:
        return m.stability_histogram(data, p.epsilon, p.delta, **how)

    @jax.jit
    def released(data: Array, p: Any) -> tuple[Array, ...]:
        of_data = law(data, p)
        return *of_data.release_log_probs(), of_data.threshold, of_data.rate

    def universes() -> list[Universe]:
        few = vectors(counts, 2, moves, relation)
        more = _LARGE + 1 if replaced else _LARGE
        large = chosen([([_LARGE, _LARGE], [_LARGE - 1, more])], relation, f"{_LARGE} rows in each cell")
        return [few] if calibration == "printed" else [few, large]

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        different, place = np.unique(np.maximum(databases, 0), return_inverse=True)
        first, second = _histogram_cells(different, privacy, released)[place.reshape(-1, 2)].transpose(1, 0, 2)
        return (first[:, :, None] + second[:, None, :]).reshape(len(databases), -1)

    edge = max(counts[-1], 2)
    return target_of(
        "stability_histogram",
        law,
        lambda e, d: m.stability_histogram_guarantee(e, d, neighboring=relation),
        universes,
        [([edge, 0], [edge - 1, 1]) if replaced else ([1, 0], [0, 0])],
        table=table,
        caveat=_MERGED,
        calibration=calibration,
    )


def _histogram_cells(counts: np.ndarray, privacy: Privacy, released: Callable[..., tuple]) -> np.ndarray:
    """Log-probabilities of one histogram cell for each count: not released, or released with noisy count in a cell."""
    with jax.enable_x64(True):
        wide = Privacy(np.float64(privacy.epsilon), np.float64(privacy.delta))
        yes, no, threshold, rate = map(np.asarray, released(counts.astype(np.int32), wide))
        edges = np.unique(counts[:, None] + np.arange(_CELLS + 1) / _CELLS)  # likelihood ratios are constant beyond
        edges = np.append(threshold, edges[edges > threshold + 1e-9])
        ends = np.full(-(-(len(edges) + 1) // 64) * 64, np.inf)  # few lengths, hence few compiled programs
        ends[: len(edges)] = edges
        inside = np.asarray(_masses(counts.astype(np.float64), 1 / rate, ends))[:, : len(edges)]
        inside = np.where(np.isneginf(yes)[:, None], -np.inf, inside)
    return np.concatenate([no[:, None], inside], axis=1)


@jax.jit
def _masses(counts: Array, scale: Array, ends: Array) -> Array:
    """log P(end i <= count + noise <= end i + 1), ``float64[counts, ends - 1]``."""
    return Laplace(counts[:, None], scale).log_mass(ends[None, :-1], ends[None, 1:])


NOISE: dict[str, Callable[[Neighboring], Target]] = {
    "discrete_laplace_mechanism": _discrete_laplace,
    "gaussian_mechanism": _gaussian,
    "laplace_mechanism": _laplace,
}
