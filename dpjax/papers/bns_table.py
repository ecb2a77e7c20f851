"""Measurements for the tables of Section 1.3 of Bun, Nissim, Stemmer 2016: one `Row` per claim.

Reference: Bun, Nissim, Stemmer 2016, Section 1.3, Theorems 3.1, 3.12 and 3.13, Corollaries 3.3, 3.9 and 3.10.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

import numpy as np

from dpjax.accounting.splits import split
from dpjax.advice.candidates import words
from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds, UniformCube, distributions
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, guess, proved
from dpjax.experiments.statistics.exponent_models import fit_sum, nearest
from dpjax.experiments.statistics.sequential_search import TRIALS, geometric_grid
from dpjax.experiments.sweep.hard_tasks import hard_thresholds
from dpjax.experiments.sweep.lower_bounds import LowerBound
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, GenericLearner, HashedPoints, Independent, Learner, ParityLearner, PointLearner
from dpjax.sanitizers import Hierarchy, PointCounts
from dpjax.theory import packing

ALPHA, BETA, NOISE = 0.2, 0.1, 0.1
PURE, APPROXIMATE = Privacy(16.0, 0.0), Privacy(4.0, 1e-6)
CONCEPTS = (1, 4, 16, 64, 256, 1024)
DOMAIN, DIMENSION = 2**32, 8
ACCURACY = Accuracy(ALPHA, BETA)
STEP = 2 ** (1 / 8)  # of the grid of n
ALLOWANCE = STEP**0.5  # of `fit_sum`
_GUESSES = 64
_MATRIX = np.array([[i >> j & 1 for j in range(8)] for i in range(256)], bool)  # all functions on 8 elements


@dataclass(frozen=True)
class Row:
    """One claim about one axis.

    Args:
      name: of the learner and its problem. privacy: "pure" or "approximate". claim: as printed in the paper.
      axis: "k", "log2 |X|" or "d". values: of the axis.
      claimed: the exponent. constant: whether there is a term that does not depend on the axis: the non-private sample
        size of one concept, or a summand of the claim.
      setting: value -> the measured setting, with n = 1.
      factor: value -> the theorem's logarithmic factor beside the power.
      parts: setting -> the parts of the budget that the planner gives the two terms, as they may follow the axis.
      source: of the claim.
      proper: value -> a lower bound for proper learners, beside `lower_bound` for all.
    """

    name: str
    privacy: str
    claim: str
    axis: str
    values: tuple[int, ...]
    claimed: float
    constant: bool
    setting: Callable[[int], Setting]
    factor: Callable[[int], float]
    source: str
    parts: Callable[[Setting], tuple[float, float]] = lambda setting: (1.0, 1.0)
    proper: Callable[[int], int] | None = None

    @property
    def title(self) -> str:
        """The title of the row."""
        return f"{self.privacy}: {self.name}, in {self.axis}"

    @property
    def learner(self) -> str:
        """The measured learner as a study names it."""
        return words(self.setting(self.values[0]).learner)

    def below(self, value: int) -> LowerBound:
        """The largest lower bound that applies to the setting of this value."""
        setting = self.setting(value)
        bounds = [setting.below(setting.learner.guarantee(setting.plan()))]
        if self.proper is not None:
            bounds.append(LowerBound(self.proper(value), "packing, proper learners"))
        return max((bound for bound in bounds if bound is not None), key=lambda bound: bound.n)


def rows() -> tuple[Row, ...]:
    """All rows, in the paper's order."""
    points, thresholds = Points(Domain(DOMAIN)), Thresholds(Domain(DOMAIN))
    parities, matrix = Parities(DIMENSION), Finite.of(_MATRIX)
    square = (16, 32, 64, 128, 256, 512, 1024)  # for few concepts zCDP is basic composition
    longer = (*square, 4096)  # beyond the sanitizer's rows

    def of_k(learner: Callable[[int], Learner], task: Task, privacy: Privacy) -> Callable[[int], Setting]:
        return lambda k: _setting(learner(k), task, k, privacy)

    def choices(count: float) -> Callable[[int], float]:
        return lambda k: log(count * k / BETA)

    hashed = lambda k: HashedPoints(points, k, 14, 5)  # noqa: E731
    in_order = lambda k: GenericLearner(points, k, Hierarchy(levels=4, bits=32))  # noqa: E731
    of_thresholds = lambda k: GenericLearner(thresholds, k, Hierarchy(levels=4, bits=32))  # noqa: E731
    counted = lambda k: GenericLearner(points, k, PointCounts(Domain(DOMAIN), 15, 10), "zcdp")  # noqa: E731
    spread = lambda k: GenericLearner(thresholds, k, Hierarchy(levels=4, bits=32), "zcdp")  # noqa: E731
    return (
        Row("points, improper, PAC", "pure", "k", "k", CONCEPTS, 1, True,
            of_k(hashed, _points(), PURE), choices(14 * 32), "Corollary 3.3"),
        Row("points, improper, agnostic", "pure", "k", "k", CONCEPTS, 1, True,
            of_k(hashed, _points(noise=True), PURE), choices(14 * 32), "Corollary 3.3"),
        Row("points, proper, PAC", "pure", "k + log |C|", "k", CONCEPTS, 1, True,
            of_k(in_order, _points(), PURE), choices(48), "Theorem 3.1", _parts),
        Row("points, proper, agnostic", "pure", "k + log |C|", "k", CONCEPTS, 1, True,
            of_k(in_order, _points(noise=True), PURE), choices(48), "Theorem 3.1", _parts),
        Row("points, proper, PAC", "pure", "k + log |C|", "log2 |X|", (8, 16, 24, 32, 48, 64), 1, True,
            lambda bits: _setting(KLN(Points(Domain(2**bits))), _points(bits), 1, Privacy(1.0, 0.0)), _one,
            "Theorem 3.1", proper=lambda bits: packing.proper(2**bits, 1.0, ALPHA, BETA)),
        Row("points, improper, PAC", "pure", "k", "log2 |X|", (8, 16, 24, 32, 48, 64), 0, False,
            lambda bits: _setting(HashedPoints(Points(Domain(2**bits)), 1, 5, 6), _points(bits), 1, Privacy(1.0, 0.0)),
            _one, "Corollary 3.3"),
        Row("thresholds, agnostic", "pure", "k + log |C|", "k", CONCEPTS, 1, True,
            of_k(of_thresholds, _thresholds(noise=True), PURE), choices(48), "Theorem 3.1", _parts),
        Row("a class of 256, agnostic", "pure", "k log |C|", "k", CONCEPTS, 1, True,
            of_k(lambda k: Independent(KLN(matrix), k), _finite(noise=True), PURE), choices(256), "Theorem 3.1"),
        Row("parities, agnostic", "pure", "k log |C|", "k", CONCEPTS, 1, True,
            of_k(lambda k: Independent(KLN(parities), k), _parities(noise=True), PURE), choices(2**DIMENSION),
            "Theorem 3.1"),
        Row("points, PAC", "approximate", "1", "k", CONCEPTS, 0, False,
            of_k(lambda k: PointLearner(points), _points(), APPROXIMATE), _one, "Theorem 3.13"),
        Row("points, agnostic", "approximate", "sqrt(k)", "k", longer, 0.5, True,
            of_k(counted, _points(noise=True), APPROXIMATE), choices(26), "Corollary 3.9", _parts),
        Row("thresholds, agnostic", "approximate", "2^log*|X| + sqrt(k)", "k", longer, 0.5, True,
            of_k(spread, _thresholds(noise=True), APPROXIMATE), choices(48), "Corollary 3.10", _parts),
        Row("a class of 256, agnostic", "approximate", "sqrt(k) log |C|", "k", square, 0.5, True,
            of_k(lambda k: Independent(KLN(matrix), k, "zcdp"), _finite(noise=True), APPROXIMATE), choices(256),
            "Theorem 3.1"),
        Row("parities, PAC", "approximate", "log |C|", "k", CONCEPTS, 0, False,
            of_k(lambda k: ParityLearner(parities), _parities(), APPROXIMATE), _one,
            "Theorem 3.12"),
        Row("parities, PAC", "approximate", "log |C|", "d", (8, 16, 32, 64, 128), 1, True,
            lambda d: _setting(ParityLearner(Parities(d)), _parities(d), 4, APPROXIMATE),
            _one, "Theorem 3.12"),
        Row("parities, agnostic", "approximate", "sqrt(k) log |C|", "k", square, 0.5, True,
            of_k(lambda k: Independent(KLN(parities), k, "zcdp"), _parities(noise=True), APPROXIMATE),
            choices(2**DIMENSION), "Theorem 3.1"),
    )  # fmt: skip


def measure(
    row: Row, cells: Cells, say: Callable[[str], None] = lambda text: None, *,
    limit: int = 1 << 17, trials: int = TRIALS, error: float = 0.05,
) -> dict[str, Any]:  # fmt: skip
    """The brackets of n* along the axis and the exponent fitted through those with both ends; JSON-ready.

    limit: the largest n. trials: of each search, see `sequential_search.search`. error: of all brackets of the row
    together. say: called with the value at hand.
    """
    grid, points = geometric_grid(4, limit, STEP), []
    guesses: list[tuple[int, int]] = []
    share = error / len(row.values)
    for value in row.values:
        say(f"{row.axis} = {value}")
        setting = row.setting(value)
        near = _near(grid, guesses, value, row.claimed)
        start = guess(setting, cells, near, _GUESSES, 1 - BETA) or near[-1]
        guesses.append((value, start))
        theorem = _theorem(setting)
        star = proved(bracket(setting, cells, grid, start=start, trials=trials, error=share), theorem)
        below = row.below(value)
        points.append({
            "value": value, "n_low": star.n_low, "n_high": star.n_high, "theorem": theorem,
            "bound": below.n, "bound_by": below.name, "trials": star.trials_total,
            "ended": star.ended,
        })  # fmt: skip
    labels = ("title", "privacy", "claim", "axis", "claimed", "source")
    record = {name: getattr(row, name) for name in labels} | {"learner": row.learner}
    return record | {"points": points, "fit": fit(row, points, share)}


def _near(grid: Sequence[int], guesses: Sequence[tuple[int, int]], value: int, claimed: float) -> Sequence[int]:
    """The part of the grid in which to guess n*: a factor 2 around the power law of the last two guesses, or of the
    claimed exponent. Guesses depend on no trial of a search, so a search may start there."""
    if not guesses:
        return grid
    (last, n), slope = guesses[-1], claimed
    if len(guesses) > 1:
        slope = log(n / guesses[-2][1]) / log(last / guesses[-2][0])
    expected = n * (value / last) ** slope
    return [size for size in grid if expected / 2 <= size <= 2 * expected] or grid


def fit(row: Row, points: Sequence[dict[str, Any]], error: float) -> dict[str, Any] | None:
    """`exponent_models.SumExponent` of the closed brackets, JSON-ready, with the claimed exponent's nearest curve as
    "claim".

    points: of `measure`. error: of each bracket, also of those that are not closed: which ones are follows the trials.
    None with fewer than three closed brackets.
    """
    closed = [point for point in points if point["n_low"] is not None and point["n_high"] is not None]
    if len(closed) < 3:
        return None
    value, low, high = (np.array([point[name] for point in closed], float) for name in ("value", "n_low", "n_high"))
    parts = [row.parts(row.setting(point["value"])) for point in closed]
    factor = [row.factor(point["value"]) / part for point, (_, part) in zip(closed, parts, strict=True)]
    fixed = [1 / part for part, _ in parts]
    share = min(1.0, error * len(points) / len(closed))
    fitted = fit_sum(value, low, high, factor, share, fixed=fixed, constant=row.constant, allowance=ALLOWANCE)
    claim = nearest(row.claimed, value, low, high, factor, fixed=fixed, constant=row.constant)
    return asdict(fitted) | {
        "exponent": fitted.exponent, "claim": asdict(claim), "values": list(map(int, value)), "parts": parts,
    }  # fmt: skip


def _theorem(setting: Setting) -> int | None:
    """The theorem's number, of the agnostic one where labels are flipped; None where none holds for these fields."""
    learner = setting.learner
    size = learner.sample_size_of if setting.task.flips is None else learner.agnostic_sample_size_of
    try:
        return size(setting.k, Privacy(setting.epsilon, setting.delta), Accuracy(setting.alpha, setting.beta))
    except InputError:
        return None


def _setting(learner: Learner, task: Task, k: int, privacy: Privacy) -> Setting:
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    return Setting(learner, task, k, 1, epsilon, delta, ALPHA, BETA, "table")


def _parts(setting: Setting) -> tuple[float, float]:
    """GenericLearner's: the sanitizer's part of epsilon, and a choice's epsilon over that without a sanitizer."""
    learner: Any = setting.learner
    plan = setting.plan()
    alone = split(setting.epsilon, setting.delta, setting.k, learner.composition, "bounded range").epsilon
    return learner.sanitizer.guarantee(plan.sanitizer).epsilon / setting.epsilon, float(plan.epsilon) / alone


def _one(value: int) -> float:
    return 1.0


def _points(bits: int = 32, noise: bool = False) -> Task:
    """Targets so heavy that missing one is an error above alpha, also where labels are flipped."""
    domain = Domain(2**bits)
    count, mass = (3, 0.3) if noise else (4, 0.23)
    return Task(Points(domain), distributions.heavy(domain, count, mass), noise=NOISE * noise)


def _thresholds(noise: bool = False) -> Task:
    """Where one threshold only is good; flipped labels make the limit of its error alpha / (1 - 2 noise)."""
    limit = ALPHA / (1 - 2 * NOISE) if noise else ALPHA
    return hard_thresholds(Thresholds(Domain(DOMAIN)), limit, NOISE * noise)


def _finite(noise: bool = False) -> Task:
    matrix = Finite.of(_MATRIX)
    return Task(matrix, distributions.uniform(matrix.domain), range(64), NOISE * noise)


def _parities(dimension: int = DIMENSION, noise: bool = False) -> Task:
    return Task(Parities(dimension), UniformCube(dimension), noise=NOISE * noise)
