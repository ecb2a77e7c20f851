"""Rules of accounting: none promises too much, tight ones are attained, and a broken one is refuted."""

from dataclasses import replace

import pytest

from dpjax import audit, evidence
from dpjax.accounting import Guarantee
from dpjax.core.types import Privacy

BUDGETS = [Privacy(1.0, 1e-6), Privacy(0.3, 0.01), Privacy(5.0, 1e-9), Privacy(0.9, 1e-12)]
TIGHT = {
    "optimal",
    "parallel, by index",
    "parallel, by value",
    "group",
    "as_replace_one",
    "with_replacement",
    "without_replacement",
    "poisson",
    "gaussian_guarantee",
    "GaussianNoise",
    "LaplaceNoise",
    "DiscreteLaplaceNoise",
    "ExponentialSelection",
}
TARGETS = {target.name.removeprefix("accounting: "): target for target in evidence.accounting_targets()}


@pytest.mark.grid(keep=2, per=["name"])
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda p: f"{p.epsilon}, {p.delta}")
@pytest.mark.parametrize("name", TARGETS)
def test_no_rule_promises_too_much(name, budget):
    report = audit.exact(TARGETS[name], budget)
    assert not report.violated, str(report)


@pytest.mark.parametrize("name", sorted(TIGHT))
def test_tight_rules_are_attained_and_less_is_refuted(name):
    target = TARGETS[name]
    report = audit.exact(target, BUDGETS[0])
    claim = report.claim
    reached = report.delta_found > 0.99 * claim.delta if claim.delta else report.epsilon_found > 0.999 * claim.epsilon
    assert reached, str(report)
    less = Guarantee(0.9 * claim.epsilon, 0.5 * claim.delta, claim.neighboring, "too little", distance=claim.distance)
    assert audit.exact(replace(target, claim=lambda e, d: less), BUDGETS[0]).violated
