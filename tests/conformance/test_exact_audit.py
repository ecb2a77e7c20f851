"""No guarantee is exceeded: every database over a tiny domain and every neighbour, exactly where the law is finite.

All databases of one, two and three rows, row by row, of whatever `learn` returns, every field of it; what cannot be
listed is audited statistically on its hard neighbours. A broken twin, the same learner with a larger budget than it
claims, must be caught by the same audit.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.audit.outcomes import exact_law, output_bytes
from dpjax.core.types import Neighboring, Privacy
from dpjax.evidence.learners import ACCURACY
from dpjax.learners import (
    GenericLearner,
    HashedPoints,
    ImproperVC1,
    Independent,
    PointLearner,
    ProperVC1,
    ThresholdMedian,
)
from dpjax.sanitizers import PointCounts

BUDGETS = [(0.5, 1e-6), (1.0, 0.05), (4.0, 1e-3), (4.0, 0.1), (4.0, 0.3)]
TRIALS, SURE = 20_000, 1 - 1e-6


def target(case):
    return evidence.learner_target(case.learner, case.name, case.k)


def reports(found, tested):
    """Exact ones of a target at all budgets, or a statistical one of ``tested``, on its pairs of many rows."""
    try:
        return [audit.exact(found, Privacy(*budget)) for budget in BUDGETS]
    except audit.NotListable:
        many = [pair for pair in tested.pairs() if len(pair.first.mask) > 3]
        few = replace(tested, pairs=lambda: many)
        return [audit.statistical(few, Privacy(*BUDGETS[2]), trials=TRIALS, confidence=SURE)]


def test_no_guarantee_is_exceeded(tiny):
    for found in reports(target(tiny), target(tiny)):
        assert found.claim.neighboring is Neighboring.REPLACE_ONE
        assert not found.violated, str(found)


@dataclass(frozen=True)
class EagerMedian(ThresholdMedian):
    """Takes the records of half of its epsilon, so that doubling epsilon halves the noise and changes nothing else."""

    def records(self, epsilon, beta):
        return super().records(epsilon / 2, beta)


def eager(case):
    learner = case.learner
    inner = learner.learner if isinstance(learner, Independent) else learner
    if isinstance(inner, ThresholdMedian):
        inner = EagerMedian(inner.concepts)
        learner = Independent(inner, learner.k, learner.composition) if isinstance(learner, Independent) else inner
    return replace(case, learner=learner)


def test_a_broken_twin_is_caught(twin):
    """The same learner with more than its budget: of a composite one, which is far from its claim, with much more."""
    sound = target(eager(twin))
    composite = isinstance(twin.learner, ImproperVC1 | ProperVC1 | GenericLearner)

    def louder(times):
        more = lambda p: Privacy(times * p.epsilon, min(times * p.delta, 0.9))  # noqa: E731
        return replace(
            sound, table=lambda databases, p: sound.table(databases, more(p)),
            run=lambda key, data, p: sound.run(key, data, Privacy(times * p.epsilon, p.delta)),
        )  # fmt: skip

    found = reports(louder(4 if composite else 2), louder(16))
    assert max(one.delta_found - 1.1 * one.claim.delta for one in found) > 1e-3
    assert any(one.violated for one in found)


@pytest.mark.statistical
def test_the_composed_law_is_what_runs(drawn, stats):
    """Draws of the real learner, with its real samplers, against the law that was audited."""
    counted = isinstance(drawn.learner, GenericLearner) and isinstance(drawn.learner.sanitizer, PointCounts)
    if counted or isinstance(drawn.learner, Independent | PointLearner | HashedPoints):
        return  # tests/learners: each run is its learner with its key and share; counts, hashes are not in the law
    privacy, count = (2.0, 0.3), 4_000
    universe = target(drawn).universes()[0].databases
    last = len(universe.mask) - 1
    chosen = jax.tree.map(lambda part: part[jnp.asarray([last, last // 2, last // 3])], universe)

    def run(sample, dtype, key):
        return drawn.learner.learn(key, sample, Privacy(*(dtype(number) for number in privacy)), ACCURACY)

    try:
        log_p, outcomes = exact_law(
            lambda s: run(s, jnp.float64, jax.random.key(0)), chosen, drawn.learner.concepts.size
        )
    except audit.NotListable:
        return
    draw = jax.jit(jax.vmap(lambda key, sample: run(sample, jnp.float32, key), (0, None)))
    for which in range(3):
        one = jax.tree.map(lambda part, i=which: part[i], chosen)
        drawn = output_bytes(draw(jax.random.split(jax.random.key(which), count), one), (count,))
        seen = np.all(drawn[:, None, :] == outcomes[None], axis=2)
        assert seen.any(axis=1).all(), "an outcome that the law does not have"
        stats.chi_square(seen.sum(axis=0), np.exp(log_p[which]))


def test_hard_neighbors_stress_the_guarantee(tiny):
    """Among them is a pair that spends a good part of a pure budget; none spends more than all of it."""
    if isinstance(tiny.learner, Independent):
        return  # its parts are here
    epsilon, delta = 2.0, 1e-6
    claim = tiny.learner.guarantee(Privacy(epsilon, delta))
    if claim.delta:
        return  # what is hard about an approximate guarantee is in its delta, and in the tests of its parts
    spent = []
    for one, other in tiny.learner.hard_neighbors(3):
        both = jax.tree.map(lambda *parts: jnp.stack(parts), one, other)
        law = target(tiny).table(both, Privacy(epsilon, delta))
        for p, q in (law, law[::-1]):
            assert hockey_stick(p, q, claim.epsilon) <= 1e-14
            with np.errstate(invalid="ignore"):
                spent.append(np.nanmax(p - q))
    assert max(spent) > 0.3 * epsilon
