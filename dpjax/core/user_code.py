"""Errors inside code that a person wrote, with the part of the traceback that is theirs."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpjax.core.checks import RAISED, InputError

_PACKAGE = str(Path(__file__).parents[1])


class UserCodeError(InputError):
    """An error inside user code: ``trace`` is the traceback from the first frame of that code."""

    def __init__(self, name: str, error: BaseException):
        self.trace = user_frames(error)
        message = f"{type(error).__name__}: {error}"
        super().__init__(name, "code that runs", message, "correct it; its traceback is above")

    def __reduce__(self) -> Any:
        return InputError, (str(self),), vars(self)  # pickled without the error, which may not be picklable


@contextmanager
def calling(name: str, expected: str = "", advice: str = "") -> Iterator[None]:
    """User code is called inside: what it raises becomes an InputError of this name, unless it is one.

    expected, advice: of the error; without them it is a `UserCodeError`, which has the traceback of the code.
    """
    try:
        yield
    except InputError:
        raise
    except RAISED as error:
        if not expected:
            raise UserCodeError(name, error) from error
        raise InputError(name, expected, f"{type(error).__name__}: {error}", advice) from error


def user_frames(error: BaseException) -> str:
    """The traceback without the frames of dpjax and of Python's import system."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_PACKAGE, "<frozen importlib"))
    ]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return "Traceback (most recent call last, code from outside only):\n" + "".join(lines)
