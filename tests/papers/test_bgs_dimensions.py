"""The multiclass paper's inequalities between dimensions, on random classes, extremal ones and a counterexample."""

import numpy as np
import pytest

from dpjax.dimensions import families
from dpjax.papers.bgs_dimensions import COUNTEREXAMPLE, inequalities, measure, random_class


def violated(matrix):
    return {one.source for one in inequalities(measure(matrix)) if not one.holds}


@pytest.mark.parametrize("classes", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_on_random_classes(classes):
    """Theorems 3.4, 5.6 and 7.1, Claims 4.6 and 4.7, Lemma 5.11: only Theorem 7.1 as printed ever fails."""
    generator = np.random.default_rng(1)
    found = [violated(random_class(generator)) for _ in range(classes)]
    assert set().union(*found) <= {"Theorem 7.1, printed"}


def test_on_extremal_classes():
    for matrix in (families.one_bit_gap(15), families.copies(families.one_bit_gap(5), 2),
                   families.independent_bits(2, 1), families.independent_bits(3, 1, 4)):  # fmt: skip
        assert not violated(matrix)


def test_the_counterexample():
    found = measure(COUNTEREXAMPLE)
    assert (found.k, found.multiclass, found.of_bits) == (2, 2, (1, 1))
    assert violated(COUNTEREXAMPLE) == {"Theorem 7.1, printed"}


def test_one_concept():
    assert not violated(np.array([[3, 1]])) and measure(np.array([[0, 0]])).largest_bit == 0
