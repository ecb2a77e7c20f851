"""Exact audits: every database of a universe and every neighbor, in float64, without sampling error."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.profile import hockey_stick, log_ratio, loss_delta, loss_epsilon, two_laws
from dpjax.audit.enumeration.outcomes import Run, exact_law, exact_table, in_words
from dpjax.audit.enumeration.pieces import NotListable
from dpjax.audit.further import CHUNK, Further, check_further, rounding
from dpjax.audit.outputs.laws import of_tables, words
from dpjax.audit.report import Report
from dpjax.audit.target.databases import Universe
from dpjax.audit.target.room import require_room
from dpjax.audit.target.target import Target, require_target
from dpjax.audit.watch import Watch, Work, unwatched
from dpjax.core.checks import InputError
from dpjax.core.plans import widened
from dpjax.core.types import Privacy

TOLERANCE, AS_IT_RUNS = 1e-9, 1e-5  # relative to the claim: a tight claim holds with equality
_SMALL = (
    "as large as float32 rounding; a division of integers stays float32: try audit.exact(..., as_it_runs=True), "
    "or convert integers to plan.epsilon.dtype before they are divided"
)
_SEEN = 1e-15  # least mass of a counted outcome
_FEW, _FEWEST = 64, 128  # a 64th of the databases is timed first, where that is 128 or more


def exact(target: Target, privacy: Privacy, *, as_it_runs: bool = False, watch: Watch = unwatched) -> Report:
    """The largest loss of ``target`` at this budget over all neighbors of its universes.

    Args:
      target: with a ``table`` of exact laws.
      privacy: plain numbers.
      as_it_runs: evaluate the program with its float32 plan. By default the plan's leaves are converted to float64,
        with the same values, so that everything computed from them is in float64.
      watch: receives the number of finished databases and the total; if there are many, a few are timed first.

    Returns: "consistent" if no pair of neighbors exceeds the claim by more than 1e-9 of it (1e-5 as it runs) plus the
      rounding error of log masses. InputError without an exact law, or if a universe's relation differs from the
      claim's. ``details["outcomes"]``: the number of outcomes with mass at least 1e-15 on some database; with one
      outcome, or with laws that are equal on each pair, the audit tests nothing and the verdict is "vacuous".
      ``details["excess"]``, for a refuted claim: by how much epsilon and delta exceed it; ``details["rounding"]``: what
      to try if that is at most 1e-5 of the claim.
    """
    require_target(target)
    if target.table is None:
        method = "exact" + f": {target.unlisted}" * bool(target.unlisted)
        raise NotListable("method", f"one that {target.name} allows", method, "use --method statistical")
    begin, claim = time.perf_counter(), target.claimed(privacy)
    budget, plan = (float(privacy.epsilon), float(privacy.delta)), target.plan(privacy)
    plan, tolerance = (plan, AS_IT_RUNS) if as_it_runs else (widened(plan), TOLERANCE)
    best: tuple[bool, float, float, Any] | None = None
    largest, top_delta, pairs, what, outcomes, by_rounding = 0.0, 0.0, 0, [], 0, True
    constant = True
    further: dict[str, Further] = {}
    universes = target.universes()
    for universe in universes:
        _same_relation(universe, claim)
    work = Work(watch, sum(map(_size, universes)), "databases")
    for universe in universes:
        _timed(target, universe, plan, claim, work)
        table, listed = _law(target, jax.tree.map(_read_only, universe.databases), plan)
        whole = [(claim, np.ones(len(table), bool))]
        for guarantee, among in target.claims(*budget, universe.databases) if target.claims else whole:
            if not len(judged := universe.pairs[among[universe.pairs[:, 0]]]):
                continue
            delta, epsilon, place = worst(table, judged, guarantee)
            refuted = exceeds(guarantee, table, judged, tolerance)
            constant = constant and not exceeds(replace(guarantee, epsilon=0.0, delta=0.0), table, judged)
            by_rounding &= not refuted or not exceeds(guarantee, table, judged, AS_IT_RUNS)
            for extra in check_further(guarantee, table, judged, tolerance):
                further[extra.name] = max(extra, further.get(extra.name, extra), key=lambda each: each.rank)
                if extra.refuted and not refuted:
                    refuted, place, by_rounding = True, extra.place, False
            largest, top_delta = max(largest, epsilon), max(top_delta, delta)
            if best is None or (refuted, delta, epsilon) > best[:3]:
                best = (refuted, delta, epsilon, (universe, table, place, guarantee, listed))
        work.did(_size(universe))
        pairs += len(universe.pairs)
        outcomes = max(outcomes, int(np.sum(table.max(axis=0) >= np.log(_SEEN))))
        what.append(universe.what)
    if best is None:
        raise InputError("universes", "databases to go through", "none", "give the target a universe")
    refuted, delta, epsilon, (universe, table, (i, j), claim, listed) = best
    excess = f"epsilon by {max(0.0, epsilon - claim.epsilon):.2g}, delta by {max(0.0, delta - claim.delta):.2g}"
    excess += "".join(
        f", {extra.name} by {extra.found - extra.claimed:.2g}" for extra in further.values() if extra.refuted
    )
    refutation = {"excess": excess, **({"rounding": _SMALL} if by_rounding else {})} if refuted else {}
    show = lambda at: universe.show(jax.tree.map(lambda part: np.asarray(part)[at], universe.databases))  # noqa: E731
    real = np.flatnonzero(~np.isneginf(table[[i, j]]).all(axis=0))
    names = _names(target, universe.databases, plan, listed, real)
    laws = of_tables(names, table[i, real], table[j, real], claim.epsilon)
    grid = np.linspace(0, 2 * claim.epsilon, 41)
    curve = hockey_stick(table[i][None], table[j][None], grid)
    parts = [
        f"{'; '.join(what)}: {pairs} ordered pairs of neighbors",
        f"{outcomes} outcome{'s' * (outcomes != 1)}",
        "the float32 program as it runs" if as_it_runs else "",
        target.caveat,
    ]
    head = target.name, target.calibration, claim, "exact", "; ".join(part for part in parts if part), largest
    return Report(
        *head,
        top_delta,
        1.0,
        {"database": show(i), "neighbor": show(j)},
        refuted,
        [(float(e), float(d)) for e, d in zip(grid, curve, strict=True)],
        {
            "event": words(laws),
            "outcomes": outcomes,
            "laws": laws,
            **({"constant": True} if constant else {}),
            **{f"{extra.name}_found": extra.found for extra in further.values()},
            **refutation,
            "seconds": round(time.perf_counter() - begin, 3),
        },
    )


def exceeds(claim: Guarantee, table: np.ndarray, pairs: np.ndarray, tolerance: float = TOLERANCE) -> bool:
    """Whether laws refute a claim by more than their rounding error.

    A pure claim is tested by the log-ratio of every single outcome, however rare, since differences of sums cancel
    there. Any other claim is tested by the divergence after each ratio is lowered by its possible rounding error.

    table: ``float64[databases, outcomes]``, log-probabilities. pairs: ``int64[p, 2]``, neighbors.
    """
    two_laws(table, table)
    step = max(1, CHUNK // table.shape[1])
    for start in range(0, len(pairs), step):
        p, q = (table[pairs[start : start + step, side]] for side in range(2))
        loss, off = rounding(p, q)
        excess = loss - off - claim.epsilon * (1 + tolerance)
        if claim.delta == 0:
            exceeded = np.any(excess > 0)
        else:
            delta = np.sum(np.exp(p) * -np.expm1(np.minimum(-excess, 0.0)), axis=-1)
            exceeded = np.any(delta > claim.delta * (1 + tolerance))
        if exceeded:
            return True
    return False


def worst(table: np.ndarray, neighbors: np.ndarray, claim: Guarantee) -> tuple[float, float, tuple[int, int]]:
    """(largest delta at the claimed epsilon, largest epsilon at the claimed delta, the pair with that delta)."""
    best, largest, place = -1.0, 0.0, (0, 0)
    two_laws(table, table)
    step = max(1, CHUNK // table.shape[1])
    for start in range(0, len(neighbors), step):
        pairs = neighbors[start : start + step]
        p = table[pairs[:, 0]]
        loss = log_ratio(p, table[pairs[:, 1]])
        deltas = loss_delta(p, loss, claim.epsilon)
        epsilons = loss_epsilon(p, loss, min(claim.delta * (1 + TOLERANCE), 1 - 1e-14))
        largest = max(largest, float(epsilons.max()))
        at = int(np.lexsort((epsilons, deltas))[-1])
        if deltas[at] > best or (deltas[at] == best == 0 and epsilons[at] >= largest):
            best, place = float(deltas[at]), (int(pairs[at, 0]), int(pairs[at, 1]))
    return best, largest, place


def table_of(law: Callable[[Any, Any], Any]) -> Callable[[Any, Any], np.ndarray]:
    """A ``table`` of a target from ``law(database, plan)``, whose ``log_probs()`` are the outcomes' log-probabilities.

    For algorithms with one draw, where it is faster than `table_of_run`. The law is built once per shape; the plan is
    traced.
    """
    compiled = jax.jit(jax.vmap(lambda database, plan: law(database, plan).log_probs(), (0, None)))

    def table(databases: Any, plan: Any) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(compiled(databases, plan), np.float64)

    return table


def table_of_run(run: Run) -> "TableOfRun":
    """A ``table`` of a target from ``run(key, database, plan)``: the program that runs, by `outcomes.exact_law`."""
    return TableOfRun(run)


@dataclass(frozen=True)
class TableOfRun:
    """See `table_of_run`."""

    run: Run

    def __call__(self, databases: Any, plan: Any) -> np.ndarray:
        """Log-probabilities of all outputs."""
        return exact_table(self.run, databases, plan)


def _law(target: Target, databases: Any, plan: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """The table of a target, and its outcomes as bytes if they are known."""
    if isinstance(target.table, TableOfRun):
        return exact_law(target.table.run, databases, plan)
    assert target.table is not None
    return target.table(databases, plan), None


def _names(target: Target, databases: Any, plan: Any, outcomes: np.ndarray | None, places: np.ndarray) -> list[str]:
    """The outcomes at some places of a table in words."""
    if isinstance(target.table, TableOfRun) and outcomes is not None:
        return in_words(target.table.run, databases, plan, outcomes[places], target.show)
    return [f"outcome {at}" for at in places]


def _read_only(leaf: Any) -> Any:
    """A view that a table in NumPy cannot change."""
    if not isinstance(leaf, np.ndarray):
        return leaf
    view = leaf.view()
    view.flags.writeable = False
    return view


def _size(universe: Universe) -> int:
    return len(jax.tree.leaves(universe.databases)[0])


def _timed(target: Target, universe: Universe, plan: Any, claim: Guarantee, work: Work) -> None:
    """Audits a subset of the databases twice: the first run compiles, the second estimates the total time."""
    few = _size(universe) // _FEW
    if few < _FEWEST:
        return
    assert target.table is not None
    databases = jax.tree.map(lambda part: part[:few], universe.databases)
    pairs = universe.pairs[np.all(universe.pairs < few, axis=1)]
    work.more(2 * few)
    for _ in range(2):
        table = target.table(databases, plan)
        what = f"at least {table.shape[1]} outcomes on each of {_size(universe)} databases"
        require_room("universe", _size(universe) * table.shape[1], what, NotListable)
        if len(pairs):
            worst(table, pairs, claim)
            exceeds(claim, table, pairs)
        work.did(few)


def _same_relation(universe: Universe, claim: Guarantee) -> None:
    if universe.relation is not claim.neighboring:
        raise InputError(
            "relation", claim.neighboring.value, universe.relation.value, "audit a claim under the relation it is made"
        )
    if not len(universe.pairs):
        raise InputError("universe", "databases that have neighbors", universe.what, "take a larger universe")
