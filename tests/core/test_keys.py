"""Keys: what they are derived from, and what is refused."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import keys
from dpjax.core.checks import InputError


def data(key):
    return np.asarray(jax.random.key_data(key))


def same(left, right):
    return np.array_equal(data(left), data(right))


def test_settings_of_jax_do_not_move_the_root():
    before = jax.random.key_data(keys.root(5))
    assert np.array_equal(before, jax.random.key_data(jax.random.key(5)))
    old = jax.config.jax_random_seed_offset
    try:
        jax.config.update("jax_random_seed_offset", 7)
        assert np.array_equal(before, jax.random.key_data(keys.root(5)))
    finally:
        jax.config.update("jax_random_seed_offset", old)


def test_root_is_a_scalar_threefry_key():
    root = keys.root(7)
    keys.require_typed(root)
    assert root.shape == () and same(root, jax.random.key(7, impl="threefry2x32"))
    assert not same(keys.root(7), keys.root(8))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: jax.random.key_data(jax.random.key(0)),
        lambda: jax.random.key(0, impl="rbg"),
        lambda: jax.random.key(0, impl="unsafe_rbg"),
        lambda: 0,
        lambda: None,
        lambda: np.zeros(2, np.uint32),
    ],
    ids=["raw", "rbg", "unsafe_rbg", "int", "None", "numpy"],
)
@pytest.mark.parametrize(
    "use",
    [
        keys.require_typed,
        lambda key: keys.stream(key, "sample"),
        lambda key: keys.per_index(key, 3),
        lambda key: keys.of_point(key, jnp.zeros(2, jnp.uint32)),
    ],
    ids=["require_typed", "stream", "per_index", "of_point"],
)
def test_other_keys_are_refused(use, bad):
    with pytest.raises(InputError, match="key: expected"):
        use(bad())


def test_other_keys_are_refused_under_jit():
    with pytest.raises(InputError, match="threefry2x32"):
        jax.jit(lambda key: keys.stream(key, "a"))(jax.random.key(0, impl="rbg"))


def test_non_partitionable_threefry_is_refused():
    with jax.threefry_partitionable(False), pytest.raises(InputError, match="jax_threefry_partitionable"):
        keys.require_typed(jax.random.key(0))


def test_streams_are_named_by_their_own_name(key):
    assert same(keys.stream(key, "sample"), jax.random.fold_in(key, zlib.crc32(b"sample")))
    names = ["target", "sample", "learn", "probe", "histogram", "release"]
    assert len({data(keys.stream(key, name)).tobytes() for name in names}) == len(names)


def test_per_index_is_a_prefix_of_a_longer_one(key):
    for count in (1, 2, 7):
        np.testing.assert_array_equal(data(keys.per_index(key, count)), data(keys.per_index(key, 64))[:count])
    assert len(np.unique(data(keys.per_index(key, 500)), axis=0)) == 500


def test_points_and_trials_depend_on_all_of_what_they_are(key):
    points = jnp.asarray([[0, 0], [0, 1], [1, 0], [2**32 - 1, 2**32 - 1]], jnp.uint32)
    of_points = jax.vmap(keys.of_point, (None, 0))(key, points)
    trials = jnp.asarray([0, 1, 2**32 - 1], jnp.uint32)
    of_trials = jax.vmap(jax.vmap(keys.of_trial, (None, 0)), (0, None))(of_points, trials)
    assert len(np.unique(data(of_trials).reshape(-1, 2), axis=0)) == 12
    one = keys.of_trial(keys.of_point(key, points[3]), trials[2])
    assert same(one, of_trials[3, 2])
    assert same(one, jax.jit(lambda k, p, t: keys.of_trial(keys.of_point(k, p), t))(key, points[3], trials[2]))


def test_the_bits_do_not_depend_on_64_bit_types(key):
    seen = []
    for wide in (False, True):
        with jax.enable_x64(wide):
            seen.append(
                [
                    data(part).tolist()
                    for part in (
                        keys.root(3),
                        keys.stream(key, "a"),
                        keys.per_index(key, 4),
                        keys.of_trial(keys.of_point(key, jnp.asarray([5, 6], jnp.uint32)), jnp.uint32(9)),
                    )
                ]
            )
    assert seen[0] == seen[1]
