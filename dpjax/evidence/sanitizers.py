"""Sanitizers as targets, over databases of a few numbers of two bits."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.audit.databases import Universe, samples, show_sample
from dpjax.audit.exact import table_of_run
from dpjax.audit.target import Pair, Target
from dpjax.concepts.domain import Domain
from dpjax.concepts.finite import Finite
from dpjax.core import checks
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
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

_BITS, _ROWS = 2, 4
_ACCURACY = Accuracy(0.5, 0.1)  # structure is given: it decides nothing
_QUERIES = Finite.of([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]])
SMALL: dict[str, Sanitizer] = {
    "sanitizer-blocks": RankBlocks(_BITS, blocks=2, median="exponential"),
    "sanitizer-blr": BLR(_QUERIES, 2),
    "sanitizer-hierarchy": Hierarchy(_BITS, levels=1, counts=0.5),
    "sanitizer-independent": IndependentQuantiles(_BITS, count=2),
    "sanitizer-joint": JointQuantiles(_BITS, count=2, ties=0),
    "sanitizer-mwem": MWEM(_QUERIES, 2),
    "sanitizer-mwem-replays": MWEM(_QUERIES, 2, 2),
    "sanitizer-points": PointCounts(Domain(1 << _BITS), 2, 2),
    "sanitizer-recursive": RecursiveQuantiles(_BITS, levels=2, ties=0),
    "sanitizer-slices": Slices(_BITS, count=2),
}


def sanitizer_target(name: str) -> Target:
    """The target of a sanitizer, small."""
    checks.choice("target", name, sanitizer_names())
    sanitizer = SMALL[name]

    def plan(privacy: Privacy) -> Any:
        return sanitizer.plan(privacy, _ACCURACY)

    def run(key: Array, data: Sample, plan: Any) -> tuple[Array, Array]:
        made = sanitizer.sanitize(key, data.x, data.mask, plan)
        return made.points, made.weights

    return Target(
        name, lambda e, d: sanitizer.guarantee(plan(Privacy(e, d))), run, _universes, _pairs, table_of_run(run),
        plan=plan, covers=(f"dpjax.sanitizers.{type(sanitizer).__name__}",),
    )  # fmt: skip


def sanitizer_names() -> list[str]:
    """Every name that `sanitizer_target` knows."""
    return sorted(SMALL)


def _universes() -> list[Universe]:
    replace = Neighboring.REPLACE_ONE
    return [samples(Domain(1 << _BITS), 0, rows, replace, ordered=False) for rows in range(1, _ROWS + 1)]


def _pairs() -> list[Pair]:
    """A row moves from one end to the other, or across the middle."""
    found = [([0, 0, 3, 3], [0, 3, 3, 3]), ([0, 0, 0, 3], [0, 0, 3, 3]), ([0, 0, 0, 0], [0, 0, 0, 3])]
    return [Pair(_sample(one), _sample(other), show_sample) for one, other in found]


def _sample(values: list[int]) -> Sample:
    rows = len(values)
    return Sample(jnp.asarray(values, jnp.uint32)[:, None], jnp.zeros((rows, 0), bool), jnp.ones(rows, bool))
