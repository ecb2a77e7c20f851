"""Members of base classes: those that may also be dataclass fields, and optional methods."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
            if self.name in inspect.get_annotations(owner):
                raise AttributeError(self.name)  # a field without a default
            return self

        def __set__(self, instance: Any, value: Any) -> None:
            vars(instance)[self.name] = value


def implements(thing: Any, method: Callable) -> bool:
    """Whether the type of ``thing`` overrides this optional method of its base class."""
    return getattr(type(thing), method.__name__, method) is not method
