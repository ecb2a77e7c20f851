"""Privacy over domains of 2**256 elements: tests on hard neighbors. Exact audits are of tiny domains, whose laws are
those of limbs as well (test_wide_domains.py)."""

from dataclasses import replace

import pytest

from dpjax import audit
from dpjax.concepts import Domain, Thresholds
from dpjax.core.types import Privacy
from dpjax.evidence.learners import SmallInterior, learner_target
from dpjax.learners import KLN, ThresholdInterior, ThresholdMedian

CONFIDENCE = 1 - 1e-6
LINE = Thresholds(Domain(2**256))
LEARNERS = {
    "kln": KLN(LINE),
    "exponential": ThresholdInterior(LINE, "exponential", records=4),
    "median": ThresholdMedian(LINE),
    "majority": SmallInterior(LINE, "majority", 16),
}


def target(name):
    return learner_target(LEARNERS[name], name, unlisted="its domain has 2**256 elements")


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", ["kln", *(pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS if name != "kln")]
)
def test_no_claim_is_refuted(name):
    """False-alarm probability 1e-6."""
    report = audit.statistical(target(name), Privacy(4.0, 0.05), trials=4000, confidence=CONFIDENCE)
    assert not report.violated and report.epsilon_found > 0


@pytest.mark.statistical
def test_a_larger_budget_than_claimed_is_found():
    """By chance it would be with probability 1e-6."""
    sound = target("kln")
    broken = replace(sound, plan=lambda privacy: sound.plan(Privacy(8 * privacy.epsilon, privacy.delta)))
    assert audit.statistical(broken, Privacy(1.0, 0.0), trials=4000, confidence=CONFIDENCE).violated
