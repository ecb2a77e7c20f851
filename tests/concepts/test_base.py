"""The base classes of concept classes, domains and distributions: required members, and the defaults of the others."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import (
    ConceptClass,
    ExampleDistribution,
    FiniteDomain,
    Hypothesis,
    Outside,
    Points,
    Thresholds,
    Tree,
)
from dpjax.concepts.base import Group, require_class
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.mechanisms import Pieces


@dataclass(frozen=True)
class Evens(ConceptClass):
    """Number i labels the even elements from 2 i on; it has the required members only."""

    domain: dp.Domain
    size: int = 3

    def predict(self, hypothesis, x):
        """Labels."""
        return (x % 2 == 0) & (x >= 2 * hypothesis.concept[:, 1]) & ~hypothesis.zero

    def error(self, distribution, hypothesis, target):
        """Zero."""
        return jnp.zeros(hypothesis.zero.shape, jnp.uint64)


@dataclass(frozen=True)
class Listed(Evens):
    """It lists its concepts, too."""

    def pieces(self, x, y, mask):
        """All of them, without their errors."""
        number = jnp.asarray(wide.encode(range(self.size)))
        return Pieces(number, number, jnp.zeros(self.size, jnp.int32), jnp.ones(self.size, bool))


OWN = Evens(dp.Domain(8))


def test_the_required_members_are_enough_for_a_task():
    assert (OWN.columns, OWN.labels, OWN.line, OWN.height, OWN.chain) == (1, 2, OWN.domain, None, None)
    assert OWN.any_distribution and OWN.separated(0.1) == 0 and not OWN.hard(0.1) and not OWN.differences
    assert OWN.growth(1) == 2 and OWN.growth(5) == 3 and OWN.covers(0.1, False) == [(Group(2, False, 0.0),)]
    assert OWN.agreement(0.1, 5) == float("inf")
    large = Evens(dp.Domain(8), 2**100 - 1)  # a bound of the growth is one beyond 2**62, too
    assert (large.growth(99), large.growth(101)) == (2**99, large.size)
    assert dp.Task(OWN, dp.uniform(OWN.domain)).targets.shape == (3, 2)
    one = Hypothesis.of(jnp.asarray(wide.encode([2])))
    assert OWN.describe(one) == ["the concept of words [0, 2]"] and OWN.trimmed(one) is one


def test_the_matrix_is_that_of_the_pieces():
    assert Listed(dp.Domain(4), 2).matrix().astype(int).tolist() == [[1, 0, 1, 0], [0, 0, 1, 0]]
    for concepts in (Points(dp.Domain(5)), Thresholds(dp.Domain(5))):
        assert concepts.matrix().shape == (5, 5)
    np.testing.assert_array_equal(Tree.of_parents([0, 0, 1]).matrix(), [[False, False], [True, False], [True, True]])


@pytest.mark.parametrize("name", ["pieces", "of_labels", "xor", "dichotomies", "halfplanes", "relabel"])
def test_optional_methods_without_a_default_say_what_is_missing(name):
    method = getattr(ConceptClass, name)
    assert not implements(OWN, method)
    with pytest.raises(InputError, match=f"concepts: expected one with {name}, got Evens"):
        getattr(OWN, name)(*[None] * (method.__code__.co_argcount - 1))
    with pytest.raises(InputError, match=f"expected one with {name}, got Evens; take a class such as"):
        require_class(OWN, method)


@pytest.mark.parametrize(
    ("base", "absent"),
    [
        (ConceptClass, "domain, error, predict, size"),
        (FiniteDomain, "encode, limbs, size"),
        (ExampleDistribution, "draw"),
        (Outside, "describe_in, error_in, predict_in"),
    ],
)
def test_an_instance_without_the_required_members_is_refused(base, absent):
    empty = type("Empty", (base,), {})
    advice = f"write it: the docstring of {base.__module__}.{base.__name__} lists all members"
    with pytest.raises(InputError, match=f"Empty: expected an implementation of {absent}, got none; {advice}"):
        empty()


def test_classes_that_do_not_inherit_are_refused():
    alone = type("Alone", (), {name: vars(Evens)[name] for name in ("predict", "error")} | {"domain": dp.Domain(8)})
    for refused in (
        lambda: dp.KLN(alone()),
        lambda: dp.Task(alone(), dp.uniform(dp.Domain(8))),
        lambda: dp.KLN(Points),
    ):
        with pytest.raises(InputError, match=r"inherits from dpjax\.ConceptClass|call it: Points"):
            refused()


def test_distributions_and_domains_that_do_not_inherit_are_refused():
    with pytest.raises(InputError, match=r"inherits from dpjax\.ExampleDistribution"):
        dp.Task(OWN, type("Alone", (), {"draw": lambda key, count: None})())
    with pytest.raises(InputError, match="domain: expected FiniteDomain, got Alone"):
        dp.database(type("Alone", (), {"limbs": 1})(), [0], [1])
