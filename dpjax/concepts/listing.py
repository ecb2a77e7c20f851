"""Host: a concept class as a matrix of labels, by evaluating every concept at every element."""

from functools import partial
from typing import Any

import jax
import numpy as np

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.matrices import first_rows

LARGEST = 1 << 26  # entries of a matrix
_BLOCK = 1 << 10  # concepts evaluated at once


def matrix_of(concepts: Any) -> np.ndarray:
    """``bool[m, N]``: a row for each concept, equal ones once, each at its first place; integers for more labels."""
    table = np.asarray(concepts.matrix())
    return table[first_rows(table)]


def labels_of_all(concepts: Any) -> np.ndarray:
    """``bool[m, N]``: a row for each concept, in the order of their numbers; columns in that of the domain.

    By ``pieces``, whose cells on an empty sample hold all concepts, and ``predict``. InputError for a class without
    ``pieces``, or with more than 2^26 labels in all.
    """
    size, elements = int(concepts.size), int(concepts.domain.size)
    if size * elements > LARGEST:
        expected = f"at most 2^26 = {LARGEST} labels in all"
        advice = "take a smaller domain, such as Thresholds(64)"
        raise InputError("class", expected, f"{size} concepts on {elements} elements", advice)
    x = np.asarray(concepts.domain.encode(range(elements)))
    numbers = _numbers(concepts, x[:1])
    blocks = (numbers[start : start + _BLOCK] for start in range(0, len(numbers), _BLOCK))
    return np.concatenate([np.asarray(_labels(concepts, block, x)) for block in blocks])


@partial(jax.jit, static_argnums=0)
def _labels(concepts: Any, numbers: Any, x: Any) -> jax.Array:
    return concepts.predict(Hypothesis.of(numbers), x).T


def _numbers(concepts: Any, x: np.ndarray) -> np.ndarray:
    """The numbers of all concepts, ``uint32[m, 2]``: the cells of one row that does not count."""
    pieces = jax.jit(lambda x, none: concepts.pieces(x, none, none))
    cells = pieces(x, np.zeros(1, bool))
    alive = np.asarray(cells.alive)
    ends = zip(wide.decode(cells.first)[alive], wide.decode(cells.last)[alive], strict=True)
    return wide.encode(sorted({number for first, last in ends for number in range(int(first), int(last) + 1)}))
