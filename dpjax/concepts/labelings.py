"""Functions on a small domain, in a class or not, by their labels."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.distributions import Distribution
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.core import wide

_SHOWN = 32  # labels in a sentence


def of_labels(labels: Array, outcome: Array) -> Hypothesis:
    """k functions by their labels, ``[k, d]``, with outcomes ``int32[k]``: concepts ``uint32[k, max(3, d)]``.

    Two words are the number of a row; functions have at least three. The hypothesis of an outcome -1 is the zero
    function, whatever its labels.
    """
    zero = outcome < 0
    words = jnp.where(zero[:, None], jnp.uint32(0), labels.astype(jnp.uint32))
    return Hypothesis(jnp.pad(words, ((0, 0), (0, max(0, 3 - labels.shape[1])))), zero, outcome)


def labels_of(hypothesis: Hypothesis, table: Array) -> Array:
    """The labels of k hypotheses, rows of ``table [m, d]`` or functions by their labels, ``[k, d]`` of its dtype."""
    rows, width = table.shape
    if hypothesis.concept.shape[1] > 2:
        labels = hypothesis.concept[:, :width].astype(table.dtype)
    else:
        labels = table[jnp.minimum(hypothesis.concept[:, 1], jnp.uint32(rows - 1)).astype(jnp.int32)]
    return jnp.where(hypothesis.zero[:, None], jnp.zeros((), table.dtype), labels)


def in_words(hypothesis: Hypothesis, table: np.ndarray) -> list[str]:
    """Host: for each hypothesis its number, if it is a row of ``table [m, d]``, and its first labels."""

    def rule(words: np.ndarray) -> str:
        if len(words) == 2:
            number = int(wide.decode(words))
            equal, labels = [number], table[min(number, len(table) - 1)]
        else:
            labels = words[: table.shape[1]].astype(table.dtype)
            equal = np.flatnonzero((table == labels).all(axis=1)).tolist()
        shown = ("" if table.dtype == bool else ", ").join(str(int(label)) for label in labels[:_SHOWN])
        shown += f" and {len(labels) - _SHOWN} more" * (len(labels) > _SHOWN)
        return f"row {equal[0]} of the matrix, labels {shown}" if equal else f"labels {shown}"

    return sentences(hypothesis, rule)


def difference(distribution: Distribution, ours: Array, theirs: Array) -> Array:
    """Mass of the elements with other labels, exactly, in units of the distribution: ``uint64[k]`` of ``[k, d]``.

    64-bit types must be enabled.
    """
    mass = distribution.mass_at(jnp.arange(ours.shape[1], dtype=jnp.uint64))
    wrong = jnp.where(ours != theirs, mass, jnp.uint64(0))
    total = jnp.sum(wrong, axis=-1)
    return jnp.where((total == 0) & jnp.any(wrong > 0, axis=-1), jnp.uint64(2**64 - 1), total)  # 2**64 wraps to 0
