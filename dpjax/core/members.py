"""Members of base classes: those that may also be dataclass fields, and optional methods."""

import inspect
from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from dpjax.core.checks import InputError

if TYPE_CHECKING:
    from abc import abstractproperty as required

    member = property
else:

    class member(property):
        """A property of a base class that a subclass overrides by a property, a class attribute or a dataclass field.

        A plain property would be taken for the default value of that field.
        """

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is not None:
                return vars(instance)[self.name] if self.name in vars(instance) else super().__get__(instance, owner)
            if any(self.name in inspect.get_annotations(kind) for kind in owner.__mro__):
                raise AttributeError(self.name)  # a field without a default
            return self

        def __set__(self, instance: Any, value: Any) -> None:
            vars(instance)[self.name] = value

    class required(member):
        """A member that every subclass has: abstract, without a default."""

        __isabstractmethod__ = True


def implements(thing: Any, method: Callable) -> bool:
    """Whether the type of ``thing`` overrides this optional method of its base class."""
    return getattr(type(thing), method.__name__, method) is not method


def missing(name: str, thing: Any, method: Callable, advice: str) -> InputError:
    """The InputError of an optional method without an implementation."""
    return InputError(name, f"one with {method.__name__}", type(thing).__name__, advice)


class Base(ABC):  # noqa: B024
    """Base class whose instances implement all abstract members; others are an InputError that names them."""

    def __new__(cls, *args: Any, **named: Any) -> Self:
        """The instance."""
        if absent := ", ".join(sorted(cls.__abstractmethods__)):
            base = next(kind for kind in cls.__mro__[::-1] if getattr(kind, "__abstractmethods__", ()))
            advice = f"write it: the docstring of {base.__module__}.{base.__name__} lists all members"
            raise InputError(cls.__name__, f"an implementation of {absent}", "none", advice)
        return super().__new__(cls)

    @member
    def cache_token(self) -> str | None:
        """A string that stands for the host functions that methods call, and changes with them; None without any."""
        return None
