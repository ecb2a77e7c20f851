"""Key derivation. No other module of dpjax calls ``fold_in``."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks
from dpjax.core import forking as forking  # watches forks from the first import on
from dpjax.core.checks import InputError


def require_typed(key: Array) -> None:
    """InputError at trace time unless the key is one typed threefry key.

    A raw uint32 key does not state its generator, and the rbg generators draw other numbers under vmap than in a
    loop, so a trial would depend on its batch.
    """
    dtype = getattr(key, "dtype", None)
    if dtype is None or not jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        advice = "replace jax.random.PRNGKey(seed) by jax.random.key(seed), or wrap it with jax.random.wrap_key_data"
        raise InputError("key", "a typed key, jax.random.key(seed)", f"{dtype or type(key).__name__}", advice)
    if key.shape != ():
        advice = "use jax.vmap over a batch of keys"
        raise InputError("key", "one key, jax.random.key(seed)", f"keys of shape {key.shape}", advice)
    implementation = str(jax.random.key_impl(key))
    if "threefry2x32" not in implementation:
        advice = "use jax.random.key(seed, impl='threefry2x32'): other generators are not batch-invariant"
        raise InputError("key", "a threefry2x32 key", implementation, advice)
    if not jax.config.jax_threefry_partitionable:
        advice = "remove the setting: without it padding a draw changes the numbers before the padding"
        raise InputError("jax_threefry_partitionable", "True (JAX's default)", "False", advice)


def root(seed: int) -> Array:
    """The key of a whole experiment, from a seed in [0, 2**32)."""
    words = jnp.asarray(np.array([0, checks.integer("seed", seed, 0, 2**32 - 1)], np.uint32))
    return jax.random.wrap_key_data(words, impl="threefry2x32")  # jax.random.key adds jax_random_seed_offset


def stream(key: Array, name: str) -> Array:
    """The key for a named purpose. Adding a name does not change the keys of other names."""
    require_typed(key)
    return jax.random.fold_in(key, zlib.crc32(name.encode()))


def streams(key: Array, *names: str) -> Array:
    """``key[len(names)]``, equal to `stream` for each name, in one hash that compiles faster."""
    require_typed(key)
    codes = jnp.asarray(np.array([zlib.crc32(name.encode()) for name in names], np.uint32))
    return jax.vmap(jax.random.fold_in, (None, 0))(key, codes)


def per_index(key: Array, count: int) -> Array:
    """``key[count]``, one per concept or part; entry i does not depend on ``count``."""
    require_typed(key)
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(count, dtype=jnp.uint32))


def of_point(root_key: Array, point: Array | np.ndarray) -> Array:
    """The key of one point of a sweep; ``point`` is ``uint32[2]``, the hash of the point's parameters."""
    require_typed(root_key)
    return jax.random.fold_in(jax.random.fold_in(root_key, point[0]), point[1])


def of_trial(point_key: Array, trial: Array) -> Array:
    """The key of one trial, a function of point and trial number, not of where it runs. ``trial`` is uint32."""
    return jax.random.fold_in(point_key, trial)
