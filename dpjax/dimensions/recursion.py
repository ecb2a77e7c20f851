"""Searches that are deeper than Python's limit of nested calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deep_recursion(depth: int) -> Iterator[None]:
    """Allows Python functions to nest this much deeper."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
