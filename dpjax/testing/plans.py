"""Checks of plans and their privacy cost."""

import math
from collections.abc import Iterator
from typing import Any

import chex
import jax
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.checks import InputError
from dpjax.core.plans import NARROW, stack_plans
from dpjax.core.types import Accuracy, Privacy
from dpjax.testing.comparisons import difference, traced_at_most
from dpjax.testing.findings import Skipped, require, short
from dpjax.testing.samples import words
from dpjax.testing.under_test import LearnerUnderTest

_SWEEP = (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0)
_REFUSED = 0.1  # largest fraction of random budgets that may be refused


def leaves_of_plans_are_narrow(subject: LearnerUnderTest) -> None:
    """float32 or integer: jit silently rounds float64 leaves, and guarantees read the values that run."""
    for leaf in jax.tree.leaves(subject.plan()):
        kind = np.asarray(leaf).dtype
        actual = f"{kind} ({short(leaf)})"
        advice = "round on the host: dpjax.core.plans.down for budgets, up for scales, whole for counts"
        require(kind in NARROW and not isinstance(leaf, float | int), "float32, int32, uint32 or bool", actual, advice)


def a_sweep_of_epsilon_has_few_programs(subject: LearnerUnderTest) -> str:
    """One per structure of plans; another n, delta, alpha or beta with the same structure does not recompile."""
    sweep = [subject.plan(epsilon) for epsilon in _SWEEP]
    structures = {jax.tree.structure(plan) for plan in sweep}
    advice = "make numbers of a budget leaves of the plan, and sizes of dpjax.core.plans.bucket"
    expected = f"at most {subject.programs} structures over a factor of 16"
    require(len(structures) <= subject.programs, expected, len(structures), advice)

    @jax.jit
    @chex.assert_max_traces(n=len(structures))
    def learn(key: Any, sample: Any, plan: Any) -> Any:
        return subject.learner.learn(key, sample, plan)

    with traced_at_most(f"{len(structures)} traces, one a structure", "give each leaf one dtype and shape"):
        for plan, n in zip(sweep, (40, 7, 0, 1, 2, 40, 64, 3), strict=True):
            jax.eval_shape(learn, jax.random.key(0), subject.draw(n), plan)
    return f"{len(structures)} program{'s' * (len(structures) > 1)}"


def plans_run_side_by_side(subject: LearnerUnderTest) -> None:
    """vmap over plans of one structure gives bitwise the same results as a loop."""
    plans = [subject.plan(epsilon) for epsilon in (0.9, 1.0, 1.1)]
    structure: Any = jax.tree.structure(plans[0])
    plans = [plan for plan in plans if jax.tree.structure(plan) == structure]
    if not jax.tree.leaves(plans[0]):
        raise Skipped("its plan has no leaves")
    sample, key, learn = subject.draw(), jax.random.key(3), subject.learner.learn
    together = jax.jit(jax.vmap(learn, (None, None, 0)))(key, sample, stack_plans(plans))
    alone = jax.jit(learn)
    for i, plan in enumerate(plans):
        entry = jax.tree.map(lambda part, i=i: part[i], together)
        advice = "decide on whole numbers, and sum floats along no axis that vmap changes"
        differs = difference(entry, alone(key, sample, plan))
        require(not differs, "the same bits", f"others at plan {i}: {differs}", advice)


def the_guarantee_is_within_the_budget(subject: LearnerUnderTest) -> str:
    """At fixed and at random budgets; the guarantee has the learner's relation."""
    fixed = [(0.1, 1e-12), (1.0, 1e-6), (8.0, 0.01)]
    budgets = [*fixed, *random_budgets(subject.random, 1)]
    shares = [spent(subject, *budget) for budget in budgets]
    if any(share is None for share in shares[: len(fixed)]):
        refused = budgets[shares[: len(fixed)].index(None)]
        require(False, "a plan for ordinary budgets", f"none for (epsilon, delta) = {refused}", "plan every budget")
    refused_of_all = sum(share is None for share in shares)
    many = f"{refused_of_all} of {len(budgets)} refused"
    require(refused_of_all <= _REFUSED * len(budgets), "a plan for nearly all budgets", many, "plan every budget")
    parts = [part for share in shares if share is not None for part in [share[0]]]
    return f"{min(parts):.6g} to {max(parts):.6g} of epsilon is spent at {len(parts)} budgets"


def random_budgets(count: int, seed: int) -> Iterator[tuple[float, float]]:
    """epsilon from 1e-3 to 20 and delta from 1e-12 to 1e-2, log-uniform."""
    for epsilon, delta in words(f"budgets {seed}", count, 2) / 2.0**32:
        yield float(10 ** (-3 + 4.3 * epsilon)), float(10 ** (-12 + 10 * delta))


def spent(subject: LearnerUnderTest, epsilon: float, delta: float) -> tuple[float, float] | None:
    """(epsilon of the guarantee over the budget's, the same of delta); None if the planner refuses the budget.

    `Failed` if the guarantee exceeds the budget, or has another relation; `Skipped` for a learner without one.
    """
    learner = subject.learner
    try:
        plan = learner.plan(Privacy(epsilon, delta), Accuracy(0.1, 0.1), 1)
    except InputError:
        return None
    whole = learner.guarantee(plan)
    if whole is None:
        says_so = "Privacy: none" in (type(learner).__doc__ or "")
        advice = "return a Guarantee, or write `Privacy: none` into the docstring of the class"
        require(says_so, "a guarantee", "None", advice)
        raise Skipped("it claims no privacy")
    at, advice = (
        f" at the budget ({epsilon:.6g}, {delta:.6g})",
        "round leaves by down, and compose the mechanisms that run",
    )
    require(isinstance(whole, Guarantee), "a dpjax.accounting.Guarantee", short(whole), "return one")
    actual = f"({whole.epsilon:.9g}, {whole.delta:.9g}){at}"
    ok = 0 < whole.epsilon <= epsilon and 0 <= whole.delta <= delta and math.isfinite(whole.epsilon)
    require(ok, "a guarantee of at most the budget", actual, advice)
    least, actual = subject.least_spent, f"{whole.epsilon / epsilon:.6g}{at}"
    require(whole.epsilon >= least * epsilon, f"at least {least:g} of epsilon spent", actual, "spend the whole budget")
    relation = learner.neighboring.value
    advice = "pass neighboring to the guarantee"
    require(whole.neighboring is learner.neighboring, relation, whole.neighboring.value, advice)
    return whole.epsilon / epsilon, whole.delta / delta


def sample_sizes_move_the_right_way(subject: LearnerUnderTest) -> str:
    """Whole numbers, nonincreasing in the budget and in alpha and beta."""

    def size(epsilon: float = 1.0, delta: float = 1e-6, alpha: float = 0.1, beta: float = 0.1) -> int:
        return subject.sized.sample_size(Privacy(epsilon, delta), Accuracy(alpha, beta))

    base = size()
    require(isinstance(base, int) and base >= 1, "a whole number >= 1", short(base), "return an int: math.ceil")
    for name, tighter, looser in (
        ("epsilon", 0.5, 2.0),
        ("epsilon", 0.5, 64.0),
        ("alpha", 0.05, 0.2),
        ("beta", 0.01, 0.5),
        ("delta", 1e-12, 1e-3),
    ):
        more, less = size(**{name: tighter}), size(**{name: looser})
        sizes = f"{more}, {base}, {less} at {name} = {tighter}, {1e-6 if name == 'delta' else 0.1}, {looser}"
        sizes = sizes.replace("0.1,", "1.0,") if name == "epsilon" else sizes
        require(more >= base >= less, f"sizes that fall with {name}", sizes, "correct the formula")
    moves = size(epsilon=0.1) > size(epsilon=10.0) or size(alpha=0.01) > size(alpha=0.3)
    require(moves, "a size that depends on budget or accuracy", f"{base} for all", "state the theorem's n")
    return f"{base} rows at epsilon 1, delta 1e-6, alpha = beta = 0.1"
