"""Exact audits: every database of a universe, every neighbour, in float64. No sampling error."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.profile import epsilon_at, hockey_stick
from dpjax.audit.databases import Universe
from dpjax.audit.outcomes import NotListable
from dpjax.audit.report import Report
from dpjax.audit.target import Target
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

TOLERANCE = 1e-9  # relative, of float64 laws: tight ones sit at their claim
_FLOOR = 1e-14  # absolute, of a delta
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
        table = target.table(universe.databases, privacy)
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
    """Whether found numbers refute a claim; a pure claim is also refuted by outcomes too rare to add up to a delta."""
    if claim.delta == 0 and epsilon > claim.epsilon * (1 + TOLERANCE):
        return True
    return delta > claim.delta * (1 + TOLERANCE) + _FLOOR


def worst(table: np.ndarray, universe: Universe, claim: Guarantee) -> tuple[float, float, tuple[int, int]]:
    """(largest delta at the claimed epsilon, largest epsilon at the claimed delta, the pair with the former)."""
    best, largest, place = -1.0, 0.0, (0, 0)
    step = max(1, _CHUNK // table.shape[1])
    for start in range(0, len(universe.pairs), step):
        pairs = universe.pairs[start : start + step]
        p, q = table[pairs[:, 0]], table[pairs[:, 1]]
        deltas = hockey_stick(p, q, claim.epsilon)
        epsilons = epsilon_at(p, q, min(claim.delta * (1 + TOLERANCE), 1 - _FLOOR))
        largest = max(largest, float(epsilons.max()))
        at = int(np.lexsort((epsilons, deltas))[-1])
        if deltas[at] > best or (deltas[at] == best == 0 and epsilons[at] >= largest):
            best, place = float(deltas[at]), (int(pairs[at, 0]), int(pairs[at, 1]))
    return best, largest, place


def table_of(law: Callable[[Any, Privacy], Any]) -> Callable[[Any, Privacy], np.ndarray]:
    """A target's ``table`` from ``law(database, privacy)``, whose ``log_probs()`` are the outcomes' log-probabilities.

    The law is built in float64 and once for each shape; the budget is traced.
    """
    compiled = jax.jit(jax.vmap(lambda database, privacy: law(database, privacy).log_probs(), (0, None)))

    def table(databases: Any, privacy: Privacy) -> np.ndarray:
        with jax.enable_x64(True):
            exactly = Privacy(jnp.float64(privacy.epsilon), jnp.float64(privacy.delta))
            return np.asarray(compiled(databases, exactly))

    return table


def _same_relation(universe: Universe, claim: Guarantee) -> None:
    if universe.relation is not claim.neighboring:
        raise InputError(
            "relation", claim.neighboring.value, universe.relation.value, "audit a claim under the relation it is made"
        )
    if not len(universe.pairs):
        raise InputError("universe", "databases that have neighbours", universe.what, "take a larger universe")
