"""Points on any domain, represented by the buckets of a few random hash functions."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.concepts.hashing import Buckets, Hash
from dpjax.concepts.points import Points
from dpjax.core import checks
from dpjax.core.types import Sample
from dpjax.learners.representations.hashed import HashSizes


@dataclass(frozen=True)
class PointBuckets(HashSizes):
    """The indicators of the buckets of ``tries`` hash functions, and the all-zero function: tries 2^bits + 1 members.

    The bucket of the target errs on the points that collide with it. The family does not depend on |X|. `HashedPoints`
    chooses from the same family for k columns at once.

    Args:
      concepts: points. tries: number of hash functions, >= 1. bits: in [1, 20]; a function has 2**bits buckets. By
        default for the accuracy.

    Reference: Beimel, Nissim, Stemmer 2013, Section 3; the hash family is our own.
    """

    concepts: Points
    tries: int | None = None
    bits: int | None = None

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Points, "use PointSetBuckets for d-points, Whole for other classes")
        self.check_sizes()

    ones = elements = 1

    def members_of(self, tries: int, bits: int) -> int:
        """With these sizes."""
        return (tries << bits) + 1

    def draw(self, key: Array) -> Hash:
        """The hash functions."""
        tries, bits = self.known()
        return Hash.draw(key, tries, bits, max(1, (self.concepts.domain.size - 1).bit_length()))

    def column_errors(self, family: Hash, sample: Sample) -> Array:
        """Errors of all members in each of k columns, ``int32[k, N]``: buckets by function, then the zero function."""
        bits, k = self.known()[1], sample.y.shape[1]
        nowhere = jnp.sum(sample.y & sample.mask[:, None], axis=0, dtype=jnp.int32)
        votes = jnp.where(sample.mask[:, None], jnp.where(sample.y, jnp.int32(1), jnp.int32(-1)), 0)

        def of_function(bucket: Array) -> Array:
            """Number of positive rows minus number of negative rows, per bucket."""
            return jnp.zeros((1 << bits, k), jnp.int32).at[bucket.astype(jnp.int32)].add(votes)

        lead = jax.lax.map(of_function, family(sample.x).T).reshape(-1, k)
        return jnp.concatenate([nowhere[:, None] - lead.T, nowhere[:, None]], axis=1)

    def errors(self, family: Hash, sample: Sample) -> Array:
        """In the one column, ``int32[N]``."""
        return self.column_errors(family, sample)[0]

    def members(self, family: Hash, index: Array) -> Buckets:
        """The hypotheses of members ``int32[k]``."""
        tries, bits = self.known()
        zero = index == tries << bits
        place = jnp.where(zero, 0, index)
        number = jnp.stack([place >> bits, place & ((1 << bits) - 1)], axis=-1).astype(jnp.uint32)
        return Buckets(number, zero, jnp.zeros(index.shape[0], jnp.int32), family)

    def member(self, family: Hash, index: Array) -> Buckets:
        """The hypothesis of one member, with its own axis of hash functions."""
        return self.members(jax.tree.map(lambda part: part[None], family), index[None])

    def sized(self, sizes: tuple[int, ...]) -> "PointBuckets":
        """With these numbers of functions and bits."""
        return replace(self, tries=sizes[0], bits=sizes[1])
