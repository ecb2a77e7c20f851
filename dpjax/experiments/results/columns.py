"""Columns of a result's tables: names, types and meanings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dpjax.core.checks import InputError
from dpjax.experiments.results import notebooks


@dataclass(frozen=True)
class Column:
    """One column of a table; entries without a value are null."""

    name: str
    type: pa.DataType
    meaning: str


_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_NAME = Column("learner", _TEXT, "Name of the learner in the study.")
_K = Column("k", _WHOLE, "Number of concepts that are learned at once.")
_EPSILON = Column("epsilon", _REAL, "Privacy parameter epsilon.")
_N = Column("n", _WHOLE, "Number of rows.")
_ALPHA = Column("alpha", _REAL, "Accuracy alpha, the largest error of a successful trial.")
LINE = (
    _NAME,
    _K,
    _EPSILON,
    Column("delta", _REAL, "Privacy parameter delta of the budget; a pure learner uses none."),
    _ALPHA,
    Column("beta", _REAL, "Failure probability beta: a sample size is enough if success is at least 1 - beta."),
)
"""The curve that a row belongs to."""
_OTHER = Column("alpha", _REAL, "The alpha that was asked for: success is an error of at most this.")
_ENDS = (
    Column("n_low", _WHOLE, "n* is above this; null if no n was found to be too small."),
    Column("n_high", _WHOLE, "n* is at most this; null if no n was found to be enough."),
)
CURVES = (
    *LINE,
    _N,
    Column("trials", _WHOLE, "Trials that count."),
    Column("successes", _WHOLE, "Trials in which the error of every concept is at most alpha."),
    Column("success", _REAL, "successes / trials."),
    Column("lower", _REAL, "Lower end of the simultaneous confidence band of the curve."),
    Column("upper", _REAL, "Upper end of the same band."),
    Column("no_answers", _WHOLE, "Trials in which the learner abstained on some concept."),
)
N_STAR = (
    *LINE,
    *_ENDS,
    Column("theorem", _WHOLE, "The learner's theorem: this n is enough; null without a theorem."),
    Column("confidence", _REAL, "Confidence of the bracket, for the whole search."),
    Column("trials", _WHOLE, "Trials of the search."),
    Column("ended", _TEXT, "Why the search ended: one step, trials spent, or end of the grid."),
)
N_WITHIN = (
    *LINE,
    Column("fails_at", _WHOLE, "Success is below 1 - beta at this n; null if no n was found to be too small."),
    Column("passes_at", _WHOLE, "Success is above 1 - beta - gamma at this n, which may be below n*; null for none."),
    Column("gamma", _REAL, "The gamma of the search."),
    *N_STAR[-4:],
)
ERRORS = (
    *LINE,
    _N,
    Column("quantile", _REAL, "Level of the quantile."),
    Column("error", _REAL, "Quantile of the largest error among the k concepts: the upper end of its bin."),
)
EXPONENTS = (
    _NAME,
    _EPSILON,
    Column("k_from", _WHOLE, "Smallest k of the fit."),
    Column("k_to", _WHOLE, "Largest k of the fit."),
    Column("slope", _REAL, "Exponent of k in n*, by least squares through the brackets."),
    Column("low", _REAL, "Lower end of the exponent's interval."),
    Column("high", _REAL, "Upper end of the exponent's interval."),
    Column("confidence", _REAL, "Confidence of the interval."),
    Column("theorem", _REAL, "Exponent of the same fit to the theorem's numbers; null without a theorem."),
    Column("claimed", _REAL, "Exponent that the theorem claims, without logarithms; null if it claims none."),
)
FAILURES = (
    *LINE,
    Column("n", _WHOLE, "Number of rows; null for the search of n*."),
    Column("error", _TEXT, "Type and message of the error."),
    Column("traceback", _TEXT, "Its traceback."),
)
N_STAR_AT = (
    *(_OTHER if column is _ALPHA else column for column in LINE),
    Column("planned_alpha", _REAL, "Accuracy alpha that the learner's plan was made for."),
    Column("at_most", _REAL, "The threshold that counted: the largest edge of the grid of errors up to alpha."),
    Column("n_low", _WHOLE, "Success is below 1 - beta at this n and at all smaller ones; null if none is known."),
    Column("n_high", _WHOLE, "The smallest n at which success is known to exceed 1 - beta; null if none is."),
    Column("confidence", _REAL, "Confidence for all alphas of a curve together."),
)


def differences(between: str) -> tuple[Column, ...]:
    """Columns of paired differences between points that differ in ``between``: learner, epsilon or n."""
    kind = next(column.type for column in (*LINE, _N) if column.name == between)
    return (
        *(column for column in (*LINE, _N) if column.name != between),
        Column("first", kind, f"{between} of the first point."),
        Column("second", kind, f"{between} of the second point."),
        Column("trials", _WHOLE, "Trials that both points have."),
        Column("second_only", _WHOLE, "Trials in which only the second point succeeds."),
        Column("first_only", _WHOLE, "Trials in which only the first point succeeds."),
        Column("difference", _REAL, "Success rate of the second point minus that of the first."),
        Column("lower", _REAL, "Lower end of the difference's exact interval."),
        Column("upper", _REAL, "Upper end of the same interval."),
        Column("confidence", _REAL, "Confidence for all rows of the table together."),
        Column("ratio", _REAL, "Width of the interval, divided by that of independent trials."),
    )


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> pa.Table:
    """An Arrow table of these columns; other entries of the rows are left out."""
    made = {}
    for column in columns:
        try:
            made[column.name] = pa.array([row.get(column.name) for row in rows], column.type)
        except (pa.ArrowException, OverflowError) as error:
            advice = "use result.json itself"
            raise InputError(f"column {column.name}", f"values of type {column.type}", str(error), advice) from error
    return notebooks.shown(pa.table(made))
