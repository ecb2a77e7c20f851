"""A device whose compiler loses the sign of an integer is refused before the first draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import compilers, draws
from dpjax.core.checks import InputError
from dpjax.laws import Laplace


@pytest.fixture(autouse=True)
def unknown():
    """Every test finds out anew."""
    compilers._sound.cache_clear()
    yield
    compilers._sound.cache_clear()


@pytest.fixture(params=range(3))
def losing_a_sign(request):
    """What a faulty compiler makes of `compilers.extremes`: one of the three keeps its sign."""

    def extremes(*rows):
        read = [row if i == request.param else -row for i, row in enumerate(rows)]
        return jnp.maximum(jnp.maximum(*read[:2]), read[2]), jnp.minimum(jnp.minimum(*read[:2]), read[2])

    return extremes


def test_extremes_are_those_of_numpy():
    np.testing.assert_array_equal(np.stack(compilers.extremes(*compilers._TRIPLES)), compilers.expected())


def test_this_device_is_sound():
    assert compilers._sound(jax.default_backend())


def test_a_lost_sign_is_refused(monkeypatch, losing_a_sign):
    monkeypatch.setattr(compilers, "extremes", losing_a_sign)
    assert not compilers._sound(jax.default_backend())
    monkeypatch.setattr(compilers, "_sound", lambda platform: False)
    with pytest.raises(InputError, match=r"expected a compiler that keeps the sign .*gpu.*13\.4"):
        compilers.require_sound("gpu")


def test_nothing_is_compiled_for_a_cpu(monkeypatch):
    monkeypatch.setattr(compilers, "_sound", lambda platform: pytest.fail("compiled"))
    compilers.require_sound("cpu")


@pytest.mark.parametrize("wrapped", [lambda draw: draw, jax.jit, jax.vmap])
def test_every_draw_asks(monkeypatch, wrapped):
    """Also the first one, inside of a trace."""
    asked = []
    monkeypatch.setattr(draws, "require_sound", asked.append)
    law = Laplace(jnp.float32(0), jnp.float32(1))
    wrapped(law.sample)(jax.random.split(jax.random.key(0), 2) if wrapped is jax.vmap else jax.random.key(0))
    assert asked == [jax.default_backend()]


def test_the_check_runs_inside_of_a_trace():
    def traced(x):
        assert compilers._sound(jax.default_backend())
        return x

    assert jax.jit(traced)(1) == 1
