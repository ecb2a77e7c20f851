"""Claims of concentrated privacy and of bounded range are checked where the law is finite, and else named."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import expit

from dpjax import audit, evidence
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee, bounded_range_rho, pure_rho
from dpjax.audit.enumeration.exact import TOLERANCE
from dpjax.audit.further import check_further
from dpjax.core.types import Neighboring, Privacy

SCORES = [(np.array([0, 0], np.int32), np.array([1, -1], np.int32))]
SHARP = Privacy(4.0, 0.3)
ORDERED = np.array([[0, 1], [1, 0]])


def claimed(**further):
    return Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "a choice", **further)


def chosen(claim):
    function = lambda scores, key: m.exponential(scores, 1.0).sample(key)  # noqa: E731
    return audit.from_function(function, claim, SCORES, randomness="key", data="other")


def logs(*laws):
    with np.errstate(divide="ignore"):
        return np.log(np.array(laws))


@pytest.mark.parametrize(
    ("further", "violated"),
    [
        ({}, False),
        ({"rho": 0.125}, False),
        ({"bounded_range": 1.0}, False),
        ({"rho": 1e-9}, True),
        ({"bounded_range": 1e-9}, True),
        ({"bounded_range": 0.999}, True),
        ({"rho": 0.12, "bounded_range": 1.0}, True),
    ],
)
def test_a_claim_that_is_too_small_is_refuted(further, violated):
    """The exponential mechanism at epsilon 1 on scores that move against each other: its range is 1, its rho .1207."""
    report = audit.exact(chosen(claimed(**further)), Privacy(1.0, 0.0))
    assert report.violated == violated, report
    assert report.epsilon_found < 1, "epsilon alone is within its claim"
    for name, value in further.items():
        assert f"{name}_found" in report.details and report.to_dict()["claim"][name] == value
    if violated:
        assert any(f"{name} by" in report.details["excess"] for name in further)
        assert report.witness["database"] != report.witness["neighbor"]


def test_statistical_audits_say_what_they_do_not_check():
    report = audit.statistical(chosen(claimed(rho=1e-9, bounded_range=1e-9)), Privacy(1.0, 0.0), trials=1000)
    assert "not checked: rho, bounded range" in str(report) and report.to_dict()["evidence"].endswith("bounded range")
    assert "rho 1e-09, bounded range 1e-09" in str(report)
    assert "not checked" not in str(audit.statistical(chosen(claimed()), Privacy(1.0, 0.0), trials=1000))


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 30.0])
def test_claims_that_hold_with_equality(epsilon):
    """Randomized response needs all of epsilon tanh(epsilon/2), as alpha tends to 1, and twice epsilon as its range."""
    truth, lie = expit(epsilon), expit(-epsilon)
    table = logs([truth, lie], [lie, truth])
    exact = {"rho": pure_rho(epsilon), "bounded_range": 2 * epsilon}
    for name, value in exact.items():
        for factor, refuted in ((1.0, False), (1 - 1e-3, True)):
            claim = Guarantee(epsilon, 0.0, Neighboring.REPLACE_ONE, "", **{name: factor * value})
            (found,) = check_further(claim, table, ORDERED, TOLERANCE)
            assert found.refuted == refuted and found.found == pytest.approx(value, rel=1e-6), (name, factor)


def test_a_violation_at_high_orders_only():
    """A rare outcome with a large log-ratio: the relative entropy is tiny, the divergence of order 33 is not."""
    table = logs([1e-6, 1 - 1e-6], [1e-6 * np.exp(3), 1 - 1e-6 * np.exp(3)])
    (found,) = check_further(claimed(rho=0.01), table, ORDERED, TOLERANCE)
    assert found.refuted and found.found > 0.04


def test_an_outcome_that_one_neighbor_lacks():
    table = logs([0.5, 0.5, 0.0], [0.5, 0.4, 0.1])
    for claim in (claimed(rho=10.0), claimed(bounded_range=10.0)):
        (found,) = check_further(claim, table, ORDERED, TOLERANCE)
        assert found.refuted and found.found == np.inf
    underflow = logs([1.0, 0.0], [1.0, 1e-305])
    for claim in (claimed(rho=0.1), claimed(bounded_range=0.1)):
        assert not check_further(claim, underflow, ORDERED, TOLERANCE)[0].refuted


def test_rhos_of_the_exponential_mechanism_are_never_refuted():
    generator = np.random.default_rng(0)
    scores = generator.integers(-5, 6, (40, 4))
    moved = scores + generator.integers(-1, 2, scores.shape)
    for epsilon in (0.01, 1.0, 6.0):
        laws = [
            m.exponential(side.astype(np.int32), epsilon).log_probs()
            for pair in zip(scores, moved, strict=True)
            for side in pair
        ]
        table = np.asarray(laws, np.float64)
        table -= np.log(np.exp(table).sum(axis=1, keepdims=True))
        pairs = np.arange(80).reshape(-1, 2)
        claim = claimed(rho=bounded_range_rho(epsilon), bounded_range=epsilon)
        assert not any(
            one.refuted for one in check_further(claim, table, np.concatenate([pairs, pairs[:, ::-1]]), 1e-5)
        )


def test_a_choice_from_a_random_family_has_no_bounded_range():
    """Functions of two families have log-ratios that differ by up to 7.74 at epsilon 4; rho holds on average."""
    world = evidence.learner_world("representation-points")
    with jax.numpy_rank_promotion("allow"):
        report = audit.exact(world.target("representation-points"), SHARP)
    assert not report.violated and report.claim.bounded_range is None and report.details["rho_found"] > 1.6
    wrong = replace(report.claim, bounded_range=report.claim.epsilon)
    target = replace(world.target("wrong"), claim=lambda epsilon, delta: wrong, claims=None)
    with jax.numpy_rank_promotion("allow"):
        found = audit.exact(target, SHARP)
    assert found.violated and found.details["bounded_range_found"] > 7


def test_an_accounting_rule_of_selections_is_audited_on_a_selection():
    (target,) = (one for one in evidence.accounting_targets() if one.name.endswith("ExponentialSelection"))
    report = audit.exact(target, Privacy(1.0, 1e-6))
    assert not report.violated and report.details["bounded_range_found"] == pytest.approx(1, rel=1e-9)
    assert report.epsilon_found == pytest.approx(1, abs=1e-6)
