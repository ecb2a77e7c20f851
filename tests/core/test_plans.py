"""Plans: rounding towards less spending, buffers on a grid, structure apart from numbers."""

import inspect
import math
from dataclasses import FrozenInstanceError, field, replace
from enum import Enum

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Parities, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.plans import (
    STATIC,
    Claim,
    Count,
    Number,
    Positive,
    Probability,
    Slack,
    bucket,
    down,
    plan_type,
    require_leaves,
    same_plan,
    stack_plans,
    up,
    whole,
    widened,
)
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import KLN, Independent, ParityLearner, PointLearner, ThresholdMedian, database

GRID = (1, 3, 6, 16, 40, 102, 256, 645, 1625, 4096)
TINY, HUGE = float(np.finfo(np.float32).smallest_subnormal), float(np.finfo(np.float32).max)


# --- rounding ----------------------------------------------------------------------------------------------------


def assert_neighbors(value):
    """The nearest float32 on either side, by exact comparison: nothing between is a float32."""
    low, high = down(value), up(value)
    assert low.dtype == high.dtype == np.float32
    assert float(low) <= value <= float(high)
    assert high == low or np.nextafter(low, np.float32(np.inf)) == high
    assert (low == high) == (float(np.float32(value)) == value)


def test_rounding_gives_the_nearest_float32_on_its_side():
    generator = np.random.default_rng(0)
    values = 10.0 ** generator.uniform(-50, 38.5, 3000) * generator.choice([-1, 1], 3000)
    for value in [*values.tolist(), 0.1, 1 / 3, 1e-6, 2.0**-149 * 1.5, 1 + 2**-24, 1 + 2**-23]:
        assert_neighbors(value)


def test_rounding_of_denormals_zero_and_exact_numbers():
    for value in (0.0, 1.0, -1.0, 0.5, TINY, 3 * TINY, HUGE, -HUGE, 2.0**-126):
        assert float(down(value)) == float(up(value)) == value
    assert float(down(1e-60)) == 0 and float(up(1e-60)) == TINY
    assert float(down(-1e-60)) == -TINY and float(up(-1e-60)) == 0
    assert float(down(1.5 * TINY)) == TINY and float(up(1.5 * TINY)) == 2 * TINY


def test_rounding_beyond_float32_stays_on_its_side_without_a_warning():
    """pytest makes an error of every warning."""
    assert float(down(1e300)) == HUGE and float(up(1e300)) == math.inf
    assert float(down(-1e300)) == -math.inf and float(up(-1e300)) == -HUGE
    assert float(down(math.inf)) == math.inf and float(up(-math.inf)) == -math.inf


def test_rounding_again_changes_nothing():
    for value in np.random.default_rng(1).uniform(0, 20, 500).tolist():
        assert down(float(down(value))) == down(value) and up(float(up(value))) == up(value)


@pytest.mark.parametrize("value", [0, 7, 2**31 - 1, -(2**31), np.int64(5)])
def test_counts_are_int32(value):
    assert whole(value).dtype == np.int32 and int(whole(value)) == value


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 1 << 70])
def test_counts_beyond_int32_are_refused(value):
    with pytest.raises(InputError, match=r"fewer than 2\^31"):
        whole(value)


# --- buckets -----------------------------------------------------------------------------------------------------


def test_buckets_are_a_function_of_the_size_alone():
    assert list(inspect.signature(bucket).parameters) == ["size"]
    assert sorted({bucket(size) for size in range(1, 4097)}) == list(GRID)
    assert bucket(0) == 1


def test_a_bucket_is_the_least_of_the_grid_that_holds_the_size():
    for size in range(1, 4097):
        assert bucket(size) == min(one for one in GRID if one >= size)
        assert bucket(bucket(size)) == bucket(size)
    for exponent in range(31):
        for size in (2**exponent - 1, 2**exponent, 2**exponent + 1):
            if size <= 2**30:
                assert size <= bucket(size) <= 2.6 * max(size, 1) + 1


@pytest.mark.parametrize("size", [1, 2, 7, 16, 63, 100, 1000, 12345, 2**20])
def test_a_factor_of_16_has_at_most_four_buckets(size):
    sizes = np.unique(np.geomspace(size, 16 * size, 2000).round().astype(int)).tolist()
    assert len({bucket(one) for one in sizes}) <= 4


@pytest.mark.parametrize("size", [-1, 2**30 + 1, 2.0, True, None])
def test_sizes_that_are_none_are_refused(size):
    with pytest.raises(InputError, match="size"):
        bucket(size)


# --- plans as pytrees --------------------------------------------------------------------------------------------


class Kind(Enum):
    ONE = 1


@plan_type
class Toy:
    """A plan with every kind of structure."""

    rate: Number
    count: Number
    claim: Claim
    rounds: int = field(metadata=STATIC)
    names: tuple = field(default=(), metadata=STATIC)


def toy(epsilon=1.0, rounds=3, names=("a", (1, None, Kind.ONE, True))):
    return Toy(down(epsilon), whole(4), Claim(down(epsilon), down(1e-6)), rounds, names)


@pytest.mark.parametrize(
    "structure",
    [0.5, np.float32(0.5), np.float64(1), np.zeros(2), jnp.zeros(2), [1], {"a": 1}, (1, 0.5), (1, (2.0,)), np.int32(3)],
    ids=lambda value: f"{type(value).__name__}-{value}".replace("\n", ""),
)
def test_floats_and_arrays_are_no_structure(structure):
    with pytest.raises(InputError, match=r"Toy\.names.*make it a leaf"):
        toy(names=structure)


def test_a_check_of_its_own_runs_after_that_of_the_structure():
    class Small:
        rounds: int = field(metadata=STATIC)

        def __post_init__(self):
            if self.rounds > 3:
                raise InputError("rounds", "at most 3", str(self.rounds), "take fewer")

    Small.__annotations__ = {"rounds": int}
    small = plan_type(Small)
    assert small(3).rounds == 3
    with pytest.raises(InputError, match="at most 3"):
        small(4)
    with pytest.raises(InputError, match="leaf"):
        small(4.5)


def test_plans_are_frozen_and_their_numbers_are_leaves():
    plan = toy()
    with pytest.raises(FrozenInstanceError):
        plan.rate = 2
    assert [np.asarray(leaf).dtype for leaf in jax.tree.leaves(plan)] == [np.float32, np.int32, np.float32, np.float32]
    assert jax.tree.structure(toy(2.0)) == jax.tree.structure(toy(0.1))
    assert jax.tree.structure(toy(rounds=4)) != jax.tree.structure(toy(rounds=3))
    again = jax.tree.unflatten(jax.tree.structure(plan), jax.tree.leaves(plan))
    assert isinstance(again, Toy) and same_plan(plan, again)


def test_a_plan_may_hold_tracers():
    """Structure is checked whenever a plan is made, also in a program; numbers are not."""

    @jax.jit
    def run(plan):
        changed = replace(plan, rate=plan.rate * 2)
        return changed, jax.vmap(lambda rate: replace(plan, rate=rate).rate)(jnp.arange(3.0))

    changed, rates = run(toy())
    assert float(changed.rate) == 2 and changed.rounds == 3 and rates.tolist() == [0, 1, 2]


def test_numbers_compile_nothing_and_structure_does():
    @jax.jit
    @chex.assert_max_traces(n=2)
    def run(plan):
        return plan.rate * plan.rounds

    found = [float(run(toy(epsilon, rounds))) for rounds in (3, 5) for epsilon in (0.25, 1.0, 4.0)]
    assert found == [0.75, 3.0, 12.0, 1.25, 5.0, 20.0]


def test_same_plan_compares_structure_types_and_bits():
    plan = toy()
    assert same_plan(plan, toy())
    assert same_plan(plan, jax.tree.map(jnp.asarray, plan))
    assert not same_plan(plan, toy(rounds=4))
    assert not same_plan(plan, toy(np.nextafter(np.float32(1), np.float32(2)).item()))
    assert not same_plan(plan, replace(plan, count=np.float32(4)))
    assert not same_plan(plan, replace(plan, rate=np.float64(1)))
    assert not same_plan(plan, None) and same_plan(None, None)
    assert not same_plan(stack_plans([plan, plan]), plan)


def test_widened_plans_have_the_same_numbers_in_float64():
    plan = toy(0.1)
    wide = widened(plan)
    assert [np.asarray(leaf).dtype for leaf in jax.tree.leaves(wide)] == [np.float64, np.int32, np.float64, np.float64]
    assert [float(a) for a in jax.tree.leaves(wide)] == [float(a) for a in jax.tree.leaves(plan)]
    assert jax.tree.structure(wide) == jax.tree.structure(plan)
    learner = PointLearner(Points(Domain(100)))
    planned = learner.plan(Privacy(0.1, 1e-7), Accuracy(0.1, 0.1))
    assert learner.guarantee(widened(planned)) == learner.guarantee(planned)  # a budget holds the numbers there


def test_stacked_plans_lead_with_their_number():
    plans = [toy(epsilon) for epsilon in (0.5, 1.0, 2.0)]
    together = stack_plans(plans)
    assert together.rate.shape == (3,) and together.rate.dtype == np.float32 and together.rounds == 3
    for i, plan in enumerate(plans):
        assert same_plan(plan, jax.tree.map(lambda leaf, i=i: leaf[i], together))
    for wrong in ([toy(), toy(rounds=4)], [toy(), Claim(down(1.0), down(0.0))]):
        with pytest.raises(InputError, match="one structure"):
            stack_plans(wrong)
    for wrong, given in (([], "none"), (toy(), "Toy")):
        with pytest.raises(InputError, match=f"a list of one or more plans, got {given}"):
            stack_plans(wrong)


# --- plans of learners -------------------------------------------------------------------------------------------

SWEEP = (0.25, 1.0, 4.0)
VALUES, LABELS = [3, 3, 3, 3, 60, 60, 61, 62, 99, 99], [1, 1, 1, 1, 0, 0, 1, 0, 0, 0]


def small(kind, domain=100):
    return kind(Domain(domain))


LEARNERS = {
    "kln": KLN(small(Thresholds)),
    "median": ThresholdMedian(small(Thresholds)),
    "points": PointLearner(small(Points)),
    "direct sum": Independent(KLN(small(Points)), 1, "optimal"),
    "parities": ParityLearner(Parities(6), 3, 3),
}


# the conformance suite has the other learners
@pytest.mark.optimized
@pytest.mark.parametrize("name", ["points", pytest.param("parities", marks=pytest.mark.slow)])
def test_stacked_plans_run_as_single_ones_bit_for_bit(name):
    learner = LEARNERS[name]
    values = [value % learner.concepts.domain.size for value in VALUES]
    sample = database(learner.concepts.domain, values, LABELS)
    plans = [learner.plan(Privacy(epsilon, 1e-2), Accuracy(0.3, 0.2)) for epsilon in SWEEP]
    keys = jax.random.split(jax.random.key(1), 32)
    of_keys = jax.vmap(learner.learn, (0, None, None))
    together = jax.jit(jax.vmap(of_keys, (None, None, 0)))(keys, sample, stack_plans(plans))
    single = jax.jit(of_keys)
    for i, plan in enumerate(plans):
        chex.assert_trees_all_equal(jax.tree.map(lambda part, i=i: part[i], together), single(keys, sample, plan))


@pytest.mark.parametrize("name", ["median", pytest.param("points", marks=pytest.mark.slow)])
def test_a_plan_closed_over_is_a_plan_passed(name):
    learner = LEARNERS[name]
    values = [value % learner.concepts.domain.size for value in VALUES]
    sample, keys = database(learner.concepts.domain, values, LABELS), jax.random.split(jax.random.key(2), 64)
    plan = learner.plan(Privacy(0.7, 1e-2), Accuracy(0.3, 0.2))
    passed = jax.jit(jax.vmap(learner.learn, (0, None, None)))(keys, sample, plan)
    closed = jax.jit(jax.vmap(lambda key: learner.learn(key, sample, plan)))(keys)
    chex.assert_trees_all_equal(passed, closed)


def test_the_same_budget_gives_the_same_plan():
    for learner in LEARNERS.values():
        one, other = (learner.plan(Privacy(0.3, 1e-5), Accuracy(0.1, 0.1)) for _ in range(2))
        assert same_plan(one, other)
        assert not same_plan(one, learner.plan(Privacy(0.31, 1e-5), Accuracy(0.1, 0.1)))


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (Positive, (TINY, 1.0, HUGE), (0.0, -1.0, np.inf)),
        (Probability, (TINY, 0.5), (0.0, 1.0)),
        (Slack, (0.0, 0.5), (-TINY, 1.0)),
        (Number, (0.0, -1.0), (np.inf, np.nan)),
    ],
    ids=["Positive", "Probability", "Slack", "Number"],
)
def test_the_ends_of_the_ranges_of_leaves(kind, inside, outside):
    for value in inside:
        require_leaves(np.float32(value), kind=kind)
    for value in outside:
        with pytest.raises(InputError):
            require_leaves(np.float32(value), kind=kind)


def test_a_count_is_a_whole_number():
    require_leaves(np.int32(0), kind=Count)
    for wrong in (np.int32(-1), np.float32(3)):
        with pytest.raises(InputError):
            require_leaves(wrong, kind=Count)
