"""What a value is: equal in every process, different where anything differs, refused where it cannot be told."""

import sys
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Points
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.experiments.identity.describe import code_of, digest
from dpjax.learners import KLN


@dataclass(frozen=True)
class Thing:
    value: Any
    chunk: int = field(default=8, metadata={"performance": True})


class Colour(Enum):
    RED = 1


class Text(StrEnum):
    A = "a"


def described():
    """Values that are all different."""
    long = np.arange(5000)
    other = long.copy()
    other[2500] += 1
    return [
        None,
        True,
        1,
        1.0,
        "1",
        b"1",
        (1,),
        (1, 2),
        ((1,), 2),
        (),
        {"a": 1},
        {"a": 2},
        frozenset({1, 2}),
        Colour.RED,
        Text.A,
        "a",
        Neighboring.REPLACE_ONE,
        long,
        other,
        long.astype(np.int32),
        long.reshape(50, 100),
        np.float32(0.5),
        np.float64(0.5),
        float("inf"),
        Thing(1),
        Thing(1.0),
        Thing((1,)),
        KLN(Points(Domain(8))),
        KLN(Points(Domain(9))),
        described,
        Thing,
    ]


def test_all_are_different():
    found = [digest(value) for value in described()]
    assert len(set(found)) == len(found)


def test_equal_values_are_equal():
    assert digest(np.arange(5, dtype=np.uint32)) == digest(jnp.arange(5, dtype=jnp.uint32))
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) and digest([1, 2]) == digest((1, 2))
    assert digest(0.0) != digest(-0.0), "1 / x tells them apart"


def test_a_field_for_performance_does_not_count():
    assert digest(Thing(1)) == digest(replace(Thing(1), chunk=99)) != digest(Thing(2))


def test_it_is_the_same_in_every_process(fresh):
    program = (
        "import json\nfrom dpjax.experiments.identity.describe import digest\nfrom dpjax.learners import KLN\n"
        "from dpjax.concepts import Points, Domain\n"
        "print(json.dumps(digest([KLN(Points(Domain(8))), frozenset('abcdef'), {'x': 1.5}])))"
    )
    here = digest([KLN(Points(Domain(8))), frozenset("abcdef"), {"x": 1.5}])
    assert fresh(program, PYTHONHASHSEED="1") == fresh(program, PYTHONHASHSEED="2") == here


class Plain:
    pass


@pytest.mark.parametrize(
    "value",
    [Plain(), lambda: 1, Thing(Plain()), (1, Plain()), np.array([Plain()]), 1j],
    ids=["object", "lambda", "field", "entry", "array", "complex"],
)
def test_what_has_no_description_is_refused(value):
    with pytest.raises(InputError, match=r"frozen dataclass|an array of numbers"):
        digest(value)


def test_a_class_that_was_defined_anew_is_another(monkeypatch):
    """As by a cell of a notebook that is run again: what was made before is refused."""
    book = ModuleType("book")
    monkeypatch.setitem(sys.modules, "book", book)
    text = (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass L:\n    x: object = 1\n"
        "def f(): pass\ndef g(): pass\n"
    )
    exec(text, vars(book))
    old, stale = book.L(), book.L(book.f)
    before = digest(old), digest(stale)
    assert code_of(stale) == (book.L, book.f) != code_of(old)
    exec(text, vars(book))
    assert digest(book.L()) == before[0] and digest(book.L(book.f)) == before[1]
    assert code_of(book.L()) != code_of(old)
    for one in (old, stale, book.L(stale.x)):
        with pytest.raises(InputError, match=r"the present (L|f) of book, got one that was defined before it"):
            digest(one)
