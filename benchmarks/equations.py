"""The equations of a traced program, those of inner programs among them: how often each runs, and who wrote it."""

import re
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from dpjax.core.jax_extensions import ClosedJaxpr, Jaxpr, source_info_util
from dpjax.core.lowered import lowered

_WHERE = re.compile(r"^(?P<path>.*?):\d+(?::\d+)? \((?P<function>.*)\)$")
_ELEMENTWISE = ("update_jaxpr", "computation")
"""Parameters that hold the operation that a scatter or a reduction applies to two elements."""


class Equation(NamedTuple):
    """One equation. times: how often it runs; path, function: the Python code that wrote it, "" if unknown."""

    primitive: str
    inputs: tuple[Any, ...]  # types, with shape and dtype
    outputs: tuple[Any, ...]
    parameters: dict[str, Any]
    times: int
    path: str
    function: str


def equations(program: ClosedJaxpr | Jaxpr, times: int = 1, caller: tuple[str, str] = ("", "")) -> Iterator[Equation]:
    """Every equation that is not a call, in the order of the program.

    The body of a scan counts once per step, a draw once per lane, the body of a loop that ends when a condition holds
    once, and each branch of a condition once.

    Args:
      times: of the whole program.
      caller: path and function of equations that have none of their own.
    """
    program = lowered(program)
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    for equation in jaxpr.eqns:
        name, parameters = equation.primitive.name, equation.params
        place = _written(equation.source_info) or caller
        inner = [] if name.startswith("reduce") else list(_programs(parameters))
        if inner:
            often = times * _repeats(name, parameters)
            for part in inner:
                yield from equations(part, often, place)
            continue
        operands, results = (tuple(variable.aval for variable in side) for side in (equation.invars, equation.outvars))
        yield Equation(name, operands, results, parameters, times, *place)


def _repeats(name: str, parameters: dict[str, Any]) -> int:
    if name == "scan":
        return parameters["length"]
    return prod(size for size, _ in parameters["lanes"]) if name == "dpjax_draw" else 1


def _programs(parameters: dict[str, Any]) -> Iterator[ClosedJaxpr | Jaxpr]:
    for name, value in parameters.items():
        if name not in _ELEMENTWISE:
            parts = value if isinstance(value, tuple | list) else (value,)
            yield from (part for part in parts if isinstance(part, ClosedJaxpr | Jaxpr))


def _written(source: Any) -> tuple[str, str] | None:
    match = _WHERE.match(source_info_util.summarize(source))
    return (match["path"], match["function"]) if match else None
