"""A finite class given as a boolean matrix."""

from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.distributions import Distribution
from dpjax.concepts.domain import Domain
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.labelings import difference, in_words, labels_of, of_labels
from dpjax.core.matrices import zero_one_matrix
from dpjax.core.products import exact_dot
from dpjax.mechanisms.intervals import Pieces


@dataclass(frozen=True)
class Finite(ConceptClass):
    """Concept number i is row i of a boolean matrix over the domain {0, ..., d-1}. Equal matrices are equal classes.

    The concept of a `Hypothesis` is its number, ``uint32[k, 2]``; of a function outside the class, its labels at all
    elements, ``uint32[k, max(3, d)]``: at least three entries, since two are a number. Build it with `Finite.of`;
    ``packed`` holds the bits of the matrix, row by row.
    """

    packed: bytes = field(repr=False)
    size: int
    width: int

    @staticmethod
    def of(matrix) -> "Finite":
        """From ``bool[concepts, d]``, at least one of each."""
        table = zero_one_matrix(matrix)
        return Finite(np.packbits(table).tobytes(), *table.shape)

    @property
    def domain(self) -> Domain:
        """{0, ..., d-1}."""
        return Domain(self.width)

    def matrix(self) -> np.ndarray:
        """``bool[concepts, d]`` on the host."""
        bits = np.unpackbits(np.frombuffer(self.packed, np.uint8), count=self.size * self.width)
        return bits.reshape(self.size, self.width).astype(bool)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., 1]``."""
        element = jnp.minimum(x[..., 0], jnp.uint32(self.width - 1)).astype(jnp.int32)
        return jnp.moveaxis(self.labeling(hypothesis)[:, element], 0, -1)

    def labeling(self, hypothesis: Hypothesis) -> Array:
        """The label of each element under k hypotheses, ``bool[k, d]``."""
        return labels_of(hypothesis, jnp.asarray(self.matrix()))

    def of_labels(self, labels: Array, outcome: Array) -> Hypothesis:
        """Any functions on the domain, ``bool[k, d]``, with outcomes ``int32[k]``, as hypotheses."""
        return of_labels(labels, outcome)

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return in_words(hypothesis, self.matrix())

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled)."""
        return difference(distribution, self.labeling(hypothesis), self.labeling(target))

    def dichotomies(self, points: Array, real: Array) -> tuple[Array, Array]:
        """One concept for each way in which the class cuts a set: (``uint32[concepts, 2]``, which of them count).

        points ``uint32[r, 1]``, real ``bool[r]``. Lists all concepts; the first one of each restriction counts.
        """
        element = jnp.minimum(points[:, 0], jnp.uint32(self.width - 1)).astype(jnp.int32)
        inside = jnp.zeros(self.width, bool).at[jnp.where(real, element, self.width)].set(True, mode="drop")
        table = (jnp.asarray(self.matrix()) & inside).astype(jnp.float32)
        common = exact_dot(table, table.T)  # whole numbers below 2**24
        ones = jnp.diagonal(common)
        same = (common == ones[:, None]) & (common == ones[None])
        index = jnp.arange(self.size, dtype=jnp.int32)
        first = ~jnp.any(same & (index[None] < index[:, None]), axis=1)
        return jnp.stack([jnp.zeros(self.size, jnp.uint32), index.astype(jnp.uint32)], axis=-1), first

    def xor(self) -> "Finite":
        """Host: the class of all symmetric differences of two concepts, without duplicates."""
        table = self.matrix()
        differences = (table[:, None] ^ table[None]).reshape(-1, self.width)
        packed = np.unique(np.packbits(differences, axis=1), axis=0)
        return Finite.of(np.unpackbits(packed, axis=1, count=self.width))

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every concept is its own cell; errors are computed in one pass over the domain's elements.

        x ``uint32[n, 1]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        table = jnp.asarray(self.matrix())
        cell = jnp.minimum(x[:, 0], jnp.uint32(self.width - 1)).astype(jnp.int32)
        votes = jnp.where(mask, jnp.where(y, jnp.int32(1), jnp.int32(-1)), 0)
        # one more slot: XLA on CPUs sums wrongly into a single one if as many trials are vmapped as there are rows
        balance = jnp.zeros(self.width + 1, jnp.int32).at[cell].add(votes)[:-1]
        positives = jnp.sum(y & mask, dtype=jnp.int32)
        errors = positives - jnp.sum(jnp.where(table, balance, 0), axis=1, dtype=jnp.int32)
        number = jnp.stack([jnp.zeros(self.size, jnp.uint32), jnp.arange(self.size, dtype=jnp.uint32)], axis=-1)
        return Pieces(number, number, errors, jnp.ones(self.size, bool), size=self.size)
