"""Draws against their own law: right samplers agree, wrong ones do not."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import register_dataclass

from dpjax import audit, laws
from dpjax import mechanisms as m
from dpjax.core.checks import InputError
from dpjax.mechanisms.shuffle import Shuffle

WEIGHTS = jnp.array([0.0, -1.0, -jnp.inf, -5.0, -200.0, 0.0], jnp.float32)
RIGHT = {
    "categorical over 200 nats": laws.Categorical(WEIGHTS),
    "with no answer": m.choosing(jnp.array([3, 0, 1], jnp.int32), 1.0, 0.1),
    "Laplace": laws.Laplace(jnp.float32(0.5), jnp.float32(2.0)),
    "discrete Laplace": laws.DiscreteLaplace.of(jnp.int32(3), 4.0),
}


@pytest.mark.parametrize("law", RIGHT.values(), ids=RIGHT)
def test_right_samplers_agree(law):
    report = audit.sampler(law, trials=50_000)
    assert report.agrees and report.p_value >= 1e-6, report
    assert replace(report, seconds=0) == replace(audit.sampler(law, trials=50_000), seconds=0)


@register_dataclass
@dataclass(frozen=True)
class Biased(laws.Law):
    """Says one law, draws another."""

    said: laws.Categorical
    drawn: laws.Categorical

    def log_probs(self):
        return self.said.log_probs()

    def log_prob(self, outcome):
        return self.said.log_prob(outcome)

    def sample(self, key):
        return self.drawn.sample(key)


@register_dataclass
@dataclass(frozen=True)
class CutTail(laws.Law):
    """Laplace noise that stops at 6 scales."""

    loc: jax.Array
    scale: jax.Array

    def log_prob(self, outcome):
        return laws.Laplace(self.loc, self.scale).log_prob(outcome)

    def log_survival(self, value):
        return laws.Laplace(self.loc, self.scale).log_survival(value)

    def sample(self, key):
        drawn = laws.Laplace(self.loc, self.scale).sample(key)
        return jnp.clip(drawn, self.loc - 6 * self.scale, self.loc + 6 * self.scale)


def test_wrong_samplers_do_not():
    fair = laws.Categorical(jnp.zeros(4, jnp.float32))
    tilted = laws.Categorical(jnp.array([0.02, 0, 0, 0], jnp.float32))
    assert not audit.sampler(Biased(fair, tilted), trials=1_000_000).agrees
    with_impossible = audit.sampler(Biased(laws.Categorical(WEIGHTS), fair), trials=2000)
    assert with_impossible.p_value == 0 and "outcome 2" in with_impossible.worst
    outside = audit.sampler(Biased(laws.Categorical(WEIGHTS[:2]), fair), trials=2000)
    assert outside.p_value == 0 and "does not have" in outside.worst
    cut = audit.sampler(CutTail(jnp.float32(0), jnp.float32(1)), trials=300_000)
    assert not cut.agrees and "at least" in cut.worst


@register_dataclass
@dataclass(frozen=True)
class Unlisted(laws.Law):
    """A law without a support, masses or tails."""

    loc: jax.Array

    def sample(self, key):
        return self.loc

    def log_prob(self, outcome):
        return jnp.float32(0)


def test_bad_input():
    with pytest.raises(InputError, match=r"inherits from dpjax\.laws\.Law"):
        audit.sampler(np.zeros(3))
    with pytest.raises(InputError, match="log_survival"):
        audit.sampler(Unlisted(jnp.float32(0)))
    with pytest.raises(InputError, match="trials"):
        audit.sampler(RIGHT["Laplace"], trials=5)


def test_laws_with_a_support_of_any_shape():
    """Orders of four rows; a sampler that leaves the last one in its place has draws that are too frequent."""
    law = Shuffle(jnp.int32(4), 4)
    report = audit.sampler(law, trials=20_000)
    assert report.agrees and report.events == 25
    with pytest.raises(InputError, match="same masses"):
        audit.sampler(Boastful(jnp.int32(4), 4), trials=20_000)

    assert not audit.sampler(Lazy(jnp.int32(4), 4), trials=20_000).agrees


@register_dataclass
@dataclass(frozen=True)
class Boastful(Shuffle):
    """Whose log_prob is not what its support says."""

    def log_prob(self, order):
        return jnp.float64(0.0)

    def support(self, limit):
        return Shuffle(jnp.int32(4), 4).support(limit)


@register_dataclass
@dataclass(frozen=True)
class Lazy(Shuffle):
    """Claims orders of four."""

    def sample(self, key):
        return Shuffle(jnp.int32(3), 4).sample(key)
