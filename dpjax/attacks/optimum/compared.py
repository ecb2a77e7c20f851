"""The exact worst success of any learner over the cases of an optimum."""

from typing import Any

import numpy as np

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.program import case_weights
from dpjax.audit.outcomes import exact_law
from dpjax.core.plans import widened
from dpjax.core.types import Sample


def learner_table(learner: Any, plan: Any, goal: Goal, databases: Databases) -> np.ndarray:
    """``float64[full databases, labelings]``: the exact law of a learner's hypothesis on every database of n rows.

    A labeling is the number with bit ``x k + j`` for the label of element x in column j.
    """
    import jax.numpy as jnp

    domain, k = learner.concepts.domain, goal.k
    counts = databases.counts[databases.full][:, : databases.cells]
    cells = np.repeat(np.tile(np.arange(databases.cells), len(counts)), counts.ravel()).reshape(-1, databases.rows)
    x = domain.encode((cells >> k).ravel()).reshape(*cells.shape, domain.limbs)
    y = (cells[..., None] >> np.arange(k) & 1).astype(bool)
    samples = Sample(jnp.asarray(x), jnp.asarray(y), jnp.ones(cells.shape, bool))
    elements = jnp.asarray(domain.encode(range(goal.elements)))

    def run(key: Any, sample: Sample, plan: Any) -> Any:
        labels = learner.predict(learner.learn(key, sample, plan), elements).reshape(-1)
        return jnp.sum(labels.astype(jnp.int32) << jnp.arange(labels.size, dtype=jnp.int32), dtype=jnp.int32)

    logs, outcomes = exact_law(run, samples, widened(plan))
    table = np.zeros((len(counts), 1 << (goal.elements * k)))
    table[:, np.ascontiguousarray(outcomes).view("<i4").ravel()] = np.exp(logs)
    return table


def exact_success(learner: Any, plan: Any, goal: Goal, databases: Databases, cases: tuple[Case, ...]) -> float:
    """The worst success of a learner over cases, exactly but for rounding in float64; hypotheses may be improper.

    Raises InputError for a learner whose law cannot be listed.
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
