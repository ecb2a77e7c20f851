"""Sanitizers as targets, over databases of a few numbers of two bits."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import logsumexp

from dpjax.audit.databases import Universe, samples, show_sample
from dpjax.audit.outcomes import exact_table
from dpjax.audit.target import Pair, Target
from dpjax.concepts.domain import Domain
from dpjax.concepts.finite import Finite
from dpjax.core import checks
from dpjax.core.types import Neighboring, Privacy, Sample
from dpjax.laws import Categorical, Laplace
from dpjax.mechanisms.median import plan_exponential
from dpjax.sanitizers import (
    BLR,
    MWEM,
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    PointCounts,
    RankBlocks,
    RecursiveQuantiles,
    Sanitizer,
    Slices,
)
from dpjax.sanitizers.points import value_counts
from dpjax.sanitizers.queries import answers, histogram

_BITS, _ROWS = 2, 4
_QUERIES = Finite.of([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]])
SMALL: dict[str, Sanitizer] = {
    "sanitizer-blocks": RankBlocks(2, plan_exponential(_BITS, 1.0, 0.1)),
    "sanitizer-blr": BLR(_QUERIES, 2),
    "sanitizer-hierarchy": Hierarchy(1, _BITS, 0.5),
    "sanitizer-independent": IndependentQuantiles(2, _BITS),
    "sanitizer-joint": JointQuantiles(2, _BITS),
    "sanitizer-mwem": MWEM(_QUERIES, 2),
    "sanitizer-points": PointCounts(Domain(1 << _BITS), 2, 2),
    "sanitizer-recursive": RecursiveQuantiles(2, _BITS),
    "sanitizer-slices": Slices(2, _BITS, 1.5, 0.05),
}
Run = Callable[[Sample, Privacy], Any]
Table = Callable[[Any, Privacy], np.ndarray]


def sanitizer_target(name: str) -> Target:
    """The target of a sanitizer, small; slices have the budget of their own plan, whatever is asked for."""
    checks.choice("target", name, sanitizer_names())
    sanitizer = SMALL[name]
    table, caveat = _of(_listed(sanitizer)), ""
    if isinstance(sanitizer, Slices):
        table = _mixed(sanitizer)
    elif isinstance(sanitizer, Hierarchy):
        table, caveat = _of(_coarse(sanitizer)), "of a noisy count only: negative, at least all rows, or between"
    elif isinstance(sanitizer, PointCounts):
        table, caveat = _of(_counted(sanitizer)), "noisy counts above all rows not told apart"
    elif isinstance(sanitizer, MWEM):
        table = _of(_asked(sanitizer))

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


def _of(run: Run) -> Table:
    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        with jax.enable_x64(True):
            exactly = Privacy(jnp.float64(privacy.epsilon), jnp.float64(privacy.delta))
            return exact_table(lambda data: run(data, exactly), databases, 1 << _BITS)

    return table


def _listed(sanitizer: Sanitizer) -> Run:
    def run(data: Sample, privacy: Privacy) -> tuple[Array, Array]:
        made = sanitizer.sanitize(jax.random.key(0), data.x, data.mask, privacy)
        return made.points, made.weights

    return run


def _counted(plan: PointCounts) -> Run:
    """Noisy counts as whole numbers, those above all rows as one: their likelihood ratio is constant."""

    def run(data: Sample, privacy: Privacy) -> tuple[Array, Array]:
        key, rows = jax.random.key(0), data.mask.shape[0]
        counts, values = value_counts(data.x, data.mask, plan.domain.size)
        law = plan.histogram(counts, privacy)
        noise = Laplace(counts[:, None].astype(law.rate.dtype), 1 / law.rate)
        edges = jnp.maximum(law.threshold, jnp.asarray(np.append(-np.inf, np.arange(rows + 1) + 0.5), law.rate.dtype))
        yes, no = law.release_log_probs()
        cells = jnp.concatenate([no[:, None], _between(noise.log_survival(edges[None]), yes[:, None])], axis=1)
        cell = jnp.stack([Categorical(cells[slot]).sample(key) for slot in range(rows)])
        made = plan.synthetic(values, cell > 0, (cell - 1).astype(jnp.float32), jnp.sum(data.mask, dtype=jnp.int32))
        return made.points, made.weights

    return run


def _asked(plan: MWEM) -> Run:
    """Round by round, the rounded counts by their exact law."""

    def run(data: Sample, privacy: Privacy) -> tuple[Array, Array]:
        key, part, most = jax.random.key(0), plan.part(privacy), data.mask.shape[0]
        rows = jnp.sum(data.mask, dtype=jnp.int32)
        truth = answers(plan.queries, histogram(plan.queries, data.x, data.mask))
        state, queries, counts = plan.start(), *(jnp.zeros(plan.rounds, jnp.int32) for _ in range(2))
        for number in range(plan.rounds):
            units = plan.units(state, rows)
            estimate = plan.estimates(units, rows)
            asked = plan.choice_law(estimate, truth, part).sample(key)
            noise = plan.count_law(truth[asked], part)
            edges = jnp.asarray(np.append(-np.inf, np.arange(most) + 0.5), part.dtype)
            count = Categorical(_between(noise.log_survival(edges), jnp.zeros(1, part.dtype))).sample(key)
            count = jnp.minimum(count, rows)
            queries, counts = queries.at[number].set(asked), counts.at[number].set(count)
            state = plan.moved(state, units, asked, count - estimate[asked])
            state = plan.replayed(state, queries, counts, jnp.int32(number + 1), rows)
        made = plan.answer(state, rows)
        return made.points, made.weights

    return run


def _between(survival: Array, possible: Array) -> Array:
    """Log-probabilities of what lies between ascending edges, the last without end; -inf where impossible."""
    beyond = jnp.concatenate([survival[..., 1:], jnp.full((*survival.shape[:-1], 1), -jnp.inf)], axis=-1)
    inside = survival + jnp.log(-jnp.expm1(jnp.minimum(beyond - survival, 0)))
    return jnp.where(jnp.isneginf(possible), -jnp.inf, inside)


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


def _coarse(plan: Hierarchy) -> Run:
    """Medians and noisy counts, from which the database is made. The tails of a count have the ratio of its density."""

    def run(data: Sample, privacy: Privacy) -> tuple[Array, Array]:
        key = jax.random.key(0)
        _, medians, counts = plan.leaves(key, data.x, data.mask, privacy)
        low, high = jnp.float64(0), jnp.float64(data.mask.shape[0])
        tails = counts.log_cdf(low), counts.log_survival(high)
        middle = jnp.log(-jnp.expm1(jnp.logaddexp(*tails)))
        cells = jnp.stack([*tails, middle], axis=1)
        return medians, jnp.stack([Categorical(cells[i]).sample(key) for i in range(cells.shape[0])])

    return run


def _pairs() -> list[Pair]:
    """A row moves from one end to the other, or across the middle."""
    found = [([0, 0, 3, 3], [0, 3, 3, 3]), ([0, 0, 0, 3], [0, 0, 3, 3]), ([0, 0, 0, 0], [0, 0, 0, 3])]
    return [Pair(_sample(one), _sample(other), show_sample) for one, other in found]


def _sample(values: list[int]) -> Sample:
    rows = len(values)
    return Sample(jnp.asarray(values, jnp.uint32)[:, None], jnp.zeros((rows, 0), bool), jnp.ones(rows, bool))
