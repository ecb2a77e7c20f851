"""The tables of a study's report."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from dpjax.core.html import Column, Markup, block, code, details, element, number, table, together
from dpjax.reports.words import listed, table_of, trial_command

_PLACES = ("learner", "k", "epsilon")
_GOAL = ("delta", "alpha", "beta")
_DASH = "\N{EN DASH}"
_MOST = 12
_OF_EXPONENTS = {"epsilon": "epsilon", "k from": "k_from", "to": "k_to", "exponent": "slope", "least": "low"}
_OF_EXPONENTS |= {"greatest": "high", "confidence": "confidence", "theorem's numbers": "theorem"}
_OF_EXPONENTS |= {"theorem's exponent": "claimed"}


def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The curve of a row: learner, k and epsilon."""
    return tuple(row.get(name) for name in _PLACES)


def missing(data: Mapping[str, Any]) -> list[str]:
    """The curves that were asked for and have neither a measurement nor a failure, in words; at most 12 of them."""
    config = data.get("config")
    learners, sweep = table_of(config, "learners"), table_of(config, "sweep")
    if not learners or not {"k", "epsilon"} <= sweep.keys():
        return []
    seen = {place(row) for name in ("points", "n_star", "failures") for row in data.get(name, ())}
    curves = product(learners, listed(sweep["k"]), listed(sweep["epsilon"]))
    left = [f"{name}, k = {k}, epsilon = {number(e)}" for name, k, e in curves if (name, k, e) not in seen]
    return [*left[:_MOST], f"and {len(left) - _MOST} others"] if len(left) > _MOST else left


def of_n_star(data: Mapping[str, Any]) -> Iterator[str]:
    """Brackets of n*, with the theorems' sample sizes and the lower bounds."""
    rows, search = data["n_star"], table_of(data.get("config"), "search")
    if not rows:
        yield from _within(data.get("n_within", ()))
        return
    bounded = any(row.get("below") is not None for row in rows)
    varying = _varying(rows)
    columns = [*_headings(varying), *map(Column, ("n* above", "n* at most", "theorem's n", "theorem / n*"))]
    columns += [Column("no private learner below")] * bounded + [Column("trials"), Column("ended", "text")]
    least, most = f"< {search.get('n_min', _DASH)}", f"> {search.get('n_max', _DASH)}"
    shown = []
    for row in rows:
        ends = row["n_low"] or least, row["n_high"] or most, row.get("theorem"), _slack(row)
        below = [row.get("below")] * bounded
        shown.append([*_labels(row, varying), *ends, *below, row.get("trials"), row.get("ended")])
    yield table(columns, shown, "Brackets of n*, the number of examples from which on success is enough")
    if any(row["n_low"] is None for row in rows):
        yield element("p", "<: no sample size was found to be too small.")
    if any(row["n_high"] is None for row in rows):
        yield element("p", ">: no sample size was found to be enough.")
    if bounded:
        yield element(
            "p",
            "No private learner below: a learner with the same guarantee that succeeds on every distribution "
            "needs at least this many examples. On an easy distribution fewer may do, and learners that are not "
            "private have no bound. The bounds are by:",
        )
        reasons = dict.fromkeys(str(row["below_by"]) for row in rows if row.get("below_by") is not None)
        yield element("ul", *(element("li", reason) for reason in reasons))


def _within(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Brackets within a gamma."""
    if not rows:
        yield element("p", "n* was not searched, or no search is finished yet.")
        return
    names = ("gamma", "fails_at", "passes_at", "theorem", "trials")
    columns = [*_headings(()), *map(Column, ("gamma", "fails at", "passes at", "theorem's n", "trials"))]
    shown = [[*_labels(row, ()), *map(row.get, names)] for row in rows]
    yield table(columns, shown, "Within gamma, in the place of n*")
    yield element(
        "p",
        "Success is below 1 - beta where it fails, and above 1 - beta - gamma where it passes: n* may be above both.",
    )


def of_exponents(data: Mapping[str, Any]) -> Iterator[str]:
    """Fitted exponents of k in n*, over all k and over large ones."""
    everywhere, large = data.get("exponents_all_k") or [], data.get("exponents") or []
    for rows, which in ((large, "over the fitted k"), (everywhere if everywhere != large else [], "over all k")):
        if rows:
            columns = [Column("learner", "text"), *map(Column, _OF_EXPONENTS)]
            shown = [
                [row.get("learner"), *(_decimals(row.get(name)) for name in _OF_EXPONENTS.values())] for row in rows
            ]
            yield table(columns, shown, f"n* grows like k to this exponent, {which}")
    if large or everywhere:
        yield element(
            "p",
            "Theorem's numbers: the same fit through the theorem's sample sizes, with all their logarithms. "
            "Claimed: the theorem's exponent without them.",
        )


def of_curves(data: Mapping[str, Any]) -> Iterator[str]:
    """Success at every n, with its band and the quantiles of the error."""
    rows = data["points"]
    if not rows:
        yield element("p", "No success curve is measured yet.")
        return
    levels = sorted({level for row in rows for level in table_of(row, "errors")}, key=float)
    varying = _varying(rows)
    names = ("n", "trials", "successes", "success", "band from", "to", "no answer")
    columns = [*_headings(varying), *map(Column, names), *(Column(f"error at {float(at):.0%}") for at in levels)]
    shown = []
    for row in rows:
        rates = row["successes"] / row["trials"], row["lower"], row["upper"]
        counts = [row["n"], row["trials"], row["successes"], *(f"{rate:.3f}" for rate in rates), row.get("no_answers")]
        shown.append([*_labels(row, varying), *counts, *map(table_of(row, "errors").get, levels)])
    yield table(columns, shown, "Success probability at each sample size; bands are simultaneous over a curve")
    if levels:
        yield element(
            "p",
            "Error at 90%: in 90% of the trials the largest error among the k hypotheses is at most this (the "
            "upper end of a bin).",
        )


def of_failures(data: Mapping[str, Any]) -> Iterator[str]:
    """Points that raised an error."""
    rows = data.get("failures") or []
    yield element("p", f"{len(rows)} points raised an error; the next run tries them again.", class_="bad")
    columns = [*_headings(()), Column("where", "text"), Column("error", "text")]
    shown = [[*_labels(row, ()), _where(row), row.get("error")] for row in rows]
    yield table(columns, shown, "Points that failed", [True] * len(rows))
    for row in rows:
        title = f"Traceback: {_named(row)}, {_where(row)}"
        yield details(title, block(str(row.get("traceback") or "none"), title), paper="printed")


def of_trials(data: Mapping[str, Any], source: str) -> Iterator[str]:
    """How a trial is computed again, and the cells that hold all of them."""
    config, points = data.get("config"), data["points"]
    yield element(
        "p",
        "A trial's key is derived from the seed, the task, the purpose and the trial's number, and not from where "
        "it ran: trial t has the same examples for every learner and epsilon. ",
        code("dpjax trial"),
        " computes it again from its key, and compares it with what is stored.",
    )
    if not points:
        return
    yield block(trial_command(source, config, points[0], points[0]["trials"] - 1), "The command of one trial")
    columns = [*_headings(()), Column("n"), Column("trials"), Column("cell", "code"), Column("command", "code")]
    shown = [
        [*_labels(row, ()), row["n"], f"0 to {row['trials'] - 1}", row.get("cell"), trial_command(source, config, row)]
        for row in points
    ]
    yield details(
        f"The cells of {len(points)} points, and the command of the first trial of each",
        table(columns, shown, "A cell is the file of a point's trials, named by a digest of all that they depend on"),
        paper="unprinted",
    )
    searches = [
        (row, n, cell)
        for row in (*data["n_star"], *data.get("n_within", ()))
        for n, cell in sorted(table_of(row, "cells").items(), key=lambda entry: int(entry[0]))
    ]
    if searches:
        columns = [*_headings(()), Column("n"), Column("cell", "code")]
        shown = [[*_labels(row, ()), int(n), cell] for row, n, cell in searches]
        yield details(
            f"The {len(searches)} cells of the searches for n*", table(columns, shown, "Cells of the searches")
        )


def goal(data: Mapping[str, Any]) -> Markup:
    """The parameters that all rows share."""
    rows = [*data["points"], *data["n_star"]]
    same = [(name, {row.get(name) for row in rows}) for name in _GOAL]
    return together([f"{name} = {number(next(iter(values)))}" for name, values in same if len(values) == 1], ", ")


def _decimals(value: Any) -> Any:
    """A float with three decimals, without zeros at the end."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def _varying(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Those of delta, alpha and beta that differ between rows."""
    return tuple(name for name in _GOAL if len({row.get(name) for row in rows}) > 1)


def _headings(own: Sequence[str]) -> list[Column]:
    return [Column("learner", "text"), Column("k"), Column("epsilon"), *map(Column, own)]


def _labels(row: Mapping[str, Any], own: Sequence[str]) -> list[Any]:
    return [row.get(name) for name in (*_PLACES, *own)]


def _named(row: Mapping[str, Any]) -> str:
    learner, k, epsilon = place(row)
    return f"{learner}, k = {number(k)}, epsilon = {number(epsilon)}"


def _where(row: Mapping[str, Any]) -> str:
    return "search" if row.get("n") is None else f"n = {row['n']}"


def _slack(row: Mapping[str, Any]) -> float | None:
    """The theorem's n divided by the upper end of the bracket."""
    theorem, high = row.get("theorem"), row["n_high"]
    return None if theorem is None or not high else theorem / high
