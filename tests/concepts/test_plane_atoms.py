"""Distributions over points of the plane: draws by weight, exact errors, the same draws for any count."""

import jax
import numpy as np
import pytest

from dpjax.concepts import ConvexPolygons, Hypothesis, PlaneAtoms, UniformPlane
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.task import Task

POINTS, WEIGHTS = [(3, 4), (90, 2), (50, 50), (0, 100)], [1, 2, 3, 10]
LAW = PlaneAtoms.of(100, POINTS, WEIGHTS)


@pytest.mark.statistical
@pytest.mark.parametrize("d", [100, 2**40])
def test_points_are_drawn_by_weight(d, key, stats):
    law = PlaneAtoms.of(d, POINTS, WEIGHTS)
    drawn = np.asarray(law.draw(key, 4000))
    np.testing.assert_array_equal(drawn[:7], law.draw(key, 7))
    numbers = (drawn[:, None] == np.asarray(law.points())).all(axis=2)
    assert (numbers.sum(axis=1) == 1).all()
    stats.chi_square(numbers.sum(axis=0), np.array(WEIGHTS) / 16)


def test_errors_are_sums_of_weights():
    concepts = ConvexPolygons(100, 2)
    left, low = (Hypothesis.of(concepts.of_lines([line], [60.0])[None]) for line in ((1.0, 0.0), (0.0, 1.0)))
    with jax.enable_x64(True):
        assert int(concepts.error(LAW, left, left)[0]) == 0
        assert int(concepts.error(LAW, left, low)[0]) == 2 + 10
    task = Task(concepts, LAW, concepts.of_lines([(1.0, 0.0)], [60.0])[None])
    assert task.total == LAW.total == 16
    assert LAW.weights().tolist() == WEIGHTS


def test_what_does_not_fit_is_refused():
    for points, weights in ((POINTS, [1]), ([(1, 1), (1, 1)], [1, 1]), ([(1, 1), (2, 2)], [1, 0]), ([(101, 1)], [1])):
        with pytest.raises(InputError):
            PlaneAtoms.of(100, points, weights)
    for weight in (1.5, np.nan, "1", True, 1 << 64):
        with pytest.raises(InputError, match="weight"):
            PlaneAtoms.of(100, [(1, 1)], [weight])
    with pytest.raises(InputError, match="weights"):  # where all labels differ the error would be 0
        PlaneAtoms.of(100, [(1, 1), (2, 2)], [1 << 63, 1 << 63])
    for points in ([(1, "a")], [(1, 0.5)]):
        with pytest.raises(InputError, match="element"):
            PlaneAtoms.of(100, points, [1])
    for law in (PlaneAtoms.of(50, [(1, 2)], [1]), UniformPlane(50)):
        with pytest.raises(InputError, match="distribution"):
            Task(ConvexPolygons(100, 2), law)
    none = Hypothesis.of(np.zeros((1, 10), np.uint32))
    with pytest.raises(InputError, match="distribution"):
        ConvexPolygons(100, 2).error(UniformPlane(50), none, none)
