"""Trees are compared bit by bit, and counts of traces belong to one check."""

import chex
import jax
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.testing.comparisons import difference, traced_at_most
from dpjax.testing.findings import Failed


def test_trees_of_the_same_bits_are_equal():
    tree = {"a": np.float32([np.nan, -0.0, 1]), "b": np.array([True]), "c": np.uint32(3)}
    assert difference(tree, jax.tree.map(np.copy, tree)) == ""


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (np.float32([0, 0.0]), np.float32([0, -0.0]), "Mismatched elements: 1 / 2 (50%)"),
        (np.float32([np.nan]), np.uint32([0x7FC00001]).view(np.float32), "Mismatched elements: 1 / 1 (100%)"),
        (np.int32([3]), np.uint32([3]), "types: int32 != uint32"),
        (np.float32([1]), np.float32([1]).view(np.uint32), "types: float32 != uint32"),
        (np.float32([1]), np.float32(1), "shapes: (1,) != ()"),
        (np.int32([]), np.int32([[]]), "shapes: (0,) != (1, 0)"),
    ],
)
def test_the_leaf_that_differs_is_named(left, right, words):
    same = np.arange(4)
    assert difference({"a": same, "b": left}, {"a": same, "b": right}).startswith("Trees 0 and 1 differ in leaves 'b'")
    assert words in difference({"a": same, "b": left}, {"a": same, "b": right})


def test_trees_of_two_structures_differ():
    assert "tree structs" in difference([np.zeros(1)], (np.zeros(1),))


def test_traces_are_counted_for_each_check():
    for limit, shapes in ((1, [2, 2]), (2, [2, 3])):  # the same source, counted twice
        traced(limit, shapes)
    with pytest.raises(Failed, match="expected few, got Function '<lambda>' is traced > 2 times"):
        traced(2, [4, 5, 6])


def traced(limit, shapes):
    run = jax.jit(chex.assert_max_traces(lambda x: x + 1, n=limit))
    with traced_at_most("few", "advice"):
        for shape in shapes:
            jax.eval_shape(run, np.zeros(shape))


def test_an_assertion_of_the_checked_code_stays_its_own():
    with pytest.raises(AssertionError, match="of the learner"), traced_at_most("few", "advice"):
        raise AssertionError("of the learner")


def test_disabled_assertions_are_refused():
    """They would let every check pass."""
    chex.disable_asserts()
    try:
        with pytest.raises(InputError, match="enable_asserts"):
            difference([np.zeros(1)], [np.ones(1)])
        with pytest.raises(InputError, match="enable_asserts"), traced_at_most("few", "advice"):
            pass
    finally:
        chex.enable_asserts()
