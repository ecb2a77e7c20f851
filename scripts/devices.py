"""Writes docs/devices.md: which operations of each learner's program have 64-bit types, and why.

Run: python scripts/devices.py [--out FOLDER]
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import dpjax
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.engine import capacity, traced
from dpjax.experiments.equations import equations
from dpjax.experiments.reports import options, table, write_page
from dpjax.experiments.trial import Trial, point
from dpjax.testing.samples import task_for
from plans import CASES, learner_of

ROWS = 200
NAMES = tuple(name for name in CASES if "composition=" not in name or "zcdp" in name)  # compositions share programs
FLOATS, INTEGERS = ("float64",), ("int64", "uint64")


class Use(NamedTuple):
    """The 64-bit equations of one function in one program: primitive -> count, for floats and for integers."""

    floats: Counter[str]
    integers: Counter[str]


def uses(name: str) -> tuple[int, dict[str, Use]]:
    """The number of equations of a learner's tile, and its uses of 64-bit types by "file:function"."""
    learner, k = learner_of(name), CASES[name][1]
    task = task_for(learner.concepts)
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), ROWS)
    at = point(bytes(8), ROWS, plan, 0.1, task)
    program = traced(Trial(learner, k, capacity(ROWS)), task, at)
    jaxpr, found, count = program.jaxpr(), {}, 0
    for equation in equations(jaxpr):
        count += 1
        types = {str(getattr(one, "dtype", "")) for one in (*equation.inputs, *equation.outputs)}
        if types.intersection((*FLOATS, *INTEGERS)):
            use = found.setdefault(_place(equation.path, equation.function), Use(Counter(), Counter()))
            (use.floats if types.intersection(FLOATS) else use.integers)[equation.primitive] += 1
    return count, found
