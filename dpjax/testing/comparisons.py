"""Comparisons of trees and counts of traces, both by chex, as findings of checks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import chex
import jax
import numpy as np

from dpjax.core.checks import InputError
from dpjax.testing.findings import Failed

_PREFIX = "[Chex]"


def difference(left: Any, right: Any) -> str:
    """The first leaf in which two trees of arrays are not bitwise equal, as chex describes it; "" if there is none.

    Structures, shapes, dtypes and bits are compared: 0.0 and -0.0 differ, and a NaN equals one of the same bits.
    """
    _require_assertions()
    left, right = jax.tree.map(np.asarray, (left, right))
    try:
        chex.assert_trees_all_equal_shapes_and_dtypes(left, right)
        chex.assert_trees_all_equal(jax.tree.map(_bits, left), jax.tree.map(_bits, right))
    except AssertionError as error:
        return _words(error)
    return ""


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}") if np.issubdtype(array.dtype, np.floating) else array


@contextmanager
def traced_at_most(expected: str, advice: str) -> Iterator[None]:
    """Raises `Failed` if a function under ``chex.assert_max_traces`` is traced too often inside; counts from zero."""
    _require_assertions()
    chex.clear_trace_counter()  # chex identifies a function by its source, which all checked objects share
    try:
        yield
    except AssertionError as error:
        if not str(error).startswith(_PREFIX):  # an assertion of the checked code
            raise
        raise Failed(expected, str(error).removeprefix(_PREFIX).strip().splitlines()[0], advice) from error


def _words(error: AssertionError) -> str:
    """The leaf and the number of its elements that differ, without the listing of all elements."""
    lines = [line.strip() for line in str(error).partition("failed:")[2].splitlines()]
    return " ".join([lines[0].rstrip(": "), *(line for line in lines if line.startswith("Mismatched"))])


def _require_assertions() -> None:
    try:
        chex.assert_equal(0, 1)
    except AssertionError:
        return
    raise InputError("chex", "assertions that are enabled", "chex.disable_asserts()", "call chex.enable_asserts()")
