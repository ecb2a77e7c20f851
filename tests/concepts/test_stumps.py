"""Decision stumps: labels, errors on rows and under distributions, and sentences, against a table of all elements."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Cube, Hypothesis, ProductCube, Stumps, UniformCube
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.task import Task
from tests.trials import jit_error


def all_of(concepts):
    return Hypothesis.of(jnp.asarray(wide.encode(range(concepts.size))))


def labels_of(dimension, elements):
    """``bool[elements, concepts]``, one concept after the other."""
    bits = np.array([[int(e) >> i & 1 for i in range(dimension)] for e in elements], bool)
    literals = np.stack([bits, ~bits], axis=2).reshape(len(bits), -1)
    return np.concatenate([literals, np.ones((len(bits), 1), bool), np.zeros((len(bits), 1), bool)], axis=1)


@pytest.mark.parametrize("dimension", [33, 70, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 3, 32))])
def test_labels(dimension):
    concepts, generator = Stumps(dimension), np.random.default_rng(0)
    elements = [int.from_bytes(generator.bytes(12), "big") % 2**dimension for _ in range(40)]
    found = jax.jit(concepts.predict)(all_of(concepts), jnp.asarray(Cube(dimension).encode(elements)))
    assert concepts.size == 2 * dimension + 2
    np.testing.assert_array_equal(found, labels_of(dimension, elements))


@pytest.mark.parametrize("dimension", [1, 5, 40])
def test_errors_on_rows(dimension):
    concepts, generator = Stumps(dimension), np.random.default_rng(1)
    elements = [int(generator.integers(0, 2**dimension)) for _ in range(30)]
    y, mask = generator.random(30) < 0.4, np.arange(30) < 23
    x = jnp.asarray(Cube(dimension).encode(elements))
    pieces = jax.jit(concepts.pieces)(x, jnp.asarray(y), jnp.asarray(mask))
    wrong = (labels_of(dimension, elements) != y[:, None])[mask].sum(axis=0)
    np.testing.assert_array_equal(pieces.errors, wrong)
    assert pieces.alive.all() and pieces.size == concepts.size
    assert np.array_equal(wide.decode(pieces.first), np.arange(concepts.size))


@pytest.mark.parametrize("law", [UniformCube(4), ProductCube.of([0.5, 0.25, 0.75, 0.125])])
def test_errors_are_exact_masses(law):
    concepts = Stumps(4)
    task, labels = Task(concepts, law), labels_of(4, range(16)).astype(bool)
    ones = np.full(4, 0.5) if isinstance(law, UniformCube) else np.array([0.5, 0.25, 0.75, 0.125])
    chance = np.array([np.prod(np.where([e >> i & 1 for i in range(4)], ones, 1 - ones)) for e in range(16)])
    every = all_of(concepts)
    for number in range(concepts.size):
        one = Hypothesis.of(jnp.asarray(wide.encode([number] * concepts.size)))
        expected = chance @ (labels != labels[:, [number]])
        np.testing.assert_allclose(jit_error(task, every, one), expected, atol=1e-7)


def test_sentences_and_targets():
    concepts = Stumps(2)
    said = concepts.describe(all_of(concepts))
    assert said == ["1 iff x0", "1 iff not x0", "1 iff x1", "1 iff not x1", "1 everywhere", "0 everywhere"]
    ruled = concepts.describe(all_of(concepts), lambda coordinate, value: f"{coordinate}={value}")
    assert ruled[:4] == ["0=1", "0=0", "1=1", "1=0"]
    assert wide.decode(concepts.targets(3)).tolist() == [1, 3, 5] and len(concepts.targets(99)) == 6
    assert concepts.growth(2) == 4 and concepts.growth(100) == 6
    with pytest.raises(InputError, match="dimension"):
        Stumps(0)
    with pytest.raises(InputError, match="closed form"):
        concepts.error(UniformCube(3), all_of(concepts), all_of(concepts))
