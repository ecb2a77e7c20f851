"""Which part of a result one figure shows; what it leaves out, it says."""

# ruff: noqa: RUF001 (Greek letters and minus signs are meant)

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpjax.core.checks import InputError
from dpjax.plots.records import Bracket, Point, Slope, read_brackets, read_points, read_slopes
from dpjax.plots.styles import rank

PANELS = 8
_COLUMNS = 4


@dataclass(frozen=True)
class Shown:
    """The records of one figure: one alpha and beta, one delta a learner.

    learners: in the order of the legend. panels: the (k, epsilon) with a success curve, row by row in ``columns``.
    notes: one sentence for each thing that was left out.
    """

    points: tuple[Point, ...]
    brackets: tuple[Bracket, ...]
    slopes: tuple[Slope, ...]
    learners: tuple[str, ...]
    alpha: float
    beta: float
    deltas: Mapping[str, float]
    panels: tuple[tuple[int, float], ...]
    columns: int
    notes: tuple[str, ...]


def select(result: Mapping[str, Any]) -> Shown:
    """What to show of a result; InputError if it has neither a point nor a bracket."""
    points, brackets = read_points(result), read_brackets(result)
    records: list[Point | Bracket] = [*points, *brackets]
    if not records:
        raise InputError("result", "at least one point or one n*", "neither", "measure something first")
    notes = []
    goals = Counter((r.setting.alpha, r.setting.beta) for r in records)
    alpha, beta = _most_common(goals)
    if len(goals) > 1:
        notes.append(f"Shown: α = {alpha:g} and β = {beta:g}, one of {len(goals)} such pairs in the data.")
    records = [r for r in records if (r.setting.alpha, r.setting.beta) == (alpha, beta)]
    learners = sorted({r.learner for r in records}, key=rank)
    deltas = {}
    for name in learners:
        counted = Counter(r.setting.delta for r in records if r.learner == name)
        deltas[name] = _most_common(counted)
        if len(counted) > 1:
            notes.append(f"Shown for {name}: δ = {exponent(deltas[name])}, one of {len(counted)} in the data.")
    kept = [r for r in records if r.setting.delta == deltas[r.learner]]
    points = sorted((r for r in kept if isinstance(r, Point)), key=lambda p: (p.n, p.learner, p.k, p.setting, p.rate))
    panels, columns = _panels({(p.k, p.setting.epsilon) for p in points})
    combinations = len({(p.k, p.setting.epsilon) for p in points})
    if combinations > len(panels):
        notes.append(f"Success curves: {len(panels)} of the {combinations} measured pairs of k and ε.")
    return Shown(
        tuple(points), tuple(r for r in kept if isinstance(r, Bracket)),
        tuple(s for s in read_slopes(result) if s.learner in deltas), tuple(learners), alpha, beta, deltas,
        panels, columns, tuple(notes),
    )  # fmt: skip


def with_notes(shown: Shown, notes: Iterable[str]) -> Shown:
    """With more sentences about what is left out."""
    return replace(shown, notes=(*shown.notes, *notes))


def spread(values: Iterable[Any], count: int) -> list[Any]:
    """At most ``count`` of the values in ascending order: the ends, and others evenly between them by rank."""
    ordered = sorted(set(values))
    if len(ordered) <= count:
        return ordered
    if count == 1:
        return ordered[-1:]
    return [ordered[round(i * (len(ordered) - 1) / (count - 1))] for i in range(count)]


def exponent(value: float) -> str:
    """A number as short text: 0.5, 1e-6."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e")


def _most_common(counted: Counter) -> Any:
    """The commonest, and of several the least."""
    return min(counted, key=lambda value: (-counted[value], value))


def _panels(measured: set[tuple[int, float]]) -> tuple[tuple[tuple[int, float], ...], int]:
    """At most PANELS of the measured (k, epsilon), and in how many columns: one for each k if that is a full grid."""
    if not measured:
        return (), 1
    ks, epsilons = {k for k, _ in measured}, {epsilon for _, epsilon in measured}
    if len(measured) > PANELS:
        epsilons = set(spread(epsilons, max(2, PANELS // len(ks))))
        ks = set(spread({k for k, epsilon in measured if epsilon in epsilons}, PANELS // len(epsilons)))
    chosen = [(k, epsilon) for k, epsilon in measured if k in ks and epsilon in epsilons]
    full = len(chosen) == len(ks) * len(epsilons)
    if full and len(epsilons) <= len(ks) <= _COLUMNS:
        return tuple(sorted(chosen, key=lambda pair: pair[::-1])), len(ks)
    if full and len(ks) <= len(epsilons) <= _COLUMNS:
        return tuple(sorted(chosen)), len(epsilons)
    rows = -(-len(chosen) // _COLUMNS)
    return tuple(sorted(chosen, key=lambda pair: pair[::-1])), -(-len(chosen) // rows)
