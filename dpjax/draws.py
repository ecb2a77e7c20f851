"""Every draw from a law passes through here, so that an audit can decide what is drawn.

Without a listener a draw is the law's own sampler and nothing else happens.
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
