"""Conversion of a PAC learner to an empirical learner, which has small error on the given rows, by resampling."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.subsampling import with_replacement
from dpjax.concepts.base import every_cover
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.on_line import OnLine
from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.keys import streams
from dpjax.core.plans import STATIC, Count, Spends, bucket, plan_type, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import Learner, OfLearner, require_learner
from dpjax.learners.columns import for_concepts
from dpjax.learners.draws import are_enough, budget_for, budgets_of_draws, numbers_tried
from dpjax.mechanisms.resample import Resample
from dpjax.theory import erm, generalization
from dpjax.theory.search import fewest_rows

_SPENT = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)  # candidate budgets of the inner learner, in multiples of epsilon


@plan_type
class EmpiricalPlan:
    """one: the inner learner's plan, for ``least`` rows. draws, least: ``int32[]``. most: buffer size, >= draws."""

    one: Any
    draws: Count
    least: Count
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class EmpiricalLearner(OfLearner):
    """Runs a PAC learner on ``draws`` rows, drawn with replacement from the database.

    The resampled rows are i.i.d. from the empirical distribution, so the PAC guarantee of the learner bounds its error
    on the given rows. Each row is drawn rarely, so the inner learner may spend more than the budget: as much as
    subsampling from n rows allows.

    Args:
      learner: proper, private under REPLACE_ONE.
      draws: m >= 1, static; None for the candidate that needs the fewest rows.
      agnostic: static; the draws are enough for the learner's agnostic theorem, and so for any labels of the rows. All
        numbers of rows are then larger, `empirical_sample_size` is for the error beyond each column's best concept, and
        there is an `agnostic_sample_size`.

    Privacy: (epsilon, delta), replace-one, for every sample, by `accounting.subsampling.with_replacement`: the learner
      runs at ln(1 + n (e^{epsilon/m} - 1)), with delta in proportion, for the n of its plan; if there are fewer rows
      (their number is public) it runs on an empty sample.
    Utility: `empirical_sample_size` for the error on the rows, `sample_size` and `agnostic_sample_size` for the error
      on the distribution.
    Reference: Bun, Nissim, Stemmer 2016, Definitions 2.9 and 2.10, Theorems 2.24 and 2.11; a sharper bound for every n
      replaces Lemma 2.25.
    """

    learner: Learner
    draws: int | None = None
    agnostic: bool = False
    proper: ClassVar[bool] = True

    def __post_init__(self):
        checks.whole_or_none("draws", self.draws, 1)
        require_learner(self.learner)
        if not self.learner.proper:
            advice = "take one that returns concepts of its class"
            raise InputError("learner", "a proper one, whose ``proper`` is True", type(self.learner).__name__, advice)
        if self.learner.neighboring is not Neighboring.REPLACE_ONE:
            advice = "resampling preserves no other"
            raise InputError("learner", "one private under replace-one", self.learner.neighboring.value, advice)

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> EmpiricalPlan:
        """For at least n rows, by default `empirical_sample_size`. `learn` ignores the data of smaller samples.

        From `sample_size` on the goal is that of its proof: half of alpha and of beta on the rows.
        """
        with suppress(NoTheoremError):
            if n is not None and n >= self.sample_size(privacy, accuracy):
                accuracy = _halves(accuracy)
        draws, least = self._chosen(privacy, accuracy, n)
        part = budget_for(
            self.learner, budgets_of_draws(self.learner, privacy, draws, least), accuracy, draws, self.agnostic
        )
        inner_plan = self.learner.plan(part, accuracy, draws)
        return EmpiricalPlan(inner_plan, whole(draws), whole(least), bucket(draws))

    @property
    def k(self) -> int:
        """The number of concepts."""
        return self.learner.number_of_concepts

    def for_concepts(self, k: int) -> "EmpiricalLearner":
        """The same conversion of the inner learner of k concepts."""
        return replace(self, learner=for_concepts(self.learner, k))

    @property
    def spends(self) -> Spends:
        """As the inner learner, but a mixture of pure mechanisms has no bounded range."""
        return "approximate" if self.learner.spends == "approximate" else "pure"

    def _learn(self, key: Array, sample: Sample, plan: EmpiricalPlan) -> Hypothesis:
        """The inner learner's hypothesis; for fewer rows than the plan requires, that of an empty sample."""
        of_rows, of_learner = streams(key, "rows", "learner")
        rows = Resample(sample.size, plan.most, sample.capacity).sample(of_rows)
        mask = (jnp.arange(plan.most, dtype=jnp.int32) < plan.draws) & (sample.size >= jnp.maximum(plan.least, 1))
        return self.learner.learn(of_learner, Sample(sample.x[rows], sample.y[rows], mask), plan.one)

    def _guarantee(self, plan: EmpiricalPlan) -> Guarantee | None:
        """At ``least`` rows; more rows cost less, and smaller samples are not used."""
        base = self.learner.guarantee(plan.one)
        return None if base is None else with_replacement(base, int(plan.draws), max(1, int(plan.least)))

    def empirical_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Number of rows for error at most alpha on the rows (agnostic: beyond the best concept's) with probability
        1 - beta."""
        return self._chosen(privacy, accuracy, None)[1]

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows for empirical error alpha/2 with probability 1 - beta/2, and for `theory.generalization.realizable`."""
        alpha, beta = float(accuracy.alpha), float(accuracy.beta)
        if self.concepts.size == 1:
            return self.empirical_sample_size(privacy, accuracy)
        line = isinstance(self.concepts, OnLine)
        restrictions = generalization.line if line else generalization.finite(self.concepts.size)
        general = generalization.realizable(restrictions, self.k, alpha, beta / 2)
        return max(general, self.empirical_sample_size(privacy, _halves(accuracy)))

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows for empirical error alpha/2 beyond the best with probability 1 - beta/2, and for `theory.erm.rows`: no
        concept with an error of alpha beyond the best has an empirical one of only alpha/2."""
        if not self.agnostic:
            raise NoTheoremError(
                "agnostic", "True for any labels", "False", "take EmpiricalLearner(..., agnostic=True)"
            )
        alpha, beta = float(accuracy.alpha), float(accuracy.beta)
        covers = every_cover(self.concepts, alpha, True)
        general = erm.rows(covers, self.k, alpha, beta / 2, True, alpha / 2)
        return max(general, self.empirical_sample_size(privacy, _halves(accuracy)))

    def _chosen(self, privacy: Privacy, accuracy: Accuracy, n: int | None) -> tuple[int, int]:
        """(draws, rows that the plan is for): n, or the least n for which the bound on the empirical error holds."""
        if n is not None and self.draws is not None:
            return self.draws, checks.integer("n", n, 1)
        tried = (
            [self.draws]
            if self.draws is not None
            else numbers_tried(self.learner, _SPENT, privacy, privacy, accuracy, self.agnostic)
        )

        def enough(draws: int, rows: int) -> bool:
            budgets = budgets_of_draws(self.learner, privacy, draws, rows)
            return are_enough(self.learner, budgets, accuracy, draws, self.agnostic)

        rows, draws = fewest_rows(tried, enough)
        return draws, rows if n is None else checks.integer("n", n, 1)


def _halves(accuracy: Accuracy) -> Accuracy:
    return Accuracy(float(accuracy.alpha) / 2, float(accuracy.beta) / 2)
