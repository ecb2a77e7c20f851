"""The nouns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
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


NOT_EPSILON = [0.0, -1.0, float("nan"), float("inf"), -1, 0, True, np.float64(-1)]
NOT_EPSILON += [np.float32("nan"), np.float32(-1), jnp.float32(jnp.inf), np.bool_(True), "1", None, 1j]
NOT_DELTA = [-1e-9, 1.0, 2, float("nan"), float("inf"), True, np.float64(1), np.float32(-0.1), "0", None]
NOT_PROBABILITY = [0.0, 1.0, -0.1, 2, float("nan"), False, np.float64(0), jnp.float32(2), "0.1"]


@pytest.mark.parametrize(
    ("name", "attempt"),
    [
        *(("epsilon", lambda e=e: Privacy(e)) for e in NOT_EPSILON),
        *(("delta", lambda d=d: Privacy(1.0, d)) for d in NOT_DELTA),
        *(("alpha", lambda a=a: Accuracy(a, 0.1)) for a in NOT_PROBABILITY),
        *(("beta", lambda b=b: Accuracy(0.1, b)) for b in NOT_PROBABILITY),
    ],
)
def test_plain_numbers_that_make_no_sense_are_refused(name, attempt):
    with pytest.raises(InputError, match=rf"^{name}: expected"):
        attempt()


def test_plain_numbers_at_the_ends_of_the_ranges():
    assert Privacy(1).epsilon == 1 and Privacy(1e-300, 0).delta == 0 and Privacy(1e300, 1 - 2**-53).delta < 1
    assert Accuracy(1e-300, 1 - 2**-53).alpha == 1e-300
    assert Privacy(np.int64(1), np.float32(0.5)).delta.dtype == np.float32  # kept as they are: leaves of plans


def test_arrays_and_tracers_are_not_looked_at():
    """A pytree is rebuilt from whatever its leaves are: numbers of a program, shapes, or nothing at all."""
    assert float(jax.jit(lambda e: Privacy(e, e).delta)(jnp.float32(-1))) == -1
    swept = jax.vmap(lambda p: p.epsilon * 2)(Privacy(jnp.arange(3.0), jnp.zeros(3)))
    assert swept.tolist() == [0, 2, 4]
    for leaf in (None, object(), "x", np.float32(-1), np.zeros(2)):
        jax.tree.map(lambda _, leaf=leaf: leaf, (Privacy(1.0), Accuracy(0.1, 0.1)))
    shapes = jax.eval_shape(lambda p: p, Privacy(jnp.float32(1), jnp.float32(0)))
    assert shapes.epsilon.shape == ()
