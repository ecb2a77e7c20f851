"""Packing as a computation: all 2^k targets of k concepts, their databases, and how much privacy success on all costs.

Two concepts differ on one element. The database of a target has ``different`` rows there, with the target's labels, and
its other rows where the two agree, with the same labels for all targets. The answers to different targets exclude each
other, and each database is ``different`` steps from each other one: an (epsilon, delta)-private learner that gives
target c the right answer with probability s_c has, for every c,

    s_c + sum over c' != c of e^(-epsilon m) (s_c' - delta_m)^+  <=  1,    m = ``different``,

delta_m = delta (e^(m epsilon) - 1) / (e^epsilon - 1). The least epsilon that allows this is a lower bound on the
learner's.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.distance import as_replace_one, group_delta
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.audit.enumeration.pieces import NotListable
from dpjax.concepts.disagreement import differing, differing_and_agreeing
from dpjax.core import checks, keys
from dpjax.core.intervals import clopper_pearson
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.columns import for_concepts

MOST_CONCEPTS = 10
_LARGEST, _STEPS = 60.0, 60  # of epsilon, and of its bisection
_AT_ONCE = 256


@dataclass(frozen=True)
class Packed:
    """The successes of a learner of k concepts on all 2^k targets, and what follows.

    successes: ``float64[2^k]``, by the target as a number whose bit j is the label in column j; exact if ``trials`` is
      0, otherwise lower bounds that hold together with probability ``confidence``.
    epsilon: no learner with these successes is (epsilon, delta)-private with a smaller epsilon under REPLACE_ONE.
    delta: of the claim, or as given.
    claim: the guarantee, restated under REPLACE_ONE; None for a learner that claims no privacy.
    """

    k: int
    rows: int
    different: int
    successes: np.ndarray
    epsilon: float
    delta: float
    claim: Guarantee | None
    trials: int
    confidence: float

    @property
    def violated(self) -> bool:
        """Whether the successes refute the claim; rounding in float64 is allowed for."""
        return self.claim is not None and self.epsilon > self.claim.epsilon * (1 + 1e-6) + 1e-9


def pack(
    learner: Learner,
    k: int,
    rows: int,
    privacy: Privacy,
    accuracy: Accuracy,
    *,
    different: int | None = None,
    trials: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Packed:
    """Runs the learner on the databases of all targets: its exact law if that can be listed, else ``trials`` runs each.

    Args:
      learner: of one concept or of k, as in `learners.columns.for_concepts`.
      k: 1 to 10. rows: of each database, and of the plan. different: rows that differ, by default all.
      privacy, accuracy: of the plan. The delta without a claim is ``privacy.delta``.

    Raises InputError for a class without two concepts that differ on one of the first elements of the domain, and,
    with other rows, agree on another one.
    Reference: Bun, Nissim, Stemmer 2016, Theorem 5.1, Remark 5.2; constants are our own.
    """
    checks.integer("k", k, 1, MOST_CONCEPTS)
    checks.integer("rows", rows, 1, 1 << 16)
    different = rows if different is None else checks.integer("different", different, 1, rows)
    checks.integer("trials", trials, 1)
    checks.probability("confidence", confidence)
    require_learner(learner)
    learner = for_concepts(learner, k)
    samples, element = _databases(learner, k, rows, different)
    plan = learner.plan(privacy, accuracy, rows)
    claim = learner.guarantee(plan)
    claim = None if claim is None else as_replace_one(claim)
    run = partial(_answer, learner, element)
    try:
        logs, outcomes = exact_law(run, samples, widened(plan))
        answers = np.ascontiguousarray(outcomes).view("<i4").ravel()
        right = answers == np.arange(1 << k)[:, None]
        successes, trials, confidence = np.sum(np.where(right, np.exp(logs), 0.0), axis=1), 0, 1.0
    except NotListable:
        root = keys.root(checks.integer("seed", seed, 0, 2**32 - 1))
        counts = np.asarray(_count(run, samples, jax.tree.map(jnp.asarray, plan), root, trials))
        successes = clopper_pearson(counts, np.full_like(counts, trials), 1 - 2 * (1 - confidence) / (1 << k))[0]
    delta = float(privacy.delta) if claim is None else claim.delta
    epsilon = least_epsilon(successes, different, delta)
    return Packed(k, rows, different, successes, epsilon, delta, claim, trials, confidence)


def least_epsilon(successes: Any, different: int, delta: float) -> float:
    """The least epsilon, at most 60, with which a learner may have these successes, ``float[M]``, on M targets."""
    rates = np.asarray(successes, float)

    def allowed(epsilon: float) -> bool:
        free = min(1.0, group_delta(epsilon, delta, different))
        paid = np.exp(-epsilon * different) * np.maximum(rates - free, 0)
        return bool(np.all(rates + paid.sum() - paid <= 1 + 1e-12))

    low, high = 0.0, _LARGEST
    if allowed(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if allowed(middle) else (middle, high)
    return low


def _databases(learner: Learner, k: int, rows: int, different: int) -> tuple[Sample, int]:
    """The databases of all targets in order, with a leading axis, and the element where the concepts differ."""
    if different < rows:
        element, other, label = differing_and_agreeing(learner.concepts)
    else:
        element = other = differing(learner.concepts)
        label = False
    x = np.where(np.arange(rows) < different, element, other)
    bits = (np.arange(1 << k)[:, None] >> np.arange(k) & 1).astype(bool)
    y = np.where((np.arange(rows) < different)[None, :, None], bits[:, None, :], label)
    points = learner.concepts.domain.encode(x)
    shape = (1 << k, rows)
    return Sample(
        jnp.asarray(np.broadcast_to(points, (*shape, points.shape[-1]))), jnp.asarray(y), jnp.ones(shape, bool)
    ), element


def _answer(learner: Learner, element: int, key: Any, sample: Sample, plan: Any) -> Array:
    """The labels of the hypotheses at the element, as a number ``int32[]``."""
    x = jnp.asarray(learner.concepts.domain.encode((element,)))
    labels = learner.predict(learner.learn(key, sample, plan), x)[0]
    return jnp.sum(labels.astype(jnp.int32) << jnp.arange(labels.size, dtype=jnp.int32), dtype=jnp.int32)


def _count(run: Any, samples: Sample, plan: Any, root: Array, trials: int) -> Array:
    """Right answers of each database, ``int32[2^k]``."""

    def of_target(arguments: tuple[Array, Array, Sample]) -> Array:
        key, target, sample = arguments

        def one(trial: Array) -> Array:
            return run(keys.of_trial(key, trial), sample, plan) == target

        right = jax.lax.map(one, jnp.arange(trials, dtype=jnp.uint32), batch_size=min(trials, _AT_ONCE))
        return jnp.sum(right, dtype=jnp.int32)

    targets = jnp.arange(samples.mask.shape[0], dtype=jnp.int32)
    return jax.jit(lambda: jax.lax.map(of_target, (keys.per_index(root, len(targets)), targets, samples)))()
