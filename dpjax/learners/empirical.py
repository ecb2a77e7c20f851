"""A learner as an empirical one: right about the rows at hand, whatever they are, by learning from a resample."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.subsampling import with_replacement
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.points import Points
from dpjax.concepts.thresholds import Thresholds
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.keys import streams
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float, at_most
from dpjax.learners.base import ConceptClass, flipped_label_pairs
from dpjax.learners.generic import GenericLearner
from dpjax.learners.independent import Independent
from dpjax.learners.kln import KLN
from dpjax.learners.threshold_median import ThresholdMedian
from dpjax.learners.vc1_proper import ProperVC1
from dpjax.mechanisms.resample import Resample
from dpjax.theory import generalization
from dpjax.theory.search import smallest

_PROPER = (KLN, GenericLearner, Independent, ThresholdMedian, ProperVC1)
_DOWN = 1 - 2.0**-20  # covers the rounding to float32
_MOST_DELTA = 0.5
_PRINTED = 9  # rows for each draw, in the theorem
_SPENT = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)  # what the learner may spend, in epsilons


@dataclass(frozen=True)
class EmpiricalLearner:
    """Runs a PAC learner on ``draws`` rows, drawn with replacement from the database.

    The learner sees an i.i.d. sample of the rows' own distribution, so its error on the rows is what a PAC learner
    promises for a distribution. A row is rarely drawn, so the learner may spend more than the budget: as much as n
    rows allow.

    Args:
      learner: proper, private under REPLACE_ONE.
      draws: m >= 1, static.

    Privacy: (epsilon, delta), replace-one, for every sample, by `accounting.subsampling.with_replacement`: the learner
      runs at ln(1 + n (e^{epsilon/m} - 1)), with delta in proportion.
    Utility: `empirical_sample_size` for the error on the rows, `sample_size` for that of the distribution.
    Reference: Bun, Nissim, Stemmer 2016, Theorems 2.24 and 2.11; in place of Lemma 2.25 a sharper one, for every n.
    """

    learner: KLN | GenericLearner | Independent | ThresholdMedian | ProperVC1
    draws: int

    def __post_init__(self):
        checks.integer("draws", self.draws, 1)
        if not isinstance(self.learner, _PROPER):
            names = ", ".join(kind.__name__ for kind in _PROPER)
            raise InputError("learner", f"a proper one: {names}", type(self.learner).__name__, "take one of these")
        if self.learner.neighboring is not Neighboring.REPLACE_ONE:
            raise InputError(
                "learner", "one private under replace-one", self.learner.neighboring.value,
                "resampling preserves no other",
            )  # fmt: skip

    @staticmethod
    def planned(
        learner: "KLN | GenericLearner | Independent | ThresholdMedian | ProperVC1",
        privacy: Privacy,
        accuracy: Accuracy,
    ) -> "EmpiricalLearner":
        """With the draws for which `empirical_sample_size` is smallest, of a few tried, on the host."""
        found = []
        for spent in _SPENT:
            draws = learner.sample_size(Privacy(spent * float(privacy.epsilon), float(privacy.delta)), accuracy)
            found.append(EmpiricalLearner(learner, draws))
        return min(found, key=lambda one: one.empirical_sample_size(privacy, accuracy))

    @property
    def neighboring(self) -> Neighboring:
        """The learner's."""
        return self.learner.neighboring

    @property
    def concepts(self) -> ConceptClass:
        """The learner's."""
        return self.learner.concepts

    @property
    def k(self) -> int:
        """Concepts that are learned."""
        return getattr(self.learner, "k", 1)

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """What the learner finds; no rows stay no rows."""
        of_rows, of_learner = streams(key, "rows", "learner")
        n = sample.size
        rows = Resample(n, self.draws, sample.capacity).sample(of_rows)
        mask = jnp.broadcast_to(n > 0, (self.draws,))
        drawn = Sample(sample.x[rows], sample.y[rows], mask)
        return self.learner.learn(of_learner, drawn, _part(privacy, n, self.draws), accuracy)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]``."""
        return self.learner.predict(hypothesis, x)

    def part(self, privacy: Privacy, rows: int) -> Privacy:
        """What the learner may spend, on the host: exactly the numbers with which `learn` runs on ``rows`` rows."""
        checks.integer("rows", rows, 0)
        numbers = at_most(checks.epsilon(float(privacy.epsilon))), at_most(checks.delta(float(privacy.delta)))
        with jax.enable_x64(True):
            found = _as_in_programs(Privacy(*numbers), np.float64(rows), self.draws)
        return Privacy(float(found.epsilon), float(found.delta))

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """Written out for 9 rows a draw, as in the theorem; with any other number of rows the total is the same."""
        rows = _PRINTED * self.draws
        base = self.learner.guarantee(self.part(privacy, rows))
        inner = with_replacement(base, self.draws, rows)
        epsilon, delta = float(privacy.epsilon), float(privacy.delta) if base.delta else 0.0
        return replace(
            inner, epsilon=epsilon, delta=delta, what="EmpiricalLearner", parts=(inner,),
            why="whatever the number n of rows is, the learner's budget is what n rows allow",
        )  # fmt: skip

    def empirical_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows from which the error on the rows is at most alpha with probability 1 - beta."""

        def enough(rows: int) -> bool:
            return self.learner.sample_size(self.part(privacy, rows), accuracy) <= self.draws

        return smallest(enough)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Error alpha/2 on the rows and beta/2, and as many rows as `theory.generalization.realizable` asks for."""
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        line = isinstance(self.concepts, Points | Thresholds)
        restrictions = generalization.line if line else generalization.finite(self.concepts.size)
        general = generalization.realizable(restrictions, self.k, alpha, beta / 2)
        return max(general, self.empirical_sample_size(privacy, Accuracy(alpha / 2, beta / 2)))

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)


def _part(privacy: Privacy, rows: Array, draws: int) -> Privacy:
    """What n rows allow; with n = 0 there are no neighbours, and n = 1 will do."""
    working = as_float(privacy.epsilon).dtype
    with jax.enable_x64(True):
        epsilon = jnp.asarray(privacy.epsilon, jnp.float64)
        delta = jnp.asarray(privacy.delta, jnp.float64)
        n, each = jnp.maximum(jnp.asarray(rows).astype(jnp.float64), 1.0), epsilon / draws
        small = jnp.log1p(n * jnp.expm1(jnp.minimum(each, 1.0)))
        share = jnp.where(each < 1, small, each + jnp.log(n - (n - 1) * jnp.exp(-each)))
        grown = jnp.log(n) + each + jnp.log(-jnp.expm1(-each))  # of n (e^{epsilon/m} - 1)
        ratio = grown - epsilon - jnp.log(-jnp.expm1(-epsilon))
        of_delta = jnp.minimum(delta * jnp.exp(ratio), _MOST_DELTA)
        return Privacy((share * _DOWN).astype(working), (of_delta * _DOWN).astype(working))


_as_in_programs = jax.jit(_part, static_argnames="draws")
