"""Private medians as targets, on databases of few short bit strings, with plans small enough to list all outcomes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.audit.enumeration.exact import table_of_run
from dpjax.audit.target.databases import Universe, samples, show_sample
from dpjax.audit.target.target import Pair, Target, rounded
from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import whole
from dpjax.core.types import Neighboring, Privacy, Sample
from dpjax.evidence.worlds import rows_of
from dpjax.mechanisms import median as m
from dpjax.mechanisms.median.plan_recprefix import PrefixStepDesign
from dpjax.mechanisms.median.plan_treelog import TreeStepDesign

REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE
_BITS, _ROWS = 2, 5
_WIDE, _DEEPEST = 16, 60  # number of bits and of deepest records in statistical audits

Run = Callable[[Array, Sample, Any], Any]


def small_recprefix(bits: int, privacy: Privacy, gap: int = 2) -> m.RecPrefixPlan:
    """RecPrefix at this budget with sizes for a handful of rows, which cost accuracy, not privacy."""
    step = PrefixStepDesign(bits, 0.25, 0.25, 1.0, gap, 1, 1)
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    return m.RecPrefixDesign(bits, epsilon, delta, None, 0.0, 1, 1.0, (step,), bits + 1, 1, 0.5).plan()


def small_majority(bits: int, privacy: Privacy) -> m.MajorityPlan:
    """Majority with half of epsilon for each step, and a threshold of half of the rows."""
    return m.MajorityDesign(bits, float(privacy.epsilon), float(privacy.delta), None, 0.0, 1, 1.0, 0.5, 1).plan()


def small_treelog(bits: int, privacy: Privacy) -> m.TreeLogPlan:
    """TreeLog with such sizes: 4 deepest rows."""
    step = TreeStepDesign(bits, 0.25, 0.75, 0.25, 0.25, 0.5, 0.5, 0.5, 4, 1)
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    return m.TreeLogDesign(bits, epsilon, delta, None, 0.0, 1, 1.0, (step,), bits + 1, 1, 0.25).plan()


def small_rsc(bits: int, privacy: Privacy, deepest: int = 4) -> m.RscPlan:
    """TreeLog by RSC with such sizes."""
    plan = m.plan_rsc(bits, float(privacy.epsilon), float(privacy.delta), 0.9).plan()
    return replace(plan, steps=tuple(replace(step, deepest=whole(deepest), gap=whole(1)) for step in plan.steps))


def median_target(name: str, relation: Neighboring = REPLACE) -> Target:
    """The target of a private median by the name of its function."""
    checks.choice("target", name, median_names())
    if relation not in median_relations(name):
        raise InputError("relation", REPLACE.value, relation.value, f"{name} makes no other claim")
    return _BUILDERS[name](relation)


def median_names() -> list[str]:
    """All names that `median_target` accepts."""
    return sorted(_BUILDERS)


def median_relations(name: str) -> tuple[Neighboring, ...]:
    """The relations under which a median claims privacy."""
    return (REPLACE,) if name in ("majority", "recprefix", "treelog_rsc") else (REPLACE, ADD)


def _exponential(relation: Neighboring) -> Target:
    how: dict[str, Any] = {"bits": _BITS, "monotonic": relation is ADD, "neighboring": relation}

    def run(key: Array, data: Sample, privacy: Privacy) -> Array:
        return m.exponential_median(data.x, data.mask, privacy.epsilon, **how).sample(key)

    claim = lambda e, d: exponential_guarantee(e, "exponential median", relation)  # noqa: E731
    return _target("exponential_median", run, claim, relation, ("private_median",))


def _candidates(relation: Neighboring) -> Target:
    how: dict[str, Any] = {"bits": _BITS, "monotonic": relation is ADD, "neighboring": relation}

    def run(key: Array, data: Sample, privacy: Privacy) -> Array:
        v = jnp.zeros(1, jnp.uint32)
        return m.three_candidates(data.x, data.mask, privacy.epsilon, v, jnp.int32(0), **how)[1].sample(key)

    claim = lambda e, d: exponential_guarantee(e, "one of three points", relation)  # noqa: E731
    return _target("three_candidates", run, claim, relation)


def _recprefix(relation: Neighboring) -> Target:
    plan = partial(small_recprefix, _BITS)
    claim = lambda e, d: m.recprefix_guarantee(plan(Privacy(e, d)))  # noqa: E731
    return _target("recprefix", _run, claim, relation, plan=plan)


def _majority(relation: Neighboring) -> Target:
    plan = partial(small_majority, _BITS)
    claim = lambda e, d: plan(Privacy(e, d)).guarantee()  # noqa: E731
    return _target("majority", _run, claim, relation, plan=plan)


def _treelog(relation: Neighboring) -> Target:
    plan = partial(small_treelog, _BITS)
    claim = lambda e, d: m.treelog_guarantee(plan(Privacy(e, d)), relation)  # noqa: E731
    return _target("treelog", _run, claim, relation, plan=plan)


def _treelog_rsc(relation: Neighboring) -> Target:
    """Databases at the threshold of a test on ``_DEEPEST`` rows; at (1, 1e-6) the mechanism abstains on all of them."""
    plan = partial(small_rsc, _WIDE, deepest=_DEEPEST)
    return Target(
        "treelog_rsc",
        lambda e, d: m.treelog_rsc_guarantee(plan(Privacy(e, d))),
        _run,
        list,
        lambda: _borderline(_DEEPEST),
        covers=("dpjax.mechanisms.median.treelog_rsc", "dpjax.mechanisms.cut_slice"),
        plan=plan,
    )


def _run(key: Array, data: Sample, plan: m.MedianPlan) -> m.MedianAnswer:
    return plan.run(key, data.x, data.mask)


def _borderline(rows: int) -> list[Pair]:
    """Two values in equal parts, at the threshold of a stability test, and one value alone: one row changes."""
    pairs = []
    for light in (rows // 2, 0):
        values = [1 << (_WIDE - 1)] * light + [0] * (rows - light)
        pairs.append((values, [1, *values[1:]]))
        pairs.append((values, [*values[:-1], (1 << _WIDE) - 1]))
    return [Pair(rows_of(first, _WIDE), rows_of(second, _WIDE), show_sample) for first, second in pairs]


def _target(
    name: str,
    run: Run,
    claim: Callable[[float, float], Guarantee],
    relation: Neighboring,
    covers: tuple = (),
    plan: Callable[[Privacy], Any] = rounded,
) -> Target:
    def universes() -> list[Universe]:
        sizes = range(1, _ROWS + 1) if relation is REPLACE else (2, _ROWS)
        return [samples(Domain(1 << _BITS), 0, rows, relation, ordered=False) for rows in sizes]

    def pairs() -> list[Pair]:
        first, second = rows_of([0, 0, 3, 3], _BITS), rows_of([0, 3, 3, 3], _BITS)
        fewer = Sample(first.x, first.y, jnp.arange(4) < 3)
        return [Pair(first, second if relation is REPLACE else fewer, show_sample)]

    covered = tuple(f"dpjax.mechanisms.median.{what}" for what in (name, *covers))
    return Target(name, claim, run, universes, pairs, table_of_run(run), plan, covers=covered)


_BUILDERS: dict[str, Callable[[Neighboring], Target]] = {
    "exponential_median": _exponential,
    "majority": _majority,
    "recprefix": _recprefix,
    "three_candidates": _candidates,
    "treelog": _treelog,
    "treelog_rsc": _treelog_rsc,
}
