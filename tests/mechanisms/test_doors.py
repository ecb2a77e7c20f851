"""What mechanisms take: host numbers of 64 bits neither wrap nor lose a neighbor; relations are no strings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit
from dpjax import mechanisms as m
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.mechanisms.sparse_vector import SparseVector

MECHANISMS = [
    lambda value: m.exponential(value, 0.1),
    lambda value: m.permute_and_flip(value, 0.1),
    lambda value: m.above_threshold(value, 0, 0.1),
    lambda value: m.release(value[0], 0.1, 1e-6),
    lambda value: m.laplace_mechanism(value, 0.1, sensitivity=1),
    lambda value: m.gaussian_mechanism(value, m.gaussian_plan(Privacy(0.1, 1e-6), sensitivity=1), sensitivity=1),
]
WHOLE = [
    lambda value: m.choosing(value, 0.1, 1e-6),
    lambda value: m.stability(value, 0.1, 1e-6),
    lambda value: m.stability_histogram(value, 0.1, 1e-6),
    lambda value: m.discrete_laplace_mechanism(value, 0.1, sensitivity=1),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_fractions_that_float32_does_not_hold_are_refused(mechanism):
    """2**30 + 64 and + 65 would be rounded to 2**30 and 2**30 + 128."""
    with pytest.raises(InputError, match="float32"):
        mechanism(np.array([2.0**30 + 65, 2.0**30]))
    mechanism(np.array([0.1, 1e3, -np.inf][: 1 + (mechanism is not MECHANISMS[3])]))
    mechanism(np.array([2.0**30, 2.0**30 + 128]))


@pytest.mark.parametrize("mechanism", MECHANISMS[4:])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_noise_is_added_to_what_was_given(mechanism, dtype):
    """Of 64-bit types as well, whose values a float32 budget does not round."""
    with jax.enable_x64(True):
        centres = [float(mechanism(jnp.asarray(2**30 + one, dtype)).loc) for one in (64, 65)]
        assert centres[1] - centres[0] == 1


@pytest.mark.parametrize("mechanism", MECHANISMS + WHOLE)
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**40])
def test_whole_numbers_that_int32_does_not_hold_are_refused(mechanism, value):
    for given in (np.array([value, 3]), [value, 3]):
        with pytest.raises(InputError, match="int32"):
            mechanism(given)


@pytest.mark.parametrize("mechanism", WHOLE)
def test_what_int32_holds_is_the_same_from_the_host(mechanism):
    laws = (mechanism(one) for one in (np.array([5, 3]), [5, 3], jnp.array([5, 3], jnp.int32)))
    first, *others = (jax.tree.leaves(law) for law in laws)
    for law in others:
        for one, other in zip(first, law, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def test_what_is_no_number_is_refused():
    for given in (["a", "b"], np.array([1.0, np.nan]), np.array([1.0, np.nan], np.float32)):
        with pytest.raises(InputError, match="numbers"):
            m.exponential(given, 1.0)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda relation: m.exponential(jnp.arange(3), 1.0, monotonic=True, neighboring=relation),
        lambda relation: m.above_threshold(jnp.arange(3), 0, 1.0, neighboring=relation),
        lambda relation: m.permute_and_flip(jnp.arange(3), 1.0, neighboring=relation),
        lambda relation: m.choosing(jnp.arange(3), 1.0, 1e-6, neighboring=relation),
        lambda relation: m.stability_histogram(jnp.arange(3), 1.0, 1e-3, neighboring=relation),
        lambda relation: m.laplace_mechanism_guarantee(1.0, sensitivity=1, neighboring=relation),
        lambda relation: m.randomized_response_guarantee(1.0, neighboring=relation),
        lambda relation: audit.histograms(3, 2, relation),
    ],
)
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one", True, None])
def test_a_relation_is_no_string(attempt, relation):
    """A name that is taken for the other relation would halve the noise."""
    with pytest.raises(InputError, match=r"Neighboring\.REPLACE_ONE|dpjax.core.types.Neighboring"):
        attempt(relation)


def test_the_printed_histogram_releases_at_the_count_that_its_guarantee_names():
    """alpha n / 4 is 29 less an ulp in float64, and 29 in float32, by which 30 was the least count released."""
    printed = {"calibration": "printed", "alpha": 0.58, "n": 200}
    law = m.stability_histogram(jnp.array([29, 28], jnp.int32), 1.0, 1e-6, **printed)
    released = np.exp(np.asarray(law.release_log_probs()[0], np.float64))
    claim = m.stability_histogram_guarantee(1.0, 1e-6, **printed)
    assert released[0] == pytest.approx(claim.delta, rel=1e-4) and released[1] == 0


def test_a_delta_of_the_host_is_rounded_down():
    law = m.release(jnp.int32(2), 1.0, 1 - 1e-9)
    assert float(np.exp(np.asarray(law.log_probs()[0], np.float64))) <= 1 - 1e-9


def test_no_queries_have_one_answer():
    law = SparseVector(jnp.zeros(0, jnp.int32), jnp.float32(1), jnp.zeros(0, bool), False, 2)
    assert law.support(10).outcomes.shape == (1, 0)


def test_draws_without_jit():
    key, votes = jax.random.key(0), jnp.array([3, 1], jnp.int32)
    expected = int(m.stability(votes, 1.0, 0.1).sample(key))
    with jax.disable_jit():
        assert int(m.stability(votes, 1.0, 0.1).sample(key)) == expected
