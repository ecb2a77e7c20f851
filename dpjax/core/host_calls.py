"""Functions of NumPy arrays inside traced programs, whose results depend on their arguments alone."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any

import jax
import numpy as np
from jax import Array

_LOCK = RLock()


@dataclass(frozen=True)
class Deterministic:
    """A function of one row of each argument, called once for each row, one call at a time.

    function: (arrays) -> arrays, whose results depend on its arguments alone: no noise and no state. This is believed,
    not checked: an exact audit treats it as it does any other operation on arrays.
    """

    function: Callable[..., tuple[np.ndarray, ...]]
    ranks: tuple[int, ...]

    def __call__(self, *arguments: Array) -> tuple[np.ndarray, ...]:
        """All arguments have the same leading axes."""
        arrays = [np.asarray(each) for each in arguments]
        lead = arrays[0].shape[: arrays[0].ndim - self.ranks[0]]
        rows = [each.reshape(-1, *each.shape[len(lead) :]) for each in arrays]
        with _LOCK:
            results = [self.function(*row) for row in zip(*rows, strict=True)]
        return tuple(np.stack(part).reshape(*lead, *part[0].shape) for part in zip(*results, strict=True))


def host_call(function: Callable[..., tuple[np.ndarray, ...]], results: Any, *arguments: Array) -> Any:
    """``function(*arguments)`` on the host, in a traced program; vmap calls it row by row.

    Args:
      function: of NumPy arrays, a value without state; equal ones share a program. Its results may depend on its
        arguments alone.
      results: a tuple of `jax.ShapeDtypeStruct`, of one call.
    """
    ranks = tuple(each.ndim for each in arguments)
    return jax.pure_callback(Deterministic(function, ranks), results, *arguments, vmap_method="broadcast_all")


def is_host_call(equation: Any) -> bool:
    """Whether an equation is a `host_call`."""
    callback = equation.params.get("callback")
    return isinstance(getattr(callback, "callback_func", None), Deterministic)
