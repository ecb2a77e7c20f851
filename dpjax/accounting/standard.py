"""Numerical accountants: Renyi divergences (RDP) and privacy-loss distributions (PLD) of standard mechanisms."""

import math
from collections.abc import Sequence

import numpy as np

from dpjax.accounting.events import Event
from dpjax.accounting.guarantee import Guarantee, same_contract, same_relation
from dpjax.accounting.numeric.convolution import composed_epsilon
from dpjax.accounting.numeric.ranges import positive
from dpjax.core import checks
from dpjax.core.checks import InputError

Runs = Sequence[tuple[Event, int]]

_COARSEST, _MOST_CELLS = 64.0, 1 << 26  # e^step and the number of steps stay within float64 and memory
_CONNECT = "Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Section 3"


def by_rdp(runs: Runs, delta: float, what: str = "RDP composition") -> Guarantee:
    """Adaptive composition of events by Renyi divergences, converted once, at the best order for delta.

    Args:
      runs: pairs (event, how often it runs).
      delta: in (0, 1), of the whole.
      what: the name of the whole.

    Privacy: the minimum over orders alpha of r(alpha) + ln(1 - 1/alpha) - ln(alpha delta)/(alpha - 1); order infinity,
      basic composition, is included if every part is pure.
    Reference: Mironov, "Renyi differential privacy", Proposition 1; Canonne, Kamath, Steinke, Proposition 12.
    """
    parts = _parts(runs, delta)

    def conversion(above: np.ndarray) -> np.ndarray:
        orders = 1 + above
        divergence = sum(count * event.rdp(orders) for event, count in runs)
        return divergence + np.log(above / orders) - (math.log(delta) + np.log(orders)) / above

    grid = np.logspace(-3, 10, 400)
    best = int(np.argmin(conversion(grid)))
    fine = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)], 200)
    epsilon = max(0.0, float(np.min(conversion(fine))))
    return _whole(runs, parts, epsilon, delta, what, "RDP: divergences of each order add", "Mironov, Proposition 1")


def by_pld(runs: Runs, delta: float, step: float | None = None, what: str = "PLD composition") -> Guarantee:
    """Adaptive composition of events by convolving their privacy-loss laws: exact up to the grid, rounded up.

    Args:
      runs: pairs (event, how often it runs).
      delta: in (0, 1), of the whole; the error is relative for every delta.
      step: of the loss grid; by default about 1/1000 of one run's loss, coarser for very many runs. The excess in
        epsilon is of second order in the step.
      what: the name of the whole.

    Privacy: the smallest epsilon whose hockey-stick divergence is at most delta; never above basic composition.
    Reference: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots", Section 3.
    """
    parts = _parts(runs, delta)
    step = _step(runs) if step is None else positive("step", step)
    largest = max(event.loss_scale for event, _ in runs)
    if step > _COARSEST or largest / step > _MOST_CELLS:
        actual, advice = (
            f"{largest:.3g} on a grid of step {step:.3g}",
            "compose events with more noise, or leave step out",
        )
        raise InputError(
            "privacy loss of a run", f"at most {_MOST_CELLS} steps of at most {_COARSEST:g}", actual, advice
        )
    floor = delta * 1e-12 / len(runs)
    epsilon = composed_epsilon([event.losses(step, count, floor) for event, count in runs], delta)
    return _whole(runs, parts, epsilon, delta, what, f"PLD: losses add, grid step {step:.3g}", _CONNECT)


def _parts(runs: Runs, delta: float) -> tuple[Guarantee, ...]:
    checks.delta(delta, positive_for="numerical accounting")
    for _, count in runs:
        checks.integer("rounds", count, 1)
    parts = tuple(event.guarantee(delta) for event, _ in runs)
    same_relation(parts)
    return parts


def _whole(
    runs: Runs, parts: tuple[Guarantee, ...], epsilon: float, delta: float, what: str, why: str, source: str
) -> Guarantee:
    counts = [count for _, count in runs]
    if all(part.delta == 0 for part in parts):
        epsilon = min(epsilon, math.fsum(count * part.epsilon for part, count in zip(parts, counts, strict=True)))
    rhos = [count * part.rho for part, count in zip(parts, counts, strict=True) if part.rho is not None]
    return Guarantee(
        epsilon,
        delta,
        parts[0].neighboring,
        what,
        f"{why}; runs {', '.join(map(str, counts))}",
        parts,
        rho=math.fsum(rhos) if len(rhos) == len(parts) else None,
        source=source,
        contract=same_contract(parts),
    )


def _step(runs: Runs) -> float:
    """Fine relative to one run's loss, coarse enough for about 2^20 points, and a divisor of the largest loss."""
    scales = [event.loss_scale for event, _ in runs]
    spread = math.hypot(*(scale * math.sqrt(count) for scale, (_, count) in zip(scales, runs, strict=True)))
    step = max(min(scales) * 2.0**-10, spread * 2.0**-15)
    return max(scales) / math.ceil(max(scales) / step)
