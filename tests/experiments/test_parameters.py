"""Parameters of operations: described by what they hold, also those of classes that no one has heard of."""

import hashlib
import subprocess
import sys
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Primitive

from dpjax.core.checks import InputError
from dpjax.experiments.identity.program import digest

OPERATION = Primitive("of_a_test")
OPERATION.def_abstract_eval(lambda x, **_: x)
X = jnp.arange(6.0)


def of(function, *arguments):
    return digest(jax.make_jaxpr(function)(*(arguments or (X,))))


def with_parameter(value):
    return of(lambda x: OPERATION.bind(x, value=value))


class Group:
    """By value, with its hash kept and two things that it computes once, as classes of JAX do."""

    def __init__(self, *parts):
        self.parts, self._hash = parts, hash(parts)

    def __eq__(self, other):
        return isinstance(other, Group) and self.parts == other.parts

    def __hash__(self):
        return self._hash

    @cached_property
    def first(self):
        return self.parts[0]


class Slots:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right

    def __eq__(self, other):
        return isinstance(other, Slots) and (self.left, self.right) == (other.left, other.right)

    def __hash__(self):
        return hash((self.left, self.right))


class Mixed(Slots):
    def __init__(self, left, right, more):
        super().__init__(left, right)
        self.more = more


def test_an_object_counts_by_what_it_holds():
    values = [
        (),
        ((),),
        Group(),
        Group(1),
        Group(1, 2),
        Group(2, 1),
        Group("1"),
        Group(Group(1), 2),
        Group(Group(1, 2)),
        Slots(1, 2),
        Slots(2, 1),
        Slots(Group(1), None),
        Mixed(1, 2, 3),
        Mixed(1, 2, 4),
        Group(np.arange(3).tobytes()),
    ]
    found = [with_parameter(value) for value in values]
    assert len(set(found)) == len(found) == len(values)


def test_equal_objects_are_one():
    assert with_parameter(Group("a", 1000, Slots(1.5, None))) == with_parameter(Group("a", 1000, Slots(1.5, None)))


def test_what_an_object_remembers_of_itself_does_not_count():
    asked = Group(7, 8)
    before = with_parameter(asked)
    assert asked.first == 7 and "first" in vars(asked) and with_parameter(asked) == before


class Number(Slots):
    def __hash__(self):
        return hash(self.left)


def test_a_part_that_happens_to_be_the_hash_counts():
    assert hash(Number(3, None)) == 3
    assert with_parameter(Number(3, None)) != with_parameter(Number(4, None))


class ByAddress:
    def __init__(self):
        self.part = 1


class Called(Slots):
    def __call__(self):
        return self.left


class Copied(Slots):
    def __reduce__(self):
        return Copied, (self.left, 0)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        ByAddress(),
        lambda: 0,
        len,
        Called(1, 2),
        Copied(1, 2),
        Group(ByAddress()),
        Group(Slots(lambda: 0, 1)),
        Group(jax.devices()[0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_only_known_by_address_or_does_something_is_refused(value):
    with pytest.raises(InputError, match="canonical description"):
        with_parameter(value)


def test_of_a_tree_counts_how_it_groups_leaves():
    def tree(value):
        return with_parameter(jax.tree.structure(value))

    assert tree({"a": 1, "b": (2, 3)}) == tree({"c": 1, "d": [2, 3]}) == tree((1, (2, 3)))
    trees = [1, None, (1,), (1, None), (1, 2), ((1,), 2), (1, (2,)), ((1, 2),), [(1, 2), 3]]
    assert len({tree(value) for value in trees}) == len(trees)


def loops():
    """Loops with the same body whose operands are carried, scanned or constant, and their derivatives."""

    def step(carry, y):
        return {"a": carry["a"] + y, "b": carry["b"] * 2}, (carry["a"], y)

    def nested(x):
        return jax.lax.scan(step, {"a": jnp.float32(0), "b": jnp.float32(1)}, x)

    def last(x):
        return jnp.sum(nested(x)[0]["a"] ** 2)

    square = X.reshape(2, 3)
    return [
        (nested, X),
        (jax.grad(last), X),
        (jax.vmap(nested), square),
        (lambda x: jax.jvp(nested, (x,), (x,)), X),
        (lambda x: jax.lax.scan(lambda c, y: (c, c + y), x, square), X[:3]),
        (lambda x: jax.lax.scan(lambda c, y: (c + y, c), x, square), X[:3]),
        (lambda x: jax.lax.scan(lambda c, y: (c + x, y), x, square), X[:3]),
        (lambda x: jax.lax.map(lambda y: y + x, square), X[:3]),
        (lambda x: jax.lax.scan(lambda c, y: (c, c + y), x, square, reverse=True), X[:3]),
    ]


def test_loops_and_their_derivatives_are_told_apart():
    found = [of(*loop) for loop in loops()]
    assert len(set(found)) == len(found) and found == [of(*loop) for loop in loops()]


RECORDED = {
    "0.10.2": "357767fbadfe1ddf986a73a6098be5c1f9550fe5ef34bd7a941a5e746699c2ec",
    "0.11.2": "cd38510362f542b5f07074b1a3945620214c6b2b22a4213b050e0b372de172c4",
    "0.12.0.1": "cd38510362f542b5f07074b1a3945620214c6b2b22a4213b050e0b372de172c4",
}
"""A digest of the digests of loops, by the version of JAX: another one would leave all cells of its stores unfound."""


def test_the_recorded_digests_still_hold():
    if jax.__version__ not in RECORDED:
        pytest.skip(f"no digests are recorded for JAX {jax.__version__}")
    found = "".join(of(*loop) for loop in loops())
    assert hashlib.sha256(found.encode()).hexdigest() == RECORDED[jax.__version__]


def test_another_process_finds_the_same():
    """Whatever the addresses there, and the seed of its hashes of strings."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; import test_parameters as t; "
        "print(*[t.of(*loop) for loop in t.loops()], t.with_parameter(t.Group('a', t.Slots('b', None))))"
    )
    here = [of(*loop) for loop in loops()] + [with_parameter(Group("a", Slots("b", None)))]
    paths = [__file__.rsplit("/", 1)[0], *sys.path]
    found = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    assert found.stdout.split() == here
