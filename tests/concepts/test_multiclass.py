"""Classes with more than two labels: labels as bits, errors, and what is refused."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite, Hypothesis, Multiclass, distributions
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.experiments.config.builder import CONCEPTS, Builder
from dpjax.experiments.config.to_spec import spec_of
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, BitReduction
from tests.trials import jit_draw, jit_learn

MATRIX = np.unique(np.random.default_rng(1).integers(0, 6, (12, 7)), axis=0)
CLASS = Multiclass.of(MATRIX)


def rows(*numbers):
    return Hypothesis.of(jnp.asarray([[0, number] for number in numbers], jnp.uint32))


def test_a_matrix_and_its_bits():
    assert (CLASS.size, CLASS.width, CLASS.labels, CLASS.columns) == (12, 7, 6, 3)
    assert np.array_equal(CLASS.matrix(), MATRIX) and Multiclass.of(MATRIX.tolist()) == CLASS
    for i, bit in enumerate(CLASS.bit_classes):
        assert {tuple(row) for row in bit.matrix().astype(int)} == {tuple(row) for row in MATRIX >> i & 1}
    assert Multiclass.of([[0, 1]], labels=5).columns == 3 and Multiclass.of([[0, 0]]).labels == 2
    assert Multiclass.of([[0, 65535]]).columns == 16


def test_predictions_are_the_bits_of_the_labels():
    x = jnp.arange(7, dtype=jnp.uint32)[:, None]
    found = np.asarray(CLASS.predict(rows(3, 8), x))
    assert found.shape == (7, 6)
    assert np.array_equal(found[:, :3] @ [1, 2, 4], MATRIX[3]) and np.array_equal(found[:, 3:] @ [1, 2, 4], MATRIX[8])
    outside = CLASS.of_labels(jnp.asarray(MATRIX[[3, 8]]), jnp.zeros(2, jnp.int32))
    assert np.array_equal(CLASS.predict(outside, x), found)
    said = [f"row {row} of the matrix, labels {', '.join(map(str, MATRIX[row]))}" for row in (3, 8)]
    assert CLASS.describe(outside) == said == CLASS.describe(rows(3, 8))
    fives = CLASS.of_labels(jnp.full((1, 7), 5), jnp.zeros(1, jnp.int32))
    assert CLASS.describe(fives) == ["labels 5, 5, 5, 5, 5, 5, 5"]


def test_numbers_that_are_no_label_become_zero():
    bits = jnp.asarray([[(number >> i & 1) == 1 for i in range(3)] for number in range(8)])
    assert CLASS.of_bits(bits).tolist() == [0, 1, 2, 3, 4, 5, 0, 0]


def test_errors_are_the_mass_of_other_labels():
    law = distributions.from_weights(CLASS.domain, range(7), [1, 2, 3, 4, 5, 6, 7])
    error = jax.jit(lambda one, other: CLASS.error(law, one, other))
    with jax.enable_x64(True):
        for a in range(0, 12, 2):
            for b in range(0, 12, 3):
                wrong = (MATRIX[a] != MATRIX[b]) @ np.arange(1, 8)
                assert int(error(rows(a), rows(b))[0]) == wrong
                table = CLASS.of_labels(jnp.asarray(MATRIX[[a]]), jnp.zeros(1, jnp.int32))
                assert int(error(table, rows(b))[0]) == wrong


def test_empirical_errors_against_a_count():
    generator = np.random.default_rng(2)
    x, label = generator.integers(0, 7, 50), generator.integers(0, 8, 50)  # 6 and 7 are no labels
    mask = generator.random(50) < 0.8
    y = (label[:, None] >> np.arange(3) & 1).astype(bool)
    cells = CLASS.pieces(jnp.asarray(x[:, None], jnp.uint32), jnp.asarray(y), jnp.asarray(mask))
    assert cells.errors.tolist() == [int(((row[x] != label) & mask).sum()) for row in MATRIX]


def test_two_labels_are_a_finite_class():
    binary = np.unique(np.random.default_rng(3).integers(0, 2, (9, 5)), axis=0)
    one, other = Multiclass.of(binary), Finite.of(binary)
    tasks = [Task(concepts, distributions.uniform(concepts.domain)) for concepts in (one, other)]
    draws = [jit_draw(task, jax.random.key(4), 30) for task in tasks]
    assert np.array_equal(draws[0][0].y, draws[1][0].y)
    plans = [KLN(concepts).plan(dp.Privacy(1.0), dp.Accuracy(0.1, 0.1)) for concepts in (one, other)]
    found = [jit_learn(KLN(c), jax.random.key(5), d[0], p) for c, d, p in zip((one, other), draws, plans, strict=True)]
    assert np.array_equal(found[0].concept, found[1].concept)


@pytest.mark.parametrize(
    ("matrix", "labels", "words"),
    [
        ([[0, 3]], 3, "0..2, got 3"),
        ([[0, -1]], None, "got -1"),
        ([[1, 2], [1, 2]], None, "row 1 equal to row 0"),
        ([[0.5]], None, "a whole number"),
        ([], None, "two-dimensional"),
        (np.zeros((0, 2), int), None, "two-dimensional"),
        ([[0, 1 << 16]], None, r"column 1: .* in 0\.\.65535, got 65536"),
        ([[0]], 1, "labels"),
        ([[0]], 1 << 17, "labels"),
        ([["a"]], None, "whole"),
    ],
)
def test_what_is_no_class_is_refused(matrix, labels, words):
    with pytest.raises(InputError, match=words):
        Multiclass.of(matrix, labels)


def test_samples_with_another_number_of_bits_are_refused():
    sample, _ = Task(CLASS, distributions.uniform(CLASS.domain)).draw(jax.random.key(1), 20, 1)
    short = dp.Sample(sample.x, sample.y[:, :2], sample.mask)
    for learner in (KLN(CLASS), BitReduction(CLASS)):
        plan = learner.plan(dp.Privacy(1.0), dp.Accuracy(0.1, 0.1))
        with pytest.raises(InputError, match=r"3 (columns|bits)"):
            learner.learn(jax.random.key(2), short, plan)
    with pytest.raises(InputError, match="more than two labels"):
        Task(CLASS, distributions.uniform(CLASS.domain), noise=0.1)


def test_in_configurations_and_results():
    """By a function that makes its matrix; what a result stores is the class again."""
    made = Builder().build("concepts", "Multiclass.of(copies(one_bit_gap(7), 2))", CONCEPTS)
    assert made == Multiclass.of(families.copies(families.one_bit_gap(7), 2))
    assert Builder().build("concepts", json.loads(json.dumps(spec_of(made))), CONCEPTS) == made
    learner = BitReduction(made)
    assert Builder().build("learner", json.loads(json.dumps(spec_of(learner)))) == learner
    with pytest.raises(InputError, match="did you mean one_bit_gap"):
        Builder().build("concepts", "Multiclass.of(one_bit_gab(7))", CONCEPTS)
