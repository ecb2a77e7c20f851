"""Every leaf of every plan times 8, 1/8, -1, and plus and minus 1: the guarantee follows, or the plan is refused.

Plans are values that anybody may write. A guarantee therefore checks what its proof assumes of the leaves that run:
it raises `InputError`, or an exact audit of the edited plan in the smallest world of `dpjax.evidence` confirms it.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence, mechanisms
from dpjax.core.checks import InputError
from dpjax.core.plans import Number, require_leaves
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.evidence.sanitizers import SMALL
from dpjax.mechanisms import median
from dpjax.mechanisms.cover import cover_guarantee, cover_plan

BUDGET, ACCURACY, ROWS = Privacy(1.0, 0.01), Accuracy(0.1, 0.9), 3
QUICK = {"confident", "kln-points", "median-thresholds"}
UNLISTED = {"cover", "gaussian", "treelog_rsc"} | {
    name for name in evidence.learner_names() if evidence.learner_world(name).unlisted
}  # they draw continuous noise or too many outcomes
REPLACE = Neighboring.REPLACE_ONE
FREE = ("cuts", "weights")  # arrays of lists, on which privacy does not depend, whatever they hold
UNPUBLISHED = {("conjunction-noisy", ".scale")}
"""Noise of counts that no output shows: the guarantee holds for any, see docs/proofs/set-cover-hidden.md."""
COUNTED = (
    "threshold",
    "records",
    "subsamples",
    "rows",
    "window",
    "ends",
    "batches",
    "high",
    "deep",
    "deepest",
    "gap",
    "margin",
    "claim.epsilon",
)


@dataclass(frozen=True)
class Subject:
    """A plan, its guarantee, and the target that runs it; None without an exact audit."""

    plan: Any
    guarantee: Any
    target: Any = None
    relation: Neighboring = REPLACE


def of_learner(name):
    world = evidence.learner_world(name)
    learner, found = world.learner, world.target(name)

    def run(plan):
        return replace(found, plan=lambda privacy: {1: plan}, claims=None)

    plan = learner.plan(BUDGET, ACCURACY, ROWS)
    return Subject(plan, learner.guarantee, None if world.unlisted else run, learner.neighboring)


def of_sanitizer(name):
    found = evidence.sanitizer_target(name)

    def run(plan):
        return replace(found, plan=lambda privacy: plan, universes=lambda: found.universes()[1:2])

    return Subject(SMALL[name].plan(BUDGET, Accuracy(0.5, 0.1)), SMALL[name].guarantee, run)


def of_median(name):
    found = evidence.median_target(name)

    def run(plan):
        return replace(found, plan=lambda privacy: plan, universes=lambda: found.universes()[1:4])

    made = None if name in UNLISTED else run
    return Subject(found.plan(BUDGET), getattr(median, f"{name}_guarantee"), made)


def subject(name):
    if name in evidence.learner_names():
        return of_learner(name)
    if name in SMALL:
        return of_sanitizer(name)
    if name == "cover":
        plan = cover_plan(BUDGET, 3, 2, REPLACE, "noisy")
        return Subject(plan, lambda plan: cover_guarantee(plan, REPLACE))
    if name == "gaussian":
        plan = mechanisms.gaussian_plan(BUDGET, sensitivity=1.0)
        return Subject(plan, lambda plan: mechanisms.gaussian_mechanism_guarantee(plan, sensitivity=1.0))
    return of_median(name)


LIKE_OTHERS = ("conjunction", "conjunction-added", "conjunction-rounds", "disjunction", "generic-basic")
"""Plans with the structure of conjunction-noisy or generic-zcdp."""
NAMES = (*evidence.learner_names(), *SMALL, "recprefix", "treelog", "treelog_rsc", "cover", "gaussian")


def with_leaf(plan, place, value):
    leaves, tree = jax.tree.flatten(plan)
    return jax.tree.unflatten(tree, [*leaves[:place], value, *leaves[place + 1 :]])


def edits(plan):
    """(what, an edited plan) for every leaf."""
    for place, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(plan)):
        old, one = np.asarray(leaf), np.asarray(leaf).dtype.type
        if old.dtype == bool:
            made = {"not": ~old}
        else:
            eighth = old * one(0.125) if old.dtype.kind == "f" else old // one(8)
            made = {
                "x 8": old * one(8),
                "/ 8": eighth,
                "+ 1": old + one(1),
                "- 1": old - one(1),
                "x -1": (-old.astype(np.float64)).astype(np.int64).astype(one) if old.dtype.kind in "iu" else -old,
            }
        for how, value in made.items():
            if not np.array_equal(value, old):
                yield f"{jax.tree_util.keystr(path)} {how}", with_leaf(plan, place, np.asarray(value, old.dtype))


def spent(guarantee, plan):
    """(epsilon, delta), or None if the plan is refused."""
    try:
        found = guarantee(plan)
    except InputError:
        return None
    assert 0 <= found.epsilon < np.inf and 0 <= found.delta < 1
    return found.epsilon, found.delta


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LIKE_OTHERS else ()) for name in NAMES]
)
def test_every_edited_plan_has_a_guarantee_or_is_refused(name):
    """And one with NaN, infinity, another dtype or another shape is refused; nothing raises anything else."""
    one = subject(name)
    assert spent(one.guarantee, one.plan) is not None
    for _, edited in edits(one.plan):
        spent(one.guarantee, edited)
    for place, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(one.plan)):
        old, what = np.asarray(leaf), jax.tree_util.keystr(path)
        hostile = ["1", old.astype(np.int64), old + 1j]
        hostile += [] if what.endswith(FREE) else [old[None], np.stack([old, old]), old.tolist(), None]
        if old.dtype.kind == "f":
            hostile += [np.full_like(old, odd) for odd in (np.nan, np.inf, -np.inf)]
            hostile += [np.nextafter(old.astype(np.float64), np.inf)]  # no float32
        for value in hostile:
            with pytest.raises(InputError):
                assert one.guarantee(with_leaf(one.plan, place, value)) is None, (what, value)
        for value in (np.zeros_like(old), np.full_like(old, np.iinfo(np.int32).max)):
            spent(one.guarantee, with_leaf(one.plan, place, value))
    first = jax.tree.leaves(one.plan)[0]
    with pytest.raises(InputError, match="traced"):
        jax.eval_shape(lambda leaf: one.guarantee(with_leaf(one.plan, 0, leaf)) and leaf, jnp.asarray(first))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LIKE_OTHERS else ()) for name in NAMES]
)
def test_every_number_that_may_not_be_negative_matters_to_the_guarantee(name):
    """A factor of 8, up or down, changes what is spent or is refused."""
    one, seen = subject(name), {}
    before = spent(one.guarantee, one.plan)
    for what, edited in edits(one.plan):
        leaf, how = what[:-4].rstrip(), what[-4:].strip()
        seen.setdefault(leaf, {})[how] = spent(one.guarantee, edited)
    ranged = {
        leaf: found for leaf, found in seen.items() if {"x 8", "/ 8"} <= set(found) and found.get("x -1", 0) is None
    }
    assert ranged
    for leaf, found in ranged.items():
        free = leaf.endswith(COUNTED) or (name, leaf) in UNPUBLISHED
        assert {found["x 8"], found["/ 8"]} != {before} or free, leaf


def audited(name):
    one = subject(name)
    for what, edited in edits(one.plan):
        try:
            claim = one.guarantee(edited)
        except InputError:
            continue
        found = replace(one.target(edited), claim=lambda e, d, claim=claim: claim)
        report = audit.exact(found, Privacy(claim.epsilon, claim.delta))
        assert not report.violated, (what, str(report))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in NAMES if name not in UNLISTED],
)
def test_no_edited_plan_exceeds_its_guarantee(name):
    audited(name)


@dataclass(frozen=True)
class Own:
    """Plans from outside may hold arrays and their own types."""

    number: Number
    table: Any


def test_what_is_required_of_leaves():
    good = Own(np.float32(1), {"a": np.zeros(3, np.int32)})
    require_leaves((good, [good], None, np.bool_(True)))
    for wrong in (
        replace(good, number=np.ones(1, np.float32)),
        replace(good, table=np.array([1, np.nan], np.float32)),
        replace(good, table=[1.5]),
        replace(good, number=np.float16(1)),
    ):
        with pytest.raises(InputError, match=r"plan\[0\]\.(number|table)"):
            require_leaves((wrong,))


@pytest.mark.parametrize("shrink", [1.0, 1.5, 1e3, 0.0, -0.5, np.nan])
def test_boosting_refuses_weights_that_do_not_shrink(shrink):
    """At 1.5 the exact loss was 1.123 for a claim of 1, at 1000 1.659."""
    one = subject("boosted-optimal")
    with pytest.raises(InputError, match="shrink"):
        one.guarantee(replace(one.plan, shrink=np.float32(shrink)))


def test_tables_of_lengths_are_those_of_the_rate():
    """Both parts of the table: the digits, and how often a length is not 0."""
    for name in ("treelog_rsc", "sanitizer-slices"):
        one = subject(name)
        for part in ("digits", "nonzero"):
            lengths = replace(one.plan.lengths, **{part: np.asarray(getattr(one.plan.lengths, part)) // np.uint32(8)})
            with pytest.raises(InputError, match="lengths"):
                one.guarantee(replace(one.plan, lengths=lengths))


def test_a_delta_of_one_is_no_guarantee():
    """It was clipped to just below 1."""
    one = subject("treelog_rsc")
    with pytest.raises(InputError, match="delta"):
        one.guarantee(replace(one.plan, reserve=np.float32(-100)))
