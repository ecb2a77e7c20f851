"""Host-side validation with one error style: what was expected, what was given, what to do."""

import difflib
import functools
import inspect
import numbers
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")
_LONGEST = 2000
_MANY = 24  # names: more are not listed beside a suggestion
RAISED = (Exception, SystemExit)
"""What user code may raise: sys.exit(0) in it must not end a command as if the command had succeeded."""


class InputError(ValueError):
    """Invalid user input. The command line prints the message and exits with status 2.

    name, expected, given, advice: the message says each; or the whole message alone. trace: a traceback that the
    command line prints before it. modules: user modules that must be named by --import.
    """

    trace: str = ""
    modules: tuple[str, ...] = ()

    def __init__(self, name: str, expected: str = "", given: str = "", advice: str = ""):
        given = re.sub(r" (object )?at 0x[0-9a-f]+", "", given)  # memory addresses are noise in a message
        given, advice = (f"{text[:_LONGEST]} ..." if len(text) > _LONGEST else text for text in (given, advice))
        self.name, self.expected, self.given, self.advice = name, expected, given, advice
        super().__init__(f"{name}: expected {expected}, got {given}; {advice}" if expected else name)


class NoTheoremError(InputError):
    """No theorem says how many rows a learner with these numbers needs; the learner itself runs, and n* is measured."""


def rows(n: int, most: int, what: str, error: type[InputError] = InputError) -> int:
    """n, or ``error`` if it is more than the ``most`` rows that ``what`` accepts with its plan."""
    if n > most:
        advice = "relax epsilon, alpha or beta, or take fewer rows"
        raise error("n", f"at most {most} rows, the most that {what} accepts with this plan", str(n), advice)
    return n


def number(name: str, value: Any) -> float:
    """A finite real number, as a float; zero-dimensional arrays are accepted unless they are traced."""
    if type(value) is float and abs(value) <= sys.float_info.max:
        return value
    plain = value
    if getattr(value, "shape", None) == ():
        with suppress(TypeError, AttributeError):  # a tracer or a shape without values: InputError below
            plain = value.item()
    real = isinstance(plain, numbers.Real) and not isinstance(plain, bool)
    if not real or not abs(plain) <= sys.float_info.max:
        raise InputError(name, "a finite number", repr(value), f"give {name} as a plain number")
    return float(plain)


def epsilon(value: Any, name: str = "epsilon") -> float:
    """epsilon in (0, inf); not subnormal, since a quotient of it would be infinite."""
    if (plain := number(name, value)) < sys.float_info.min:
        expected = "a number > 0" if plain <= 0 else f"a number >= {sys.float_info.min:.3g}"
        raise InputError(name, expected, repr(value), "choose a positive budget, for example 1.0")
    return plain


def delta(value: Any, name: str = "delta", positive_for: str | None = None) -> float:
    """delta in [0, 1); in (0, 1) if ``positive_for`` names a mechanism that requires delta > 0."""
    if not 0 <= (plain := number(name, value)) < 1:
        raise InputError(name, "a number in [0, 1)", repr(value), "choose for example 1e-6, or 0 for pure privacy")
    if positive_for is not None and plain == 0:
        advice = "give a positive delta such as 1e-6, or choose a learner of pure differential privacy"
        raise InputError(name, f"a number in (0, 1) for {positive_for}", "0", advice)
    return plain


def probability(name: str, value: Any) -> float:
    """A number in (0, 1): alpha, beta, gamma, a confidence."""
    if not 0 < (plain := number(name, value)) < 1:
        usual = 0.95 if name == "confidence" else 0.1
        raise InputError(name, "a number in (0, 1)", repr(value), f"choose for example {usual}")
    return plain


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """An integer in [low, high]."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        span = f">= {low}" if high is None else f"in [{low}, {short(high)}]"
        raise InputError(
            name, f"a whole number {span}", short(value) if whole else repr(value), f"choose {name} {span}"
        )
    return int(value)


def indices(name: str, values: Iterable[Any], size: int) -> list[int]:
    """Python integers in [0, size), from Python's or NumPy's; InputError for the first value outside."""
    plain = (int(v) if isinstance(v, numbers.Integral) and not isinstance(v, bool) else v for v in values)
    return [integer(name, value, 0, size - 1) for value in plain]


def is_element(value: Any, size: int) -> bool:
    """Whether the value is a whole number in [0, size), of any type that can be one; junk of any type is not."""
    try:
        return bool(0 <= value < size) and int(value) == value
    except (TypeError, ValueError, OverflowError):
        return False


def short(value: int) -> str:
    """A large power of two as such, and of other numbers of more than 256 bits the sign and the number of bits."""
    bits = value.bit_length()
    if value > 2**64 and not value & (value - 1):
        return f"2**{bits - 1}"
    return str(value) if bits <= 256 else f"{'-' if value < 0 else ''}(a number of {bits} bits)"


def whole_or_none(name: str, value: Any, low: int, high: int | None = None) -> None:
    """InputError unless the value is None (a planner chooses it) or an integer in [low, high]."""
    if value is not None:
        integer(name, value, low, high)


def accuracy(alpha: Any, beta: Any) -> tuple[float, float]:
    """alpha and beta, each in (0, 1)."""
    return probability("alpha", alpha), probability("beta", beta)


def instance(name: str, value: Any, kinds: type | tuple[type, ...], advice: str, expected: str | None = None) -> None:
    """InputError for a value of another type; ``expected`` describes the type in the message (default: its name)."""
    if isinstance(value, type) and not isinstance(value, kinds):
        raise InputError(name, "an instance", f"the class {value.__name__}", f"call it: {value.__name__}(...)")
    if not isinstance(value, kinds):
        named = expected or " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        given = repr(value) if isinstance(value, int | float | str | None) else type(value).__name__
        raise InputError(name, named, given, advice)


def named_arguments(kind: type[_T]) -> type[_T]:
    """Class decorator: arguments that the constructor does not have, or that are missing, are an InputError."""
    made, known = kind.__init__, [*inspect.signature(kind).parameters]

    @functools.wraps(made)
    def init(self: Any, *args: Any, **named: Any) -> None:
        try:
            made(self, *args, **named)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # by the code of the constructor, not by the call
            name = type(self).__name__
            for argument in named:
                choice(f"{name}(...)", argument, known)
            raise InputError(f"{name}(...)", ", ".join(known), str(error), "give each argument once") from None

    kind.__init__ = init  # type: ignore[method-assign]
    return kind


def _quoted(name: str) -> str:
    return name if name.isidentifier() or "-" in name else repr(name)


def choice(name: str, value: Any, known: Iterable[str], advice: str = "take one of these") -> str:
    """One of the known names; otherwise InputError with the closest names, or with all of them and the advice."""
    names = sorted(known)
    if not isinstance(value, str) or value not in names:
        alike = {known: difflib.SequenceMatcher(None, known, str(value)).ratio() for known in names}
        folded = {known.lower(): known for known in sorted(names, key=lambda known: alike[known])}  # closest case wins
        many = len(names) > _MANY
        near = difflib.get_close_matches(str(value).lower(), folded, n=3, cutoff=0.6 if many else 0.4)
        near = near[:1] if str(value).lower() in folded else near
        hint = f"did you mean {' or '.join(_quoted(folded[word]) for word in near)}?" if near else advice
        expected = f"one of {len(names)} names" if many and near else f"one of {', '.join(names)}"
        raise InputError(name, expected, repr(value), hint)
    return str(value)
