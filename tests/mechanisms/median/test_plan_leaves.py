"""The leaves of plans of private medians: their rounding, their structure, and what an edited plan spends."""

import math
from dataclasses import fields, replace

import jax
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.plans import stack_plans
from dpjax.mechanisms.median import plan_for, plan_recprefix, plan_rsc, plan_treelog
from dpjax.mechanisms.median.treelog import passes_unstable

PLANNERS = (plan_recprefix, plan_treelog, plan_rsc)
HARD = [
    (1, 1.0, 1e-6, 0.1, 1),
    (64, 1.0, 1e-6, 0.1, 2),
    (2**20, 0.01, 1e-12, 1e-6, 1),
    (3, 20.0, 0.1, 0.5, 3),
    (1024, 0.2, 1e-9, 0.01, 4),
    (7, 1.0, 0.9, 0.9, 2),
]


def rounded(exact, leaf, up=False):
    """A float32 leaf next to the number that it stands for, on the right side of it."""
    assert isinstance(leaf, np.float32)
    beyond = np.nextafter(leaf, np.float32(-np.inf if up else np.inf))
    low, high = (float(beyond), float(leaf)) if up else (float(leaf), float(beyond))
    return low <= exact <= high


@pytest.mark.parametrize("case", HARD)
def test_leaves_are_rounded_towards_less_spending(case):
    """Budgets down, reserves up; integers int32; nothing else is a leaf."""
    design = plan_recprefix(*case)
    plan = design.plan()
    assert rounded(design.base * design.epsilon, plan.base)
    for step, leaf in zip(design.steps, plan.steps, strict=True):
        assert rounded(step.prefix * design.epsilon, leaf.prefix) and rounded(step.final * design.epsilon, leaf.final)
        assert rounded(step.delta * design.delta, leaf.delta)
        assert (leaf.gap, leaf.margin) == (step.gap, step.margin) and leaf.gap.dtype == np.int32
    design = plan_treelog(*case)
    plan = design.plan()
    for step, leaf in zip(design.steps, plan.steps, strict=True):
        for name in ("test", "split", "prefix", "final"):
            assert rounded(getattr(step, name) * design.epsilon, getattr(leaf, name))
        for name in ("split_delta", "prefix_delta"):
            assert rounded(getattr(step, name) * design.delta, getattr(leaf, name))
        assert passes_unstable(float(leaf.reserve)) <= step.test_delta * design.delta
        assert passes_unstable(float(leaf.reserve)) >= 0.999 * min(0.5, step.test_delta * design.delta)
    design = plan_rsc(*case)
    plan = design.plan()
    for name in ("rate", "part_delta", "test", "whole", "whole_delta"):
        assert rounded(getattr(design, name), getattr(plan, name))
    assert float(plan.slack) == design.slices_delta
    dtypes = {np.asarray(leaf).dtype for leaf in jax.tree.leaves(plan)}
    assert dtypes == {np.dtype(name) for name in ("float32", "int32", "uint32")}


@pytest.mark.parametrize("method", ["exponential", "recprefix", "treelog", "rsc"])
def test_budgets_of_one_method_share_a_structure(method):
    """Every budget from 1e-5 to 1e3, every delta and beta: the leaves differ in value only."""
    cases = [(1e-5, 1e-12, 0.1), (0.3, 1e-6, 0.1), (0.3, 1e-6, 1e-3), (40.0, 1e-3, 0.1), (1e3, 1e-9, 0.9)]
    plans = [plan_for(method, 40, *case).plan() for case in cases]
    assert len({jax.tree.structure(plan) for plan in plans}) == 1
    stacked = stack_plans(plans)
    assert all(len(leaf) == len(plans) for leaf in jax.tree.leaves(stacked))


def test_an_edited_plan_says_what_it_spends():
    """Integers of utility change no guarantee; a larger budget shows; a table of lengths of another rate is refused."""
    for planner in PLANNERS:
        plan = planner(40, 1.0, 1e-6, 0.1).plan()
        moved = [
            replace(step, **{f.name: np.int32(7) for f in fields(step) if f.name in ("gap", "margin", "deepest")})
            for step in plan.steps
        ]
        edited, before = replace(plan, steps=tuple(moved)).guarantee(), plan.guarantee()
        assert (edited.epsilon, edited.delta) == (before.epsilon, before.delta)
    treelog = plan_treelog(40, 1.0, 1e-6, 0.1).plan()
    less = replace(treelog, steps=(replace(treelog.steps[0], reserve=np.float32(2.0)),))
    assert less.guarantee().delta > math.exp(-2) / 2
    rsc = plan_rsc(40, 1.0, 1e-6, 0.1).plan()
    assert replace(rsc, slack=np.float32(1e-3)).guarantee().delta > 1e-3
    with pytest.raises(InputError, match="lengths"):
        replace(rsc, rate=np.float32(0.9 * rsc.rate)).guarantee()
