"""Targets of threshold sanitizers: what they list, and that a broken one is refuted."""

import dataclasses

import pytest

from dpjax import audit, evidence
from dpjax.core.types import Neighboring, Privacy

SHARP, MILD = Privacy(4.0, 0.3), Privacy(4.0, 1e-3)


def small(name, rows):
    """The target on databases of so many rows, or of the most that it has."""
    target = evidence.sanitizer_target(name)
    return dataclasses.replace(target, universes=lambda: target.universes()[:rows][-1:])


OTHERS = {"sanitizer-mwem", "sanitizer-mwem-replays"}  # audited in tests/sanitizers/test_mwem.py


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in OTHERS else ()) for name in evidence.sanitizer_names()],
)
def test_every_sanitizer_has_an_exact_law(name):
    report = audit.exact(small(name, 2), MILD)
    assert not report.violated
    assert report.epsilon_found > 0.001 and report.details["outcomes"] > 1
    assert report.claim.neighboring is Neighboring.REPLACE_ONE


@pytest.mark.slow
@pytest.mark.parametrize("name", evidence.sanitizer_names())
def test_no_guarantee_is_exceeded_at_other_budgets(name):
    assert not any(audit.exact(small(name, 2), privacy).violated for privacy in (Privacy(1.0, 1e-6), SHARP))


def test_counts_of_the_hierarchy_come_near_their_claim():
    """One median and its counts, at half of the budget each; those of two tiers at the half that is theirs."""
    report = audit.exact(small("sanitizer-hierarchy", 2), SHARP)
    assert 0.6 * SHARP.epsilon < report.epsilon_found <= SHARP.epsilon
    report = audit.exact(small("sanitizer-tiers", 1), SHARP)
    assert 0.7 * SHARP.epsilon < report.epsilon_found <= SHARP.epsilon


@pytest.mark.parametrize(("name", "rows"), [("sanitizer-joint", 2), ("sanitizer-hierarchy", 2), ("sanitizer-tiers", 1)])
def test_twice_the_budget_is_refuted(name, rows):
    target = small(name, rows)
    claim = lambda e, d: target.claim(e / 2, d)  # noqa: E731
    assert audit.exact(dataclasses.replace(target, claim=claim), SHARP).violated


def test_slices_claim_the_budget_of_their_plan():
    target = evidence.sanitizer_target("sanitizer-slices")
    claim = target.claim(2.0, 1e-3)
    assert 0.999 * 2 <= claim.epsilon <= 2 and 0 < claim.delta <= 1e-3
