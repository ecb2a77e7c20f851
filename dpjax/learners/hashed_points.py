"""Improper pure learning of points: buckets of random hash functions, with a sample size independent of |X|."""

from dataclasses import dataclass, field

import jax
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import composed, require_composition, split
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.points import Points
from dpjax.core import checks, keys
from dpjax.core.plans import STATIC, Positive, Slack, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.base import OfColumns
from dpjax.learners.representations.points import PointBuckets
from dpjax.mechanisms.exponential import effective_epsilon, exponential
from dpjax.theory import points as theory

_MOST_BITS = 20


@plan_type
class HashedPlan:
    """epsilon: of one choice, ``float32[]``. slack: delta of the composition, ``float32[]``."""

    epsilon: Positive
    slack: Slack
    tries: int = field(metadata=STATIC)
    bits: int = field(metadata=STATIC)


@dataclass(frozen=True)
class HashedPoints(OfColumns):
    """Exponential mechanism over the buckets of a few random hash functions and the all-zero function.

    The bucket of the target errs on the points that collide with it; with high probability one of the ``tries``
    functions has few collisions. The functions are independent of the data, published, and shared by all columns:
    the family is `representations.PointBuckets`, and `RepresentationLearner` chooses from it for one column.

    Args:
      concepts: points.
      k: static number of concepts, >= 1.
      tries: number of hash functions, >= 1. bits: in [1, 20]; a function has 2**bits buckets. By default those that
        need the fewest rows at epsilon = 1.
      composition: of the k choices, as in `Independent`.

    Privacy: (epsilon, delta), replace-one and add-or-remove-one, for every sample; (epsilon, 0) with "basic".
    Utility: `theory.points.hashed`, for every |X|, also agnostic. Improper.
    Reference: Beimel, Nissim, Stemmer 2013 (probabilistic representations); Bun, Nissim, Stemmer 2016, Corollary 3.3;
      the hash family and the constants are our own.
    """

    concepts: Points
    k: int
    tries: int | None = None
    bits: int | None = None
    composition: str = "basic"
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Points, "use KLN for other classes")
        checks.integer("k", self.k, 1)
        checks.whole_or_none("tries", self.tries, 1)
        checks.whole_or_none("bits", self.bits, 1, _MOST_BITS)
        require_composition(self.composition, "bounded range")

    @property
    def spends(self) -> Spends:
        """Bounded range for one choice, which is an exponential mechanism; otherwise by the composition."""
        if self.k == 1:
            return "bounded range"
        return "pure" if self.composition == "basic" else "approximate"

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> HashedPlan:
        """The epsilon of one choice, and the numbers of functions and buckets for the accuracy."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        reference = split(1.0, delta, self.k, self.composition, "bounded range").epsilon
        tries, bits = theory.hashed_sizes(self.k, reference, alpha, beta, self.tries, self.bits, _MOST_BITS)
        part = split(epsilon, delta, self.k, self.composition, "bounded range")
        return HashedPlan(down(part.epsilon), down(part.slack), tries, bits)

    def _learn(self, key: Array, sample: Sample, plan: HashedPlan) -> Hypothesis:
        """k buckets or all-zero functions; an empty sample gives a uniform choice."""
        self.check_columns(sample)
        of_hashes, of_columns = keys.streams(key, "hashes", "columns")
        family = PointBuckets(self.concepts, plan.tries, plan.bits)
        hashes = family.draw(of_hashes)
        choose = lambda column_key, column: exponential(-column, plan.epsilon).sample(column_key)  # noqa: E731
        errors = family.column_errors(hashes, sample)
        return family.members(hashes, jax.vmap(choose)(keys.per_index(of_columns, self.k), errors))

    def _guarantee(self, plan: HashedPlan) -> Guarantee:
        """The composition of k exponential mechanisms."""
        part = exponential_guarantee(float(plan.epsilon), f"one of {plan.tries << plan.bits} buckets", self.neighboring)
        return composed(part, self.k, float(plan.slack), self.composition, f"{self.k} points by hashing")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.points.hashed`; NoTheoremError if there are too few functions or buckets for this accuracy."""
        return self._rows(privacy, accuracy, False)

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The same for any labels."""
        return self._rows(privacy, accuracy, True)

    def _rows(self, privacy: Privacy, accuracy: Accuracy, agnostic: bool) -> int:
        plan = self.plan(privacy, accuracy)
        part, alpha, beta = effective_epsilon(plan.epsilon), float(accuracy.alpha), float(accuracy.beta)
        return theory.hashed(self.k, plan.tries, plan.bits, part, alpha, beta, agnostic)
