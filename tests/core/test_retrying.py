"""Loops of lanes that try until they succeed."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.retrying import retry
from dpjax.experiments.identity import program


def attempt(given, state):
    """Draws below a limit; the limit of a lane and its stream differ."""
    limit, weights = given
    key, tries, value, sums = state
    key, own = jax.random.split(key)
    value = jax.random.uniform(own, dtype=jnp.float32) * limit
    return key, tries + 1, value, sums + weights * value


def improve(given, state):
    """Marks a failure."""
    key, tries, value, sums = state
    return key, tries, value, sums - given[1]


def done(state):
    """Whether the value is small."""
    return state[2] < 0.2


def by_retry(key, limit, weights):
    """The state at the end."""
    start = key, jnp.int32(0), jnp.float32(1), jnp.zeros(3, jnp.float32)
    return retry(attempt, improve, done, (limit, weights), start)


def by_while(key, limit, weights):
    """The same by hand."""

    def turn(state):
        made = attempt((limit, weights), state)
        return jax.lax.cond(done(made), lambda kept: kept, lambda kept: improve((limit, weights), kept), made)

    start = key, jnp.int32(0), jnp.float32(1), jnp.zeros(3, jnp.float32)
    return jax.lax.while_loop(lambda state: ~done(state), turn, start)


WEIGHTS = jnp.array([1.0, -2.0, 0.5])


def same(found, wanted):
    """Bit for bit."""
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("size", [1, 31, 32, 1000])
def test_each_lane_computes_what_it_computes_alone(size):
    keys, limits = jax.random.split(jax.random.key(1), size), jnp.linspace(0.1, 4.0, size)
    found = jax.jit(jax.vmap(by_retry, (0, 0, None)))(keys, limits, WEIGHTS)
    same(found, jax.jit(lambda *of: jax.lax.map(lambda own: by_while(*own, WEIGHTS), of))(keys, limits))
    assert size == 1 or int(jnp.max(found[1])) > 1


def test_lanes_of_lanes_and_shared_arguments():
    keys = jax.random.split(jax.random.key(2), (5, 40))
    limits, weights = jnp.linspace(0.3, 3, 40), jnp.stack([WEIGHTS * i for i in range(1, 6)])
    both = jax.jit(jax.vmap(jax.vmap(by_retry, (0, 0, None)), (0, None, 0)))(keys, limits, weights)
    other = jax.jit(jax.vmap(jax.vmap(by_retry, (0, None, 0)), (1, 0, None), 1))(keys, limits, weights)
    plain = jax.jit(jax.vmap(jax.vmap(by_while, (0, 0, None)), (0, None, 0)))(keys, limits, weights)
    same(both, plain)
    same(other, plain)
    outer = jax.jit(jax.vmap(lambda key: jax.vmap(by_retry, (None, 0, None))(key, limits, WEIGHTS)))(keys[:, 0])
    plain = jax.jit(jax.vmap(lambda key: jax.vmap(by_while, (None, 0, None))(key, limits, WEIGHTS)))
    same(outer, plain(keys[:, 0]))
    unbatched = jax.vmap(lambda one: by_retry(keys[0, 0], limits[7], WEIGHTS)[1] + one)(jnp.arange(3))
    np.testing.assert_array_equal(unbatched, by_while(keys[0, 0], limits[7], WEIGHTS)[1] + np.arange(3))


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 40)])
def test_no_lanes_at_all(shape):
    run = lambda value: retry(lambda g, v: v + g, lambda g, v: v, lambda v: v > 3, jnp.float32(1), value)  # noqa: E731
    for _ in shape:
        run = jax.vmap(run)
    for each in (run, jax.jit(run)):
        assert each(jnp.zeros(shape)).shape == shape


def test_the_result_of_a_python_number_has_its_own_dtype():
    run = lambda value: retry(lambda g, v: v + g, lambda g, v: v, lambda v: v > 3, 1.0, value)  # noqa: E731
    assert run(0.0).weak_type is jax.jit(lambda: run(0.0))().weak_type is False


@pytest.mark.parametrize("x64", [False, True])
def test_dtypes_do_not_depend_on_the_mode(x64):
    with jax.enable_x64(x64):
        keys = jax.random.split(jax.random.key(3), 64)
        found = jax.jit(jax.vmap(by_retry, (0, None, None)))(keys, jnp.float32(1), WEIGHTS)
        assert [found[1].dtype, found[3].dtype] == [jnp.int32, jnp.float32]
        assert int(jnp.min(found[1])) == 1


@pytest.mark.optimized
def test_a_slow_lane_does_not_hold_the_others():
    lanes, slow, matrix = 512, 60, jnp.eye(48) * 0.5

    def heavy(given, state):
        count, value = state
        return count - 1, jnp.tanh(given @ value)

    def run(loop):
        counts = jnp.ones(lanes, jnp.int32).at[17].set(slow)
        return jax.jit(jax.vmap(lambda count: loop((count, jnp.ones((48, 48))))[1])).lower(counts).compile(), counts

    def plain(state):
        return jax.lax.while_loop(lambda kept: kept[0] > 0, lambda kept: heavy(matrix, kept), state)

    def ours(state):
        return retry(heavy, lambda _, kept: kept, lambda kept: kept[0] <= 0, matrix, state)

    def seconds(loop):
        program, counts = run(loop)
        times = []
        for _ in range(4):
            start = time.process_time()
            program(counts).block_until_ready()
            times.append(time.process_time() - start)
        return min(times[1:])

    assert seconds(plain) > 3 * seconds(ours)  # 60 turns of all lanes against one, and 59 of a 16th of them


def test_both_steps_are_part_of_the_program():
    arguments = jax.random.key(0), jnp.float32(1), WEIGHTS

    def digest(step):
        start = arguments[0], jnp.int32(0), jnp.float32(1), jnp.zeros(3, jnp.float32)
        traced = jax.make_jaxpr(lambda *given: retry(attempt, step, done, given, start))(*arguments[1:])
        return program.digest(traced)

    assert digest(improve) == digest(lambda given, state: improve(given, state))
    assert digest(improve) != digest(lambda _, state: state)


def test_mistakes():
    state = jnp.float32(0)

    def closing(limit):
        return retry(lambda _, x: x + limit, lambda _, x: x, lambda x: x > 1, (), state)

    with pytest.raises(InputError, match=r"attempt: .*closure over traced values"):
        jax.jit(closing)(jnp.float32(1))
    with pytest.raises(InputError, match=r"attempt: expected float32\[\], got int32\[\]; .*0\.0 in place of 0"):
        retry(lambda _, x: x.astype(jnp.int32), lambda _, x: x, lambda x: x > 1, (), state)
    with pytest.raises(InputError, match="attempt: expected a state of the structure"):
        retry(lambda _, x: (x, x), lambda _, x: x, lambda x: x > 1, (), state)
    with pytest.raises(InputError, match=r"done: expected bool\[\], got float32\[\]; return one truth value"):
        retry(lambda _, x: x + 1, lambda _, x: x, lambda x: x, (), state)
