"""What the tests of sanitizers share: small worlds, exact laws of them, and the families of the median's tests."""

import importlib.util
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.types import Accuracy, Privacy

WIDE = 5  # rows of a buffer in a small world
ACCURACY = Accuracy(0.35, 0.1)


def multisets(values, *sizes):
    """All databases of so many rows, with a column of masks, and the pairs that differ by one replaced row."""
    rows = [row for n in sizes for row in itertools.combinations_with_replacement(range(values), n)]
    x = np.full((len(rows), WIDE, 1), 0xDEADBEEF, np.uint32)
    for at, row in enumerate(rows):
        x[at, : len(row), 0] = row
    mask = np.arange(WIDE)[None, :] < np.array([len(row) for row in rows])[:, None]

    def apart(a, b):
        rest = list(b)
        for value in a:
            if value in rest:
                rest.remove(value)
        return len(a) == len(b) and len(rest) == 1

    pairs = [(i, j) for i, a in enumerate(rows) for j, b in enumerate(rows) if apart(a, b)]
    return x, mask, np.array(pairs, int).reshape(-1, 2)


@pytest.fixture(scope="session")
def world():
    """`multisets`."""
    return multisets


@pytest.fixture(scope="session")
def families():
    """tests/mechanisms/median/families.py."""
    place = Path(__file__).resolve().parent.parent / "mechanisms" / "median" / "families.py"
    spec = importlib.util.spec_from_file_location("median_families", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run():
    """A jitted sanitizer: (sanitizer) -> function of (key, x, mask, epsilon, delta), planned for ``ACCURACY``."""
    programs = {}

    def compiled(sanitizer):
        program = programs.setdefault(sanitizer, jax.jit(sanitizer.sanitize))

        def call(key, x, mask, epsilon=1.0, delta=1e-6):
            plan = sanitizer.plan(Privacy(epsilon, delta), ACCURACY)
            return program(key, jnp.asarray(x), jnp.asarray(mask), plan)

        call.program = program
        return call

    return compiled
