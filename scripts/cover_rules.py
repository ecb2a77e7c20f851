"""What a round of set cover may spend, by rule and rounds, and what its rules say of one coefficient."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from papers.cover_instance import instance_delta

from dpjax.accounting import calibrate_set_cover, set_cover_delta, set_cover_rho, zcdp_delta
from dpjax.core.types import Neighboring
from dpjax.plots.lines import Line, Panel, plot_lines

RULES = {
    "noise_free": "stopping game, exact counts kept",
    "noisy": "stopping game, noisy counts published",
    "zcdp": "zCDP, round by round",
    "closed_form": "closed form, any number of rounds",
    "advanced": "advanced composition, Theorem 2.10",
    "paper_corrected": "Claim 3.4, corrected",
}
"""Variants of `accounting.calibrate_set_cover`, and what a figure calls them."""
_LEAST = 1e-12  # smaller deltas are not drawn
_EPSILONS = 21


def coefficients(
    rule: str, rounds: Sequence[int], k: int, epsilon: float, delta: float, neighboring: Neighboring
) -> list[float] | None:
    """The coefficient for each number of rounds; None where the rule does not know the relation."""
    if rule.startswith("paper") and neighboring is not Neighboring.ADD_OR_REMOVE_ONE:
        return None
    return [calibrate_set_cover(epsilon, delta, m, k, neighboring, rule).coefficient for m in rounds]


def curves(coefficient: float, rounds: int, k: int, scale: float, most: float) -> list[Line]:
    """delta(epsilon) up to ``most`` at one coefficient under ADD_OR_REMOVE_ONE: four bounds, and two databases.

    scale: of the counts' noise, where they are published.
    """
    relation, grid = Neighboring.ADD_OR_REMOVE_ONE, np.linspace(0.0, most, _EPSILONS).tolist()
    rho = set_cover_rho(coefficient, rounds, k, relation)
    square = rounds * coefficient**2
    given = {
        "advanced": [math.exp(-(max(epsilon - 2 * square, 0.0) ** 2) / (2 * square)) for epsilon in grid],
        "zcdp": [float(zcdp_delta(rho, epsilon)) for epsilon in grid],
        "noisy": [set_cover_delta(epsilon, coefficient, rounds, k, relation, scale) for epsilon in grid],
        "noise_free": [set_cover_delta(epsilon, coefficient, rounds, k, relation) for epsilon in grid],
    }
    lines = [_curve(RULES[rule], rule, grid, deltas) for rule, deltas in given.items()]
    exact = [instance_delta(epsilon, coefficient, rounds) for epsilon in grid]
    return [*lines, _curve("two databases, exactly: no bound is below", "instance", grid, exact)]


def plot_set_cover(
    base: str | Path,
    about: Mapping[str, Any],
    rounds: Sequence[int],
    k: int,
    epsilon: float,
    delta: float,
    shown: int,
    title: str,
    caption: str = "",
    formats: str | Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Three panels: coefficients over ``rounds`` under both relations, and `curves` at the game's for ``shown`` rounds.

    Returns: the paths of the files, one a format.
    """
    panels = []
    for relation in (Neighboring.ADD_OR_REMOVE_ONE, Neighboring.REPLACE_ONE):
        found = {rule: coefficients(rule, rounds, k, epsilon, delta, relation) for rule in RULES}
        lines = [Line(RULES[rule], rule, rounds, values) for rule, values in found.items() if values]
        panels.append(Panel(relation.value, "rounds $m$", "coefficient of the quality", lines, ticks=rounds))
    plan = calibrate_set_cover(epsilon, delta, shown, k, Neighboring.ADD_OR_REMOVE_ONE)
    noisy = calibrate_set_cover(epsilon, delta, shown, k, Neighboring.ADD_OR_REMOVE_ONE, "noisy")
    lines = curves(plan.coefficient, shown, k, noisy.scale, 2 * epsilon)
    what = f"{shown} rounds at coefficient {plan.coefficient:.4f}, add-or-remove-one"
    panels.append(Panel(what, r"$\varepsilon$", r"$\delta$", lines, log="y"))
    return plot_lines(panels, base, about, title, caption, formats)


def _curve(label: str, name: str, epsilons: Sequence[float], deltas: Sequence[float]) -> Line:
    kept = [(epsilon, delta) for epsilon, delta in zip(epsilons, deltas, strict=True) if delta >= _LEAST]
    x, y = zip(*kept, strict=True)
    return Line(label, name, x, y)
