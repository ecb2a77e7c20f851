"""Lazy Bregman boosting: a majority of the hypotheses of a private weak learner, run on smooth reweightings."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import exp, log
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import Split, composed, require_composition, split
from dpjax.accounting.subsampling import with_replacement
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.votes import Votes
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Count, Probability, Slack, Spends, bucket, down, plan_type, whole
from dpjax.core.types import Accuracy, Privacy, Sample, replace_one_only
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.draws import are_enough, budget_for, budgets_of_draws, numbers_tried
from dpjax.learners.samples import single_column
from dpjax.mechanisms.projection import MOST_ROUNDS, MOST_ROWS, capped_mass, projected
from dpjax.mechanisms.resample import WeightedResample
from dpjax.theory import boosting as theory
from dpjax.theory.search import fewest_rows

_SPENT = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # candidate budgets of the weak learner, in multiples of epsilon
_LIKELY_ROUNDS = 32


@plan_type
class BoostedPlan:
    """one: the weak learner's plan. shrink: exp(-rate), ``float32[]``. slack: delta of the composition, ``float32[]``.

    draws: rows of a round, ``int32[]``. least: ``int32[]``; no row is drawn with probability above 1 / least, and of
    fewer rows none is read. rounds: T. most: buffer size, >= draws.
    """

    one: Any
    draws: Count
    least: Count
    shrink: Probability
    slack: Slack
    rounds: int = field(metadata=STATIC)
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class Boosted(Learner):
    """Majority of T hypotheses of a weak learner; round t learns from draws that favor rows on which earlier ones err.

    Row i is drawn with probability min(1 / least, C exp(-rate c_i)), where c_i is the number of earlier hypotheses
    that predict the row's own label. Since no row is likely, each round costs little, and since c_i depends on row i
    and on released hypotheses alone, one row changes no other row's weight but for the factor C.

    Args:
      learner: any private learner of one binary concept under REPLACE_ONE; without privacy the result has none.
      gamma: in (0, 1/2); the weak error is 1/2 - gamma.
      rounds: T, static; by default the theorem's for the accuracy. draws: rows of a round; by default the weak
        learner's sample size at the budget that needs the fewest rows. kappa: in (0, 1), the rows that may be wrong,
        and the rows, least = kappa n, over which the weights must spread; alpha / 3 by default. Other numbers than the
        theorem's cost accuracy, not privacy.
      composition: of the rounds, as in `Independent`.

    Privacy: (epsilon, delta), replace-one, for every sample: T rounds, each on draws with replacement of which one
      tells neighbors apart with probability at most `mechanisms.projection.capped_mass`.
    Utility: error at most alpha with probability 1 - beta on realizable rows from `sample_size` on: fewer than
      kappa n rows are wrong by `theory.boosting.rounds`, and `theory.boosting.generalizes`. Improper.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem A.1, Claim A.2, Corollary A.3 (of `SparseAggregate`);
      Bun, Carmosino, Sorrell 2020. Proofs and constants are our own, in docs/proofs/boosting.md.
    """

    learner: Learner
    gamma: float = 0.25
    rounds: int | None = None
    draws: int | None = None
    kappa: float | None = None
    composition: str = "basic"

    def __post_init__(self):
        require_learner(self.learner)
        theory.advantage(self.gamma)
        checks.whole_or_none("rounds", self.rounds, 1, MOST_ROUNDS)
        checks.whole_or_none("draws", self.draws, 1)
        if self.kappa is not None:
            checks.probability("kappa", self.kappa)
        require_composition(self.composition, self.learner.spends)
        if (k := self.learner.number_of_concepts * self.learner.concepts.columns) != 1:
            advice = "boost one concept and wrap it: Independent(Boosted(...), k)"
            raise InputError("learner", "a learner of one binary concept", f"one of {k} label columns", advice)
        replace_one_only(self.learner.neighboring, "draws with replacement preserve no other relation")

    def with_weak(self, learner: Learner) -> "Boosted":
        """The same boosting of another weak learner, such as one without privacy."""
        return replace(self, learner=learner)

    @property
    def concepts(self) -> ConceptClass:
        """The class of the weak learner; hypotheses are `concepts.votes.Votes` of its hypotheses."""
        return self.learner.concepts

    @property
    def spends(self) -> Spends:
        """Pure if the weak learner is and the composition is basic; a mixture has no bounded range."""
        pure = self.composition == "basic" and self.learner.spends != "approximate"
        return "pure" if pure else "approximate"

    @property
    def passes(self) -> int:
        """Approximate number of passes over the rows."""
        return self.rounds or _LIKELY_ROUNDS

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> BoostedPlan:
        """For n rows, by default the theorem's number."""
        rounds, draws, rows = self._chosen(privacy, accuracy, n)
        least = self._least(accuracy, rows)
        part, goal = self._round(privacy, rounds), self._goal(accuracy, rounds)
        weak = budget_for(self.learner, self._weak(part, draws, least), goal, draws)
        weak_plan = self.learner.plan(weak, goal, draws)
        shrink = down(exp(-self._rate))
        return BoostedPlan(weak_plan, whole(draws), whole(least), shrink, down(part.slack), rounds, bucket(draws))

    def _learn(self, key: Array, sample: Sample, plan: BoostedPlan) -> Votes:
        """One majority; with fewer rows than ``least`` the weak learner runs on empty samples."""
        labels = single_column(sample, "Boosted")
        drawn = (jnp.arange(plan.most, dtype=jnp.int32) < plan.draws) & (sample.size >= jnp.maximum(plan.least, 1))

        def turn(correct: Array, own: Array) -> tuple[Array, Any]:
            of_rows, of_weak = keys.streams(own, "rows", "weak")
            weights = projected(correct, sample.mask, plan.shrink, plan.least, plan.rounds)
            rows = WeightedResample(weights, plan.most).sample(of_rows)
            member = self.learner.learn(of_weak, Sample(sample.x[rows], sample.y[rows], drawn), plan.one)
            right = self.right(self.learner.predict(member, sample.x)[:, 0], labels, sample)
            return correct + right.astype(jnp.int32), member

        start = jnp.zeros(sample.capacity, jnp.int32)
        _, members = jax.lax.scan(turn, start, keys.per_index(key, plan.rounds))
        return Votes.of(members)

    def right(self, predicted: Array, labels: Array, sample: Sample) -> Array:
        """``bool[capacity]``: where a hypothesis predicts the row's own label.

        **Privacy rests on this.** It may depend on the row and on the hypothesis only: if it compared with another
        label, such as the most frequent one of the row's element, one row could change the weights of many.
        """
        return predicted == labels

    def most_rows(self, plan: BoostedPlan) -> int:
        """Those of `mechanisms.projection.projected`."""
        return MOST_ROWS

    def _guarantee(self, plan: BoostedPlan) -> Guarantee | None:
        """The composition of T rounds on weighted draws; None if the weak learner is not private."""
        base = self.learner.guarantee(plan.one)
        if base is None:
            return None
        part = with_replacement(base, int(plan.draws), mass=capped_mass(int(plan.least)))
        return composed(part, plan.rounds, float(plan.slack), self.composition, f"{plan.rounds} rounds of boosting")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows for which the weak learner has its sample size, within the budget, and majorities generalize.

        Beyond the weak learner's conditions it needs a weak learner of finitely many hypotheses (``proper``, with a
        class of finite ``size``) or enough rows for the compression argument. InputError for fewer rounds than the
        theorem's, and for kappa >= alpha.
        """
        return self._chosen(privacy, accuracy, None)[2]

    @property
    def _rate(self) -> float:
        return 4 * self.gamma

    def _density(self, accuracy: Accuracy) -> float:
        return float(accuracy.alpha) / 3 if self.kappa is None else self.kappa

    def _least(self, accuracy: Accuracy, rows: int) -> int:
        """The largest whole number that is at most kappa n, and at least 1."""
        return max(1, int(self._density(accuracy) * rows))

    def _turns(self, accuracy: Accuracy) -> int:
        """The theorem's number of rounds, at the rate that runs."""
        return theory.rounds(self._density(accuracy), self.gamma, -log(float(down(exp(-self._rate)))))

    def _round(self, privacy: Privacy, rounds: int) -> Split:
        spends: Spends = "approximate" if self.learner.spends == "approximate" else "pure"
        return split(float(privacy.epsilon), float(privacy.delta), rounds, self.composition, spends)

    def _weak(self, part: Split, draws: int, least: int) -> list[Privacy]:
        return budgets_of_draws(self.learner, Privacy(part.epsilon, part.delta), draws, mass=capped_mass(least))

    def _goal(self, accuracy: Accuracy, rounds: int) -> Accuracy:
        return Accuracy(0.5 - self.gamma, float(accuracy.beta) / (2 * rounds))

    def _chosen(self, privacy: Privacy, accuracy: Accuracy, n: int | None) -> tuple[int, int, int]:
        """(rounds, draws, rows that the plan is for): n, or the least number for which the theorem holds."""
        rounds = self._turns(accuracy) if self.rounds is None else self.rounds
        if rounds > MOST_ROUNDS:
            advice = "take a larger gamma or alpha, or fewer rounds"
            raise InputError("rounds", f"at most {MOST_ROUNDS}", str(rounds), advice)
        if n is not None and self.draws is not None:
            return rounds, self.draws, checks.integer("n", n, 0)
        if n is not None:
            with suppress(NoTheoremError):  # from the theorem's rows on, its draws
                _, draws, rows = self._chosen(privacy, accuracy, None)
                if n >= rows:
                    return rounds, draws, checks.integer("n", n, 0)
        goal, part = self._goal(accuracy, rounds), self._round(privacy, rounds)
        tried = (
            [self.draws]
            if self.draws is not None
            else numbers_tried(self.learner, _SPENT, privacy, Privacy(part.epsilon, part.delta), goal)
        )
        theorem = n is None
        if theorem:
            self._require_theorem(rounds, accuracy)

        def enough(draws: int, rows: int) -> bool:
            least = self._least(accuracy, rows)
            if theorem and not self._generalizes(rows, draws, rounds, accuracy):
                return False
            return are_enough(self.learner, self._weak(part, draws, least), goal, draws)

        rows, draws = fewest_rows(tried, enough)
        return rounds, draws, rows if n is None else checks.integer("n", n, 0)

    def _require_theorem(self, rounds: int, accuracy: Accuracy) -> None:
        if assumes := self.learner.assumes:  # rounds draw by their own weights
            actual = f"{type(self.learner).__name__}, for {assumes}"
            raise NoTheoremError("learner", "one whose theorem is for all distributions", actual, "search for n")
        density, alpha = self._density(accuracy), float(accuracy.alpha)
        if density >= alpha:
            raise NoTheoremError("kappa", f"less than alpha = {alpha:g}", f"{density:g}", "leave it out: alpha / 3")
        if rounds < (turns := self._turns(accuracy)):
            raise NoTheoremError("rounds", f"at least {turns}, the theorem's", str(rounds), "leave it out, or give n")

    def _generalizes(self, rows: int, draws: int, rounds: int, accuracy: Accuracy) -> bool:
        """Finitely many hypotheses of a proper weak learner and the all-zero one, or compression to the drawn rows."""
        alpha, beta, wrong = float(accuracy.alpha), float(accuracy.beta), self._least(accuracy, rows)
        read = rounds * draws
        holds = partial(theory.generalizes, rows, wrong, alpha, beta)
        if self.learner.proper and holds(rounds * log(self.concepts.size + 1)):
            return True
        return holds(read * log(rows), read)
