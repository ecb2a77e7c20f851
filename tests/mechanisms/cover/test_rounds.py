"""The rounds of a set cover: what they find, their joint law, and that nothing but rows and keys matters."""

from dataclasses import dataclass
from functools import cache

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import register_dataclass

from dpjax.core.checks import InputError
from dpjax.core.plans import Claim, stack_plans
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover import CoverPlan, Literals, Score, cover_plan, set_cover
from tests.mechanisms.cover.discs import Discs

CAPACITY = 129
FAMILY = Literals(40, False)


def realizable(seed, dimension, count, literals, capacity=None):
    """Rows of a random AND of the first coordinates, (x, target, other); garbage in the padding."""
    generator = np.random.default_rng(seed)
    capacity = capacity or count
    x = np.random.default_rng(seed + capacity).integers(0, 2**32, (capacity, -(-dimension // 32))).astype(np.uint32)
    bits = generator.random((count, dimension)) < 0.5 ** (1 / max(literals, 1))
    shifts = np.arange(dimension)
    x[:count] = 0
    for i in shifts:
        x[:count, -1 - i // 32] |= bits[:, i].astype(np.uint32) << np.uint32(i % 32)
    label = np.zeros(capacity, bool)
    label[:count] = bits[:, :literals].all(axis=1)
    real = np.arange(capacity) < count
    return x, real & ~label, real & label


def by_hand(rounds, k, coefficient, scale=None, offset=0.0):
    """A plan of these numbers, which claims nothing that is true."""
    noisy = scale is not None
    return CoverPlan(coefficient, scale if noisy else 0.0, offset, Claim(1.0, 0.0), rounds, k, noisy, 48)


EXACT = (0.7,)
NOISY = (0.7, 2.0, 1.5)


@cache
def program(family, rounds, k, noisy, batched=True):
    """set_cover over a batch of keys. ``noisy``: static, whether a scale and an offset are given."""

    def one(own, data, numbers):
        return set_cover(own, family, *data, by_hand(rounds, k, *numbers[: 3 if noisy else 1]))

    return jax.jit(jax.vmap(one, (0, None, None)) if batched else one)


def run(data, numbers, rounds=5, batch=32, family=FAMILY, k=3):
    keys = jax.random.split(jax.random.key(0), 32)[:batch]
    return program(family, rounds, k, len(numbers) > 1)(keys, data, tuple(jnp.float32(number) for number in numbers))


def assert_same(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_need_for_privacy_every_target_is_covered_and_nothing_else():
    """A huge coefficient: each round hits at least 1/k of what is left, so 12 rounds all of 60."""
    for seed, literals in ((0, 0), (1, 1), (2, 3)):
        data = realizable(seed, 40, 60, literals)
        chosen, counts = run(data, (1e5,), 12, 1)
        assert counts is None and chosen.shape == (1, 12) and chosen.dtype == jnp.int32
        left, hit = data[1].copy(), hits(np.asarray(chosen)[0], data[0])
        assert not np.any(hit & data[2])
        for one in hit:
            assert np.sum(one & left) * 3 >= left.sum()
            left &= ~one
        assert not left.any()


def hits(chosen, x):
    return np.asarray(jax.jit(jax.vmap(FAMILY.hits, (0, None)))(chosen, x))


def test_the_counts_are_of_what_is_left():
    """Almost no noise: the published counts are those of the targets before each round."""
    data = realizable(4, 40, 60, 3)
    chosen, counts = map(np.asarray, run(data, (1e5, 0.01, 0.0)))
    left, expected = data[1].copy(), []
    for hit in hits(chosen[0], data[0]):
        expected.append(left.sum())
        left &= ~hit
    assert counts.dtype == np.int32
    np.testing.assert_array_equal(counts[0], expected)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("scale", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_two_rounds_have_the_law_of_their_parts(scale, key, stats):
    """Every pair of choices: P(h1) P(h2 | h1) by the law of one choice, summed over the counts where there is noise."""
    family, trials, k, offset = Literals(2, False), 40_000, 2, 0.5 if scale else 0.0
    x = jnp.asarray([[0], [1], [1], [2], [3], [3], [0]], jnp.uint32)
    target, other = (jnp.asarray([c == s for c in "ttotooo"]) for s in "to")
    noise = np.arange(-40.0, 41.0) if scale else np.zeros(1)
    mass = np.tanh(0.5 / scale) * np.exp(-np.abs(noise) / scale) if scale else np.ones(1)

    def choice(alive, z):
        budget = jnp.sum(alive & target).astype(jnp.float64) + z - offset
        return family.law(x, alive & target, alive & other, Score.of(budget, k, jnp.float64(0.8))).log_probs()

    @jax.jit
    def laws(z):
        alive = target | other
        after = lambda h: choice(alive & ~family.hits(h, x), z)  # noqa: E731
        return choice(alive, z), jax.vmap(after)(jnp.arange(family.size, dtype=jnp.int32))

    with jax.enable_x64(True):
        first, second = (np.exp(part) for part in jax.jit(jax.vmap(laws))(jnp.asarray(noise)))
    table = (mass @ first)[:, None] * np.tensordot(mass, second, 1)
    numbers = (jnp.float32(0.8), jnp.float32(scale), jnp.float32(offset))
    drawn = np.asarray(program(family, 2, k, scale > 0)(jax.random.split(key, trials), (x, target, other), numbers)[0])
    seen = np.bincount(drawn[:, 0] * family.size + drawn[:, 1], minlength=family.size**2)
    stats.chi_square(seen, table.ravel() / table.sum())


@pytest.mark.optimized
def test_padding_capacity_and_order_change_no_bit():
    plain = run(realizable(5, 40, 60, 3), NOISY)
    assert len(np.unique(np.asarray(plain[0]))) > 20
    padded = realizable(5, 40, 60, 3, CAPACITY)
    assert_same(plain, run(padded, NOISY))
    order = np.random.default_rng(0).permutation(CAPACITY)
    assert_same(plain, run(tuple(part[order] for part in padded), NOISY))


def test_the_first_rounds_do_not_depend_on_how_many_follow():
    """Two are written out, five are a loop."""
    data = realizable(5, 40, 60, 3)
    assert_same(run(data, NOISY, 2), jax.tree.map(lambda part: np.asarray(part)[:, :2], run(data, NOISY)))


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [EXACT, NOISY], ids=["exact", "noisy"])
def test_batch_and_types_change_no_bit(numbers):
    data = realizable(5, 40, 60, 3)
    plain = run(data, numbers)
    assert_same(run(data, numbers, batch=7), jax.tree.map(lambda part: part[:7], plain))
    assert_same(run(data, numbers, batch=1), jax.tree.map(lambda part: part[:1], plain))
    with jax.enable_x64(True):
        assert_same(plain, run(data, numbers))


def test_every_database_and_number_has_an_answer():
    for family, count in ((Literals(5, True), 0), (FAMILY, 60)):
        x, target, other = realizable(8, family.dimension, count, 2)
        none = np.zeros(count, bool)
        for data in ((x, target, other), (x, none, other), (x, target, none), (x, none, none)):
            for coefficient in (0.0, 1e-30, 1e30, np.inf, np.nan, -1.0):
                for noise in ((1e30, 1e3), (np.nan, 0.0), (1e-30, -1e30)):
                    chosen, _ = run(data, (coefficient, *noise), family=family)
                    assert np.all((np.asarray(chosen) >= 0) & (np.asarray(chosen) < family.size))


@chex.assert_max_traces(1)
def cover(key, data, plan):
    return set_cover(key, Literals(5, False), *data, plan)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["noise_free", "noisy"])
def test_one_program_for_all_budgets(variant, key):
    """Eight epsilons, and plans stacked for vmap give the same bits."""
    chex.clear_trace_counter()
    data, run = realizable(0, 5, 9, 2), jax.jit(cover)
    budgets = [Privacy(epsilon, 1e-6) for epsilon in np.geomspace(0.25, 4, 8)]
    plans = [cover_plan(privacy, 3, 2, Neighboring.REPLACE_ONE, variant) for privacy in budgets]
    found = [run(key, data, plan) for plan in plans]
    assert len({float(plan.coefficient) for plan in plans}) == 8
    together = jax.jit(jax.vmap(lambda plan: set_cover(key, Literals(5, False), *data, plan)))(stack_plans(plans))
    together = jax.tree.map(np.asarray, together)
    for i, one in enumerate(found):
        assert_same(one, jax.tree.map(lambda part, i=i: part[i], together))


@register_dataclass
@dataclass(frozen=True)
class Targets(Score):
    """Ignores the other rows."""

    def quality(self, hit, wrong):
        return jnp.minimum(hit.astype(jnp.float64) - self.share, jnp.zeros_like(wrong.astype(jnp.float64)))


@pytest.mark.slow
@pytest.mark.parametrize("score", [Targets, Score])
def test_a_family_and_a_score_from_outside(key, score):
    """Discs, a family of cuts that the package does not have."""
    x = np.random.default_rng(1).integers(0, 65, (40, 2)).astype(np.int32)
    target = np.sum((x - 32) ** 2, axis=1) < 300
    family, plan = Discs(64, slabs=6, bins=16, spare=64), by_hand(3, 1, np.float32(30.0))
    discs, counts = jax.jit(lambda key, *data: set_cover(key, family, *data, plan, score))(key, x, target, ~target)
    assert counts is None and discs.theta.shape == (3, 2, 2)
    found = np.asarray(jax.jit(family.hits)(jax.tree.map(lambda part: np.asarray(part)[0], discs), x))
    assert found[target].all() and np.any(found[~target]) == (score is Targets)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda key, data: by_hand(0, 1, 1.0),
        lambda key, data: by_hand(1, 0, 1.0),
        lambda key, data: by_hand(1.0, 1, 1.0),
        lambda key, data: cover_plan(Privacy(jnp.float32(0.0), 0.0), 1, 1, Neighboring.REPLACE_ONE),
        lambda key, data: cover_plan(Privacy(1.0, 1e-6), 1, 1, Neighboring.REPLACE_ONE, "no variant"),
        lambda key, data: set_cover(jax.random.key_data(key), Literals(5, False), *data, by_hand(1, 1, 1.0)),
    ],
)
def test_what_makes_no_sense_is_refused(attempt, key):
    with pytest.raises(InputError):
        attempt(key, realizable(0, 5, 3, 1))
