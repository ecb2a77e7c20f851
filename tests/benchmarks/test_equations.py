"""Equations of programs: those of inner programs, how often they run, and who wrote them."""

import jax
import jax.numpy as jnp

from benchmarks.equations import equations
from dpjax.core import keys
from dpjax.laws import Categorical


def found(function, *arguments):
    return list(equations(jax.make_jaxpr(function)(*arguments)))


def often(function, primitive, *arguments):
    return sum(one.times for one in found(function, *arguments) if one.primitive == primitive)


def test_steps_of_a_scan_count_each_and_a_loop_once():
    def steps(x):
        return jax.lax.scan(lambda x, _: (jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y), x), None), x, length=5)[0]

    assert often(steps, "sin", 1.0) == 15  # a loop of known length is a scan
    assert often(lambda x: jax.lax.while_loop(lambda y: y < 9, jnp.exp, x), "exp", 1.0) == 1
    assert often(lambda x: jax.lax.cond(x > 0, jnp.exp, jnp.sin, x), "exp", 1.0) == 1


def test_reductions_and_scatters_are_operations_not_calls():
    numbers = jax.lax.ScatterDimensionNumbers((), (0,), (0,))
    place = jnp.zeros((1, 1), jnp.int32)
    scattered = found(lambda x: jax.lax.scatter_add(x, place, jnp.ones(1), numbers), jnp.zeros(3))
    assert {"scatter-add"} <= {one.primitive for one in scattered} <= {"scatter-add", "broadcast_in_dim"}
    reduced = found(lambda x: jax.lax.reduce(x, 1.0, lambda a, b: jnp.sin(a) * b, (0,)), jnp.ones(3))
    assert [one.primitive for one in reduced] == ["reduce"]


def test_the_inside_of_a_draw_counts_once_per_lane():
    def drawn(numbers):
        law = Categorical(jnp.zeros(100))
        return jax.vmap(lambda number: law.sample(keys.of_trial(keys.root(0), number)))(numbers)

    assert often(drawn, "while", jnp.arange(4, dtype=jnp.uint32)) == 0  # its body and condition are inside
    exps = [one for one in found(drawn, jnp.arange(4, dtype=jnp.uint32)) if one.primitive == "exp"]
    assert exps and all(one.times == 4 for one in exps)
    assert {(one.path.rpartition("/")[2], one.function) for one in exps} == {("table.py", "Bounds.weights")}


def test_what_has_no_place_of_its_own_has_its_callers():
    def chosen(x):
        return jnp.where(x > 0, x, 0)

    places = {one.function.rpartition(".")[2] for one in found(chosen, 1.0) if one.primitive == "select_n"}
    assert places == {"chosen"}
