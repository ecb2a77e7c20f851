"""The searches for the smallest numbers."""

import pytest

from dpjax.core.checks import NoTheoremError
from dpjax.theory.search import fewest_rows, smallest


@pytest.mark.parametrize("least", [1, 2, 3, 1000, 2**40 + 1])
def test_smallest_finds_the_first_number_that_is_enough(least):
    assert smallest(lambda n: n >= least) == least


def test_smallest_gives_up_beyond_all_sizes():
    with pytest.raises(NoTheoremError, match="sample size"):
        smallest(lambda n: False)


@pytest.mark.parametrize(
    ("needs", "expected"),
    [({5: 70, 6: 60, 7: 80}, (60, 6)), ({5: 60, 6: 60}, (60, 5)), ({5: None, 6: 9}, (9, 6)), ({5: 1, 6: 1}, (1, 5))],
)
def test_fewest_rows_takes_the_first_of_the_best_candidates(needs, expected):
    assert fewest_rows(needs, lambda draws, rows: needs[draws] is not None and rows >= needs[draws]) == expected


def test_fewest_rows_passes_on_why_no_candidate_works():
    with pytest.raises(NoTheoremError, match="sample size"):
        fewest_rows([5, 6], lambda draws, rows: False)
