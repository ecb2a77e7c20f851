"""Each check of a law or mechanism finds its planted fault; ours pass all of them."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax import audit, evidence, testing
from dpjax.audit.enumeration.outcomes import exact_table
from dpjax.core.checks import InputError
from dpjax.core.draws import drawn
from dpjax.laws import Categorical, DiscreteLaplace, Gaussian, Laplace
from dpjax.laws.base import Law, listed
from dpjax.mechanisms import randomized_response, randomized_response_guarantee
from tests.testing import faults as f

WEIGHTS = jnp.asarray([0.0, 1.0, -1.0], jnp.float32)
RELATION = dp.Neighboring.REPLACE_ONE
FAULTS = [
    (f.OffLogProb, "log prob is the mass", "of the same masses"),
    (f.NotNormal, "masses add up to one", "0.9048"),
    (f.OtherSampler, "samples follow the law", "draws that follow the law"),
    (f.Unmarked, "draws are marked", "drawn"),
    (f.Twice, "masses add up to one", "2 different outcomes"),
]


@pytest.mark.parametrize(("kind", "check", "words"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_fault_is_found(kind, check, words):
    f.require_failed(testing.check_law(kind(WEIGHTS), quick=True), check, words)


@pytest.mark.parametrize(
    "law",
    [
        f.Coin(WEIGHTS),
        Categorical(WEIGHTS),
        DiscreteLaplace.of(jnp.int32(2), 1.5),
        Laplace(jnp.float32(2), jnp.float32(3)),
        Gaussian(jnp.float32(0), jnp.float32(1)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_ours_pass(law):
    findings = testing.check_law(law, quick=True)
    testing.assert_passed(findings)
    assert [one.verdict for one in findings].count("passed") >= 3


def test_what_is_no_law_is_refused():
    with pytest.raises(InputError, match="the class Categorical"):
        testing.check_law(Categorical)
    assert not testing.check_law(3)[0].passed


def histograms():
    return audit.histograms(1, 2, RELATION, least=1)


def response(factor):
    return lambda counts, plan: randomized_response(counts[1], factor * plan.epsilon)


def test_a_mechanism_is_audited_exactly():
    claim = lambda epsilon, delta: randomized_response_guarantee(epsilon)  # noqa: E731
    findings = testing.check_mechanism(response(1), claim, universe=histograms(), quick=True)
    testing.assert_passed(findings)
    assert "exact at (1, 0): epsilon 1 found" in findings[-1].given


@pytest.mark.parametrize(
    ("claim", "check", "words"),
    [
        (lambda e, d: randomized_response_guarantee(e), "no guarantee is exceeded", "at most the claim (1, 0)"),
        (lambda e, d: randomized_response_guarantee(3 * e), "it claims a guarantee", "a claim of at most the budget"),
        (lambda e, d: None, "it claims a guarantee", "a dpjax.accounting.Guarantee"),
    ],
)
def test_a_planted_fault_of_a_mechanism_is_found(claim, check, words):
    f.require_failed(testing.check_mechanism(response(2), claim, universe=histograms(), quick=True), check, words)


def test_a_target_of_ours_passes_and_what_is_none_is_refused():
    target = evidence.mechanism_target("exponential", RELATION, "corrected")
    findings = testing.check_mechanism(target, quick=True)
    testing.assert_passed(findings)
    assert all(one.verdict == "passed" for one in findings)
    with pytest.raises(InputError, match=r"a dpjax\.audit\.Target"):
        testing.check_mechanism(randomized_response)


def test_a_continuous_mechanism_is_tested_on_its_pairs():
    target = evidence.mechanism_target("laplace_mechanism", RELATION, "corrected")
    from dataclasses import replace

    findings = testing.check_mechanism(replace(target, table=None), quick=True, seconds=0.1)
    testing.assert_passed(findings)
    assert "statistical at" in findings[-1].given


def test_masses_normalized_in_float32_are_told_how_to_be():
    """check_law and exact audits have one rule: what one refuses the other refuses, with the same advice."""
    weights = jnp.exp(jnp.linspace(0.0, 3.0, 7))

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Wheel(Law):
        logits: jax.Array
        again: bool = field(metadata={"static": True})

        @drawn
        def sample(self, key):
            return jax.random.categorical(key, self.logits).astype(jnp.int32)

        def log_prob(self, outcome):
            logits = self.logits.astype(jnp.float64)
            return (jax.nn.log_softmax(logits) if self.again else logits)[outcome]

        def support(self, limit):
            return listed(jnp.arange(7, dtype=jnp.int32), self.log_prob) if limit >= 7 else None

    def total(law):
        table = exact_table(lambda key, database, plan: law.sample(key), np.zeros((1, 1), np.int32), np.float32(1))
        return np.exp(table).sum()

    narrow, wide = (Wheel(jnp.log(weights / weights.sum()), again) for again in (False, True))
    (refused,) = (one for one in testing.check_law(narrow, quick=True) if one.verdict == "failed")
    assert "float32" in str(refused) and "log_softmax" in str(refused)
    with pytest.raises(InputError, match="normalize in log_prob, in float64"):
        total(narrow)
    assert all(one.verdict != "failed" for one in testing.check_law(wide, quick=True)) and abs(total(wide) - 1) < 1e-12
