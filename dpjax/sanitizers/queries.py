"""Counting queries over a finite domain: all concepts of a class at once, in exact integers."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.finite import Finite
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.core.products import exact_dot
from dpjax.sanitizers.base import Sanitized, Sanitizer

EXACT = 1 << 24  # integers up to 2**24 are exact in float32
_BLOCK = 1 << 21  # entries of the matrix unpacked at a time


class OfQueries(Sanitizer):
    """Base class of sanitizers of the counting queries of a matrix."""

    queries: Any

    def __post_init__(self):
        checks.instance("queries", self.queries, Finite, "make a matrix of the class, see Finite")

    @property
    def bits(self) -> int:
        """Bits of a value."""
        return max(1, (int(self.queries.domain.size) - 1).bit_length())

    def parts_of_a_difference(self, concepts: Any) -> int:
        """1 for a matrix whose differences are queries themselves; 2 for a class whose concepts are queries."""
        values = int(self.queries.domain.size)
        if values != concepts.domain.size:
            expected = f"queries over the {concepts.domain.size} values of {type(concepts).__name__}"
            raise InputError("sanitizer", expected, f"queries over {values}", "make the queries from the class")
        return 1 if implements(concepts, ConceptClass.xor) else 2

    def answers_differences(self, concepts: Any) -> bool:
        """Whether all symmetric differences of a matrix, or all concepts of another class, are queries."""
        if self.queries == concepts and not implements(concepts, ConceptClass.xor):
            return True
        if implements(concepts, ConceptClass.xor):
            wanted = concepts.xor().matrix()
        else:
            number = Hypothesis.of(jnp.asarray(wide.encode(range(concepts.size))))
            elements = jnp.asarray(concepts.domain.encode(range(concepts.domain.size)))
            wanted = np.asarray(concepts.predict(number, elements)).T
        known = {row.tobytes() for row in self.queries.matrix()}
        return all(row.tobytes() in known for row in wanted)


def histogram(values: int, x: Array, mask: Array) -> Array:
    """The number of rows with each of d ``values``, ``int32[d]``, for x ``uint32[n, 1]``; larger ones are the last."""
    cell = jnp.minimum(x[:, 0], jnp.uint32(values - 1)).astype(jnp.int32)
    return jnp.zeros(values + 1, jnp.int32).at[cell].add(mask.astype(jnp.int32))[:-1]  # see `Finite.pieces`


def answers(queries: Finite, counts: Array) -> Array:
    """sum over x of query(x) counts[x] for every query, ``int32[concepts]``; |counts| sum to less than 2**24.

    Blocks of rows of the packed matrix are unpacked to float32 for one matrix product; integers are exact in any order.
    """
    weight = jnp.pad(counts.astype(jnp.float32), (0, -queries.width % 8))

    def of_row(row: Array) -> Array:
        return exact_dot(_unpacked(row).astype(jnp.float32), weight)

    block = max(1, _BLOCK // queries.width)
    rows = jnp.asarray(_packed(queries))
    if queries.size <= block:
        return jax.vmap(of_row)(rows).astype(jnp.int32)
    return jax.lax.map(of_row, rows, batch_size=block).astype(jnp.int32)


def query(queries: Finite, number: Array) -> Array:
    """The query with this number, ``bool[d]``."""
    return _unpacked(jnp.asarray(_packed(queries))[number])[: queries.width]


def error(queries: Finite, sanitized: Sanitized, x: Any, mask: Any) -> Fraction:
    """Host: the largest error of a query's frequency over the whole class, as an exact fraction; 0 without rows."""
    last, columns = queries.width - 1, np.zeros((queries.width, 2))
    np.add.at(columns[:, 0], np.minimum(np.asarray(x)[np.asarray(mask), 0], last), 1)
    np.add.at(columns[:, 1], np.minimum(np.asarray(sanitized.points)[:, -1], last), np.asarray(sanitized.weights))
    rows = _packed(queries)
    sums = []
    for start in range(0, len(rows), max(1, _BLOCK // queries.width)):
        some = rows[start : start + max(1, _BLOCK // queries.width)]
        table = np.unpackbits(some, axis=1, count=queries.width, bitorder="little")
        sums.append(table.astype(np.float64) @ columns)  # integers below 2**53: exact
    ours, theirs = np.concatenate(sums).astype(np.int64).astype(object).T
    n, total = (int(count) for count in columns.sum(axis=0))
    return Fraction(int(np.max(np.abs(theirs * n - ours * total))), max(n, 1) * total)


def _packed(queries: Finite) -> np.ndarray:
    """The matrix, eight columns per byte, lowest bit first: ``uint8[concepts, ceil(d / 8)]``."""
    return np.packbits(queries.matrix(), axis=1, bitorder="little")


def _unpacked(row: Array) -> Array:
    bits = (row[:, None] >> jnp.arange(8, dtype=jnp.uint8)[None]) & jnp.uint8(1)
    return bits.reshape(-1).astype(bool)
