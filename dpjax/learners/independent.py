"""The direct sum of a learner of one concept for k concepts, under a composition theorem."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import Split, composed, require_composition, split
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.plans import Slack, Spends, down, plan_type
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner, OfLearner, require_learner, require_one_column

_CELLS = 1 << 22  # rows x concepts per block


@plan_type
class IndependentPlan:
    """one: the plan of each run. slack: delta of the composition, ``float32[]``, which only guarantees read."""

    one: Any
    slack: Slack


@dataclass(frozen=True)
class Independent(OfLearner):
    """Runs ``learner`` once for each of k label columns, on all rows, with a split of the budget.

    Args:
      learner: a learner of one concept.
      k: static number of concepts, >= 1.
      composition: "basic", "advanced", "optimal" (Kairouz-Oh-Viswanath), or "zcdp" (for learners without delta).

    A sample may carry ``x`` as ``uint32[capacity, k, limbs]``: each concept then has its own column of points.

    Privacy: (epsilon, delta) under the relation of ``learner``, by the named composition of k adaptive runs.
    Utility: ``learner.sample_size`` at the budget of one run and failure probability beta / k.
    Reference: Bun, Nissim, Stemmer 2016, Observation 3.2 (direct sum), Corollary 3.4 and Example 3.5 with `KLN`; the
      composition theorems in `dpjax.accounting`.
    """

    learner: Learner
    k: int
    composition: str = "basic"
    own_points: ClassVar[bool] = True

    def __post_init__(self):
        checks.integer("k", self.k, 1)
        require_learner(self.learner)
        require_one_column("learner", self.learner.concepts)
        require_composition(self.composition, self.learner.spends)

    @property
    def spends(self) -> Spends:
        """Approximate, unless the learner is pure and the composition is basic."""
        pure = self.composition == "basic" and self.learner.spends != "approximate"
        return "pure" if pure else "approximate"

    @property
    def exponent_of_k(self) -> float:
        """1 if the epsilons add up, 1/2 if their squares add up."""
        return 1.0 if self.composition == "basic" else 0.5

    @property
    def proper(self) -> bool:
        """Whether the inner learner is proper."""
        return self.learner.proper

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> IndependentPlan:
        """One plan for all runs, at the largest budget per run and failure probability beta / k."""
        part = self._part(privacy)
        run_plan = self.learner.plan(Privacy(part.epsilon, part.delta), self._of_one(accuracy), n)
        return IndependentPlan(run_plan, down(part.slack))

    def _learn(self, key: Array, sample: Sample, plan: IndependentPlan) -> Hypothesis:
        """k hypotheses; given the plan of one run, the first hypotheses do not depend on k."""
        self.check_columns(sample)
        own_points = sample.x.ndim == 3

        def one(arguments) -> Hypothesis:
            run_key, column, points = arguments
            run_sample = Sample(sample.x if points is None else points, column[:, None], sample.mask)
            return self.learner.learn(run_key, run_sample, plan.one)

        columns = (keys.per_index(key, self.k), sample.y.T, jnp.swapaxes(sample.x, 0, 1) if own_points else None)
        at_once = max(1, _CELLS // sample.capacity)
        answers = jax.vmap(one)(columns) if self.k <= at_once else jax.lax.map(one, columns, batch_size=at_once)
        if any(part.shape[1:2] != (1,) for part in jax.tree.leaves(answers)):
            actual = f"{type(self.learner).__name__} returned {[part.shape[1:] for part in jax.tree.leaves(answers)]}"
            advice = "give every array of the hypothesis that axis, or write for_concepts(k)"
            raise InputError("hypothesis", "arrays with a leading axis of length 1, of concepts", actual, advice)
        return jax.tree.map(lambda part: part[:, 0], answers)

    def _guarantee(self, plan: IndependentPlan) -> Guarantee | None:
        """The composition of k runs; None for a learner that is not private."""
        part = self.learner.guarantee(plan.one)
        if part is None:
            return None
        return composed(part, self.k, float(plan.slack), self.composition, f"{self.k} concepts one by one")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The inner learner's sample size at the budget of one run and failure probability beta / k."""
        part = self._part(privacy)
        return self.learner.sample_size(Privacy(part.epsilon, part.delta), self._of_one(accuracy))

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The same for the agnostic theorem."""
        part = self._part(privacy)
        return self.learner.agnostic_sample_size(Privacy(part.epsilon, part.delta), self._of_one(accuracy))

    def _part(self, privacy: Privacy) -> Split:
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)
        return split(epsilon, delta, self.k, self.composition, self.learner.spends)

    def _of_one(self, accuracy: Accuracy) -> Accuracy:
        return Accuracy(float(accuracy.alpha), float(accuracy.beta) / self.k)
