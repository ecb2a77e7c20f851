"""A draw is one equation of every jaxpr, and compiled it is the sampler and nothing else."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.draws import asked, draw_p, sampler_of
from dpjax.laws import Categorical, Laplace

KEY, WEIGHTS = jax.random.key(3), np.log(np.arange(1.0, 9)).astype(np.float32)


def draw(key, weights):
    return Categorical(weights).sample(key)


def each(key, weights):
    return jax.vmap(draw, (0, None))(jax.random.split(key, 3), weights)


def grid(key, weights):
    return jax.vmap(each, (0, None))(jax.random.split(key, 2), weights)


def scanned(key, weights):
    step = lambda total, own: (total + draw(own, weights), total)  # noqa: E731
    return jax.lax.scan(step, jnp.int32(0), jax.random.split(key, 3))


def branch(key, weights):
    return jax.lax.cond(weights[0] > -1, lambda: draw(key, weights), lambda: jnp.int32(7))


def branches(key, weights):
    one = lambda own, go: jax.lax.cond(go, lambda: draw(own, weights), lambda: jnp.int32(7))  # noqa: E731
    return jax.vmap(one)(jax.random.split(key, 3), jnp.arange(3) != 1)


def loop(key, weights):
    def turn(state):
        key, _, turns = state
        own, key = jax.random.split(key)
        return key, draw(own, weights), turns + 1

    start = key, jnp.int32(0), jnp.int32(0)
    return jax.lax.while_loop(lambda state: (state[1] < 4) & (state[2] < 5), turn, start)[1:]


def loops(key, weights):
    return jax.vmap(loop, (0, None))(jax.random.split(key, 3), weights)


def mapped(key, weights):
    return jax.lax.map(lambda own: draw(own, weights), jax.random.split(key, 4), batch_size=2)


def kept(key, weights):
    return jax.checkpoint(draw)(key, weights)


def derived(key, weights):
    rule = jax.custom_jvp(lambda weights: draw(key, weights) + jnp.int32(1))
    rule.defjvp(lambda primals, tangents: (rule(*primals), jnp.zeros((), jax.dtypes.float0)))
    return rule(weights)


PROGRAMS = [draw, each, grid, scanned, branch, branches, loop, loops, mapped, kept, derived]
LONG = each, scanned, branch, branches, loop, mapped  # parts of which are in the others
SHORT = [pytest.param(run, marks=pytest.mark.slow) if run in LONG else run for run in PROGRAMS]


def equations(jaxpr, found):
    for one in jaxpr.eqns:
        found.append(one.primitive.name)
        for value in one.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    equations(inner, found)
    return found


def operations(run):
    """The compiled program without names and without the lines that it comes from."""
    text = re.sub(r",? ?metadata=\{[^}]*\}", "", jax.jit(run).lower(KEY, WEIGHTS).compile().as_text())
    lines = [line for line in text.splitlines() if ("=" in line or "{" in line) and not re.match(r"\d+ |[FS]", line)]
    names: dict[str, str] = {}
    rename = lambda match: names.setdefault(match.group(0), f"v{len(names)}")  # noqa: E731
    return [re.sub(r"%?[A-Za-z_][\w.\-]*\.\d+|%[\w.\-]+", rename, line) for line in lines]


@pytest.mark.parametrize("run", SHORT, ids=lambda run: run.__name__)
def test_bits_and_programs_are_those_of_the_sampler(run, monkeypatch):
    # a new function each time: jax keeps what it has traced
    assert "dpjax_draw" in equations(jax.make_jaxpr(lambda *given: run(*given))(KEY, WEIGHTS).jaxpr, [])
    outputs, compiled = jax.jit(lambda *given: run(*given))(KEY, WEIGHTS), operations(lambda *given: run(*given))
    monkeypatch.setattr(Categorical, "sample", Categorical.sample.__wrapped__)
    jax.clear_caches()
    plain = jax.make_jaxpr(lambda *given: run(*given))(KEY, WEIGHTS)
    assert "dpjax_draw" not in equations(plain.jaxpr, [])
    expected = jax.jit(lambda *given: run(*given))(KEY, WEIGHTS)
    assert operations(lambda *given: run(*given)) == compiled
    jax.tree.map(np.testing.assert_array_equal, outputs, expected)
    jax.clear_caches()


def test_a_draw_now_is_a_draw_in_a_program():
    assert int(draw(KEY, jnp.asarray(WEIGHTS))) == int(jax.jit(draw)(KEY, WEIGHTS))


def test_types_are_those_of_the_caller():
    """float64 leaves outside of 64-bit mode stay float64, as in a learner that built them inside."""

    def run(key):
        with jax.enable_x64(True):
            law = Categorical(jnp.zeros(3, jnp.float64))
        return law.sample(key)

    one = next(one for one in jax.make_jaxpr(run)(KEY).jaxpr.eqns if one.primitive is draw_p)
    assert one.invars[0].aval.dtype == np.float64 and one.params["jaxpr"].in_avals[0].dtype == np.float64
    assert int(jax.jit(run)(KEY)) == int(run(KEY))


def test_lanes_are_told_outermost_first():
    jaxpr = jax.make_jaxpr(grid)(KEY, WEIGHTS).jaxpr
    one = next(one for one in jaxpr.eqns if one.primitive is draw_p)
    assert [size for size, _ in one.params["lanes"]] == [2, 3]
    assert one.params["lanes"][0][1] == (False, True)
    assert sampler_of(one.params["jaxpr"], one.params["lanes"]) is not None


def test_a_derivative_goes_through_the_sampler():
    scaled = lambda scale: Laplace(jnp.float32(0), scale).sample(KEY)  # noqa: E731
    noise = float(scaled(jnp.float32(1)))
    assert float(jax.grad(scaled)(jnp.float32(2))) == pytest.approx(noise)


def test_questions_are_in_the_jaxpr_and_not_in_the_program():
    def run(x):
        return asked(x, "mechanism", 1) + 1

    x = jnp.arange(3.0)
    for ask in (run, jax.vmap(run), jax.grad(lambda x: run(x).sum())):
        assert "dpjax_asked" in equations(jax.make_jaxpr(ask)(x).jaxpr, [])
    question = next(one for one in jax.make_jaxpr(jax.vmap(run))(x).jaxpr.eqns if one.primitive.name == "dpjax_asked")
    assert question.params["lanes"] == 1
    plain = jax.jit(lambda x: x + 1).lower(x).as_text()
    assert re.sub(r"@\w+", "", jax.jit(run).lower(x).as_text()) == re.sub(r"@\w+", "", plain)
    np.testing.assert_array_equal(jax.grad(lambda x: run(x).sum())(x), np.ones(3))


def test_the_check_for_reused_keys_works_from_the_first_draw_on():
    """Of a law that was never drawn before, traced with 64-bit types on; its program is lowered with them off."""

    def noise(key):
        with jax.enable_x64(True):
            return Laplace(jnp.zeros(173), jnp.ones(173)).sample(key).astype(jnp.float32)

    with jax.debug_key_reuse(True):
        jax.jit(noise)(jax.random.key(0))
        with pytest.raises(jax.errors.KeyReuseError):
            jax.jit(lambda key: (noise(key), noise(key)))(jax.random.key(1))
