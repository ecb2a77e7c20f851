"""Rows of the generic learner, where the number of unseen rows jumps."""

from dpjax.concepts.base import Group
from dpjax.theory import generic


def test_more_rows_than_enough_are_enough():
    """At a large epsilon a choice is ruined by one row more that it does not see, until there are rows to make up."""
    cover, jump = [Group(64.0, False, 0.0)], 36

    def fewest(unseen):
        return generic.rows([cover], 64, 1, 64.0, unseen, 0.2, 0.1)

    few, more = fewest(lambda n: 0), fewest(lambda n: 1)
    assert few < jump < more
    assert fewest(lambda n: float(n >= jump)) == more
    assert fewest(lambda n: float(n >= 1000)) == few
