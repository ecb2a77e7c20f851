"""The worst success of any learner over the cases of an optimum, from its laws on all databases."""

from itertools import product
from typing import Any

import numpy as np

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.program import case_weights
from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.core.checks import InputError
from dpjax.core.plans import widened
from dpjax.core.types import Sample

_SEQUENCES = 1 << 11  # databases in every order: as many are run at most


def learner_table(learner: Any, plan: Any, goal: Goal, databases: Databases) -> np.ndarray:
    """``float64[full databases, labelings]``: the exact law of a learner's hypothesis on every database of n rows.

    A labeling is the number with bit ``x k + j`` for the label of element x in column j. Rows are in random order: the
    law is the mean over all orders. If there are more than 2^11 sequences of rows, each database is run in sorted order
    and compared with some others: two neighboring rows exchanged, each such exchange, and one shuffle. That
    **does not prove** that the law is the same for all orders; for a learner that reads the order, and is not found
    out, the table is that of sorted rows.

    Raises InputError if there are so many sequences, and two of the orders have different laws.
    """
    counts = databases.counts[databases.full][:, : databases.cells]
    if databases.cells**databases.rows > _SEQUENCES:
        cells = np.tile(np.arange(databases.cells), len(counts))
        ordered = np.repeat(cells, counts.ravel()).reshape(-1, databases.rows)
        table = _laws(learner, plan, goal, ordered)
        place, other = _other_orders(ordered)
        if not np.allclose(table[place], _laws(learner, plan, goal, other), rtol=1e-6, atol=1e-9):
            expected = "a law that does not depend on the order of rows"
            advice = f"take a smaller n: up to {_SEQUENCES} sequences of rows are run in every order"
            raise InputError("learners", expected, type(learner).__name__, advice)
        return table
    sequences = np.array(list(product(range(databases.cells), repeat=databases.rows)), np.int64)
    every = np.stack([np.sum(sequences == cell, axis=1) for cell in range(databases.cells)], axis=1)
    places = {tuple(row): place for place, row in enumerate(counts.tolist())}
    place = np.array([places[tuple(row)] for row in every.tolist()])
    laws = _laws(learner, plan, goal, sequences)
    table = np.zeros((len(counts), laws.shape[1]))
    np.add.at(table, place, laws)
    return table / np.bincount(place)[:, None]


def _other_orders(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Numbers of databases ``int64[o]``, further orders of their rows ``int64[o, rows]``) of sorted ones."""
    rows = ordered.shape[1]
    shuffled = ordered[:, np.r_[0:rows:2, 1:rows:2]][:, ::-1]
    places, orders = [np.arange(len(ordered))], [shuffled]
    for i in range(rows - 1):
        place = np.flatnonzero(ordered[:, i] != ordered[:, i + 1])
        places.append(place)
        orders.append(np.hstack([ordered[place, :i], ordered[place, i : i + 2][:, ::-1], ordered[place, i + 2 :]]))
    return np.concatenate(places), np.concatenate(orders)


def _laws(learner: Any, plan: Any, goal: Goal, cells: np.ndarray) -> np.ndarray:
    """``float64[s, labelings]``: the law on each sequence of cells, ``int64[s, rows]``."""
    import jax.numpy as jnp

    domain, k = learner.concepts.domain, goal.k
    x = domain.encode((cells >> k).ravel()).reshape(*cells.shape, domain.limbs)
    y = (cells[..., None] >> np.arange(k) & 1).astype(bool)
    samples = Sample(jnp.asarray(x), jnp.asarray(y), jnp.ones(cells.shape, bool))
    elements = jnp.asarray(domain.encode(range(goal.elements)))

    def run(key: Any, sample: Sample, plan: Any) -> Any:
        labels = learner.predict(learner.learn(key, sample, plan), elements).reshape(-1)
        return jnp.sum(labels.astype(jnp.int32) << jnp.arange(labels.size, dtype=jnp.int32), dtype=jnp.int32)

    logs, outcomes = exact_law(run, samples, widened(plan))
    table = np.zeros((len(cells), 1 << (goal.elements * k)))
    table[:, np.ascontiguousarray(outcomes).view("<i4").ravel()] = np.exp(logs)
    return table


def exact_success(learner: Any, plan: Any, goal: Goal, databases: Databases, cases: tuple[Case, ...]) -> float:
    """The worst success of a learner over cases, but for rounding in float64; hypotheses may be improper.

    It is exact up to 2^11 sequences of rows, and beyond for learners that do not read the order; see `learner_table`.
    Raises InputError for a learner whose law cannot be listed, or is found to depend on the order of too many rows.
    """
    table = learner_table(learner, plan, goal, databases)
    bits = np.arange(table.shape[1])[:, None] >> np.arange(goal.elements * goal.k) & 1
    functions = bits.reshape(-1, goal.elements, goal.k)
    return min(
        float(case_weights(case, databases)[databases.full] @ table[:, _good(goal, case, functions)].sum(axis=1))
        for case in cases
    )


def _good(goal: Goal, case: Case, functions: np.ndarray) -> np.ndarray:
    """Which labelings ``[f, elements, k]`` are good, by the goal of an improper learner."""
    improper = Goal(goal.table, goal.k, goal.alpha, False, goal.agnostic, goal.noise)
    good = np.array(improper.case(case.target, case.elements).good)
    powers = 1 << np.arange(goal.elements - 1, -1, -1)
    columns = np.einsum("fxk,x->fk", functions, powers)  # a function's number, its first label in the highest bit
    return good[columns @ (1 << goal.elements) ** np.arange(goal.k - 1, -1, -1)]
