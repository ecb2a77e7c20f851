"""Private medians as targets, over databases of a few short bit strings, with plans small enough to list everything."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.audit.databases import Universe, samples, show_sample
from dpjax.audit.outcomes import exact_table
from dpjax.audit.target import Pair, Target
from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy, Sample
from dpjax.mechanisms import median as m
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median.plan_recprefix import PrefixStep
from dpjax.mechanisms.median.plan_treelog import TreeStep

REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE
_BITS, _ROWS = 2, 5
_WIDE = 16  # bits of the databases of statistical audits

SMALL_RECPREFIX = m.RecPrefixPlan(
    _BITS, 1.0, 0.1, None, 0.0, (PrefixStep(_BITS, 0.25, 0.25, 1.0, 2, 1, 1),), 0.5, _BITS + 1, 1, 1, 1.0
)
SMALL_TREELOG = m.TreeLogPlan(
    _BITS, 1.0, 0.1, None, 0.0, (TreeStep(_BITS, 0.25, 0.75, 0.25, 0.25, 0.5, 0.5, 0.5, 4, 1),), 0.25, _BITS + 1, 1, 1,
    1.0,
)  # fmt: skip

Run = Callable[[Array, Sample, Privacy], Any]


def median_target(name: str, relation: Neighboring = REPLACE) -> Target:
    """The target of a private median by the name of its function."""
    checks.choice("target", name, median_names())
    if relation not in median_relations(name):
        raise InputError("relation", REPLACE.value, relation.value, f"{name} makes no other claim")
    return _BUILDERS[name](relation)


def median_names() -> list[str]:
    """Every name that `median_target` knows."""
    return sorted(_BUILDERS)


def median_relations(name: str) -> tuple[Neighboring, ...]:
    """Under which relations a median makes its claim."""
    return (REPLACE,) if name in ("recprefix", "treelog_rsc") else (REPLACE, ADD)


def _exponential(relation: Neighboring) -> Target:
    def run(key: Array, data: Sample, privacy: Privacy) -> Array:
        how: dict[str, Any] = {"monotonic": relation is ADD, "neighboring": relation}
        return m.exponential_median(data.x, data.mask, privacy.epsilon, bits=_BITS, **how).sample(key)

    claim = lambda e, d: exponential_guarantee(e, "exponential median", relation)  # noqa: E731
    return _target("exponential_median", run, claim, relation, ("private_median",))


def _candidates(relation: Neighboring) -> Target:
    def run(key: Array, data: Sample, privacy: Privacy) -> Array:
        how: dict[str, Any] = {"monotonic": relation is ADD, "neighboring": relation}
        v = jnp.zeros(1, jnp.uint32)
        return m.three_candidates(data.x, data.mask, privacy.epsilon, v, jnp.int32(0), bits=_BITS, **how)[1].sample(key)

    claim = lambda e, d: exponential_guarantee(e, "one of three points", relation)  # noqa: E731
    return _target("three_candidates", run, claim, relation)


def _recprefix(relation: Neighboring) -> Target:
    def run(key: Array, data: Sample, privacy: Privacy) -> m.MedianAnswer:
        return m.recprefix(key, data.x, data.mask, privacy, SMALL_RECPREFIX)

    claim = lambda e, d: m.recprefix_guarantee(Privacy(e, d), SMALL_RECPREFIX)  # noqa: E731
    return _target("recprefix", run, claim, relation)


def _treelog(relation: Neighboring) -> Target:
    def run(key: Array, data: Sample, privacy: Privacy) -> m.MedianAnswer:
        return m.treelog(key, data.x, data.mask, privacy, SMALL_TREELOG)

    claim = lambda e, d: m.treelog_guarantee(Privacy(e, d), SMALL_TREELOG, relation)  # noqa: E731
    return _target("treelog", run, claim, relation)


def _treelog_rsc(relation: Neighboring) -> Target:
    """Its plan is made for one budget, whatever a run is given: a large one, which needs few rows."""
    plan = m.plan_rsc(_WIDE, 4.0, 0.1, 0.9)

    def run(key: Array, data: Sample, privacy: Privacy) -> m.MedianAnswer:
        return m.treelog_rsc(key, data.x, data.mask, plan)

    whole = plan.guarantee()
    return Target(
        "treelog_rsc", lambda e, d: whole, run, list, lambda: _borderline(plan.steps[0].deepest),
        covers=("dpjax.mechanisms.median.treelog_rsc", "dpjax.mechanisms.cut_slice"),
    )  # fmt: skip


def _borderline(rows: int) -> list[Pair]:
    """Two values in equal parts, next to a stability test that turns, and one of them alone: a row moves over."""
    pairs = []
    for light in (rows // 2, 0):
        values = [1 << (_WIDE - 1)] * light + [0] * (rows - light)
        pairs.append((values, [1, *values[1:]]))
        pairs.append((values, [*values[:-1], (1 << _WIDE) - 1]))
    return [Pair(_sample(one, _WIDE), _sample(other, _WIDE), show_sample) for one, other in pairs]


def _sample(values: list[int], bits: int) -> Sample:
    """Rows without labels."""
    rows = len(values)
    return Sample(jnp.asarray(B.encode(values, bits)), jnp.zeros((rows, 0), bool), jnp.ones(rows, bool))


def _target(
    name: str, run: Run, claim: Callable[[float, float], Guarantee], relation: Neighboring, covers: tuple = ()
) -> Target:
    def universes() -> list[Universe]:
        sizes = range(1, _ROWS + 1) if relation is REPLACE else (2, _ROWS)
        return [samples(Domain(1 << _BITS), 0, rows, relation, ordered=False) for rows in sizes]

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        with jax.enable_x64(True):
            exactly = Privacy(jnp.float64(privacy.epsilon), jnp.float64(privacy.delta))
            return exact_table(lambda data: run(jax.random.key(0), data, exactly), databases, 1 << _BITS)

    def pairs() -> list[Pair]:
        fewer = [0, 0, 3, 3]
        other = [0, 3, 3, 3] if relation is REPLACE else None
        one, two = _sample(fewer, _BITS), _sample(other or fewer, _BITS)
        if other is None:
            two = Sample(two.x, two.y, jnp.arange(4) < 3)
        return [Pair(one, two, show_sample)]

    covered = tuple(f"dpjax.mechanisms.median.{what}" for what in (name, *covers))
    return Target(name, claim, run, universes, pairs, table, covers=covered)


_BUILDERS: dict[str, Callable[[Neighboring], Target]] = {
    "exponential_median": _exponential, "recprefix": _recprefix, "three_candidates": _candidates,
    "treelog": _treelog, "treelog_rsc": _treelog_rsc,
}  # fmt: skip
