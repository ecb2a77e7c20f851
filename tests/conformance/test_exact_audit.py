"""No guarantee is exceeded: every database over a tiny domain and every neighbor, exactly where the law is finite.

All databases of a few rows, row by row, of whatever `learn` returns, every field of it; what cannot be listed is
audited statistically on its hard neighbors. A broken twin, the same learner with a larger budget than it claims, must
be caught by the same audit.
"""

from dataclasses import replace

import jax
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.audit.enumeration.outcomes import exact_law, output_bytes
from dpjax.core.types import Privacy

BUDGETS = [(1.0, 1e-6), (4.0, 0.3)]
MORE = [(0.5, 1e-6), (1.0, 0.05), (4.0, 1e-3), (4.0, 0.1)]
TRIALS, SURE = 20_000, 1 - 1e-6


def target(name):
    return evidence.learner_world(name).target(name)


def reports(found, budgets):
    """Exact ones of a target at all budgets, or a statistical one, on its pairs of many rows.

    What a target says of itself decides; one that says that it can be listed, and cannot, raises `NotListable`.
    """
    if found.table is not None:
        return [audit.exact(found, Privacy(*budget)) for budget in budgets]
    many = [pair for pair in found.pairs() if len(pair.first.mask) > 3]
    few = replace(found, pairs=lambda: many)
    return [audit.statistical(few, Privacy(4.0, 1e-3), trials=TRIALS, confidence=SURE)]


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("conjunction-noisy", "polygon-measured") else pytest.param(name, marks=pytest.mark.slow)
        for name in evidence.learner_names()
        if evidence.learner_world(name).unlisted
    ],
)
def test_a_world_that_says_that_it_cannot_be_listed_cannot(name):
    """The others are audited exactly by all tests below."""
    found = target(name)
    assert found.table is None
    with pytest.raises(audit.NotListable, match="dpjax_draw"):
        audit.exact(replace(found, table=audit.table_of_run(found.run)), Privacy(1.0, 1e-6))


def test_no_guarantee_is_exceeded(world):
    found = target(world)
    made = reports(found, BUDGETS)
    assert not any(report.violated for report in made), "\n".join(map(str, made))
    shown = [report.details["outcomes"] for report in made if report.method == "exact"]
    assert not shown or max(shown) > 1, "an audit of one outcome shows nothing: give the world more rows"


@pytest.mark.slow
def test_no_guarantee_is_exceeded_at_more_budgets(world):
    found = target(world)
    for report in reports(found, MORE):
        assert not report.violated, str(report)


@pytest.mark.parametrize("name", ["conjunction", "kln-points", pytest.param("parity", marks=pytest.mark.slow)])
def test_the_program_as_it_runs_keeps_its_claim(name):
    """In float32, at a tolerance of 1e-5; so do all others."""
    for budget in BUDGETS:
        assert not audit.exact(target(name), Privacy(*budget), as_it_runs=True).violated


def test_a_broken_twin_is_caught(twin):
    """The same learner with more than its budget: of a composite one, which is far from its claim, with much more."""
    sound, times = target(twin), evidence.learner_world(twin).twin
    louder = replace(sound, plan=lambda p: sound.plan(Privacy(times * p.epsilon, min(times * p.delta, 0.9))))
    assert any(one.violated for one in reports(louder, MORE))


@pytest.mark.statistical
def test_the_composed_law_is_what_runs(drawn, stats):
    """Draws of the real learner, with its real samplers, against the law that was audited."""
    found, count = target(drawn), 4_000
    universe = found.universes()[0].databases
    last = len(universe.mask) - 1
    chosen = jax.tree.map(lambda part: np.asarray(part)[[last, last // 2, last // 3]], universe)
    plan = found.plan(Privacy(2.0, 0.3))
    if found.unlisted:  # it says so of itself, and it must be true
        with pytest.raises(audit.NotListable):
            exact_law(found.run, chosen, plan)
        return
    log_p, outcomes = exact_law(found.run, chosen, plan)
    draw = jax.jit(jax.vmap(found.run, (0, None, None)))
    for which in range(3):
        one = jax.tree.map(lambda part, i=which: part[i], chosen)
        drawn = output_bytes(draw(jax.random.split(jax.random.key(which), count), one, plan), (count,))
        seen = np.all(drawn[:, None, :] == outcomes[None], axis=2)
        assert seen.any(axis=1).all(), "an outcome that the law does not have"
        stats.chi_square(seen.sum(axis=0), np.exp(log_p[which]))
