"""A digest of a traced program: equal if the same operations are applied to the same constants.

Variables count by their first use; names of functions, source lines and rules of differentiation do not count. Of a
draw counts its sampler, which is all that it is when it runs.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import NoneType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import PyTreeDef

from dpjax.core.checks import InputError
from dpjax.core.host_calls import called_by
from dpjax.core.jax_extensions import ClosedJaxpr, Jaxpr, Literal, jaxprs_in_params
from dpjax.core.lowered import lowered
from dpjax.core.products import EXACT
from dpjax.experiments.identity import describe

_INSIDE = {
    "jit": ("jaxpr",),
    "closed_call": ("call_jaxpr",),
    "core_call": ("call_jaxpr",),
    "custom_jvp_call": ("call_jaxpr",),
    "custom_vjp_call": ("call_jaxpr",),
    "checkpoint": ("jaxpr",),
    "dpjax_draw": ("jaxpr", "lanes"),
}
"""The parameters of calls that hold the called jaxpr."""
_UNSEEN = ("name", "debug_info", "computation", "cond_name", "body_name")
"""Parameters that do not affect the computation; a reduction's ``computation`` is also its ``jaxpr``."""
_NOT_RUN = ("debug_callback", "debug_print")
_THREADED = {
    "dot_general",
    "ragged_dot",
    "ragged_dot_general",
    "scaled_dot",
    "conv_general_dilated",
    "cholesky",
    "eig",
    "eigh",
    "geqrf",
    "geqp3",
    "hessenberg",
    "householder_product",
    "lu",
    "qr",
    "schur",
    "svd",
    "triangular_solve",
    "tridiagonal",
}


def digest(program: ClosedJaxpr, token: str | None = None) -> str:
    """64 hexadecimal digits, a SHA-256.

    Raises InputError for a program with host callbacks, unless ``token`` stands for them (a learner's
    ``cache_token``), and for a parameter whose value is only known by its address.
    """
    walker = _Walker(token)
    return hashlib.sha256(f"{walker.closed(lowered(program))}|{token or ''}".encode()).hexdigest()


def sums_in_parts(program: ClosedJaxpr | Jaxpr) -> bool:
    """Whether its numbers may depend on the number of threads of a CPU: it has products of matrices of floats, or
    factorizations, and not by the functions of `core.products`, which are exact."""
    program = lowered(program)
    for equation in (program.jaxpr if isinstance(program, ClosedJaxpr) else program).eqns:
        name = equation.primitive.name
        if name == "jit" and equation.params["name"] in EXACT:
            continue
        if name in _THREADED and any(_is_float(variable.aval) for variable in equation.outvars):
            return True
        if any(map(sums_in_parts, jaxprs_in_params(equation.params))):
            return True
    return False


def _is_float(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.inexact)


def calls_host(program: ClosedJaxpr | Jaxpr) -> bool:
    """Whether it calls Python while it runs, also for printing."""
    program = lowered(program)
    equations = (program.jaxpr if isinstance(program, ClosedJaxpr) else program).eqns
    return any(
        "callback" in equation.primitive.name
        or equation.primitive.name in _NOT_RUN
        or any(map(calls_host, jaxprs_in_params(equation.params)))
        for equation in equations
    )


class _Walker:
    def __init__(self, token: str | None):
        self.token = token
        self.seen: dict[int, tuple[Any, str]] = {}  # id -> (reference that keeps the id valid, digest)

    def closed(self, program: ClosedJaxpr) -> str:
        return self._once(program, lambda: self._jaxpr(program.jaxpr) + "".join(map(_array, program.consts)))

    def open(self, program: Jaxpr) -> str:
        return self._once(program, lambda: self._jaxpr(program))

    def _once(self, program: Any, text: Callable[[], str]) -> str:
        if id(program) not in self.seen:
            self.seen[id(program)] = program, hashlib.sha256(text().encode()).hexdigest()
        return self.seen[id(program)][1]

    def _jaxpr(self, program: Jaxpr) -> str:
        numbers: dict[Any, int] = {}

        def name(variable: Any) -> str:
            if isinstance(variable, Literal):
                return f"{_type(variable.aval)}={_array(variable.val)}"
            return str(numbers.setdefault(variable, len(numbers)))

        lines = [" ".join(f"{name(v)}:{_type(v.aval)}" for v in (*program.constvars, *program.invars))]
        for equation in program.eqns:
            if equation.primitive.name in _NOT_RUN:
                continue
            inputs = " ".join(map(name, equation.invars))
            outputs = " ".join(f"{name(v)}:{_type(v.aval)}" for v in equation.outvars)
            lines.append(f"{outputs} = {self._operation(equation)} {inputs}")
        return "\n".join([*lines, " ".join(map(name, program.outvars))])

    def _operation(self, equation: Any) -> str:
        kind, parameters = equation.primitive.name, dict(equation.params)
        if (called := called_by(equation)) is not None:
            if called.function.cache_token is None:
                advice = "define it in a file"
                raise InputError(
                    "learner", "host functions whose code can be read", describe.label(called.function), advice
                )
            return f"{kind}[{describe.digest(called)}]"
        if "callback" in kind and self.token is None:
            expected = "a program without host callbacks"
            advice = "compute it in JAX, or give the learner a cache_token, a string that changes with the function"
            raise InputError("learner", expected, f"{kind}, whose function cannot be compared", advice)
        counted = _INSIDE.get(kind, [key for key in sorted(parameters) if key not in _UNSEEN])
        if "callback" in kind:
            counted = [key for key in counted if key not in ("callback", "result_avals", "sharding")]
        try:
            return f"{kind}[{';'.join(f'{key}={self.value(parameters[key])}' for key in counted)}]"
        except _OpaqueError as error:
            expected = "parameters that have a canonical description"
            advice = "report it with the versions of dpjax and jax, or write the learner without this operation"
            raise InputError("program", expected, f"{kind}: {error}", advice) from None

    def value(self, value: Any) -> str:
        """The canonical text of a parameter."""
        if isinstance(value, ClosedJaxpr):
            return self.closed(value)
        if isinstance(value, Jaxpr):
            return self.open(value)
        if (tag := getattr(value, "tag", None)) is not None and "prng" in type(value).__module__:
            return f"prng {tag}"
        if isinstance(value, Enum):
            return f"{type(value).__qualname__}.{value.name}"
        if isinstance(value, NoneType | bool | int | float | complex | str | bytes | np.dtype):
            return repr(value)
        if isinstance(value, np.ndarray | np.generic | jax.Array):
            return _array(value)
        if isinstance(value, Mapping):
            return f"{{{','.join(f'{key}:{self.value(value[key])}' for key in sorted(value, key=str))}}}"
        if isinstance(value, tuple | list | frozenset):
            parts = sorted(map(self.value, value)) if isinstance(value, frozenset) else map(self.value, value)
            return f"{type(value).__name__}({','.join(parts)})"
        if isinstance(value, type):
            return f"{value.__module__}.{value.__qualname__}"
        if is_dataclass(value) and not isinstance(value, type):
            parts = [
                f"{field.name}={self.value(getattr(value, field.name))}"
                for field in fields(value)
                if field.name not in _UNSEEN
            ]
            return f"{type(value).__qualname__}({','.join(parts)})"
        if isinstance(value, PyTreeDef):
            return _grouping(value)
        parts = [f"{name}={self.value(part)}" for name, part in sorted(_state(value).items())]
        return f"{type(value).__qualname__}({','.join(parts)})"


class _OpaqueError(Exception):
    """A value of which not everything can be described, as its repr may leave out a part."""


def _state(value: Any) -> dict[str, Any]:
    """What an object of a class in Python holds, by the names of its attributes, without what it remembers of itself:
    its hash, and properties that were asked for.

    Refused: what has parts that only C sees, and a class that compares by address, is called, or says itself how it is
    copied, since then attributes do not say what a value does.
    """
    kind = type(value)
    if (
        kind.__eq__ is object.__eq__
        or callable(value)
        or (kind.__reduce_ex__, kind.__reduce__, kind.__getstate__)
        != (object.__reduce_ex__, object.__reduce__, object.__getstate__)
    ):
        raise _OpaqueError(f"a {kind.__qualname__}")
    try:
        state = value.__reduce_ex__(2)[2] or {}
    except TypeError:  # a part that only C sees
        raise _OpaqueError(f"a {kind.__qualname__}") from None
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    parts = {**(attributes or {}), **slots}
    remembered = [
        name
        for name, part in parts.items()
        if isinstance(getattr(kind, name, None), cached_property) or _is_hash(name, part, value)
    ]
    return {name: part for name, part in parts.items() if name not in remembered}


def _is_hash(name: str, part: Any, value: Any) -> bool:
    return "hash" in name and type(part) is int and type(value).__hash__ is not None and part == hash(value)


def _grouping(tree: PyTreeDef) -> str:
    """How a tree groups its leaves, which is what counts of it where they are operands; names of its nodes do not."""
    if tree.node_data() is None:
        return "*"
    return f"({','.join(map(_grouping, tree.children()))})"


def _type(aval: Any) -> str:
    return f"{aval.str_short()}{'w' if getattr(aval, 'weak_type', False) else ''}"


def _array(value: Any) -> str:
    if jax.dtypes.issubdtype(getattr(value, "dtype", np.dtype(object)), jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value, order="C")
    if array.dtype.hasobject:
        raise _OpaqueError(f"an object array {array.shape}")
    return f"{array.dtype.name}{array.shape}{hashlib.sha256(array.tobytes()).hexdigest()}"
