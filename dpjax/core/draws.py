"""Every draw from a law, and every question to a mechanism, passes through here, so that an audit can listen.

Without a listener a draw is the law's own sampler, a question is its value, and nothing else happens.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from jax import Array

Sampler = Callable[[Any, Array], Any]
Listener = Callable[[Any, Array, Sampler], Any]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def drawn(sample: Sampler) -> Sampler:
    """Marks a law's method ``sample(self, key)`` as a draw: where somebody listens, they answer in its place."""

    @functools.wraps(sample)
    def draw(law: Any, key: Array) -> Any:
        listener = _listener.get()
        if listener is None:
            return sample(law, key)
        with listening(None):  # what a law draws on the way is its own business
            return listener(law, key, sample)

    return draw


@contextlib.contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Meanwhile ``listener(law, key, sample)`` answers every draw that Python comes by.

    A program compiled before does not come by here: give audits functions that are not jitted.
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


Question = Callable[[Array, str, float, str], Array]

_questioner: ContextVar[Question | None] = ContextVar("questioner", default=None)


def asked(value: Array, mechanism: str, sensitivity: float, norm: str = "largest") -> Array:
    """``value``, on which a mechanism's privacy rests: a neighbour moves it by at most ``sensitivity``.

    norm: "largest", the most that any entry moves; "sum", all entries together; "euclidean", root of the sum of squares;
        "sorted" and "sorted sum", largest and sum after sorting, for slots that hold other candidates in other
        databases (no less may move then); "pieces", the most that the score of an element moves, for
        ``int32[p, 2 W + 2]`` of pieces (limbs of the first and of the last element, score, exists).
    """
    questioner = _questioner.get()
    return value if questioner is None else questioner(value, mechanism, float(sensitivity), norm)


@contextlib.contextmanager
def asking(questioner: Question) -> Iterator[None]:
    """Meanwhile ``questioner(value, mechanism, sensitivity, norm)`` answers in place of every `asked`."""
    before = _questioner.set(questioner)
    try:
        yield
    finally:
        _questioner.reset(before)
