"""Parts of a union: which pieces are connected, and what is removed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Hypothesis
from dpjax.concepts.islands import SIDE, mainland, probes
from dpjax.concepts.unions import Unions

D = 2**10


def box(x0, y0, x1, y1):
    """As a fraction of the square."""
    return [(round(D * x), round(D * y)) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]


def union(*boxes):
    concepts = Unions(D, 2 * len(boxes))
    return concepts, Hypothesis.of(jnp.asarray(concepts.of_polygons([box(*one) for one in boxes]))[None])


def share(concepts, hypothesis):
    x = jnp.asarray(concepts.domain.encode(probes(D).tolist()))
    return float(np.mean(np.asarray(jax.jit(concepts.predict)(hypothesis, x))))


LARGE, OTHER, SMALL, BESIDE = (0.1, 0.1, 0.5, 0.5), (0.6, 0.6, 0.9, 0.9), (0.7, 0.1, 0.8, 0.2), (0.5, 0.1, 0.58, 0.2)


@pytest.mark.parametrize(
    ("boxes", "least", "kept"),
    [
        ((LARGE, OTHER, SMALL), 0.02, (LARGE, OTHER)),  # two real parts
        pytest.param((LARGE, OTHER, SMALL), 0.005, (LARGE, OTHER, SMALL), marks=pytest.mark.slow),
        pytest.param((LARGE, OTHER, SMALL), 0.0, (LARGE, OTHER, SMALL), marks=pytest.mark.slow),
        ((LARGE, SMALL, BESIDE), 0.02, (LARGE, BESIDE)),  # what touches a large part is no island
        ((SMALL, OTHER), 0.5, (OTHER,)),  # the largest part stays, however small
    ],
)
def test_small_parts_are_removed(boxes, least, kept):
    concepts, whole = union(*boxes)
    small = jax.jit(concepts.without_islands)(whole, jnp.float32(least))
    assert small.concept.shape == whole.concept.shape and small.concept.dtype == jnp.uint32
    x = jnp.asarray(np.random.default_rng(0).integers(0, D + 1, (2000, 2)).astype(np.uint32))
    expected = jax.jit(union(*kept)[0].predict)(union(*kept)[1], x)
    np.testing.assert_array_equal(jax.jit(concepts.predict)(small, x), expected)
    trimmed = concepts.trimmed(small)
    assert trimmed.concept.shape[1] == 2 * len(kept) * concepts.words
    np.testing.assert_array_equal(jax.jit(concepts.predict)(trimmed, x), expected)


def test_a_chain_is_one_part():
    """Eight pieces, of which each touches the next only; one more apart."""
    inside = np.zeros((9, SIDE, SIDE), bool)
    for i in range(8):
        inside[i, i, : SIDE // 2] = True
    inside[8, 40, 40] = True
    order = np.random.default_rng(3).permutation(9)
    keep = jax.jit(mainland)(inside[order].reshape(9, -1), jnp.float32(0.05))
    np.testing.assert_array_equal(keep, order != 8)


@pytest.mark.parametrize("d", [1, 7, 2**64 - 1])
def test_every_grid_has_probes(d):
    concepts = Unions(d, 3)
    words = concepts.of_polygons([[(0, 0), (d, 0), (0, d)]])
    found = jax.jit(concepts.without_islands)(Hypothesis.of(jnp.asarray(words)[None]), jnp.float32(0.01))
    np.testing.assert_array_equal(found.concept[0], words)
    assert probes(d).min() >= 0 and probes(d).max() <= d
