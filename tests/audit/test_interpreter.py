"""Exact laws of programs, from their jaxprs: wherever a draw stands, it is listed, or refused by its equation."""

import itertools
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import register_dataclass
from scipy.special import logsumexp

from dpjax import audit, core
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee
from dpjax.audit.enumeration.outcomes import Forking, _in_chunks, exact_law, exact_table
from dpjax.audit.enumeration.pieces import on_host
from dpjax.audit.enumeration.population import Value
from dpjax.audit.target.databases import samples
from dpjax.concepts import Domain
from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.draws import drawn
from dpjax.core.plans import Claim, widened
from dpjax.core.types import Neighboring, Privacy
from dpjax.laws import Categorical, DiscreteLaplace, Laplace, RoundedLaplace, Support
from dpjax.laws.base import Law
from dpjax.mechanisms.cover.literals import Literals
from dpjax.mechanisms.cover.plan import CoverPlan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.exponential import LESS

PLAN = widened(Privacy(np.float32(1.0), np.float32(1e-6)))
DATA = np.array([[0, 1, 2], [0, 0, 0], [3, 0, 1]], np.int32)


def law_of(data, plan):
    return m.exponential(data, plan.epsilon)


@jax.jit
def log_probs(data, plan):
    return jax.vmap(lambda one: law_of(one, plan).log_probs())(data)


def probabilities(data=DATA):
    """Of each outcome of one draw, ``[databases, 3]``."""
    with jax.enable_x64(True):
        return np.exp(np.asarray(log_probs(data.astype(np.int32), PLAN)))


def table(run, data=DATA, plan=PLAN):
    """{outcome as numbers: probabilities ``[databases]``}."""
    log_p, raw = exact_law(lambda key, data, plan: jnp.asarray(run(key, data, plan), jnp.int32), data, plan)
    return {tuple(row.view(np.int32).tolist()): np.exp(log_p[:, i]) for i, row in enumerate(raw)}


def check(run, expected):
    """expected: {outcome: probabilities}; others have none."""
    found = table(run)
    assert {key for key, p in found.items() if p.max() > 0} == {key for key, p in expected.items() if p.max() > 0}
    for key, p in expected.items():
        np.testing.assert_allclose(found.get(key, np.zeros(len(p))), p, atol=1e-13)


def independent(count):
    p = probabilities()
    outcomes = itertools.product(range(3), repeat=count)
    return {path: np.prod([p[:, i] for i in path], axis=0) for path in outcomes}


def draw(key, data, plan):
    return law_of(data, plan).sample(key)


def test_plain_and_jitted():
    check(lambda *given: draw(*given)[None], independent(1))
    check(lambda *given: jax.jit(draw)(*given)[None], independent(1))


def test_vmap_and_vmap_of_vmap():
    each = lambda key, data, plan: jax.vmap(draw, (0, None, None))(jax.random.split(key, 2), data, plan)  # noqa: E731
    check(each, independent(2))
    grid = lambda key, data, plan: jax.vmap(each, (0, None, None))(jax.random.split(key, 2), data, plan)  # noqa: E731
    check(lambda *given: grid(*given).reshape(-1), independent(4))


def test_vmap_over_the_law_too():
    def run(key, data, plan):
        each = lambda own, shift: law_of(data * shift, plan).sample(own)  # noqa: E731
        return jax.vmap(each)(jax.random.split(key, 2), jnp.arange(2, dtype=jnp.int32))

    p, flat = probabilities(), probabilities(0 * DATA)
    check(run, {(i, j): flat[:, i] * p[:, j] for i in range(3) for j in range(3)})


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_forwards_and_backwards(reverse):
    def run(key, data, plan):
        step = lambda last, own: ((new := draw(own, data.at[0].add(last), plan)), new)  # noqa: E731
        return jax.lax.scan(step, jnp.int32(0), jax.random.split(key, 3), reverse=reverse)[1]

    given = {last: probabilities(DATA + np.array([last, 0, 0])) for last in range(3)}
    expected = {}
    for path in itertools.product(range(3), repeat=3):
        steps = zip((0, *path), path, strict=False)
        p = np.prod([given[last][:, new] for last, new in steps], axis=0)
        expected[path[::-1] if reverse else path] = p
    check(run, expected)


def test_lax_map_and_checkpoint():
    mapped = lambda key, data, plan: jax.lax.map(  # noqa: E731
        lambda own: draw(own, data, plan), jax.random.split(key, 3), batch_size=2
    )
    check(mapped, independent(3))
    check(lambda *given: jax.checkpoint(draw)(*given)[None], independent(1))


def test_custom_derivatives_are_entered():
    def run(key, data, plan):
        rule = jax.custom_jvp(lambda data: draw(key, data, plan))
        rule.defjvp(lambda primals, tangents: (rule(*primals), jnp.zeros((), jax.dtypes.float0)))
        other = jax.custom_vjp(lambda x: rule(x))
        other.defvjp(lambda x: (rule(x), None), lambda _, g: (g,))
        return other(data)[None]

    check(run, independent(1))


def test_cond_on_the_data_and_on_what_was_drawn():
    def run(key, data, plan):
        first, second = jax.random.split(key)
        one = jax.lax.cond(data[0] > 0, lambda: draw(first, data, plan), lambda: jnp.int32(2))
        return jnp.stack([one, jax.lax.cond(one == 2, lambda: draw(second, data, plan), lambda: jnp.int32(-5))])

    p = probabilities()
    first = np.where(DATA[:, :1] > 0, p, [[0, 0, 1]])
    expected = {(i, -5): first[:, i] for i in range(2)} | {(2, i): first[:, 2] * p[:, i] for i in range(3)}
    check(run, expected)


def test_cond_under_vmap():
    def run(key, data, plan):
        one = lambda own, go: jax.lax.cond(go, lambda: draw(own, data, plan), lambda: jnp.int32(7))  # noqa: E731
        return jax.vmap(one)(jax.random.split(key, 2), data[:2] > 0)

    p = probabilities()
    expected = {}
    for i, j in itertools.product([0, 1, 2, 7], repeat=2):
        of_side = lambda side, at: np.where(DATA[:, side] > 0, p[:, at] if at < 3 else 0.0, float(at == 7))  # noqa: E731
        expected[i, j] = of_side(0, i) * of_side(1, j)
    check(run, expected)


def geometric(key, data, plan):
    """How many draws until a 2."""

    def turn(state):
        key, _, turns = state
        own, key = jax.random.split(key)
        return key, draw(own, data, plan), turns + 1

    start = key, jnp.int32(0), jnp.int32(0)
    return jax.lax.while_loop(lambda state: (state[1] < 2) & (state[2] < 6), turn, start)[2]


def geometric_law():
    p = probabilities()[:, 2]
    return {turns: (1 - p) ** (turns - 1) * (p if turns < 6 else 1) for turns in range(1, 7)}


def test_while_and_while_under_vmap():
    one = geometric_law()
    check(lambda *given: geometric(*given)[None], {(i,): p for i, p in one.items()})
    run = lambda key, data, plan: jax.vmap(geometric, (0, None, None))(jax.random.split(key, 2), data, plan)  # noqa: E731
    check(run, {(i, j): one[i] * one[j] for i in one for j in one})


def until_one(key, data, plan, most=2):
    """How often, at most twice, a 0 is drawn: by the condition of a loop, from a law that depends on the data."""
    going = lambda state: (state[0] < most) & (draw(jax.random.fold_in(key, state[0]), data, plan) == 0)  # noqa: E731
    return jax.lax.while_loop(going, lambda state: (state[0] + 1, data[2]), (jnp.int32(0), data[2]))


def test_draws_in_the_condition_of_a_loop():
    p, last = probabilities()[:, 0], DATA[:, 2]
    one = {(0,): 1 - p, (1,): p * (1 - p), (2,): p * p}
    check(until_one, {(*i, x): np.where(last == x, q, 0.0) for i, q in one.items() for x in set(last.tolist())})
    each = lambda key, data, plan: jax.vmap(lambda own: until_one(own, data, plan)[0])(jax.random.split(key, 2))  # noqa: E731
    check(each, {(*i, *j): one[i] * one[j] for i in one for j in one})


def test_rows_stay_apart_where_a_branch_in_the_condition_orders_them_anew():
    def run(key, data, plan):
        sure = lambda own: Categorical(jnp.zeros(1) * plan.epsilon).sample(own) == 0  # noqa: E731
        go = lambda i: jax.lax.cond(data[0] > 0, sure, lambda _: True, jax.random.fold_in(key, i))  # noqa: E731
        return jax.lax.while_loop(lambda s: go(s[0]) & (s[0] < 1), lambda s: (s[0] + 1, data[0]), (0, data[0]))[1:]

    check(run, {(0,): np.array([1.0, 1, 0]), (3,): np.array([0.0, 0, 1])})


def test_a_loop_inside_of_a_loop_under_vmap():
    def one(own, turns, data, plan):
        def inner(state):
            return state[0] + 1, jax.random.split(state[1])[0], draw(jax.random.split(state[1])[1], data, plan)

        def outer(state):
            i, x = jnp.int32(0), jnp.int32(0)
            i, own, x = jax.lax.while_loop(lambda s: s[0] < 1, inner, (i, state[1], x))
            return state[0] + 1, own, x

        return jax.lax.while_loop(lambda s: s[0] < turns, outer, (jnp.int32(0), own, jnp.int32(7)))[2]

    def run(key, data, plan):
        return jax.vmap(one, (0, 0, None, None))(jax.random.split(key, 2), jnp.arange(2, dtype=jnp.int32), data, plan)

    check(run, {(7, i): probabilities()[:, i] for i in range(3)})


def test_a_loop_that_need_not_end_is_refused_with_its_line():
    def run(key, data, plan):
        turn = lambda state: (jax.random.split(state[0])[0], draw(jax.random.split(state[0])[1], data, plan))  # noqa: E731
        return jax.lax.while_loop(lambda state: state[1] < 2, turn, (key, jnp.int32(0)))[1]

    with pytest.raises(audit.NotListable, match=r"while at .*test_interpreter.py.*within 1000 turns"):
        exact_table(run, DATA, PLAN)


def test_lists_that_grow_are_merged():
    """A random walk of 60 turns has 3^60 paths and 121 places."""

    def walk(key, data, plan):
        step = lambda at, own: (at + draw(own, data, plan) - 1, None)  # noqa: E731
        return jax.lax.scan(step, jnp.int32(0), jax.random.split(key, 60))[0][None]

    found = table(walk)
    p = probabilities()[0]
    expected = np.array([1.0])
    for _ in range(60):
        expected = np.convolve(expected, p)
    np.testing.assert_allclose([found[i - 60,][0] for i in range(121)], expected, atol=1e-15)


def test_more_paths_than_fit_are_taken_in_parts_and_then_refused():
    code = lambda key, data, plan: jnp.stack([draw(own, data, plan) for own in jax.random.split(key, 4)])  # noqa: E731
    small = Forking(rows=100)
    plan = Privacy(np.float32(1.0), np.float32(1e-6))
    traced = jax.make_jaxpr(code)(jax.random.key(0), DATA[0], plan)
    leaves = [Value(np.asarray(leaf), False) for leaf in jax.tree.leaves(plan)]
    key = Value(on_host(jax.random.key(0)), False)
    at, log_p, _ = _in_chunks(small, traced, key, [DATA], leaves, 0)
    assert np.bincount(at).tolist() == [81, 81, 81] and abs(logsumexp(log_p[at == 2])) < 1e-12
    with pytest.raises(audit.NotListable, match="at most 50 paths"):
        _in_chunks(Forking(rows=50), traced, key, [DATA], leaves, 0)


def test_a_second_budget_compiles_nothing(monkeypatch):
    run = lambda key, data, plan: draw(key, data, plan)  # noqa: E731
    exact_table(run, DATA, PLAN)
    monkeypatch.setattr(jax, "make_jaxpr", None)
    monkeypatch.setattr(jax, "jit", None)
    other = exact_table(run, DATA, widened(Privacy(np.float32(0.5), np.float32(1e-6))))
    assert other[0, 0] > exact_table(run, DATA, PLAN)[0, 0]


def test_float32_as_it_runs_is_another_row():
    run = lambda key, data, plan: draw(key, data, plan)  # noqa: E731
    narrow = exact_table(run, 37 * DATA, Privacy(np.float32(0.3), np.float32(1e-6)))
    wide = exact_table(run, 37 * DATA, widened(Privacy(np.float32(0.3), np.float32(1e-6))))
    assert 0 < np.abs(narrow - wide).max() < 2 * LESS * np.abs(wide).max()  # and rounding


# ---- what is refused


def same_key_twice(key, data, plan):
    return draw(key, data, plan) + draw(key, data, plan)


def one_key_for_all_lanes(key, data, plan):
    return jax.vmap(lambda shift: draw(key, data + shift, plan))(jnp.arange(3, dtype=jnp.int32))


def scan_that_does_not_split(key, data, plan):
    return jax.lax.scan(lambda at, _: (at + draw(key, data, plan), None), jnp.int32(0), None, length=3)[0]


def drawn_and_split(key, data, plan):
    return draw(key, data, plan) + draw(jax.random.split(key)[0], data, plan)


def split_and_drawn(key, data, plan):
    first = draw(jax.random.fold_in(key, 1), data, plan)
    return first + draw(key, data, plan)


def again_behind_a_cond(key, data, plan):
    one = jax.lax.cond(data[0] > 1, lambda: draw(key, data, plan), lambda: jnp.int32(0))
    return one + draw(key, data, plan)


def loop_under_vmap_that_does_not_split(key, data, plan):
    def turns(own):
        turn = lambda state: (state[0] + 1, draw(own, data, plan))  # noqa: E731
        return jax.lax.while_loop(lambda state: (state[0] < 3) & (state[1] < 2), turn, (jnp.int32(0), jnp.int32(0)))[1]

    return jax.vmap(turns)(jax.random.split(key, 2))


REUSED = [
    (same_key_twice, "earlier draw"),
    (one_key_for_all_lanes, "lanes"),
    (scan_that_does_not_split, "earlier draw"),
    (drawn_and_split, "split or folded"),
    (split_and_drawn, "split or folded"),
    (again_behind_a_cond, "earlier draw"),
    (loop_under_vmap_that_does_not_split, "earlier draw"),
]


@pytest.mark.parametrize(("run", "what"), REUSED, ids=lambda part: getattr(part, "__name__", ""))
def test_reused_keys_are_refused_with_the_line(run, what):
    with pytest.raises(audit.NotListable, match=rf"at .*test_interpreter.py.*{what}"):
        exact_table(run, DATA, PLAN)


def test_keys_that_are_all_used_once_are_not_refused():
    def run(key, data, plan):
        many = core.keys.per_index(core.keys.stream(key, "many"), 3)
        low, high = core.keys.streams(key, "low", "high")
        first = jnp.stack([draw(own, data, plan) for own in many])
        ways = lambda own: (draw(own, data, plan), draw(jax.random.split(own)[0], data, plan))  # noqa: E731
        either = jax.lax.cond(data[0] > 1, lambda: ways(low)[1] * 0, lambda: draw(high, data, plan))
        return jnp.append(first, either)

    with pytest.raises(audit.NotListable, match="split or folded"):
        exact_table(run, DATA, PLAN)  # the branch itself does both

    def apart(key, data, plan):
        own, other = core.keys.streams(key, "low", "high")
        split = lambda: draw(jax.random.split(own)[0], data, plan)  # noqa: E731
        return jax.lax.cond(data[0] > 1, split, lambda: draw(own, data, plan)) + 3 * draw(other, data, plan)

    assert len(table(lambda *given: apart(*given)[None])) == 9  # one branch splits a key, the other draws with it


def test_randomness_outside_of_draws_is_refused_with_the_line():
    def run(key, data, plan):
        own, other = jax.random.split(key)
        return draw(own, data, plan) + jax.random.bits(other, (), "uint8").astype(jnp.int32)

    with pytest.raises(audit.NotListable, match=r"random_bits at .*test_interpreter.py.*declare the law"):
        exact_table(run, DATA, PLAN)
    with pytest.raises(audit.NotListable, match=r"random_unwrap at .*random.py"):
        exact_table(lambda key, data, plan: random.laplace(key), DATA, PLAN)


def test_keys_of_its_own_and_callbacks_are_refused():
    with pytest.raises(audit.NotListable, match="another key"):
        exact_table(lambda key, data, plan: draw(jax.random.key(data[0]), data, plan), DATA, PLAN)

    def calls(key, data, plan):
        shape = jax.ShapeDtypeStruct((3,), np.int32)
        return draw(key, jax.pure_callback(np.asarray, shape, data), plan)

    with pytest.raises(audit.NotListable, match=r"pure_callback at .*test_interpreter.py"):
        exact_table(calls, DATA, PLAN)


OUTER = jax.random.key(3)


@pytest.mark.parametrize(
    "run",
    [
        lambda key, data, plan: draw(OUTER, data, plan),
        lambda key, data, plan: draw(jax.random.split(OUTER)[0], data, plan),
        lambda key, data, plan: draw(jax.jit(lambda: OUTER)(), data, plan),
        lambda key, data, plan: jax.lax.cond(data[0] > 0, lambda: draw(OUTER, data, plan), lambda: jnp.int32(0)),
    ],
)
def test_keys_made_outside_are_refused(run):
    with pytest.raises(audit.NotListable, match="given, got another key"):
        exact_table(run, DATA, PLAN)


@pytest.mark.parametrize("which", [lambda key: key, lambda key: jax.random.split(key)])
def test_outputs_with_a_key_are_refused(which):
    with pytest.raises(InputError, match="outputs that are numbers, got a random key"):
        exact_table(lambda key, data, plan: (draw(jax.random.fold_in(key, 2), data, plan), which(key)), DATA, PLAN)


def test_programs_that_return_nothing_or_fail_are_refused():
    with pytest.raises(InputError, match="a run that returns arrays, got nothing"):
        exact_table(lambda key, data, plan: None, DATA, PLAN)
    with pytest.raises(InputError, match=r"jittable function .*No batching rule"):
        exact_table(lambda key, data, plan: jax.custom_batching.custom_vmap(draw)(key, data, plan), DATA, PLAN)


@register_dataclass
@dataclass(frozen=True)
class Miscast(Law):
    """Returns its number, and lists something else."""

    x: jax.Array
    wrong: str = field(metadata={"static": True})

    @drawn
    def sample(self, key):
        return {"a": self.x}

    def log_prob(self, outcome): ...

    def support(self, limit):
        if self.wrong == "pair":
            return {"a": jnp.ones(1, jnp.int32)}, jnp.zeros(1)
        one, half = jnp.ones(1, jnp.int32), jnp.full(1, 0.5)
        outcomes = {
            "float": {"a": half},
            "shape": {"a": one[None]},
            "tree": one,
            "name": {"b": one},
            "more": {"a": one, "b": one},
        }
        return Support(outcomes[self.wrong], jnp.zeros(1))


class Plain:
    @drawn
    def sample(self, key):
        return jnp.int32(0)


@pytest.mark.parametrize("wrong", ["float", "shape", "tree", "name", "more"])
def test_a_support_is_of_what_the_sampler_returns(wrong):
    with pytest.raises(InputError, match=r"support of Miscast .*what its sampler returns, \{'a': .*int32"):
        exact_table(lambda key, data, plan: Miscast(data[0], wrong).sample(key), DATA, PLAN)


@register_dataclass
@dataclass(frozen=True)
class Alone:
    """Has the methods of a law and does not inherit."""

    x: jax.Array

    @drawn
    def sample(self, key):
        return self.x

    def support(self, limit): ...


def test_a_law_that_does_not_inherit_is_refused():
    with pytest.raises(InputError, match=r"subclasses of dpjax.laws.Law, got Alone"):
        exact_table(lambda key, data, plan: Alone(data[0]).sample(key), DATA, PLAN)


def test_a_support_is_a_support():
    with pytest.raises(InputError, match=r"Miscast that is a dpjax.laws.Support, or None, got tuple"):
        exact_table(lambda key, data, plan: Miscast(data[0], "pair").sample(key), DATA, PLAN)


def test_a_law_that_is_no_pytree_is_refused():
    with pytest.raises(InputError, match="a pytree, got Plain"):
        Plain().sample(jax.random.key(0))


def test_laws_without_a_list_are_refused_with_the_line():
    for law in (Laplace(jnp.float32(0), jnp.float32(1)), DiscreteLaplace.of(jnp.int32(0), 1.0)):
        with pytest.raises(audit.NotListable, match=rf"dpjax_draw at .*test_interpreter.py.*{type(law).__name__}"):
            exact_table(lambda key, data, plan, law=law: law.sample(key), DATA, PLAN)


def test_a_draw_where_nobody_looks_is_refused():
    def run(key, data, plan):
        return jax.lax.custom_linear_solve(
            lambda x: x, jnp.float64(1), lambda _, b: b + draw(key, data, plan).astype(b.dtype)
        )

    with pytest.raises(audit.NotListable, match="custom_linear_solve"):
        exact_table(run, DATA, PLAN)


def test_random_bits_outside_of_draws_are_found():
    assert audit.random_bits_outside(lambda key: draw(key, DATA[0], PLAN), jax.random.key(0)) == []
    bits = lambda key: jax.lax.scan(lambda a, own: (a + jax.random.uniform(own), None), 0.0, jax.random.split(key, 2))  # noqa: E731
    (found,) = audit.random_bits_outside(bits, jax.random.key(0))
    assert found.startswith("random_bits at ") and "test_interpreter.py" in found


# ---- a law from outside, and whole programs


@register_dataclass
@dataclass(frozen=True)
class Coin(Law):
    """Heads with probability exp(-x) / 2: a subclass of Law, and no other file knows of it."""

    x: jax.Array

    @drawn
    def sample(self, key):
        return random.uniform(key, (), jnp.float64) < jnp.exp(-self.x) / 2

    def log_prob(self, outcome):
        heads = -self.x.astype(jnp.float64) - jnp.log(2.0)
        return jnp.where(outcome, heads, jnp.log1p(-jnp.exp(heads)))

    def support(self, limit):
        outcomes = jnp.array([False, True])
        return Support(outcomes, jax.vmap(self.log_prob)(outcomes))


def test_a_law_from_outside():
    def run(key, data, plan):
        one, other = jax.random.split(key)
        x = data.astype(plan.epsilon.dtype) * plan.epsilon
        return jnp.stack([Coin(x[0]).sample(one), Coin(x[1]).sample(other)])

    found = table(run)
    heads = np.exp(-DATA[:, :2].astype(float)) / 2
    np.testing.assert_allclose(found[1, 1], heads.prod(axis=1), atol=1e-15)
    np.testing.assert_allclose(found[0, 1], (1 - heads[:, 0]) * heads[:, 1], atol=1e-15)


FAMILY = Literals(1, True)


def cover(coefficient, rounds=6):
    def run(key, data, plan):
        none = jnp.zeros_like(plan.epsilon)
        of_cover = CoverPlan(coefficient(plan), none, none, Claim(none, none), rounds, 2, False, 1)
        return set_cover(key, FAMILY, data.x, data.y[:, 0], ~data.y[:, 0], of_cover)[0]

    return run


def audited(run, epsilon, rows=2):
    claim = Guarantee(epsilon, 0.0, Neighboring.REPLACE_ONE, "rounds")
    worlds = lambda: [samples(Domain(2), 1, rows, Neighboring.REPLACE_ONE)]  # noqa: E731
    target = audit.Target("cover", lambda e, d: claim, run, worlds, list, audit.table_of_run(run))
    return audit.exact(target, Privacy(1.0))


def test_a_set_cover_of_six_rounds_through_its_scan():
    report = audited(cover(lambda plan: plan.epsilon / 12), 1.0)
    assert not report.violated and report.details["outcomes"] == 4**6
    assert 0.2 < report.epsilon_found <= 1.0


def test_a_bug_in_the_second_turn_is_found():
    """Rounds after the first one spend three times as much."""

    def run(key, data, plan):
        family, target = FAMILY, data.y[:, 0]

        def turn(state, own):
            alive, number = state
            coefficient = jnp.where(number == 1, 3.0, 1.0) * plan.epsilon / 4
            budget = jnp.sum(alive & target).astype(jnp.float64)
            h = family.select(own, data.x, alive & target, alive & ~target, Score.of(budget, 1, coefficient))
            return (alive & ~family.hits(h, data.x), number + 1), h

        return jax.lax.scan(turn, (data.mask, jnp.int32(0)), jax.random.split(key, 2))[1]

    assert audited(run, 1.0).violated
    assert not audited(run, 2.0).violated


def test_noisy_counts_in_a_loop_go_on_to_be_used():
    """Choose, count, move: each round reads the last round's noisy count, as in multiplicative weights."""

    def run(key, data, plan):
        def turn(estimate, own):
            of_choice, of_count = jax.random.split(own)
            at = m.exponential(jnp.abs(data - estimate), plan.epsilon / 6).sample(of_choice)
            noisy = m.laplace_mechanism(data[at], plan.epsilon / 3, sensitivity=1)
            count = RoundedLaplace.of(noisy, 3, 3).sample(of_count)
            return estimate.at[at].set(count), (at, count)

        return jax.lax.scan(turn, jnp.zeros(2, jnp.int32), jax.random.split(key, 2))[1]

    universe = audit.vectors(range(3), 2, [(1, 0), (0, 1), (1, 1), (1, -1)], Neighboring.REPLACE_ONE)
    for claimed, violated in ((4 / 3 * (1 / 3 + 1 / 3) + 0.2, False), (0.5, True)):
        claim = Guarantee(claimed, 0.0, Neighboring.REPLACE_ONE, "rounds")
        target = audit.Target("rounds", lambda e, d, c=claim: c, run, lambda: [universe], list, audit.table_of_run(run))
        assert audit.exact(target, Privacy(1.0)).violated is violated


def test_impossible_outcomes_are_no_paths():
    run = lambda key, data, plan: Categorical(jnp.where(data > 0, 0.0, -jnp.inf)).sample(key)[None]  # noqa: E731
    found = table(run)
    assert found[-1,].tolist() == [0, 1, 0] and found[1,].tolist() == [0.5, 0, 0]
