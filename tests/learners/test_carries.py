"""Exact audits over 2**65 elements, of databases around the carries between limbs: the programs of wide domains."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from dpjax import audit
from dpjax.audit.target.databases import samples
from dpjax.concepts import Domain, Points, Spider, Thresholds
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.evidence.learners import FewCounts, SmallImproper, SmallInterior, learner_target
from dpjax.learners import KLN, PointLearner, ThresholdMedian

DOMAIN = Domain(2**65)
LINE, POINTS = Thresholds(DOMAIN), Points(DOMAIN)
CARRIES = [2**32 - 1, 2**32, 2**64 - 1, 2**64]
LISTED = {
    "majority": SmallInterior(LINE, "majority", 2),
    "recprefix": SmallInterior(LINE, "recprefix", 2),
    "treelog": SmallInterior(LINE, "treelog", 2),
    "vc1": SmallImproper(LINE, "majority", 2),
    "spider": SmallImproper(Spider(2, 64), "majority", 2),
    "stable": FewCounts(POINTS),
    "point": PointLearner(POINTS),
}
LAWS = {"kln": KLN(LINE), "kln, points": KLN(POINTS), "median": ThresholdMedian(LINE)}


def around(domain, rows):
    return samples(domain, 1, rows, Neighboring.REPLACE_ONE, elements=CARRIES)


@lru_cache
def target(name, rows=2):
    learner = LISTED[name]
    return replace(learner_target(learner, name), universes=lambda: [around(learner.concepts.domain, rows)])


@pytest.mark.parametrize("name", LISTED)
def test_no_claim_is_exceeded(name):
    for privacy in (Privacy(1.0, 1e-3), Privacy(4.0, 0.3)):
        report = audit.exact(target(name), privacy)
        assert not report.violated and report.details["outcomes"] > 1
        assert report.epsilon_found > 0 or report.delta_found > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["majority", "vc1"])
def test_no_claim_is_exceeded_with_three_rows(name):
    assert not audit.exact(target(name, 3), Privacy(4.0, 0.3)).violated


def test_eight_times_the_budget_is_found():
    sound = target("majority")
    broken = replace(sound, plan=lambda privacy: sound.plan(Privacy(8 * privacy.epsilon, 8 * privacy.delta)))
    assert audit.exact(broken, Privacy(1.0, 0.01)).violated


@pytest.mark.parametrize("name", LAWS)
def test_laws_with_too_many_outcomes_keep_their_claim(name):
    """A law is constant between neighbors of rows: at these elements it is read, and its mass in between is 1."""
    learner, universe, privacy = LAWS[name], around(DOMAIN, 2), Privacy(1.0, 1e-3)
    near = {mark + step for mark in [*CARRIES, 0, 2**65 - 1] for step in (-1, 0, 1)}
    ends = sorted(end for end in near if 0 <= end < 2**65)
    widths = np.array([float(after - at) for at, after in zip(ends, [*ends[1:], 2**65], strict=True)])
    with jax.enable_x64(True):
        plan = widened(learner.plan(privacy, Accuracy(0.1, 0.1)))
        run = lambda data: jax.vmap(learner.output_law(data, plan).log_prob)(jnp.asarray(DOMAIN.encode(ends)))  # noqa: E731
        logs = np.asarray(jax.jit(jax.vmap(run))(universe.databases))
    np.testing.assert_allclose(logsumexp(logs + np.log(widths), axis=1), 0, atol=1e-9)
    loss = np.max(logs[universe.pairs[:, 0]] - logs[universe.pairs[:, 1]])
    assert 0.2 * privacy.epsilon < loss <= learner.guarantee(plan).epsilon * (1 + 1e-6)
