"""The figures of a report: drawn by `dpjax.plots`, for a wide and for a narrow screen."""

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpjax.core.html import Markup, element, number, printable
from dpjax.plots import plot_curve, plot_privacy
from dpjax.reports.svg import inlined
from dpjax.reports.words import table_of

_WIDE: dict[str, Any] = {"width": 9.0, "size": 9.0}
_NARROW: dict[str, Any] = {"width": 3.7, "size": 8.0}
_MARKS = " The bars on grey are brackets of n*; hollow: the theorem's n."
_PANELS = 8  # success curves in a figure
_MOST = 6  # figures of success curves


def of_study(data: Mapping[str, Any]) -> Iterator[Markup]:
    """Success against n, n* against k and against epsilon, and the theorems' n divided by n*, where there are such."""
    data = _to_draw(data)
    pairs = sorted({(row["k"], row["epsilon"]) for row in data["points"]})
    groups = list(_by_k(pairs)) if len(pairs) > _PANELS else [pairs] if pairs else []
    for place, group in enumerate(groups[:_MOST]):
        chosen = {"panels": ("curves",), "k": _ordered(k for k, _ in group), "epsilon": _ordered(e for _, e in group)}
        of = "" if len(groups) == 1 else f" for k = {group[0][0]}"
        words = (
            f"Success probability against the number of examples n{of}, one panel for each k and epsilon. Shaded: "
            "confidence bands, simultaneous over all n of a curve. Dashed: the target, 1 \N{MINUS SIGN} beta."
            + _MARKS
            * bool(data["n_star"])
        )
        yield _figure(data, f"curves{place}-", words, chosen)
    if len(groups) > _MOST:
        yield element("p", f"{len(groups) - _MOST} other values of k are in the tables alone.")
    for panel, words in _against(data["n_star"]):
        yield _figure(data, f"{panel}-", words, {"panels": (panel,)})


def of_claim(report: Mapping[str, Any], prefix: str) -> Markup:
    """The privacy curve of an audit's witness."""
    claim = report["claim"]
    report = {name: printable(part) if isinstance(part, str) else part for name, part in report.items()}
    what = f"{report['target']} ({report['calibration']}): {report['verdict']}"
    at = f"epsilon = {number(claim['epsilon'])} and delta = {number(claim['delta'])}"
    words = f"delta against epsilon on the worst neighbors found; the cross is the claim, {at}."
    with _scratch() as folder:
        (path,) = plot_privacy(report, Path(folder) / "privacy", "svg", width=4.6, size=9.0)
        drawn = inlined(path.read_bytes(), prefix, f"{what}. {words}")
    return element("figure", drawn, element("figcaption", words))


def _to_draw(data: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of a result, with names that an SVG file can hold. Its metadata would not reach the page."""
    learners = [printable(name) for name in table_of(data.get("config"), "learners")]
    rows = {
        name: [row | {"learner": printable(row["learner"])} for row in data.get(name) or ()]
        for name in ("points", "n_star", "exponents")
    }
    return rows | {"config": {"learners": learners}, "seed": data["seed"], "versions": {}}


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for files of figures. Letters that matplotlib's font lacks are no reason to warn: a browser has them."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield folder


def _figure(data: Mapping[str, Any], prefix: str, words: str, chosen: dict[str, Any]) -> Markup:
    with _scratch() as folder:
        drawn = [
            element(
                "div", _drawn(Path(folder) / name, data, f"{prefix}{name}-", words, {**look, **chosen}), class_=name
            )
            for name, look in (("wide", _WIDE), ("narrow", _NARROW))
        ]
    return element("figure", *drawn, element("figcaption", words))


def _drawn(base: Path, data: Mapping[str, Any], prefix: str, words: str, how: Mapping[str, Any]) -> Markup:
    (path,) = plot_curve(data, base, "svg", title="", caption=False, **how)
    return inlined(path.read_bytes(), prefix, words)


def _by_k(pairs: Sequence[tuple[int, float]]) -> Iterator[list[tuple[int, float]]]:
    for k in dict.fromkeys(k for k, _ in pairs):
        group = [pair for pair in pairs if pair[0] == k]
        for first in range(0, len(group), _PANELS):
            yield group[first : first + _PANELS]


def _ordered(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


def _against(stars: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The panels of n* that have two values on their axis, and what they show."""
    stars = [row for row in stars if any(row.get(name) is not None for name in ("n_low", "n_high", "theorem"))]
    ks, epsilons = ({row[name] for row in stars} for name in ("k", "epsilon"))
    marks = "Bars are brackets, an arrow an end that was not found; hollow: the theorem's n; dotted: "
    marks += "no private learner that succeeds on every distribution below; n* is of one."
    if len(ks) > 1:
        yield "k", f"n* against the number of concepts k, with fitted exponents. {marks}"
    if len(epsilons) > 1:
        yield "epsilon", f"n* against epsilon, at one k. {marks}"
    known = [row for row in stars if row.get("theorem") is not None and (row["n_low"] or row["n_high"])]
    if known and len({row["k"] for row in known}) > 1:
        yield "slack", "The theorem's n divided by n*: 1 would mean that the theorem is exact."
