"""Parsing of numbers in flags: 2**20 and 1e6 are whole numbers; errors name the word and the expected kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from tyro.constructors import PrimitiveConstructorSpec

from dpjax.experiments.config.numbers import from_words


@dataclass(frozen=True)
class Unread:
    """A word that is not a value of its flag's kind; `parse` raises the error, since it knows the flag."""

    word: str
    expected: str


def _kind(read: Callable[[str], Any], metavar: str, expected: str) -> Any:
    """The parser of a flag's word. tyro's errors do not state the expected kind."""

    def value(words: list[str]) -> Any:
        try:
            return read(words[0])
        except ValueError:
            return Unread(words[0], expected)

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=value,
        is_instance=lambda value: isinstance(value, int | float),
        str_from_instance=lambda value: [str(value)],
    )


Whole = Annotated[int, _kind(from_words, "WHOLE", "a whole number such as 100, 2**20 or 1e6")]
Real = Annotated[float, _kind(float, "NUMBER", "a number such as 0.5 or 1e-6")]
