"""Members of base classes that subclasses override by a property, a class attribute or a dataclass field."""

import copy
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from dpjax.core.members import implements, member


class Base(ABC):
    @member
    @abstractmethod
    def name(self):
        """Required."""

    @member
    def size(self):
        """Optional."""
        return 1

    def extra(self):
        """Optional."""
        return 0


@dataclass(frozen=True)
class Field(Base):
    name: str
    size: int

    def extra(self):
        return self.size


@dataclass(frozen=True)
class Fixed(Base):
    name: ClassVar[str] = "fixed"


class Computed(Fixed):
    @property
    def size(self):
        return 3


def test_a_field_takes_the_place_of_a_member():
    one = Field("a", 2)
    assert (one.name, one.size) == ("a", 2)
    assert one == Field("a", 2) != Field("a", 3) and hash(one) == hash(Field("a", 2))
    assert [copy.deepcopy(one), pickle.loads(pickle.dumps(one)), replace(one, size=2)] == [one] * 3
    with pytest.raises(AttributeError):
        one.size = 4


def test_a_member_is_not_the_default_of_a_field():
    with pytest.raises(TypeError, match="size"):
        Field("a")


def test_defaults_class_attributes_and_properties():
    assert (Fixed().name, Fixed().size, Computed().size) == ("fixed", 1, 3)
    assert Base.size.__doc__ == "Optional."
    with pytest.raises(TypeError, match="abstract"):
        Base()


def test_an_optional_method_is_implemented_or_not():
    assert implements(Field("a", 1), Base.extra) and not implements(Fixed(), Base.extra)
