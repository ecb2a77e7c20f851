"""Functions of NumPy arrays inside traced programs, whose results depend on their arguments alone."""

import hashlib
import inspect
import sys
from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array

from dpjax.core.members import Base

_PIECE, _MOST_PIECES = 1 << 16, 64
"""Bytes of a piece of an argument, unless there would be more pieces than the second, which take long to compile. A
callback with whole arguments was seen to wait for ever on one core, for a thread of the pool that it occupied itself
(https://github.com/jax-ml/jax/issues/24255 is alike); small arrays should not need another thread."""


class HostFunction(Base):
    """Base class of such functions: a frozen dataclass without state, equal by value, called with arrays.

    Its results depend on its arguments alone: no noise. This is believed, not checked: an exact audit treats it as it
    does any other operation on arrays. ``cache_token`` stands for the code that it runs; if it is None programs with it
    have no name, and no study runs them.
    """

    @abstractmethod
    def __call__(self, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """The results."""


@dataclass(frozen=True)
class Deterministic:
    """A function whose arguments come in pieces. shapes: of its arguments."""

    function: HostFunction
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, *pieces: Array) -> tuple[np.ndarray, ...]:
        """The pieces of all arguments, one after another."""
        arguments, left = [], [np.asarray(piece) for piece in pieces]
        for shape in self.shapes:
            count = _pieces(prod(shape), left[0].itemsize)
            arguments.append(np.concatenate(left[:count]).reshape(shape))
            left = left[count:]
        return self.function(*arguments)


def host_call(function: HostFunction, results: Any, *arguments: Array) -> Any:
    """``function(*arguments)`` on the host, in a traced program; vmap calls it for one row after another.

    Args:
      function: equal ones share a program.
      results: a tuple of `jax.ShapeDtypeStruct`.
    """
    arrays = [jax.numpy.asarray(each) for each in arguments]
    call = Deterministic(function, tuple(each.shape for each in arrays))
    pieces = [
        piece
        for each in arrays
        for piece in jax.numpy.array_split(each.reshape(-1), _pieces(each.size, each.dtype.itemsize))
    ]
    return jax.pure_callback(call, results, *pieces, vmap_method="sequential")


def called_by(equation: Any) -> Deterministic | None:
    """What an equation of a program calls, if it is a `host_call`."""
    called = getattr(equation.params.get("callback"), "callback_func", None)
    return called if isinstance(called, Deterministic) else None


def source_of(*kinds: type) -> str | None:
    """A digest of the code of classes: of all modules beside theirs, which they may import, or of the classes alone if
    these are in no package's folder; None if it cannot be read."""
    try:
        texts = {text for kind in kinds for text in _texts(kind)}
    except (OSError, TypeError, UnicodeDecodeError):
        return None
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()


def _texts(kind: type) -> list[str]:
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    if path is None:
        return [inspect.getsource(kind)]
    files = Path(path).parent.glob("*.py") if getattr(module, "__package__", None) else [Path(path)]
    return [file.read_text() for file in files]


def _pieces(size: int, itemsize: int) -> int:
    return min(max(1, -(-size * itemsize // _PIECE)), _MOST_PIECES)
