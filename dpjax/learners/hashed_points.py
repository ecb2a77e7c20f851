"""Improper pure learning of points: buckets of random hash functions, so that |X| does not matter."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hashing import Buckets, Hash
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.points import Points
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import budget
from dpjax.learners.base import flipped_label_pairs
from dpjax.mechanisms.exponential import exponential, exponential_guarantee
from dpjax.sanitizers.shares import each
from dpjax.theory import points as theory

_MOST_BITS = 20


@dataclass(frozen=True)
class HashedPoints:
    """Exponential mechanism over the buckets of a few random hash functions, and the all-zero function.

    The bucket of the target errs on what collides with it; one of ``tries`` functions has few collisions. The functions
    do not look at the data and are published. All columns share them.

    Args:
      concepts: points.
      k: static number of concepts, >= 1.
      tries: static, hash functions, >= 1.
      bits: static, in [1, 20]; a function has 2**bits buckets.
      composition: of the k choices, as in `Independent`.

    Privacy: (epsilon, delta), replace-one, for every sample: k exponential mechanisms; (epsilon, 0) with "basic".
    Utility: `theory.points.hashed`, whatever |X|. Improper, agnostic.
    Reference: Beimel, Nissim, Stemmer 2013 (probabilistic representations); Bun, Nissim, Stemmer 2016, Corollary 3.3;
      the hash family and the constants are our own.
    """

    concepts: Points
    k: int
    tries: int
    bits: int
    composition: str = "basic"
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        if not isinstance(self.concepts, Points):
            raise InputError("concepts", "Points", type(self.concepts).__name__, "use KLN for other classes")
        checks.integer("k", self.k, 1)
        checks.integer("tries", self.tries, 1)
        checks.integer("bits", self.bits, 1, _MOST_BITS)
        checks.choice("composition", self.composition, budget.COMPOSITIONS)

    @staticmethod
    def planned(
        concepts: Points, k: int, privacy: Privacy, accuracy: Accuracy, composition: str = "basic"
    ) -> "HashedPoints":  # fmt: skip
        """With the functions and buckets that need the fewest rows, on the host."""
        tries = theory.hash_tries(k, checks.probability("beta", float(accuracy.beta)))
        least = theory.hash_bits(checks.probability("alpha", float(accuracy.alpha)))
        if least > _MOST_BITS:
            raise InputError("alpha", f"more than 2**{2 - _MOST_BITS}", repr(accuracy.alpha), "take a larger alpha")
        every = range(least, min(least + 6, _MOST_BITS + 1))
        plans = [HashedPoints(concepts, k, tries, bits, composition) for bits in every]
        return min(plans, key=lambda plan: plan.sample_size(privacy, accuracy))

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """k buckets or all-zero functions; an empty sample gives any of them."""
        if sample.y.shape[1] != self.k:
            raise InputError("labels", f"{self.k} concepts", f"{sample.y.shape[1]}", "make k the number of columns")
        of_hashes, of_columns = keys.streams(key, "hashes", "columns")
        hashes = Hash.draw(of_hashes, self.tries, self.bits)
        errors = self.errors(hashes, sample)
        part = budget.per_run(privacy, self.k, self.composition)
        choose = lambda own, column: exponential(-column, part.epsilon).sample(own)  # noqa: E731
        chosen = each(choose, keys.per_index(of_columns, self.k), errors)
        zero = chosen == self.tries << self.bits
        place = jnp.where(zero, 0, chosen)
        number = jnp.stack([place >> self.bits, place & ((1 << self.bits) - 1)], axis=-1).astype(jnp.uint32)
        return Buckets(number, zero, jnp.zeros(self.k, jnp.int32), hashes)

    def errors(self, hashes: Hash, sample: Sample) -> Array:
        """Errors of all buckets, function by function, and of the all-zero function, ``int32[k, tries 2^bits + 1]``."""
        nowhere = jnp.sum(sample.y & sample.mask[:, None], axis=0, dtype=jnp.int32)
        votes = jnp.where(sample.mask[:, None], jnp.where(sample.y, jnp.int32(1), jnp.int32(-1)), 0)

        def of_function(bucket: Array) -> Array:
            """Positive rows less negative ones in each bucket."""
            return jnp.zeros((1 << self.bits, self.k), jnp.int32).at[bucket.astype(jnp.int32)].add(votes)

        lead = jax.lax.map(of_function, hashes(sample.x).T).reshape(-1, self.k)
        return jnp.concatenate([nowhere[:, None] - lead.T, nowhere[:, None]], axis=1)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]``."""
        return self.concepts.predict(hypothesis, x)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """k exponential mechanisms."""
        own = float(budget.share(privacy, self.k, self.composition).epsilon)
        part = exponential_guarantee(own, f"one of {self.tries << self.bits} buckets")
        return budget.composed(part, self.k, float(privacy.delta), self.composition, f"{self.k} points by hashing")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.points.hashed`; InputError if functions or buckets are too few for this accuracy."""
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        part = float(budget.share(privacy, self.k, self.composition).epsilon)
        return theory.hashed(self.k, self.tries, self.bits, part, alpha, beta)

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled in every column at once."""
        return flipped_label_pairs(self.concepts.domain, rows, self.k)
