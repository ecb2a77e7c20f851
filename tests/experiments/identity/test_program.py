"""The digest of a program: what changes the computation changes it, and nothing else does."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Bitwise, Domain, Points, distributions
from dpjax.core.checks import InputError
from dpjax.core.host_calls import HostFunction, host_call
from dpjax.core.products import exact_dot, exact_einsum
from dpjax.experiments.identity.program import calls_host, digest, sums_in_parts
from dpjax.experiments.run.tiles import program_digest
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.laws import Categorical
from dpjax.learners import KLN, BitReduction, SparseAggregate
from dpjax.lists import Irreducibility

X = jnp.arange(6.0)
TABLE = np.arange(5000, dtype=np.float32)


def of(function, *arguments):
    return digest(jax.make_jaxpr(function)(*(arguments or (X,))))


def helper(x):
    return x * 2


def renamed(x):
    return x * 2


def test_names_and_order_do_not_count():
    def one(x):
        y = jax.jit(helper)(x)
        return jnp.sum(y) + 1

    def other(value):
        return jnp.sum(jax.jit(renamed)(value)) + 1

    assert of(one) == of(other) == of(lambda x: jnp.sum(jax.jit(helper)(x)) + 1)


def test_what_is_computed_counts():
    programs = [
        lambda x: x + 1,
        lambda x: x + 2,
        lambda x: x * 2,
        lambda x: x[:3],
        lambda x: x.astype(jnp.int32),
        lambda x: jnp.where(x > 1, x, 0),
        lambda x: jnp.where(x >= 1, x, 0),
        lambda x: jnp.sort(x),
        lambda x: (x, x),
        lambda x: jax.lax.scan(lambda c, y: (c + y, c), 0.0, x),
        lambda x: jax.lax.scan(lambda c, y: (c - y, c), 0.0, x),
        lambda x: jax.lax.cond(x[0] > 0, lambda: x, lambda: -x),
        lambda x: jax.lax.cond(x[0] > 0, lambda: -x, lambda: x),
        lambda x: jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1, x[0]),
        lambda x: jax.lax.while_loop(lambda c: c < 4, lambda c: c + 1, x[0]),
        lambda x: jax.random.uniform(jax.random.key(0), (3,)),
        lambda x: jax.random.uniform(jax.random.key(1), (3,)),
        lambda x: x @ x,
        lambda x: jnp.cumsum(x),
        lambda x: x.at[2].set(0.0),
        lambda x: x.at[3].set(0.0),
        lambda x: x.at[2].add(0.0),
    ]
    found = [of(program) for program in programs]
    assert len(set(found)) == len(found) and found == [of(program) for program in programs]


def test_one_entry_of_a_constant_counts():
    other = TABLE.copy()
    other[2500] = np.nextafter(other[2500], np.float32(np.inf))
    found = {of(lambda x, table=table: x[0] + jnp.asarray(table)) for table in (TABLE, other)}
    assert len(found) == 2 and of(lambda x: x[0] + jnp.asarray(TABLE)) in found


def test_shapes_and_types_of_arguments_count():
    assert len({of(helper, x) for x in (X, X[:5], X.astype(jnp.int32), X[None], 1.0, jnp.float32(1.0))}) == 6


def test_of_a_draw_counts_its_sampler():
    def draw(weights):
        return lambda x: Categorical(x + weights).sample(jax.random.key(0))

    assert of(draw(0.0)) == of(draw(0.0))
    race = of(lambda x: Categorical(x).sample_race(jax.random.key(0)))
    assert of(lambda x: Categorical(x).sample(jax.random.key(0))) != race


def test_prints_do_not_count():
    def loud(x):
        jax.debug.print("x {}", x)
        return helper(x)

    assert of(loud) == of(helper)


def called_back(function):
    return lambda x: jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def test_a_host_callback_needs_a_token():
    program = jax.make_jaxpr(called_back(np.sin))(X)
    with pytest.raises(InputError, match="cache_token"):
        digest(program)
    assert digest(program, "one") != digest(program, "two")


@dataclass(frozen=True)
class Times(HostFunction):
    number: int
    cache_token: str | None = "times, 1"

    def __call__(self, x):
        return (x * self.number,)


def test_a_host_function_has_a_name_by_its_fields_its_code_and_its_shapes():
    def program(function, shape=(2, 3)):
        return lambda x: host_call(function, (jax.ShapeDtypeStruct(shape, x.dtype),), x.reshape(shape))[0]

    assert of(program(Times(2))) == of(program(Times(2)))
    others = Times(3), Times(2, "times, 2")
    assert len({of(program(one)) for one in (Times(2), *others)} | {of(program(Times(2), (3, 2)))}) == 4
    with pytest.raises(InputError, match="host functions whose code can be read"):
        of(program(Times(2, None)))


def test_a_learner_of_learners_with_host_functions_has_a_name():
    concepts = Bitwise(Points(Domain(8)), 2)
    task = Task(concepts, distributions.uniform(concepts.domain))
    found = set()
    for kind in (irreducible, other_irreducible):
        setting = Setting(BitReduction(concepts, kind), task, 1, 16, 1.0, 1e-6, 0.5, 0.5)
        where = point(b"a program", 16, setting.plan(), 0.5, task)
        found.add(program_digest(Trial(setting.learner, 1, 16), task, where))
    assert len(found) == 2


def irreducible(bit):
    return SparseAggregate(Irreducibility(bit))


def other_irreducible(bit):
    return SparseAggregate(Irreducibility(bit, depth=100_000))


@dataclass(frozen=True)
class WithToken(KLN):
    cache_token = "mine, 1"


def test_a_learner_brings_its_token():
    concepts = Points(Domain(8))
    task = Task(concepts, distributions.uniform(concepts.domain))
    found = {}
    for kind in (KLN, WithToken):
        setting = Setting(kind(concepts), task, 1, 16, 1.0, 0.0, 0.1, 0.1)
        where = point(b"a program", 16, setting.plan(), 0.1, task)
        found[kind] = program_digest(Trial(setting.learner, 1, 16), task, where)
    assert found[KLN] != found[WithToken]


def test_64_bit_types_do_not_change_it():
    """Tiles are traced, and run, with them off."""
    concepts = Points(Domain(2**40))
    task = Task(concepts, distributions.uniform(concepts.domain))
    setting = Setting(KLN(concepts), task, 1, 16, 1.0, 0.0, 0.1, 0.1)

    def found():
        return program_digest(Trial(setting.learner, 1, 16), task, point(b"a program", 16, setting.plan(), 0.1, task))

    before = found()
    with jax.enable_x64(True):
        assert found() == before


def traced_with(function):
    return jax.make_jaxpr(function)(jnp.ones((4, 3)))


def test_what_depends_on_threads_is_known():
    """Products of floats and factorizations, not those that are exact in any order."""
    for function in (
        lambda x: x @ x.T,
        lambda x: jax.lax.map(lambda row: x @ row, x),
        lambda x: jnp.linalg.svd(x)[1],
        lambda x: jax.lax.cond(x[0, 0] > 0, lambda: x @ x.T, lambda: jnp.zeros((4, 4))),
        jax.vmap(lambda row: jnp.einsum("i,i->", row, row)),
    ):
        assert sums_in_parts(traced_with(function))
    for function in (
        lambda x: jnp.sum(x),
        lambda x: exact_dot(x, x.T),
        lambda x: jnp.sort(x),
        lambda x: x.astype(jnp.int32) @ jnp.ones(3, int),
        lambda x: exact_einsum("ij,kj->ik", x, x),
    ):
        assert not sums_in_parts(traced_with(function))


def test_calls_of_the_host_are_known():
    assert calls_host(traced_with(lambda x: jax.lax.map(lambda row: jax.debug.print("{}", row[0]) or row, x)))
    assert calls_host(traced_with(called_back(lambda x: x)))
    assert not calls_host(traced_with(lambda x: x + 1))
