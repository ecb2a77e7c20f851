"""Labels that are constant on the buckets of a hash function, and 0 on all buckets but a few."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.distributions import Distribution
from dpjax.concepts.hashing import Buckets, Hash
from dpjax.concepts.hypothesis import Hypothesis, sentences


@register_dataclass
@dataclass(frozen=True)
class BucketSets(Hypothesis):
    """k functions to labels of ``bits`` bits: hypothesis j labels x by the bucket into which one hash function puts it.

    concept: ``uint32[k, 1 + 2 s]``: the number of the hash function, then s pairs of a bucket and its label; label 0
      marks an unused pair, and all other buckets have label 0. Buckets of used pairs are distinct.
    hashes: the functions of each hypothesis, with a leading axis of length k, drawn independently of the data and
      therefore publishable. bits: static.
    """

    hashes: Hash
    bits: int = field(metadata={"static": True})

    def predict(self, x: Array) -> Array:
        """``bool[..., k bits]`` for elements ``uint32[..., limbs]``."""
        labels = self._bits(self._own()(x))
        return labels.reshape(*x.shape[:-1], -1)

    def labels_at(self, x: Array) -> Array:
        """The labels that hypothesis j gives to the elements of row j of ``uint32[k, e, limbs]``, ``bool[k, e, L]``."""
        bucket = jax.vmap(self._own().each, 1)(x)
        return jnp.swapaxes(self._bits(bucket), 0, 1)

    def mass(self, distribution: Distribution) -> tuple[Array, Array]:
        """Mass of the elements with a label other than 0, modulo 2**64, ``uint64[k]``, and whether it is 2**64."""
        _, bucket, label = self._parts()
        count, slots = bucket.shape
        number = jnp.broadcast_to(jnp.arange(count, dtype=jnp.uint32)[:, None], bucket.shape)
        unused = ((label == 0) | self.zero[:, None]).reshape(-1)
        concept = jnp.stack([number, bucket], axis=-1).reshape(-1, 2)
        buckets = Buckets(concept, unused, jnp.zeros(count * slots, jnp.int32), self._own())
        mass, some = (part.reshape(bucket.shape) for part in buckets.mass(distribution))
        total = jnp.sum(mass, axis=1)
        return total, (total == 0) & jnp.any(some, axis=1)

    def describe(self) -> list[str]:
        """A sentence for each hypothesis, on the host."""

        def said(words) -> str:
            pairs = sorted((int(b), int(v)) for b, v in words[1:].reshape(-1, 2) if v)
            if not pairs:
                return "0 everywhere"
            if self.bits == 1:
                return f"1 iff hash function {words[0]} gives {' or '.join(str(b) for b, _ in pairs)}"
            return f"by hash function {words[0]}: " + ", ".join(f"label {v} if it gives {b}" for b, v in pairs)

        return sentences(self, said)

    def _parts(self) -> tuple[Array, Array, Array]:
        pairs = self.concept[:, 1:].reshape(self.concept.shape[0], -1, 2)
        return self.concept[:, 0], pairs[..., 0], pairs[..., 1]

    def _own(self) -> Hash:
        return self.hashes.of_columns(self.concept[:, 0])

    def _bits(self, found: Array) -> Array:
        """Bits of the labels of buckets ``uint32[..., k]``, ``bool[..., k, bits]``."""
        _, bucket, label = self._parts()
        hit = (found[..., None] == bucket) & ~self.zero[:, None]
        total = jnp.sum(jnp.where(hit, label, jnp.uint32(0)), axis=-1, dtype=jnp.uint32)
        return (total[..., None] >> jnp.arange(self.bits, dtype=jnp.uint32) & jnp.uint32(1)) > 0
