"""k concepts one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Hypothesis, Thresholds
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import KLN, Independent, independent

DOMAIN = Domain(2**40)
ACCURACY = Accuracy(0.1, 0.1)


def data(k, n=20, capacity=32):
    generator = np.random.default_rng(4)
    values = generator.integers(0, 2**40, capacity, dtype=np.uint64)
    targets = generator.integers(0, 2**40, 64, dtype=np.uint64)[:k]
    labels = values[:, None] <= targets[None, :]
    return Sample(jnp.asarray(DOMAIN.encode(values)), jnp.asarray(labels), jnp.arange(capacity) < n)


def learn(learner, sample, epsilon, delta=1e-6, seed=3):
    run = jax.jit(learner.learn)
    return run(jax.random.key(seed), sample, Privacy(jnp.float32(epsilon), jnp.float32(delta)), ACCURACY)


def same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


def test_each_run_is_the_learner_with_its_key_and_share():
    one = KLN(Thresholds(DOMAIN))
    learner, sample = Independent(one, 3, "optimal"), data(3)
    whole = learn(learner, sample, 2.0)
    share = learner.share(Privacy(2.0, 1e-6))
    part_keys = keys.per_index(jax.random.key(3), 3)
    run = jax.jit(one.learn)
    for j in range(3):
        own = Sample(sample.x, sample.y[:, j : j + 1], sample.mask)
        alone = run(part_keys[j], own, Privacy(jnp.float32(share.epsilon), jnp.float32(share.delta)), ACCURACY)
        same(alone, jax.tree.map(lambda part, j=j: part[j : j + 1], whole))


def test_columns_in_turns_and_points_of_their_own_change_nothing(monkeypatch):
    """Too many columns to work on at once are taken in turns. Equal columns of points give what shared points give."""
    learner, sample = Independent(KLN(Thresholds(DOMAIN)), 5), data(5)
    own = Sample(jnp.broadcast_to(sample.x[:, None, :], (32, 5, 2)), sample.y, sample.mask)
    together = learn(learner, sample, 3.0)
    same(together, learn(learner, own, 3.0))
    monkeypatch.setattr(independent, "_CELLS", 2 * sample.capacity)
    same(together, learn(learner, sample, 3.0))
    same(together, learn(learner, own, 3.0))


def test_wrong_numbers_of_concepts_are_refused():
    with pytest.raises(InputError, match="labels: expected 3 concepts, got 2"):
        learn(Independent(KLN(Thresholds(DOMAIN)), 3), data(2), 1.0)
    for k in (0, -1, 2.0, True):
        with pytest.raises(InputError, match=r"^k"):
            Independent(KLN(Thresholds(DOMAIN)), k)
    with pytest.raises(InputError, match="did you mean optimal"):
        Independent(KLN(Thresholds(DOMAIN)), 2, "optimum")


def test_the_share_is_what_runs():
    """The guarantee's part is the very float32 with which `learn` calls the learner."""
    seen = []

    class Spy(KLN):
        def learn(self, key, sample, privacy, accuracy):
            jax.debug.callback(lambda e, d: seen.append((float(e), float(d))), privacy.epsilon, privacy.delta)
            return Hypothesis.of(jnp.zeros((1, 2), jnp.uint32))

    for composition in ("basic", "advanced", "optimal", "zcdp"):
        learner = Independent(Spy(Thresholds(DOMAIN)), 3, composition)
        seen.clear()
        jax.block_until_ready(learn(learner, data(3), 1.3))
        jax.effects_barrier()
        share = learner.share(Privacy(1.3, 1e-6))
        assert set(seen) == {(share.epsilon, share.delta)}
        assert learner.guarantee(Privacy(1.3, 1e-6)).parts[0].epsilon == share.epsilon


def test_the_sample_size_is_the_learners_at_the_share():
    one = KLN(Thresholds(DOMAIN))
    learner = Independent(one, 4, "zcdp")
    share = learner.share(Privacy(1.0, 1e-6))
    assert learner.sample_size(Privacy(1.0, 1e-6), ACCURACY) == one.sample_size(share, Accuracy(0.1, 0.025))
