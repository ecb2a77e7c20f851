"""Small grids: halfspaces, discs, polyhedra and unions of simplices, by learners that have theorems."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Conjunctions, Disjunctions, Finite
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.dimensions import families
from dpjax.learners import KLN, ConjunctionLearner

TRIALS, ACCURACY = 20, Accuracy(0.1, 0.1)


def errors(learner, privacy, elements, labels, seed):
    """At the learner's number of rows, of a law of the elements that has half of its mass at one of them."""
    n = learner.sample_size(privacy, ACCURACY)
    plan, learn, predict = learner.plan(privacy, ACCURACY, n), jax.jit(learner.learn), jax.jit(learner.predict)
    generator = np.random.default_rng(seed)
    for trial in range(TRIALS):
        law = np.full(len(labels), 0.5 / len(labels))
        law[generator.integers(len(labels))] += 0.5
        rows = generator.choice(len(labels), n, p=law)
        sample = Sample(jnp.asarray(elements[rows]), labels[rows, None], np.ones(n, bool))
        found = np.asarray(predict(learn(jax.random.key(trial), sample, plan), jnp.asarray(elements)))[:, 0]
        yield law[found != labels].sum()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "places"),
    [(families.halfspaces, list(product(range(2), repeat=3))), (families.balls, list(product(range(3), repeat=2)))],
)
def test_a_halfspace_and_a_disc(stats, family, places):
    matrix = family(places)
    learner, elements = KLN(Finite.of(matrix)), np.arange(len(places), dtype=np.uint32)[:, None]
    target = matrix[np.argmin(np.abs(matrix.sum(axis=1) - 3))].astype(bool)
    made = list(errors(learner, Privacy(1.0), elements, target, 0))
    stats.mostly(sum(error <= ACCURACY.alpha for error in made), TRIALS, ACCURACY.beta)


def columns(concepts, cuts):
    """The points as elements of the cube, with a coordinate for each cut."""
    return concepts.domain.encode([sum(int(bit) << i for i, bit in enumerate(column)) for column in cuts.T])


@pytest.mark.slow
@pytest.mark.statistical
def test_a_tetrahedron(stats):
    """An AND of four halfspaces of {0, 1, 2}^3, with a coordinate for each halfspace and its complement."""
    places = np.array(list(product(range(3), repeat=3)))
    cuts = families.halfspaces(places)
    cuts = cuts[cuts[:, 0] == 0]  # each with its complement is one coordinate
    x, y, z = places.T
    tetrahedron = (x >= 1) & (y + z >= 1) & (z <= 1) & (x + y + z <= 4)
    learner = ConjunctionLearner(Conjunctions(len(cuts)), 4)
    made = list(errors(learner, Privacy(4.0, 1e-6), columns(learner.concepts, cuts), tetrahedron, 1))
    stats.mostly(sum(error <= ACCURACY.alpha for error in made), TRIALS, ACCURACY.beta)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("sides", "target"),
    [((4, 4), lambda x, y: (x + y <= 2) | ((x >= 2) & (y >= 2))), ((3, 2, 2), lambda x, y, z: (x + y + z) % 2 == 0)],
)
def test_unions_of_simplices(stats, sides, target):
    """Two triangles of the plane, and half of the points of a box in space: two simplices have it, and none alone."""
    places = np.array(list(product(*map(range, sides))))
    cuts, label = families.polyhedra(places, len(sides) + 1), target(*places.T)
    assert not any(np.array_equal(cut, label) for cut in cuts)
    learner = ConjunctionLearner(Disjunctions(len(cuts)), 2)
    within = cuts[~np.any(cuts > label, axis=1)]
    assert any(np.array_equal(one | other, label) for one in within for other in within)
    made = list(errors(learner, Privacy(4.0, 1e-6), columns(learner.concepts, cuts), label, 2))
    stats.mostly(sum(error <= ACCURACY.alpha for error in made), TRIALS, ACCURACY.beta)
