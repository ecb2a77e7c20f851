"""Databases from host data, and the neighbours that audits begin with."""

import numpy as np
import pytest

from dpjax import learners
from dpjax.concepts import Domain
from dpjax.core.checks import InputError
from dpjax.learners import base, database


def test_a_database_holds_what_it_was_given():
    domain = Domain(2**64)
    one = database(domain, [3, 2**64 - 1], [0, 1], capacity=4)
    assert [int(v) for v in domain.decode(one.x)][:2] == [3, 2**64 - 1]
    assert np.asarray(one.y).tolist()[:2] == [[False], [True]]
    assert np.asarray(one.mask).tolist() == [True, True, False, False]
    assert (one.capacity, int(one.size)) == (4, 2)
    many = database(domain, [3, 4], [[0, 1, 1], [1, 0, 0]])
    assert many.capacity == 2 and many.y.shape == (2, 3)


def test_an_empty_database_has_a_buffer():
    one = database(Domain(10), [], np.zeros((0, 2)), capacity=3)
    assert int(one.size) == 0 and one.y.shape == (3, 2)


@pytest.mark.parametrize("attempt", [
    lambda: database(Domain(10), [10], [1]),
    lambda: database(Domain(10), [1], [2]),
    lambda: database(Domain(10), [1], [float("nan")]),
    lambda: database(Domain(10), [1, 2], [0, 1], capacity=1),
    lambda: database(Domain(10), [1], [1], capacity=0),
])  # fmt: skip
def test_data_that_are_none_are_refused(attempt):
    with pytest.raises(InputError):
        attempt()


@pytest.mark.parametrize("given", [([1, 2], [0]), ([1], [0, 1]), ([], [1])], ids=str)
def test_values_and_labels_must_be_as_many(given):
    with pytest.raises(InputError):
        database(Domain(10), *given)


@pytest.mark.parametrize("size", [2, 3, 100, 2**64])
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("k", [1, 3])
def test_hard_pairs_differ_in_exactly_one_row(size, rows, k):
    for one, other in base.flipped_label_pairs(Domain(size), rows, k):
        assert int(one.size) == int(other.size) == rows and one.y.shape == (rows, k)
        differs = np.any(np.asarray(one.x != other.x), axis=1) | np.any(np.asarray(one.y != other.y), axis=1)
        assert differs.sum() == 1


def test_everything_exported_is_named():
    names = {"Independent", "KLN", "Learner", "PointLearner", "ThresholdMedian", "database"}
    assert names <= set(vars(learners))
