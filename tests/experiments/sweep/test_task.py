"""Tasks: draws have the prefix property, errors are exact, parts that do not fit are named."""

from dataclasses import dataclass
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import (
    Conjunctions,
    ConvexPolygons,
    Disjunctions,
    Domain,
    Finite,
    Hypothesis,
    Parities,
    Points,
    ProductCube,
    Thresholds,
    UniformCube,
    UniformPlane,
    Unions,
    distributions,
)
from dpjax.concepts import tree_generators as trees
from dpjax.concepts.base import ConceptClass
from dpjax.core import keys, wide
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.hard_tasks import hard_points, hard_thresholds, hard_tree
from dpjax.experiments.sweep.task import Task
from tests.trials import jit_draw, jit_error

MATRIX = Finite.of(np.random.default_rng(0).random((6, 9)) < 0.5)
TREE = trees.caterpillar(20, 2, 0.5)
TASKS = {
    "points": lambda noise: Task(Points(Domain(2**40)), distributions.heavy(Domain(2**40), 4, 0.2), noise=noise),
    "thresholds": lambda noise: Task(Thresholds(Domain(2**64)), distributions.uniform(Domain(2**64)), noise=noise),
    "finite": lambda noise: Task(MATRIX, distributions.uniform(MATRIX.domain), noise=noise),
    "tree": lambda noise: Task(TREE, distributions.uniform(TREE.domain), noise=noise),
    "parities": lambda noise: Task(Parities(40), UniformCube(40), noise=noise),
    "conjunctions": lambda noise: Task(Conjunctions(9), ProductCube.balanced(9, 3), noise=noise),
    "polygons": lambda noise: Task(ConvexPolygons(2**10), UniformPlane(2**10), noise=noise),
    "unions": lambda noise: Task(Unions(2**10), UniformPlane(2**10), noise=noise),
    "hard points": lambda noise: hard_points(Points(Domain(2**20)), 0.1, noise),
    "hard thresholds": lambda noise: hard_thresholds(Thresholds(Domain(2**20)), 0.1, noise),
}


@jax.jit
def labels_of(task, found, x):
    return task.concepts.predict(found, x)


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize(
    ("name", "noise"),
    [
        *((name, 0.0) for name in TASKS),
        ("unions", 0.1),
        *(pytest.param(name, 0.1, marks=pytest.mark.slow) for name in TASKS if name != "unions"),
    ],
)
def test_more_rows_and_more_concepts_only_add(name, noise):
    task, key = TASKS[name](noise), jax.random.key(3)
    assert task.noise == pytest.approx(noise, abs=1e-9)
    many, targets = jit_draw(task, key, 20, 4, 64)
    few, first = jit_draw(task, key, 11, 2, 16)
    np.testing.assert_array_equal(few.x, many.x[:16])
    np.testing.assert_array_equal(few.y, many.y[:16, :2])
    np.testing.assert_array_equal(first.concept, targets.concept[:2])
    assert int(few.size) == 11 and int(many.size) == 20
    clean = labels_of(task, targets, many.x)
    assert (noise == 0) == bool((clean == many.y).all())


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("name", TASKS)
def test_the_error_is_the_probability_of_a_mistake(name):
    """Against 4000 examples, at a hypothesis that is another target; of the target itself it is 0."""

    @jax.jit
    def measured(task, key, another):
        sample, target = task.draw(key, 4000, 3)
        other = task.draw_targets(another, 3)
        wrong = jnp.mean(task.concepts.predict(other, sample.x) != sample.y, axis=0, dtype=jnp.float32)
        return task.error(other, target), task.error(target, target), wrong

    error, of_itself, seen = map(np.asarray, measured(TASKS[name](0.0), jax.random.key(1), jax.random.key(2)))
    assert error.dtype == np.float32 and error.shape == (3,)
    np.testing.assert_allclose(error, seen, atol=5 * np.sqrt(0.25 / 4000))
    assert np.all(of_itself == 0)


def test_with_noise_what_counts_is_the_error_beyond_the_target():
    clean, noisy = TASKS["points"](0.0), TASKS["points"](0.1)
    found, target = (jit_draw(clean, jax.random.key(seed), 1, 3, 1)[1] for seed in (1, 5))
    np.testing.assert_allclose(jit_error(noisy, found, target), 0.8 * jit_error(clean, found, target), rtol=1e-6)


def test_a_task_is_a_pytree_and_another_of_its_shapes_compiles_nothing():
    traced = []

    @jax.jit
    def rows(task, key):
        traced.append(task)
        return task.draw(key, 5, 1, 8)[0].x

    tasks = [Task(Points(Domain(2**20)), distributions.heavy(Domain(2**20), 4, mass)) for mass in (0.1, 0.2)]
    found = [np.asarray(rows(task, jax.random.key(0))) for task in tasks]
    assert len(traced) == 1 and not np.array_equal(*found)
    np.testing.assert_array_equal(found[0], jit_draw(tasks[0], jax.random.key(0), 5, 1, 8)[0].x)
    assert tasks[0].digest != tasks[1].digest == Task(Points(Domain(2**20)), tasks[1].distribution).digest


def test_64_bit_types_change_nothing():
    task = TASKS["thresholds"](0.1)
    plain = jit_draw(task, jax.random.key(0), 9, 2)
    with jax.enable_x64(True):
        wide_ = jit_draw(task, jax.random.key(0), 9, 2)
        error = jit_error(task, wide_[1], plain[1])
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(wide_), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert error.dtype == jnp.float32


def test_targets_are_the_distributions_atoms_or_spread():
    domain = Domain(100)
    atoms = Task(Points(domain), distributions.from_weights(domain, [3, 70, 80], [1, 2, 3])).targets
    assert wide.decode(atoms).tolist() == [3, 70, 80]
    assert wide.decode(Task(Thresholds(domain), distributions.uniform(domain)).targets)[:3].tolist() == [0, 2, 3]
    assert wide.decode(Task(Thresholds(domain), distributions.uniform(domain), [5, 99]).targets).tolist() == [5, 99]
    assert len(hard_tree(trees.prefixes(2, 3), 0.3).targets) == 1


@dataclass(frozen=True)
class Shares(Points):
    """A class whose errors are shares, as floats."""

    scale: float = 1.0

    def error(self, distribution, hypothesis, target):
        return self.scale * super().error(distribution, hypothesis, target).astype(jnp.float64) / 100


def test_a_class_may_give_its_errors_as_shares():
    domain = Domain(100)
    law = distributions.uniform(domain)
    found, target = (Hypothesis.of(jnp.asarray(wide.encode([at]))) for at in (3, 4))
    assert float(Task(Shares(domain), law).error(found, target)[0]) == pytest.approx(0.02)
    assert np.isnan(Task(Shares(domain, 1e3), law).error(found, target)[0])


@dataclass(frozen=True)
class Mute(ConceptClass):
    """A class that does not predict."""

    domain: Domain
    size = 4

    def error(self, *given):
        return None


@dataclass(frozen=True)
class Wrong(Points):
    """Predicts one label for all concepts."""

    def predict(self, hypothesis, x):
        return super().predict(hypothesis, x)[..., 0]


POINTS = Points(Domain(50))
UNIFORM = distributions.uniform(POINTS.domain)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Task(Points, UNIFORM), "the class Points; call it"),
        (lambda: Task(POINTS, distributions.Distribution), "the class Distribution"),
        (
            lambda: Task(Mute(Domain(4)), UNIFORM),
            "Mute: expected an implementation of predict, got none; write it: the doc",
        ),
        (lambda: Task(SimpleNamespace(domain=POINTS.domain), UNIFORM), "inherits from dpjax.ConceptClass"),
        (lambda: Task(POINTS, 3), "got 3; for example dpjax.uniform"),
        (lambda: Task("Points(256)", UNIFORM), r"'Points\(256\)'; build one, such as"),
        (lambda: Task(POINTS, distributions.uniform(Domain(100))), "elements up to 99"),
        (lambda: Task(POINTS, distributions.uniform(Domain(2**40))), "2 limb"),
        (lambda: Task(POINTS, UniformCube(5)), r"one over Cube\(dimension=5\)"),
        (lambda: Task(Parities(5), UniformCube(6)), "dimension=6"),
        (lambda: Task(ConvexPolygons(2**10), UniformPlane(2**9)), "one over Plane"),
        (lambda: Task(POINTS, UNIFORM, []), "give at least one"),
        (lambda: Task(POINTS, UNIFORM, [50]), "target: expected a whole number in"),
        (lambda: Task(POINTS, UNIFORM, [1.5]), "target"),
        (lambda: Task(POINTS, UNIFORM, [-1]), "target"),
        (lambda: Task(POINTS, UNIFORM, np.zeros((2, 2))), "numbers of concepts"),
        (lambda: Task(POINTS, UNIFORM, noise=0.5), "noise"),
        (lambda: Task(POINTS, UNIFORM, noise=-0.1), "noise"),
        (lambda: Task(Wrong(Domain(50)), UNIFORM), "predict: expected an array of shape"),
        (lambda: Task(POINTS, UNIFORM).draw(jax.random.key(0), -1), "n: expected"),
        (lambda: jax.jit(lambda n: Task(POINTS, UNIFORM).draw(jax.random.key(0), n))(9), "with n a traced value"),
        (lambda: Task(POINTS, UNIFORM).draw(jax.random.key(0), 9, capacity=8), "n: expected"),
        (lambda: Task(POINTS, UNIFORM).draw(jax.random.key(0), jnp.int32(9)), "n: expected"),
        (lambda: Task(POINTS, UNIFORM).draw(jax.random.key(0), 9, 0), "k: expected"),
    ],
)
def test_what_does_not_fit_is_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("name", TASKS)
def test_hypotheses_are_sentences(name):
    task = TASKS[name](0.0)
    targets = task.draw_targets(jax.random.key(0), 3)
    said = task.concepts.describe(targets)
    assert len(said) == 3 and all(len(text) > 3 for text in said)
    silent = Hypothesis(targets.concept, jnp.ones(3, bool), jnp.full(3, -1, jnp.int32))
    assert task.concepts.describe(silent) == ["0 everywhere (no answer)"] * 3


def test_what_sentences_say():
    def of(concepts, number):
        return concepts.describe(Hypothesis.of(jnp.asarray(wide.encode([number]))))[0]

    assert of(Thresholds(Domain(9)), 4) == "1 iff x <= 4" and of(Points(Domain(9)), 4) == "1 iff x = 4"
    assert of(Parities(5), 6) == "<a, x> mod 2 for a = 6" and of(MATRIX, 2).startswith("row 2 of the matrix, labels ")
    assert of(Conjunctions(3), 0b100_001) == "1 iff not x0 and x2" and of(Conjunctions(3), 0) == "1 everywhere"
    assert of(Disjunctions(3), 0b010_100) == "1 iff x1 or not x2" and of(Disjunctions(3), 0) == "0 everywhere"
    assert of(Finite.of([[0, 1, 1], [1, 1, 0]]), 1) == "row 1 of the matrix, labels 110"
    assert of(Finite.of([[0] * 40]), 0).endswith(f"labels {'0' * 32} and 8 more")
    x = jnp.asarray([[i] for i in range(8)], jnp.uint32)
    label = Conjunctions(3).predict(Hypothesis.of(jnp.asarray(wide.encode([0b100_001]))), x)[:, 0]
    assert label.tolist() == [not i & 1 and bool(i & 4) for i in range(8)]


def test_a_distribution_on_a_smaller_domain_has_no_mass_elsewhere():
    small = Task(POINTS, distributions.uniform(Domain(4)))
    same = distributions.from_weights(POINTS.domain, range(4), [1] * 4)
    assert small.distribution.total == same.total == 4
    assert wide.decode(small.draw(keys.root(0), 50)[0].x).max() < 4
