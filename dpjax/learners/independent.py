"""k concepts one by one: the direct sum of a learner of one concept, under a composition theorem."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import budget
from dpjax.learners.base import ConceptClass, flipped_label_pairs
from dpjax.learners.kln import KLN
from dpjax.learners.threshold_median import ThresholdMedian

_CELLS = 1 << 22  # rows x concepts that are worked on at once


@dataclass(frozen=True)
class Independent:
    """Runs ``learner`` once for each of k label columns, each on all rows with its share of the budget.

    Args:
      learner: a pure learner of one concept, private under REPLACE_ONE.
      k: static number of concepts, >= 1.
      composition: "basic", "advanced", "optimal" (Kairouz-Oh-Viswanath), or "zcdp" (bounded range).

    A sample may carry ``x`` as ``uint32[capacity, k, limbs]``: each concept then has its own column of points.

    Privacy: (epsilon, delta), replace-one, by the named composition of k adaptive runs.
    Utility: ``learner.sample_size`` at the share of one run and failure probability beta / k.
    Reference: Bun, Nissim, Stemmer 2016, Section 1.3 (direct sums); the composition theorems in `dpjax.accounting`.
    """

    learner: KLN | ThresholdMedian
    k: int
    composition: str = "basic"

    def __post_init__(self):
        checks.integer("k", self.k, 1)
        checks.choice("composition", self.composition, budget.COMPOSITIONS)

    @property
    def neighboring(self) -> Neighboring:
        """The learner's."""
        return self.learner.neighboring

    @property
    def concepts(self) -> ConceptClass:
        """The learner's."""
        return self.learner.concepts

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """k hypotheses; the first ones do not depend on how many follow, given the share of one run."""
        if sample.y.shape[1] != self.k:
            raise InputError("labels", f"{self.k} concepts", f"{sample.y.shape[1]}", "make k the number of columns")
        share = budget.per_run(privacy, self.k, self.composition)
        own_points = sample.x.ndim == 3

        def one(arguments) -> Hypothesis:
            run_key, column, points = arguments
            own = Sample(sample.x if points is None else points, column[:, None], sample.mask)
            return self.learner.learn(run_key, own, share, accuracy)

        columns = (keys.per_index(key, self.k), sample.y.T, jnp.swapaxes(sample.x, 0, 1) if own_points else None)
        at_once = max(1, _CELLS // sample.capacity)
        answers = jax.vmap(one)(columns) if self.k <= at_once else jax.lax.map(one, columns, batch_size=at_once)
        return jax.tree.map(lambda part: part[:, 0], answers)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]``."""
        return self.learner.predict(hypothesis, x)

    def share(self, privacy: Privacy) -> Privacy:
        """The budget of one run, on the host: exactly the numbers with which `learn` runs."""
        return budget.share(privacy, self.k, self.composition)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """The tree of k runs, composed on the host from the share that `learn` uses."""
        part = self.learner.guarantee(self.share(privacy))
        return budget.composed(part, self.k, float(privacy.delta), self.composition, f"{self.k} concepts one by one")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The learner's theorem at the share of one run, each concept failing with probability beta / k."""
        beta = checks.probability("beta", float(accuracy.beta))
        return self.learner.sample_size(self.share(privacy), Accuracy(accuracy.alpha, beta / self.k))

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one relabelled in every column at once."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)
