"""Elements of a domain on which concepts differ or agree: host code."""

from functools import partial
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core.checks import InputError
from dpjax.core.members import implements

_TRIED = 4  # elements among which those with the labels that are asked for are looked for


def labelings(concepts: ConceptClass, elements: tuple[int, ...]) -> np.ndarray:
    """``bool[m, len(elements)]``: the labelings of these elements by the class."""
    if not implements(concepts, ConceptClass.dichotomies):
        return np.ascontiguousarray(concepts.matrix()[:, elements].astype(bool))
    labels, exists = _of_all_cuts(concepts, np.asarray(concepts.domain.encode(elements)))
    return np.asarray(labels)[np.asarray(exists)]


@partial(jax.jit, static_argnums=0)
def _of_all_cuts(concepts: ConceptClass, x: Array) -> tuple[Array, Array]:
    number, exists = concepts.dichotomies(x, jnp.ones(len(x), bool))
    return concepts.predict(Hypothesis.of(number), x).T, exists


def first_elements(concepts: ConceptClass, count: int = _TRIED) -> tuple[int, ...]:
    """The first ``count`` elements of the domain, or all."""
    return tuple(range(min(int(concepts.domain.size), count)))


def differing(concepts: ConceptClass) -> int:
    """One of the first elements on which two concepts differ; InputError if there is none."""
    labels = labelings(concepts, first_elements(concepts))
    for x in range(labels.shape[1]):
        if _both(labels[:, x]):
            return x
    raise _alike(concepts)


def differing_and_agreeing(concepts: ConceptClass) -> tuple[int, int, bool]:
    """(An element on which two concepts differ, another on which they agree, their label there); else InputError."""
    labels = labelings(concepts, first_elements(concepts))
    for x, other in permutations(range(labels.shape[1]), 2):
        for label in (False, True):
            if _both(labels[labels[:, other] == label][:, x]):
                return x, other, label
    raise _alike(concepts, " and agree on another one")


def _both(labels: np.ndarray) -> bool:
    return bool(labels.any() and not labels.all())


def _alike(concepts: ConceptClass, also: str = "") -> InputError:
    expected = f"two concepts that differ on one of the first elements{also}"
    actual = f"{type(concepts).__name__} on {concepts.domain.size} elements"
    return InputError("concepts", expected, actual, "take a larger domain")
