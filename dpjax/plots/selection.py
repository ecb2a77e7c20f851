"""Selects the part of a result that a figure shows, and describes what it omits."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.plots.options import Options
from dpjax.plots.records import APPROXIMATE, Bracket, Point, Slope, read
from dpjax.plots.styles import Style, styles
from dpjax.plots.words import number

PANELS = 8
_COLUMNS = 4


@dataclass(frozen=True)
class Shown:
    """The records of one figure: one alpha and beta, one delta per learner.

    learners: in the order of the legend, with their styles. panels: the (k, epsilon) with a success curve, row by row
    in ``columns``. deltas: of each learner's budget. kinds: of each learner's guarantee, as in `records.Point`, for
    everything shown. notes: one sentence for each omission. options: the user's options.
    """

    points: tuple[Point, ...]
    brackets: tuple[Bracket, ...]
    slopes: tuple[Slope, ...]
    learners: Mapping[str, Style]
    alpha: float
    beta: float
    deltas: Mapping[str, float]
    kinds: Mapping[str, str]
    panels: tuple[tuple[int, float], ...]
    columns: int
    notes: tuple[str, ...]
    options: Options


def select(result: Mapping[str, Any], options: Options | None = None, most: int = 8) -> Shown:
    """The records of a result to show, with at most ``most`` success curves.

    InputError if the result has neither a point nor a bracket, or lacks a requested item.
    """
    options = options or Options()
    points, brackets, slopes = read(result)
    records: list[Point | Bracket] = [*points, *brackets]
    if not records:
        raise InputError("result", "at least one point or one n*", "neither", "measure something first")
    notes = []
    names = options.lines or _order(result, records)
    for name in names:
        checks.choice("lines", name, {r.learner for r in records})
    _present("k", options.k, {r.k for r in records})
    _present("epsilon", options.epsilon, {r.setting.epsilon for r in records})
    records = [r for r in records if r.learner in names and r.k in (options.k or (r.k,))]
    records = [r for r in records if r.setting.epsilon in (options.epsilon or (r.setting.epsilon,))]
    if not records:
        advice = "choose other values, or more of them"
        raise InputError("lines", "lines that are measured at the chosen k and epsilon", ", ".join(names), advice)
    goals = Counter((r.setting.alpha, r.setting.beta) for r in records)
    alpha, beta = _most_common(goals)
    if len(goals) > 1:
        notes.append(
            rf"Shown: $\alpha = {alpha:g}$ and $\beta = {beta:g}$, one of {len(goals)} such pairs in the data."
        )
    records = [r for r in records if (r.setting.alpha, r.setting.beta) == (alpha, beta)]
    size, colors = options.page.marker, options.page.colors
    known = {r.learner for r in records}
    looks = {name: style for name, style in options.styles.items() if name in known}
    for name in options.styles:
        checks.choice("styles", name, names)
    learners = styles(
        [name for name in names if name in known], looks, dark=options.page.dark, size=size, paper=colors["paper"]
    )
    deltas = {}
    for name in learners:
        counted = Counter(r.setting.delta for r in records if r.learner == name)
        deltas[name] = _most_common(counted)
        if len(counted) > 1:
            what = rf"$\delta = {number(deltas[name])}$, one of {len(counted)} in the data."
            notes.append(f"Shown for {learners[name].label}: {what}")
    kept = [r for r in records if r.setting.delta == deltas[r.learner]]
    kinds = {name: _kind({r.kind for r in kept if r.learner == name}) for name in learners}
    points = sorted((r for r in kept if isinstance(r, Point)), key=lambda p: (p.n, p.learner, p.k, p.setting, p.rate))
    combinations = {(p.k, p.setting.epsilon) for p in points}
    chosen = options.k is not None and options.epsilon is not None
    panels, columns = _panels(combinations, PANELS if chosen else most)
    if options.panels is not None and "curves" not in options.panels:
        panels, columns = (), 1
    elif len(combinations) > len(panels):
        notes.append(
            rf"Success curves: {len(panels)} of the {len(combinations)} measured pairs of $k$ and $\varepsilon$."
        )
    brackets = [r for r in kept if isinstance(r, Bracket)]
    values = {r.setting.epsilon for r in kept}
    slopes = [s for s in slopes if s.learner in deltas and s.epsilon in values]
    head = tuple(points), tuple(brackets), tuple(slopes if options.k is None else ()), learners, alpha, beta
    return Shown(*head, deltas, kinds, panels, columns, tuple(notes), options)


def _order(result: Mapping[str, Any], records: Sequence[Point | Bracket]) -> tuple[str, ...]:
    """The learners in their study's order, followed by learners that it does not name."""
    known, config = dict.fromkeys(r.learner for r in records), result.get("config")
    named = config.get("learners", ()) if isinstance(config, Mapping) else ()
    written = [name for name in named if name in known] if isinstance(named, Mapping | Sequence) else []
    return tuple(dict.fromkeys([*written, *known]))


def _present(name: str, asked: Sequence[float] | None, measured: set[Any]) -> None:
    """Raises InputError for values that were not measured."""
    for value in asked or ():
        if value not in measured:
            known = ", ".join(f"{entry:g}" for entry in sorted(measured))
            raise InputError(name, f"measured values, of {known}", f"{value:g}", "choose among these")


def with_notes(shown: Shown, notes: Iterable[str]) -> Shown:
    """A copy with further sentences about omissions."""
    return replace(shown, notes=(*shown.notes, *notes))


def spread(values: Iterable[Any], count: int) -> list[Any]:
    """At most ``count`` of the values in ascending order: the ends, and others evenly spaced by rank."""
    ordered = sorted(set(values))
    if len(ordered) <= count:
        return ordered
    if count == 1:
        return ordered[-1:]
    return [ordered[round(i * (len(ordered) - 1) / (count - 1))] for i in range(count)]


def _kind(found: set[str]) -> str:
    """The kind of several guarantees: what all of them are, or else approximate."""
    return found.pop() if len(found) == 1 else APPROXIMATE


def _most_common(counted: Counter) -> Any:
    """The most common value; the smallest for a tie."""
    return min(counted, key=lambda value: (-counted[value], value))


def _panels(measured: set[tuple[int, float]], most: int = PANELS) -> tuple[tuple[tuple[int, float], ...], int]:
    """At most ``most`` of the measured (k, epsilon), and the number of columns: one per k for a full grid."""
    if not measured:
        return (), 1
    ks, epsilons = {k for k, _ in measured}, {epsilon for _, epsilon in measured}
    if len(measured) > most:
        epsilons = set(spread(epsilons, max(2, most // len(ks))))
        ks = set(spread({k for k, epsilon in measured if epsilon in epsilons}, most // len(epsilons)))
    chosen = [(k, epsilon) for k, epsilon in measured if k in ks and epsilon in epsilons]
    full = len(chosen) == len(ks) * len(epsilons)
    if full and len(epsilons) <= len(ks) <= _COLUMNS:
        return tuple(sorted(chosen, key=lambda pair: pair[::-1])), len(ks)
    if full and len(ks) <= len(epsilons) <= _COLUMNS:
        return tuple(sorted(chosen)), len(epsilons)
    rows = -(-len(chosen) // _COLUMNS)
    return tuple(sorted(chosen, key=lambda pair: pair[::-1])), -(-len(chosen) // rows)
