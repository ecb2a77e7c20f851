"""Threshold sanitizers as targets, over databases of a few numbers of two bits."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import logsumexp

from dpjax import checks
from dpjax.audit.databases import Universe, samples, show_sample
from dpjax.audit.outcomes import exact_table
from dpjax.audit.target import Pair, Target
from dpjax.concepts.domain import Domain
from dpjax.laws import Categorical
from dpjax.mechanisms.median import plan_exponential
from dpjax.sanitizers import (
    AnySanitizer,
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    RankBlocks,
    RecursiveQuantiles,
    Slices,
)
from dpjax.types import Neighboring, Privacy, Sample

_BITS, _ROWS = 2, 4
SMALL: dict[str, AnySanitizer] = {
    "sanitizer-blocks": RankBlocks(2, plan_exponential(_BITS, 1.0, 0.1)),
    "sanitizer-hierarchy": Hierarchy(1, _BITS, 0.5),
    "sanitizer-independent": IndependentQuantiles(2, _BITS),
    "sanitizer-joint": JointQuantiles(2, _BITS),
    "sanitizer-recursive": RecursiveQuantiles(2, _BITS),
    "sanitizer-slices": Slices(2, _BITS, 1.5, 0.05),
}
Table = Callable[[Any, Privacy], np.ndarray]


def sanitizer_target(name: str) -> Target:
    """The target of a threshold sanitizer, small; slices have the budget of their own plan, whatever is asked for."""
    checks.choice("target", name, sanitizer_names())
    sanitizer = SMALL[name]
    table, caveat = _listed(sanitizer), ""
    if isinstance(sanitizer, Slices):
        table = _mixed(sanitizer)
    elif isinstance(sanitizer, Hierarchy):
        table, caveat = _coarse(sanitizer), "of a noisy count only: negative, at least all rows, or between"

    def run(key: Array, data: Sample, privacy: Privacy) -> tuple[Array, Array]:
        made = sanitizer.sanitize(key, data.x, data.mask, privacy)
        return made.points, made.weights

    return Target(
        name, lambda e, d: sanitizer.guarantee(Privacy(e, d)), run, _universes, _pairs, table, caveat=caveat,
        covers=(f"dpjax.sanitizers.{type(sanitizer).__name__}",),
    )  # fmt: skip


def sanitizer_names() -> list[str]:
    """Every name that `sanitizer_target` knows."""
    return sorted(SMALL)


def _universes() -> list[Universe]:
    replace = Neighboring.REPLACE_ONE
    return [samples(Domain(1 << _BITS), 0, rows, replace, ordered=False) for rows in range(1, _ROWS + 1)]


def _listed(sanitizer: AnySanitizer) -> Table:
    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        with jax.enable_x64(True):
            exactly = Privacy(jnp.float64(privacy.epsilon), jnp.float64(privacy.delta))

            def run(data: Sample) -> tuple[Array, Array]:
                made = sanitizer.sanitize(jax.random.key(0), data.x, data.mask, exactly)
                return made.points, made.weights

            return exact_table(run, databases, 1 << _BITS)

    return table


def _mixed(plan: Slices) -> Table:
    """Of two slices the first has the only length that matters; it is summed out, lengths beyond all rows as one."""

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        capacity = databases.mask.shape[1]
        lengths = np.arange(capacity + 1, dtype=np.int32)
        log_law = -plan.rate * lengths + np.append(np.full(capacity, math.log(-math.expm1(-plan.rate))), 0.0)

        def run(base: tuple[Sample, Array]) -> tuple[Array, Array]:
            data, length = base
            made = plan.of_lengths(jax.random.key(0), data.x, data.mask, jnp.stack([length, jnp.int32(0)]))
            return made.points, made.weights

        repeated = jax.tree.map(lambda part: jnp.repeat(part, len(lengths), axis=0), databases)
        count = databases.mask.shape[0]
        given = exact_table(run, (repeated, jnp.asarray(np.tile(lengths, count))), 1 << _BITS)
        return logsumexp(given.reshape(count, len(lengths), -1) + log_law[None, :, None], axis=1)

    return table


def _coarse(plan: Hierarchy) -> Table:
    """Medians and noisy counts, from which the database is made. The tails of a count have the ratio of its density."""

    def run(data: Sample, privacy: Privacy) -> tuple[Array, Array]:
        key = jax.random.key(0)
        _, medians, counts = plan.leaves(key, data.x, data.mask, privacy)
        low, high = jnp.float64(0), jnp.float64(data.mask.shape[0])
        tails = counts.log_cdf(low), counts.log_survival(high)
        middle = jnp.log(-jnp.expm1(jnp.logaddexp(*tails)))
        cells = jnp.stack([*tails, middle], axis=1)
        return medians, jnp.stack([Categorical(cells[i]).sample(key) for i in range(cells.shape[0])])

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        with jax.enable_x64(True):
            exactly = Privacy(jnp.float64(privacy.epsilon), jnp.float64(privacy.delta))
            return exact_table(lambda data: run(data, exactly), databases, 1 << _BITS)

    return table


def _pairs() -> list[Pair]:
    """A row moves from one end to the other, or across the middle."""
    found = [([0, 0, 3, 3], [0, 3, 3, 3]), ([0, 0, 0, 3], [0, 0, 3, 3]), ([0, 0, 0, 0], [0, 0, 0, 3])]
    return [Pair(_sample(one), _sample(other), show_sample) for one, other in found]


def _sample(values: list[int]) -> Sample:
    rows = len(values)
    return Sample(jnp.asarray(values, jnp.uint32)[:, None], jnp.zeros((rows, 0), bool), jnp.ones(rows, bool))
