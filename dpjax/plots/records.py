"""Validated records of a result: points of the success curves, brackets of n*, fitted exponents."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpjax.core import checks
from dpjax.core.checks import InputError

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


class _Record:
    """One mapping of a result; values read from it are validated, and errors name them."""

    def __init__(self, where: str, values: Any):
        if not isinstance(values, Mapping):
            raise InputError(where, "a mapping of names to values", repr(values)[:80], "give a result as it was saved")
        self.where, self.values = where, values

    def required(self, name: str) -> Any:
        if name not in self.values:
            names = ", ".join(sorted(map(str, self.values))) or "nothing"
            raise InputError(f"{self.where}.{name}", "a value", f"only {names}", "give a result as it was saved")
        return self.values[name]

    def integer(self, name: str, low: int, high: int | None = None) -> int:
        return checks.integer(f"{self.where}.{name}", self.required(name), low, high)

    def integer_or_none(self, name: str) -> int | None:
        return None if self.values.get(name) is None else self.integer(name, 1)

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        value = checks.number(f"{self.where}.{name}", self.required(name))
        if not low <= value <= high:
            raise InputError(
                f"{self.where}.{name}", f"a number in [{low:g}, {high:g}]", repr(value), "give a result as it was saved"
            )
        return value

    def number_or_none(self, name: str) -> float | None:
        return None if self.values.get(name) is None else self.number(name)

    def learner(self) -> str:
        name = self.required("learner")
        if not isinstance(name, str) or not name:
            raise InputError(f"{self.where}.learner", "a name", repr(name), "give a result as it was saved")
        return name

    def kind(self) -> str:
        """Kind of the learner's guarantee, by its delta; empty if the result does not have it."""
        if "guarantee_delta" not in self.values:
            return ""
        if self.values["guarantee_delta"] is None:
            return NOT_PRIVATE
        return APPROXIMATE if self.number("guarantee_delta", 0, 1) else PURE

    def setting(self) -> Setting:
        epsilon = checks.epsilon(self.required("epsilon"), f"{self.where}.epsilon")
        return Setting(epsilon, *(self.number(name, 0, 1) for name in ("delta", "alpha", "beta")))


def read_points(result: Mapping[str, Any]) -> list[Point]:
    """The points with at least one trial."""
    points = []
    for record in _records(result, "points"):
        trials = record.integer("trials", 0)
        successes = record.integer("successes", 0, trials)
        lower = record.number("lower", 0, 1)
        upper = record.number("upper", lower, 1)
        name, k, n = record.learner(), record.integer("k", 1), record.integer("n", 1)
        if trials:
            rate = successes / trials
            points.append(Point(name, k, record.setting(), n, trials, rate, lower, upper, record.kind()))
    return points


def read_brackets(result: Mapping[str, Any]) -> list[Bracket]:
    """The brackets with an end or a theorem."""
    brackets = []
    for record in _records(result, "n_star"):
        low, high, theorem = (record.integer_or_none(name) for name in ("n_low", "n_high", "theorem"))
        if low is not None and high is not None and low > high:
            raise InputError(f"{record.where}.n_low", f"at most n_high = {high}", str(low), "swap the two")
        bracket = Bracket(
            record.learner(),
            record.integer("k", 1),
            record.setting(),
            low,
            high,
            theorem,
            record.number_or_none("confidence"),
            record.integer_or_none("below"),
            record.kind(),
        )
        if (low, high, theorem) != (None, None, None) and not record.values.get("gamma"):  # of earlier versions
            brackets.append(bracket)
    return brackets


def read_slopes(result: Mapping[str, Any]) -> list[Slope]:
    """The fitted exponents."""
    return [
        Slope(
            record.learner(),
            record.number("epsilon"),
            record.number("slope"),
            *(record.number_or_none(name) for name in ("low", "high", "claimed")),
        )
        for record in _records(result, "exponents")
        if record.values.get("slope") is not None
    ]


def _records(result: Mapping[str, Any], name: str) -> list[_Record]:
    values = result.get(name)
    if values is None:
        return []
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InputError(f"result.{name}", "a list", repr(values)[:80], "give a result as it was saved")
    return [_Record(f"result.{name}[{i}]", value) for i, value in enumerate(values)]
