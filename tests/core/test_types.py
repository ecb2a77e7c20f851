"""The nouns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float


def sample(n, capacity=8):
    return Sample(jnp.zeros((capacity, 1), jnp.uint32), jnp.zeros((capacity, 2), bool), jnp.arange(capacity) < n)


@pytest.mark.parametrize("n", [0, 1, 5, 8])
def test_size_counts_real_rows_and_is_int32_in_both_modes(n):
    for wide in (False, True):
        with jax.enable_x64(wide):
            one = sample(n)
            assert one.capacity == 8
            assert int(one.size) == n and one.size.dtype == jnp.int32


def test_the_nouns_are_pytrees():
    one = sample(3)
    again = jax.jit(lambda s: s)(one)
    assert isinstance(again, Sample) and len(jax.tree.leaves(one)) == 3
    batched = jax.vmap(lambda s: s.size)(jax.tree.map(lambda part: jnp.stack([part, part]), one))
    np.testing.assert_array_equal(batched, [3, 3])
    assert len(jax.tree.leaves((Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)))) == 4


def test_the_nouns_are_frozen():
    for one in (Privacy(1.0), Accuracy(0.1, 0.1), sample(1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, dataclasses.fields(one)[0].name, 2)


def test_delta_is_zero_unless_given():
    assert Privacy(1.0).delta == 0.0


def test_names_of_the_relations_are_those_of_dp_accounting():
    assert {member.value for member in Neighboring} == {"replace-one", "add-or-remove-one"}


def test_as_float_keeps_what_is_explicit_and_makes_the_rest_float32():
    for wide in (False, True):
        with jax.enable_x64(wide):
            assert as_float(1.5).dtype == jnp.float32
            assert as_float(np.float64(1.5)).dtype == jnp.float32
            assert as_float(3).dtype == jnp.float32
            assert as_float(jnp.int32(3)).dtype == jnp.float32
            assert as_float(jnp.float32(2)).dtype == jnp.float32
            assert jax.jit(as_float)(jnp.float32(2)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert as_float(jnp.float64(2)).dtype == jnp.float64
        assert as_float(1.0, like=jnp.zeros(2, jnp.float64)).dtype == jnp.float64
