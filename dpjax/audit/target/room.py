"""The memory that an exact audit may take: what does not fit is refused with its size before it is computed."""

import os
from typing import Any

import jax
import numpy as np

from dpjax.core.checks import InputError

_WORKING = 3  # arrays of the size of the largest one that exist at the same time


def room() -> int:
    """Bytes that the largest array of an audit may take: a third of the host's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _WORKING


def size(count: float) -> str:
    """Bytes in words."""
    return f"{count * _WORKING / 2**30:.3g} GiB of memory"


def require_room(name: str, numbers: int, what: str, kind: type[InputError] = InputError) -> None:
    """Raises an error of this kind for an array of so many numbers of 64 bits that the host cannot hold it."""
    if 8 * numbers > room():
        advice = "take a smaller world (fewer rows or elements), or a statistical audit"
        raise kind(name, f"at most {size(room())}", f"{size(8 * numbers)} for {what}", advice)


def widest(code: Any) -> int:
    """Bytes of the largest array in a jaxpr, at least 8."""
    largest = 8
    for equation in getattr(code, "jaxpr", code).eqns:
        shapes = [var.aval for var in equation.outvars if hasattr(var.aval, "shape")]
        largest = max([largest, *(8 * int(np.prod(aval.shape, dtype=np.int64)) for aval in shapes)])
        for inner in jax.tree.leaves([*equation.params.values()], is_leaf=lambda node: hasattr(node, "eqns")):
            if hasattr(inner, "eqns"):
                largest = max(largest, widest(inner))
    return largest
