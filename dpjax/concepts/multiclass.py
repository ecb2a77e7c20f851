"""A finite class of functions to the labels 0..c, given as a matrix; samples carry the bits of the labels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.distributions import Distribution
from dpjax.concepts.domain import Domain
from dpjax.concepts.finite import Finite
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.labelings import difference, in_words, labels_of, of_labels
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix
from dpjax.mechanisms.intervals import Pieces

MOST_LABELS = 1 << 16


@dataclass(frozen=True)
class Multiclass(ConceptClass):
    """Concept number i is row i of a matrix of labels over the domain {0, ..., d-1}. Equal matrices are equal classes.

    A sample has a column for each bit of the labels, the least significant first, ``columns`` in all; a row is wrong if
    any bit is. The concept of a `Hypothesis` is its number, ``uint32[k, 2]``; of a function outside the class, its
    labels at all elements, ``uint32[k, max(3, d)]``. Build it with `Multiclass.of`; ``packed`` holds the matrix as
    16-bit words, row by row.

    Reference: Bun, Gaboardi, Sivakumar 2021, Section 2.
    """

    packed: bytes = field(repr=False)
    size: int
    width: int
    labels: int

    @staticmethod
    def of(matrix, labels: int | None = None) -> "Multiclass":
        """From ``int[concepts, d]``, distinct rows of labels 0..labels-1; by default as many as occur, at least 2.

        InputError for other labels, more than 2^16 of them, equal rows, or none.
        """
        most = MOST_LABELS if labels is None else checks.integer("labels", labels, 2, MOST_LABELS)
        table = class_matrix(matrix, most, elements=1)
        count = max(2, int(table.max()) + 1) if labels is None else most
        rows, elements = table.shape
        return Multiclass(table.astype("<u2").tobytes(), rows, elements, count)

    @property
    def domain(self) -> Domain:
        """{0, ..., d-1}."""
        return Domain(self.width)

    @property
    def columns(self) -> int:
        """Label columns of a sample: the bits of a label, ceil(log2(labels))."""
        return (self.labels - 1).bit_length()

    def matrix(self) -> np.ndarray:
        """``int64[concepts, d]`` on the host."""
        return np.frombuffer(self.packed, "<u2").reshape(self.size, self.width).astype(np.int64)

    @cached_property
    def bit_classes(self) -> tuple[Finite, ...]:
        """Host: the binary class of each bit, its rows once each."""
        return tuple(Finite.of(np.unique(self.matrix() >> i & 1, axis=0)) for i in range(self.columns))

    def labeling(self, hypothesis: Hypothesis) -> Array:
        """The label of each element under k hypotheses, ``int32[k, d]``."""
        return labels_of(hypothesis, jnp.asarray(self.matrix(), jnp.int32))

    def of_labels(self, labels: Array, outcome: Array) -> Hypothesis:
        """Any functions on the domain, ``int32[k, d]`` labels, with outcomes ``int32[k]``, as hypotheses."""
        return of_labels(labels, outcome)

    def of_bits(self, bits: Array) -> Array:
        """Labels ``int32[...]`` of bits ``bool[..., columns]``; numbers that are no label become 0."""
        weights = jnp.asarray([1 << i for i in range(self.columns)], jnp.int32)
        number = jnp.sum(jnp.where(bits, weights, 0), axis=-1, dtype=jnp.int32)
        return jnp.where(number < self.labels, number, 0)

    def of_bit(self, learner: Any, hypothesis: Any) -> Array:
        """The bit at all elements, ``bool[d]``."""
        return learner.predict(hypothesis, jnp.arange(self.width, dtype=jnp.uint32)[:, None])[:, 0]

    def joined(self, bits: Sequence[Array], outcome: Array) -> Hypothesis:
        """The function with these bits, by its labels; numbers that are no label become 0."""
        return self.of_labels(self.of_bits(jnp.stack(bits, axis=-1))[None], outcome[None])

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """The bits of the labels of elements ``uint32[..., 1]``, ``bool[..., k columns]``, a concept's together."""
        element = jnp.minimum(x[..., 0], jnp.uint32(self.width - 1)).astype(jnp.int32)
        label = jnp.moveaxis(self.labeling(hypothesis)[:, element], 0, -1)
        bits = label[..., None] >> jnp.arange(self.columns, dtype=jnp.int32) & 1
        return (bits > 0).reshape(*element.shape, -1)

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return in_words(hypothesis, self.matrix())

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the elements with another label, exactly, in units of the distribution: ``uint64[k]`` (64-bit types
        enabled)."""
        return difference(distribution, self.labeling(hypothesis), self.labeling(target))

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every concept is its own cell.

        x ``uint32[n, 1]``, y ``bool[n, columns]``, or ``bool[n]`` for two labels, mask ``bool[n]``. A replaced row
        changes an error by at most 1; a row whose bits are no label is an error of every concept.
        """
        y = y[:, None] if y.ndim == 1 else y
        if y.shape[1] != self.columns:
            actual = f"shape {y.shape}"
            raise InputError("labels", f"{self.columns} columns, the bits of 0..{self.labels - 1}", actual, "give all")
        element = jnp.minimum(x[:, 0], jnp.uint32(self.width - 1)).astype(jnp.int32)
        weights = jnp.asarray([1 << i for i in range(self.columns)], jnp.int32)
        number = jnp.sum(jnp.where(y, weights, 0), axis=1, dtype=jnp.int32)
        counts = jnp.zeros((self.width, 1 << self.columns), jnp.int32).at[element, number].add(mask.astype(jnp.int32))
        table = jnp.asarray(self.matrix(), jnp.int32)
        right = jnp.sum(counts[jnp.arange(self.width, dtype=jnp.int32), table], axis=1, dtype=jnp.int32)
        errors = jnp.sum(mask, dtype=jnp.int32) - right
        place = jnp.stack([jnp.zeros(self.size, jnp.uint32), jnp.arange(self.size, dtype=jnp.uint32)], axis=-1)
        return Pieces(place, place, errors, jnp.ones(self.size, bool), size=self.size)
