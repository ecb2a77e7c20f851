"""Empirical risk minimisation: the fewest errors, always."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds
from dpjax.core import wide
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.theory import erm as theory

MATRIX = np.random.default_rng(2).random((8, 6)) < 0.5
CLASSES = [Points(Domain(6)), Thresholds(Domain(6)), Finite.of(MATRIX)]


def label(concepts, concept, x):
    if isinstance(concepts, Finite):
        return MATRIX[concept, x]
    return x == concept if isinstance(concepts, Points) else x <= concept


def errors_of(concepts, values, labels):
    return np.array([np.sum(label(concepts, c, values) != labels) for c in range(concepts.size)])


@pytest.mark.parametrize("concepts", CLASSES, ids=lambda c: type(c).__name__)
def test_the_answer_has_the_fewest_errors_in_every_column(concepts):
    generator = np.random.default_rng(1)
    capacity, k = 9, 3
    learn = jax.jit(jax.vmap(lambda s: ERM(concepts).learn(jax.random.key(0), s, Privacy(1.0), Accuracy(0.1, 0.1))))
    values = generator.integers(0, 6, (40, capacity))
    labels = generator.random((40, capacity, k)) < 0.5
    mask = np.arange(capacity) < generator.integers(0, capacity + 1, (40, 1))
    x = jnp.asarray(np.stack([concepts.domain.encode(row) for row in values]))
    found = learn(Sample(x, jnp.asarray(labels), jnp.asarray(mask)))
    assert not np.any(found.zero) and not np.any(found.outcome)
    numbers = wide.decode(found.concept).astype(int)
    for i in range(40):
        for j in range(k):
            errors = errors_of(concepts, values[i][mask[i]], labels[i, mask[i], j])
            assert errors[numbers[i, j]] == errors.min()


def test_columns_may_have_points_of_their_own():
    concepts = Thresholds(Domain(100))
    x = jnp.asarray(concepts.domain.encode([[10, 60], [20, 70], [30, 80]]))
    y = jnp.asarray([[1, 1], [1, 1], [0, 0]], bool)
    sample = Sample(x, y, jnp.ones(3, bool))
    found = jax.jit(ERM(concepts).learn)(jax.random.key(0), sample, Privacy(1.0), Accuracy(0.1, 0.1))
    numbers = wide.decode(found.concept).astype(int)
    assert 20 <= numbers[0] < 30 and 70 <= numbers[1] < 80


def test_it_promises_nothing():
    assert ERM(Points(Domain(5))).guarantee(Privacy(1.0)) is None


def test_parities_are_sized_as_a_finite_class():
    size = ERM(Parities(10)).sample_size(Privacy(1.0), Accuracy(0.1, 0.1))
    assert size == theory.finite(1024, 0.1, 0.1) > theory.thresholds(0.1, 0.1)
