"""Programs are read with every operation written out, whatever JAX traces as one equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun, jaxprs_in_params

from dpjax.core.lowered import lowered
from dpjax.experiments.identity.program import digest
from dpjax.laws import Categorical

X = jnp.arange(6.0)
FUNCTIONS = {
    "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x), 2 * x),
    "nonzero": lambda x: jnp.nonzero(x > 2, size=3, fill_value=7)[0],
    "in a loop": lambda x: jax.lax.map(lambda one: jnp.searchsorted(x, one, side="right"), x),
    "under vmap": jax.vmap(lambda one: jnp.nonzero(one > jnp.arange(4), size=2)[0]),
    "under checkpoint": lambda x: jax.checkpoint(lambda y: y[jnp.searchsorted(y, 2.5)])(x),
    "in a branch": lambda x: jax.lax.cond(x[1] > 0, lambda: jnp.nonzero(x, size=2)[0], lambda: jnp.zeros(2, int)),
    "frexp": lambda x: jnp.frexp(x)[1],
    "a draw": lambda x: Categorical(x[jnp.searchsorted(x, jnp.arange(3.0))]).sample(jax.random.key(0)),
}


def names(program):
    for equation in program.eqns:
        yield equation.primitive.name
        for inner in jaxprs_in_params(equation.params):
            yield from names(inner)


@pytest.mark.parametrize("wide", [pytest.param(False, marks=pytest.mark.slow), True], ids=["x32", "x64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_lowered_program_computes_the_same_by_known_operations(name, wide):
    with jax.enable_x64(wide):
        traced = jax.make_jaxpr(FUNCTIONS[name])(X)
        low = lowered(traced)
        found = jaxpr_as_fun(low)(X)
        wanted = jax.tree.leaves(FUNCTIONS[name](X))
        assert not low.is_high and "call_hi_primitive" not in names(low.jaxpr) and lowered(low) is low
        for one, other, kind in zip(found, wanted, traced.out_avals, strict=True):
            assert one.dtype == kind.dtype and one.shape == kind.shape
            np.testing.assert_array_equal(one, other)


def test_their_digests_tell_them_apart():
    found = [digest(jax.make_jaxpr(function)(X)) for function in FUNCTIONS.values()]
    other = jax.make_jaxpr(lambda x: jnp.nonzero(x > 2, size=3, fill_value=8)[0])(X)
    assert len({*found, digest(other)}) == len(FUNCTIONS) + 1
    assert found == [digest(jax.make_jaxpr(function)(X)) for function in FUNCTIONS.values()]
