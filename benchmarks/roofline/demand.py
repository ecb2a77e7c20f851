"""What a program must do at least, counted in its trace: random words, exponentials, logarithms, sorted keys, bytes."""

import math
from typing import Any

import jax

from benchmarks.equations import Equation, equations

RESOURCES = ("words", "exp", "log", "sort", "copy")
"""Names of the ceilings: 64 random bits (one hash), an exponential, a logarithm, a sorted key, a byte."""
SORTED = 256  # keys of a row that the ceiling sorts; rows of L keys count log L / log 256 each
_ROTATIONS = 20  # of one threefry hash
_WHOLE_HASHES = ("threefry2x32", "random_bits", "random_split", "random_fold_in")
_EXPONENTIALS = ("exp", "exp2", "expm1")
_LOGARITHMS = ("log", "log1p")


def demand(function: Any, *arguments: Any, units: int) -> dict[str, float]:
    """Amounts per unit of a call, by `RESOURCES`; bytes are those of arguments and results.

    function: jitted. units: what one call computes. A loop whose number of passes depends on the data counts once.
    """
    traced = function.trace(*arguments)
    amounts: dict[str, float] = dict.fromkeys((*RESOURCES, ""), 0.0)
    for equation in equations(traced.jaxpr):
        resource, amount = _of(equation)
        amounts[resource] += equation.times * amount
    leaves = [*jax.tree.leaves(arguments), *jax.tree.leaves(traced.out_info)]
    amounts["copy"] = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
    return {resource: amounts[resource] / units for resource in RESOURCES}


def _of(equation: Equation) -> tuple[str, float]:
    """The resource that an equation uses, "" for none, and how much of it at each run."""
    name, size = equation.primitive, math.prod(getattr(equation.outputs[0], "shape", ())) if equation.outputs else 0
    if name in _WHOLE_HASHES:
        return "words", size
    if name == "or" and equation.function == "words_from":  # `random.words`, which writes the hash out
        return "words", size / _ROTATIONS
    if name in _EXPONENTIALS or (name == "floor" and equation.function == "rounded_units"):  # 2**f by a polynomial
        return "exp", size
    if name in _LOGARITHMS:
        return "log", size
    if name == "sort":
        length = equation.inputs[0].shape[equation.parameters["dimension"]]
        return "sort", size * math.log(max(length, 1)) / math.log(SORTED)
    return "", 0
