"""Exact audits: every database of a universe, every neighbour, in float64. No sampling error."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.profile import Floats, hockey_stick, loss_delta, loss_epsilon, two_laws
from dpjax.audit.databases import Universe
from dpjax.audit.outcomes import NotListable
from dpjax.audit.report import Report
from dpjax.audit.target import Target
from dpjax.core.checks import InputError
from dpjax.core.plans import widened
from dpjax.core.types import Privacy

TOLERANCE = 1e-9  # relative, of float64 laws: tight ones sit at their claim
_ROUNDING = 2.0**-46  # of a log-mass, relative to 1 + its size: what the sums and quadratures behind it leave open
_LEAST = -650.0  # log-masses below are not judged: tables made from probabilities underflow there
_CHUNK = 1 << 22  # numbers of a chunk of pairs


def exact(target: Target, privacy: Privacy) -> Report:
    """The largest loss of ``target`` at this budget over all neighbours of its universes.

    Args:
      target: with a ``table`` of exact laws.
      privacy: plain numbers.

    Returns: "consistent" if no pair of neighbours exceeds the claim by more than 1e-9 of it (what float64 leaves open).
      InputError where there is no exact law, or a universe is of another relation than the claim.
    """
    if target.table is None:
        raise NotListable("method", f"one that {target.name} allows", "exact", "use --method statistical")
    begin, claim = time.perf_counter(), target.claim(float(privacy.epsilon), float(privacy.delta))
    best: tuple[float, float, Any] | None = None
    largest, pairs, words = 0.0, 0, []
    for universe in target.universes():
        _same_relation(universe, claim)
        table = target.table(universe.databases, target.plan(privacy))
        delta, epsilon, place = worst(table, universe, claim)
        pairs, largest = pairs + len(universe.pairs), max(largest, epsilon)
        words.append(universe.what)
        if best is None or (delta, epsilon) > best[:2]:
            best = (delta, epsilon, (universe, table, place))
    assert best is not None
    universe, table, (i, j) = best[2]
    show = lambda at: universe.show(jax.tree.map(lambda part: np.asarray(part)[at], universe.databases))  # noqa: E731
    grid = np.linspace(0, 2 * claim.epsilon, 41)
    curve = hockey_stick(table[i][None], table[j][None], grid)
    evidence = f"{'; '.join(words)}: {pairs} ordered pairs of neighbours{target.caveat and '; '}{target.caveat}"
    return Report(
        target.name, target.calibration, claim, "exact", evidence, largest, best[0], 1.0,
        {"database": show(i), "neighbour": show(j)}, exceeds(claim, best[0], largest),
        [(float(e), float(d)) for e, d in zip(grid, curve, strict=True)],
        {"seconds": round(time.perf_counter() - begin, 3)},
    )  # fmt: skip


def exceeds(claim: Guarantee, delta: float, epsilon: float) -> bool:
    """Whether found numbers refute a claim; a pure one is judged by log-ratios, however rare the outcome."""
    if claim.delta == 0:
        return epsilon > claim.epsilon * (1 + TOLERANCE)
    return delta > claim.delta * (1 + TOLERANCE)


def worst(table: np.ndarray, universe: Universe, claim: Guarantee) -> tuple[float, float, tuple[int, int]]:
    """(largest delta at the claimed epsilon, largest epsilon at the claimed delta, the pair with the former).

    Both are lower bounds: each log-ratio is first reduced by the rounding errors of its log-masses.
    """
    best, largest, place = -1.0, 0.0, (0, 0)
    step = max(1, _CHUNK // table.shape[1])
    for start in range(0, len(universe.pairs), step):
        pairs = universe.pairs[start : start + step]
        p, q = two_laws(table[pairs[:, 0]], table[pairs[:, 1]])
        loss = _certain_loss(p, q)
        deltas = loss_delta(p, loss, claim.epsilon)
        epsilons = loss_epsilon(p, loss, min(claim.delta * (1 + TOLERANCE), 1 - TOLERANCE))
        largest = max(largest, float(epsilons.max()))
        at = int(np.lexsort((epsilons, deltas))[-1])
        if deltas[at] > best or (deltas[at] == best == 0 and epsilons[at] >= largest):
            best, place = float(deltas[at]), (int(pairs[at, 0]), int(pairs[at, 1]))
    return best, largest, place


def _certain_loss(log_p: Floats, log_q: Floats) -> Floats:
    """log P - log Q less the rounding errors of both; -inf where P has no mass worth a judgement."""
    with np.errstate(invalid="ignore"):
        loss = log_p - log_q - _ROUNDING * (1 + np.abs(log_p) + np.where(np.isneginf(log_q), 0.0, np.abs(log_q)))
    return np.where(log_p < _LEAST, -np.inf, loss)


def table_of(law: Callable[[Any, Any], Any]) -> Callable[[Any, Any], np.ndarray]:
    """A target's ``table`` from ``law(database, plan)``, whose ``log_probs()`` are the outcomes' log-probabilities.

    The law is built in float64 and once for each shape; the plan is traced.
    """
    compiled = jax.jit(jax.vmap(lambda database, plan: law(database, plan).log_probs(), (0, None)))

    def table(databases: Any, plan: Any) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(compiled(databases, widened(plan)))

    return table


def _same_relation(universe: Universe, claim: Guarantee) -> None:
    if universe.relation is not claim.neighboring:
        raise InputError(
            "relation", claim.neighboring.value, universe.relation.value, "audit a claim under the relation it is made"
        )
    if not len(universe.pairs):
        raise InputError("universe", "databases that have neighbours", universe.what, "take a larger universe")
