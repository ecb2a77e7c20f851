"""Warnings: too few rows for the theorem, and no better than the constant."""

import pytest

from dpjax.concepts import ConvexPolygons, Domain, Thresholds
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import KLN, PolygonLearner
from dpjax.tables import warn

BUDGET = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)


def test_rows_fewer_than_the_theorem_needs():
    learner = KLN(Thresholds(Domain(2**16)))
    needed = warn.rows_needed(learner, *BUDGET)
    assert needed.rows == learner.sample_size(*BUDGET)
    assert needed.warnings(needed.rows) == []
    (said,) = needed.warnings(needed.rows - 1)
    assert f"{needed.rows - 1} rows are fewer than the {needed.rows}" in said and "alpha = 0.1, beta = 0.1" in said


def test_where_no_number_of_rows_is_proved():
    (said,) = warn.rows_needed(PolygonLearner(ConvexPolygons(15, 4), 1, 4), *BUDGET).warnings(10**9)
    assert "no number of rows is proved" in said and "rounds" in said


@pytest.mark.parametrize(("mine", "warned"), [(0.1, ""), (0.17, ""), (0.19, "hardly"), (0.2, "no"), (0.3, "no")])
def test_no_better_than_the_constant(mine, warned):
    means = {"private": mine, "not_private": 0.15, "constant": 0.2}
    said = warn.of_errors([{"concept": "q", **{f"error_{name}": {"mean": mean} for name, mean in means.items()}}])
    assert len(said) == bool(warned)
    if warned:
        assert f"q: {warned} better than the best constant" in said[0]
        assert "0.200" in said[0] and f"{mine:.3f}" in said[0]
        assert said[0].endswith("(not private: 0.150)")


def test_advice_ends_the_warning():
    row = {"concept": "q"} | {f"error_{name}": {"mean": 0.2} for name in ("private", "not_private", "constant")}
    assert warn.of_errors([row], lambda j: "give --flip")[0].endswith("(not private: 0.200); give --flip")
