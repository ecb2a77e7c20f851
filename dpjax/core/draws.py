"""Draws from laws, and the queries of mechanisms, as equations of a program's jaxpr, where audits find them.

A draw is one equation, `dpjax_draw`: its operands are the leaves of the law and the key, and its parameters identify
the law. It compiles to the law's sampler alone; the equation of a query compiles to nothing. Both survive jit, vmap,
scan, cond, while, checkpoint and differentiation of the code around them.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.checks import InputError
from dpjax.core.compilers import require_sound
from dpjax.core.jax_extensions import ClosedJaxpr, Primitive, ad, batching, jaxpr_as_fun, mlir, source_info_util
from dpjax.core.lowered import lowered

Sampler = Callable[[Any, Array], Any]
Lanes = tuple[tuple[int, tuple[bool, ...]], ...]
"""The vmaps applied to a draw, outermost first: the size of each, and which operands it batches."""

source_info_util.register_exclusion(__file__)  # an equation's source line is the caller's
draw_p = Primitive("dpjax_draw")
draw_p.multiple_results = True
asked_p = Primitive("dpjax_asked")


def drawn(sample: Sampler) -> Sampler:
    """Marks a law's method ``sample(self, key)`` as a draw.

    The law must be contained in its leaves and static fields: a sampler may not close over traced values.
    """

    @functools.wraps(sample)
    def draw(law: Any, key: Array) -> Any:
        require_sound(jax.default_backend())
        leaves, tree = jax.tree.flatten(law)
        if any(leaf is law for leaf in leaves):
            raise InputError("law", "a pytree", type(law).__name__, "decorate it: jax.tree_util.register_dataclass")
        leaves = [leaf if isinstance(leaf, Array) else jnp.asarray(leaf) for leaf in leaves]
        x64 = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
        jaxpr, out = _traced(sample, tree, tuple(jax.typeof(operand) for operand in (*leaves, key)), x64)
        made = draw_p.bind(*leaves, key, law=tree, method=sample.__name__, jaxpr=jaxpr, lanes=())
        return jax.tree.unflatten(out, made)

    return draw


@functools.lru_cache(4096)
def _traced(sample: Sampler, tree: Any, avals: tuple, x64: bool) -> tuple[ClosedJaxpr, Any]:
    """The sampler, traced once per structure of the law, shapes of its leaves and 64-bit mode."""
    like = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in avals]

    def call(*operands: Array) -> Any:
        with jax.enable_x64(x64):
            return sample(tree.unflatten(operands[:-1]), operands[-1])

    with jax.enable_x64(True):  # keeps the dtypes of the operands
        jaxpr, shapes = jax.make_jaxpr(call, return_shape=True)(*like)
        return lowered(jaxpr), jax.tree.structure(shapes)


def sampler_of(jaxpr: ClosedJaxpr, lanes: Lanes) -> Callable:
    """The sampler of a draw, under the vmaps applied to it."""
    call = jaxpr_as_fun(jaxpr)
    for size, batched in reversed(lanes):
        call = jax.vmap(call, [0 if mapped else None for mapped in batched], axis_size=size)

    def run(*operands: Array) -> Any:
        with jax.enable_x64(True):  # the jaxpr states its own dtypes
            return call(*operands)

    return run


@functools.lru_cache(4096)
def _compiled(**how: Any) -> Callable:
    return jax.jit(lambda *operands: draw_p.bind(*operands, **how))


def _draw_now(*operands: Any, **how: Any) -> Any:
    with jax.enable_x64(True):  # with jit disabled, `_compiled` would recurse into this function
        run = sampler_of(how["jaxpr"], how["lanes"]) if jax.config.jax_disable_jit else _compiled(**how)
        return run(*operands)


def _shapes(*_: Any, jaxpr: ClosedJaxpr, lanes: Lanes, **__: Any) -> list:
    sizes = tuple(size for size, _ in lanes)
    return [aval.update(shape=(*sizes, *aval.shape), weak_type=False) for aval in jaxpr.out_avals]


def _draw_batched(operands: Any, dims: Any, *, lanes: Lanes, **how: Any) -> tuple[list, list]:
    size, moved = _in_front(operands, dims)
    lane = (size, tuple(dim is not None for dim in dims))
    made = draw_p.bind(*moved, lanes=(lane, *lanes), **how)
    return made, [0] * len(made)


def _in_front(operands: Any, dims: Any) -> tuple[int, list]:
    size = next(operand.shape[dim] for operand, dim in zip(operands, dims, strict=True) if dim is not None)
    pairs = zip(operands, dims, strict=True)
    return size, [operand if dim is None else jnp.moveaxis(operand, dim, 0) for operand, dim in pairs]


def _draw_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, lanes: Lanes, **_: Any) -> tuple:
    """Differentiates the sampler; the derivative is not a draw equation."""
    moving = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    call = sampler_of(jaxpr, lanes)

    def of_moving(*some: Array) -> Any:
        operands = list(primals)
        for i, value in zip(moving, some, strict=True):
            operands[i] = value
        return call(*operands)

    return jax.jvp(of_moving, [primals[i] for i in moving], [tangents[i] for i in moving])


draw_p.def_impl(_draw_now)
draw_p.def_abstract_eval(_shapes)
batching.primitive_batchers[draw_p] = _draw_batched
ad.primitive_jvps[draw_p] = _draw_jvp
_lowered = mlir.lower_fun(lambda *all_, jaxpr, lanes, **_: sampler_of(jaxpr, lanes)(*all_), multiple_results=True)
mlir.register_lowering(draw_p, _lowered)


def asked(value: Array, mechanism: str, sensitivity: float, norm: str = "largest") -> Array:
    """Marks ``value`` as a query of a mechanism: between neighbors it changes by at most ``sensitivity`` in ``norm``.

    norm: "largest", the largest change of an entry; "sum", the L1 norm; "euclidean", the L2 norm;
        "sorted" and "sorted sum", largest and sum after sorting, for slots that hold other candidates in other
        databases (sorting is the matching of slots with the smallest change); "pieces", the largest change of an
        element's score, for ``int32[p, 2 W + 2]`` of cells (limbs of the first and of the last element, score, exists).
    """
    how = {"mechanism": mechanism, "sensitivity": float(sensitivity), "norm": norm, "lanes": 0}
    return asked_p.bind(jnp.asarray(value), **how)


def _asked_batched(operands: Any, dims: Any, *, lanes: int, **how: Any) -> tuple[Array, int]:
    (value,) = _in_front(operands, dims)[1]
    return asked_p.bind(value, lanes=lanes + 1, **how), 0


def _asked_jvp(primals: Any, tangents: Any, **how: Any) -> tuple:
    return asked_p.bind(*primals, **how), tangents[0]


asked_p.def_impl(lambda value, **_: value)
asked_p.def_abstract_eval(lambda value, **_: value)
batching.primitive_batchers[asked_p] = _asked_batched
ad.primitive_jvps[asked_p] = _asked_jvp
mlir.register_lowering(asked_p, lambda _, value, **__: [value])
