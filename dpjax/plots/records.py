"""Validated records of a result: points of the success curves, brackets of n*, fitted exponents."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from dpjax.core.schemas import Document, check

PURE, APPROXIMATE, NOT_PRIVATE = "pure", "approximate", "not private"


class Setting(NamedTuple):
    """The parameters of one n*, except the number of concepts."""

    epsilon: float
    delta: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class Point:
    """The success rate of one learner at one n, with its simultaneous band [lower, upper]. kind: of the learner's
    guarantee, one of `PURE`, `APPROXIMATE` and `NOT_PRIVATE`; empty in results that do not say it."""

    learner: str
    k: int
    setting: Setting
    n: int
    trials: int
    rate: float
    lower: float
    upper: float
    kind: str = ""


@dataclass(frozen=True)
class Bracket:
    """n* is in [n_low, n_high]; an end that was not found is None. theorem: the theorem's sample size. below: no
    learner that is as private succeeds on every distribution with fewer rows; None if not known. kind: as in
    `Point`."""

    learner: str
    k: int
    setting: Setting
    n_low: int | None
    n_high: int | None
    theorem: int | None
    confidence: float | None
    below: int | None = None
    kind: str = ""

    @property
    def middle(self) -> float | None:
        """The geometric mean of the ends, if both are known."""
        return None if self.n_low is None or self.n_high is None else math.sqrt(self.n_low * self.n_high)


@dataclass(frozen=True)
class Slope:
    """n* grows like k**slope, with slopes in [low, high]; the theorem claims ``claimed``."""

    learner: str
    epsilon: float
    slope: float
    low: float | None
    high: float | None
    claimed: float | None


def _name(value: Any) -> str:
    """Any text; pydantic's own refuses some that a name may have."""
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


_Chance = Annotated[float, Field(ge=0, le=1)]
_Size = Annotated[int, Field(ge=1)]
_Name = Annotated[Any, AfterValidator(_name)]


class _Row(Document):
    learner: _Name
    k: _Size
    epsilon: Annotated[float, Field(gt=0)]
    delta: _Chance
    alpha: _Chance
    beta: _Chance
    guarantee_delta: _Chance | None = None

    def place(self) -> tuple[str, int, Setting]:
        """The curve of the row."""
        return self.learner, self.k, Setting(self.epsilon, self.delta, self.alpha, self.beta)

    def kind(self) -> str:
        """Kind of the learner's guarantee, by its delta; empty if the result does not have it."""
        if "guarantee_delta" not in self.model_fields_set:
            return ""
        if self.guarantee_delta is None:
            return NOT_PRIVATE
        return APPROXIMATE if self.guarantee_delta else PURE


class _PointRow(_Row):
    n: _Size
    trials: Annotated[int, Field(ge=0)]
    successes: Annotated[int, Field(ge=0)]
    lower: _Chance
    upper: _Chance

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.successes > self.trials or self.lower > self.upper:
            raise ValueError("successes of at most trials, and lower of at most upper")
        return self


class _BracketRow(_Row):
    n_low: _Size | None = None
    n_high: _Size | None = None
    theorem: _Size | None = None
    confidence: float | None = None
    below: _Size | None = None
    gamma: float | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.n_low is not None and self.n_high is not None and self.n_low > self.n_high:
            raise ValueError("n_low of at most n_high")
        return self


class _SlopeRow(Document):
    learner: _Name
    epsilon: float
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    claimed: float | None = None


class _Rows(Document):
    points: list[_PointRow] | None = None
    n_star: list[_BracketRow] | None = None
    exponents: list[_SlopeRow] | None = None


def read(result: Mapping[str, Any]) -> tuple[list[Point], list[Bracket], list[Slope]]:
    """Points with at least one trial, brackets with an end or a theorem, and fitted exponents. InputError if a row of
    the result has another content."""
    rows = check(_Rows, "result", result, "give a result as it was saved")
    points = [
        Point(*row.place(), row.n, row.trials, row.successes / row.trials, row.lower, row.upper, row.kind())
        for row in rows.points or ()
        if row.trials
    ]
    brackets = [
        Bracket(*row.place(), row.n_low, row.n_high, row.theorem, row.confidence, row.below, row.kind())
        for row in rows.n_star or ()
        if (row.n_low, row.n_high, row.theorem) != (None, None, None) and not row.gamma  # of earlier versions
    ]
    slopes = [
        Slope(row.learner, row.epsilon, row.slope, row.low, row.high, row.claimed)
        for row in rows.exponents or ()
        if row.slope is not None
    ]
    return points, brackets, slopes
