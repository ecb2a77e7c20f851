"""A jaxpr split into straight-line pieces, which are compiled, and equations that an interpreter evaluates."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

from dpjax.audit.enumeration.population import Value
from dpjax.core.checks import InputError
from dpjax.core.host_calls import called_by
from dpjax.core.jax_extensions import ClosedJaxpr, Jaxpr, Literal, Var, jaxpr_as_fun, source_info_util
from dpjax.core.lowered import lowered

DRAW, ASKED = "dpjax_draw", "dpjax_asked"
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
}
_LOOPS = frozenset({"cond", "scan", "while"})
_DERIVES = frozenset({"random_split", "random_fold_in"})
_RANDOM = frozenset(
    {"random_bits", "random_unwrap", "random_gamma", "rng_bit_generator", "rng_uniform", "threefry2x32"}
)
_OWN_KEYS = frozenset({"random_seed", "random_wrap"})
_ONE_KEY = "keys derived from the one that the program is given"
_HOST = frozenset({"pure_callback", "io_callback", "debug_callback", "debug_print", "ffi_call", "infeed", "outfeed"})


class NotListable(InputError):
    """The outcomes of a target cannot be listed, so its law is not known exactly."""


def refuse(equation: Any, expected: str, got: str, advice: str, kind: type[InputError] = NotListable) -> NoReturn:
    """Raises for code that cannot be interpreted."""
    name = f"{equation.primitive.name} at {source_info_util.summarize(equation.source_info)}"
    raise kind(name, expected, got, advice)


def is_key(one: Any) -> bool:
    """Whether an array, or an abstract value, holds typed keys."""
    return jax.dtypes.issubdtype(getattr(one, "dtype", None), jax.dtypes.prng_key)


def on_host(one: Any) -> np.ndarray:
    """An array in NumPy; keys as their key data."""
    return np.asarray(jax.random.key_data(one) if is_key(one) else one)


def given(words: Any, like: Any) -> Any:
    """The inverse of `on_host`, inside a program."""
    return jax.random.wrap_key_data(words, impl=like.dtype._impl.name) if is_key(like) else words


def checked(code: ClosedJaxpr) -> ClosedJaxpr:
    """Refuses a program that returns nothing, returns a key (which reveals the noise), or contains a constant key."""
    if _brings_key(code.jaxpr):
        raise NotListable("a constant of the target", _ONE_KEY, "another key", "split the given key")
    if not code.out_avals:
        raise InputError("target", "a run that returns arrays", "nothing", "return what is released")
    if any(is_key(aval) for aval in code.out_avals):
        raise InputError("target", "outputs that are numbers", "a random key among them", "do not return keys")
    return code


def _brings_key(jaxpr: Jaxpr) -> bool:
    inside = (inner for equation in jaxpr.eqns for inner in _inner(equation))
    return any(is_key(var.aval) for var in jaxpr.constvars) or any(map(_brings_key, inside))


def draws_in(jaxpr: Jaxpr) -> bool:
    """Whether the jaxpr contains a draw, also in nested jaxprs."""
    return any(equation.primitive.name == DRAW for equation, _ in _walk(jaxpr, ""))


def random_bits_outside(run: Callable, *arguments: Any) -> list[str]:
    """Equations of ``run(*arguments)``, with their lines, that draw random bits without a declared law, in order."""
    equations = _walk(lowered(jax.make_jaxpr(run)(*arguments)).jaxpr, "")
    return [f"{equation.primitive.name}{where}" for equation, where in equations if equation.primitive.name in _RANDOM]


def _walk(jaxpr: Jaxpr, around: str) -> Iterator[tuple[Any, str]]:
    """Equations in program order, including nested ones, with their source lines; draws are not entered."""
    for equation in jaxpr.eqns:
        source = source_info_util.summarize(equation.source_info)
        where = f" at {source}" if source and "unknown" not in source else around
        yield equation, where
        if equation.primitive.name != DRAW:
            for inner in _inner(equation):
                yield from _walk(inner, where)


def _inner(equation: Any) -> list[Jaxpr]:
    jaxprs = []
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if hasattr(part, "eqns") or hasattr(part, "jaxpr"):
                jaxprs.append(closed(part).jaxpr)
    return jaxprs


def closed(jaxpr: Any) -> ClosedJaxpr:
    """The closed jaxpr, with its constants."""
    return jaxpr if hasattr(jaxpr, "consts") else ClosedJaxpr(jaxpr, ())


@dataclass(frozen=True, eq=False)
class Straight:
    """A sequence of equations without a draw. derives: those of its keys that other keys are derived from."""

    code: ClosedJaxpr
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    derives: tuple[Var, ...]
    first: Any

    def compiled(self, each: tuple[bool, ...]) -> tuple[Callable, list[bool]]:
        """A function on host values, some with one entry per row; the ``derives`` are the last outputs."""
        varied = {var for var, per_row in zip(self.inputs, each, strict=True) if per_row}
        for equation in self.code.jaxpr.eqns:
            if any(not isinstance(var, Literal) and var in varied for var in equation.invars):
                varied.update(equation.outvars)
        made = [var in varied for var in (*self.outputs, *self.derives)]

        def call(*words: Any) -> list:
            arguments = [given(array, var.aval) for array, var in zip(words, self.inputs, strict=True)]
            return [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in jaxpr_as_fun(self.code)(*arguments)]

        if any(each):
            axes = tuple(0 if per_row else None for per_row in each)
            return jax.jit(jax.vmap(call, axes, [0 if per_row else None for per_row in made])), made
        return jax.jit(call), made


class Pieces:
    """A jaxpr as straight-line pieces and single equations; calls are inlined if the interpreter must see inside.

    stops: the primitives that the interpreter evaluates. parts: `Straight` pieces and equations. constants: their
    values. last: the index of the last part that reads a variable. outputs: variables and literals.
    """

    def __init__(self, code: ClosedJaxpr, stops: frozenset[str]):
        self.stops, self.constants = stops, dict[Var, Any]()
        self.inputs = code.jaxpr.invars
        self._equations: list[Any] = []
        self._debug = code.jaxpr.debug_info._replace(arg_names=None, result_paths=None)
        names: dict[Var, Any] = {}
        self._keep(code, names)
        self.outputs = self._flat(code.jaxpr, names)
        self.parts = self._parts()

    def _keep(self, code: ClosedJaxpr, names: dict) -> None:
        for var, const in zip(code.jaxpr.constvars, code.consts, strict=True):
            names[var] = fresh = Var(var.aval)
            self.constants[fresh] = const

    def _flat(self, jaxpr: Jaxpr, names: dict) -> list:
        def read(var: Any) -> Any:
            return var if isinstance(var, Literal) else names.get(var, var)

        for equation in jaxpr.eqns:
            inputs = [read(var) for var in equation.invars]
            called = _CALLS.get(equation.primitive.name)
            if called and self._seen(equation):
                inner = closed(equation.params[called])
                bindings = dict(zip(inner.jaxpr.invars, inputs, strict=True))
                self._keep(inner, bindings)
                names.update(zip(equation.outvars, self._flat(inner.jaxpr, bindings), strict=True))
            else:
                fresh = [Var(var.aval) for var in equation.outvars]
                names.update(zip(equation.outvars, fresh, strict=True))
                self._equations.append(equation.replace(invars=inputs, outvars=fresh))
        return [read(var) for var in jaxpr.outvars]

    def _seen(self, equation: Any) -> bool:
        """Whether an equation contains a stop, or a key that other keys are derived from."""
        wanted = self.stops | _DERIVES
        return any(nested.primitive.name in wanted for inner in _inner(equation) for nested, _ in _walk(inner, ""))

    def _alone(self, equation: Any) -> bool:
        name = equation.primitive.name
        if name in self.stops or name == "while":
            return True
        if name not in _LOOPS and name not in _CALLS:
            if name not in _DERIVES and any(
                nested.primitive.name in self.stops for inner in _inner(equation) for nested, _ in _walk(inner, "")
            ):
                places = sorted(_LOOPS | _CALLS.keys())
                refuse(equation, f"draws inside {places}", f"one inside {name}", "take the draw out of it")
            return False
        return self._seen(equation)

    def _parts(self) -> list:
        parts: list[Any] = []
        run: list[Any] = []
        for equation in self._equations:
            if self._alone(equation):
                parts += [run, equation] if run else [equation]
                run = []
            else:
                _check(equation)
                run.append(equation)
        parts += [run] if run else []
        self.last = dict[Var, int]()
        for number, part in enumerate(parts):
            for equation in part if isinstance(part, list) else [part]:
                self.last.update((var, number) for var in equation.invars if not isinstance(var, Literal))
        self.last.update((var, len(parts)) for var in self.outputs if not isinstance(var, Literal))
        return [self._straight(part, i) if isinstance(part, list) else part for i, part in enumerate(parts)]

    def _straight(self, run: list, number: int) -> Straight:
        bound = {var for equation in run for var in equation.outvars}
        read = dict.fromkeys(var for equation in run for var in equation.invars if not isinstance(var, Literal))
        inputs = tuple(var for var in read if var not in bound)
        outputs = tuple(var for equation in run for var in equation.outvars if self.last.get(var, -1) > number)
        derives = tuple(dict.fromkeys(equation.invars[0] for equation in run if equation.primitive.name in _DERIVES))
        jaxpr = Jaxpr((), inputs, (*outputs, *derives), run, debug_info=self._debug)
        return Straight(ClosedJaxpr(jaxpr, ()), inputs, outputs, derives, run[0])


def _check(equation: Any) -> None:
    """Refuses equations that a straight-line piece must not contain."""
    source = source_info_util.summarize(equation.source_info)
    inner = [pair for jaxpr in _inner(equation) for pair in _walk(jaxpr, f" at {source}")]
    for part, where in [(equation, f" at {source}"), *inner]:
        name = part.primitive.name
        if name in _RANDOM:
            raise NotListable(
                f"{name}{where}",
                "finite laws only, which an exact audit lists",
                "random bits of another law",
                "that is no fault of the code: audit it by a test, or declare the law that it samples, a class with "
                "log_prob, support and a sample marked @drawn",
            )
        if name in _OWN_KEYS:
            raise NotListable(f"{name}{where}", _ONE_KEY, "another key", "split the given key")
        if name in _HOST and called_by(part) is None:
            raise NotListable(
                f"{name}{where}", "operations on arrays", "code on the host", "take `host_call`, or audit statistically"
            )


def padded(count: int) -> int:
    """Padded number of rows of a compiled piece: 1, 64, 256, ..., which limits the number of programs."""
    return 1 if count == 1 else 64 << 2 * max(0, math.ceil(math.log(max(count, 1) / 64, 4)))


def filled(value: Value, size: int) -> np.ndarray:
    """The value padded by repeating its last row."""
    if not value.each or len(value.x) == size:
        return value.x
    rest = np.broadcast_to(value.x[-1:], (size - len(value.x), *value.x.shape[1:]))
    return np.concatenate([value.x, rest])


def atoms(variables: Sequence[Any], values: dict[Var, Value]) -> list[Value]:
    """The values of variables and literals."""
    literal = lambda atom: Value(np.asarray(atom.val, atom.aval.dtype), False)  # noqa: E731
    return [literal(atom) if isinstance(atom, Literal) else values[atom] for atom in variables]
