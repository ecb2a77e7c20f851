"""A loop that tries until it succeeds, of which finished lanes are retired when many run at once.

`jax.vmap` of `jax.lax.while_loop` runs every lane until the last one is done, and both sides of a condition in each
lane. Here all lanes try once; those that failed are then worked on in small groups, the same operations for each lane.
A few lanes run one after the other.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.core import Tracer

from dpjax.core.checks import InputError
from dpjax.core.jax_extensions import ClosedJaxpr, Primitive, batching, jaxpr_as_fun, mlir
from dpjax.core.lowered import lowered

_GROUPS = 16  # a group is this part of the lanes: failures are expected to be rare
_FEW = 2 * _GROUPS  # with fewer lanes a group would be one lane
retry_p = Primitive("dpjax_retry")
retry_p.multiple_results = True


def retry(
    attempt: Callable[[Any, Any], Any],
    improve: Callable[[Any, Any], Any],
    done: Callable[[Any], Array],
    given: Any,
    state: Any,
) -> Any:
    """``state = attempt(given, state)``, then ``attempt(given, improve(given, state))`` until ``done(state)``.

    Without vmap this is a `jax.lax.while_loop`; with it, each lane goes through the operations that it would go through
    alone. (XLA may round a vector of floats unlike a single one, here as under any vmap.) Like that loop it ends only
    when ``done`` holds, in every lane. There is no derivative, and axes of vmap have no names inside. Outside of jit
    each call compiles anew.

    Args:
      attempt, improve: (given, state) -> a state of the same structure, shapes and dtypes. They may not close over
        traced values. One of them has to renew what the attempt draws from, such as a key in the state: with the same
        key it fails for ever, and a running program cannot be interrupted.
      done: state -> ``bool[]``.
      given: what does not change, a pytree of arrays.
      state: a pytree of arrays.

    Returns: the state for which ``done`` holds. InputError for a function that closes over traced values, or returns
      another structure, shape or dtype.
    """
    given, state = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.asarray(leaf).dtype), (given, state))
    fixed, of_given = jax.tree.flatten(given)
    moving, of_state = jax.tree.flatten(state)
    count, same = len(fixed), str(of_state)

    def flat(name: str, step: Callable[[Any, Any], Any]) -> ClosedJaxpr:
        def on_leaves(*leaves: Array) -> list[Array]:
            parts = jax.tree.unflatten(of_given, leaves[:count]), jax.tree.unflatten(of_state, leaves[count:])
            made = step(*parts)
            if (structure := str(jax.tree.structure(made))) != same:
                raise InputError(name, f"a state of the structure {same}", structure, "return it like the first state")
            return jax.tree.leaves(made)

        types = [(array.shape, array.dtype) for array in moving]
        advice = "return the shapes and dtypes of the first state, or begin with those: 0.0 in place of 0, for example"
        return _closed(name, on_leaves, [*fixed, *moving], types, advice)

    ends = _closed(
        "done",
        lambda *leaves: [done(jax.tree.unflatten(of_state, leaves))],
        moving,
        [((), jnp.dtype(bool))],
        "return one truth value, a bool of shape ()",
    )
    made = retry_p.bind(
        *fixed,
        *moving,
        attempt=flat("attempt", attempt),
        improve=flat("improve", improve),
        done=ends,
        fixed=count,
        lanes=None,
        shared=(True,) * count,
    )
    return jax.tree.unflatten(of_state, made)


def _closed(name: str, function: Callable, given: list[Array], wanted: list[tuple], advice: str) -> ClosedJaxpr:
    """The traced function; InputError if it uses traced values besides its arguments, or returns other types."""
    jaxpr = jax.make_jaxpr(function)(*given)
    if any(isinstance(constant, Tracer) for constant in jaxpr.consts):
        needed = "a function of its arguments alone"
        raise InputError(name, needed, "a closure over traced values", "put them into `given`, or into the state")
    types = [(aval.shape, aval.dtype) for aval in jaxpr.out_avals]
    if types != wanted:
        raise InputError(name, _listed(wanted), _listed(types), advice)
    return lowered(jaxpr)


def _listed(types: list[tuple]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in types)


def _run(*operands: Array, fixed: int, **how: Any) -> list[Array]:
    with jax.enable_x64(True):  # the jaxprs state their own dtypes
        run = _alone if how["lanes"] is None else partial(_many, size=how["lanes"], shared=how["shared"])
        steps = (jaxpr_as_fun(how[name]) for name in ("attempt", "improve", "done"))
        return run(list(operands[:fixed]), list(operands[fixed:]), *steps)


def _alone(given: list[Array], state: list[Array], attempt: Callable, improve: Callable, done: Callable) -> list[Array]:
    def turn(carry: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
        made = attempt(*given, *carry[0])
        (ended,) = done(*made)
        return jax.lax.cond(ended, lambda kept: kept, lambda kept: improve(*given, *kept), made), ended

    return jax.lax.while_loop(lambda carry: ~carry[1], turn, (state, jnp.bool_(False)))[0]


def _many(
    given: list[Array],
    state: list[Array],
    attempt: Callable,
    improve: Callable,
    done: Callable,
    *,
    size: int,
    shared: tuple[bool, ...],
) -> list[Array]:
    axes = [None if common else 0 for common in shared]
    if size == 0:
        return state
    if size < _FEW:
        lanes = [part for part, common in zip(given, shared, strict=True) if not common]

        def lane(own: tuple[list[Array], list[Array]]) -> list[Array]:
            parts = iter(own[0])
            every = [part if common else next(parts) for part, common in zip(given, shared, strict=True)]
            return _alone(every, own[1], attempt, improve, done)

        return jax.lax.map(lane, (lanes, state))

    def again(given: list[Array], state: list[Array]) -> list[Array]:
        return attempt(*given, *improve(*given, *state))

    def turn(carry: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
        state, left = carry
        lanes = jnp.nonzero(left, size=group, fill_value=size)[0]  # beyond the last lane if fewer are left
        at = jnp.minimum(lanes, size - 1)
        own = [part if common else part[at] for part, common in zip(given, shared, strict=True)]
        made = jax.vmap(again, (axes, 0))(own, [part[at] for part in state])
        state = [part.at[lanes].set(new, mode="drop") for part, new in zip(state, made, strict=True)]
        return state, left.at[lanes].set(~jax.vmap(done)(*made)[0], mode="drop")

    group = max(1, size // _GROUPS)
    state = jax.vmap(attempt, (*axes, *(0 for _ in state)))(*given, *state)
    left = ~jax.vmap(done)(*state)[0]
    return jax.lax.while_loop(lambda carry: jnp.any(carry[1]), turn, (state, left))[0]


def _batched(operands: Any, dims: Any, *, fixed: int, lanes: int | None, shared: tuple[bool, ...], **how: Any) -> Any:
    """One more vmap; lanes of lanes are lanes."""
    size = next(operand.shape[dim] for operand, dim in zip(operands, dims, strict=True) if dim is not None)
    was = (*shared, *(lanes is None for _ in operands[fixed:]))  # whether an operand has no axis of lanes yet
    stays = [kept and dim is None and place < fixed for place, (kept, dim) in enumerate(zip(was, dims, strict=True))]

    def merged(one: Array, dim: int | None, kept: bool, alone: bool) -> Array:
        if kept:
            return one
        one = jnp.broadcast_to(one[None], (size, *one.shape)) if dim is None else jnp.moveaxis(one, dim, 0)
        if lanes is None:
            return one
        if alone:
            one = jnp.broadcast_to(one[:, None], (size, lanes, *one.shape[1:]))
        return one.reshape(size * lanes, *one.shape[2:])

    flat = [merged(*part) for part in zip(operands, dims, stays, was, strict=True)]
    made = retry_p.bind(
        *flat, fixed=fixed, lanes=size * (1 if lanes is None else lanes), shared=tuple(stays[:fixed]), **how
    )
    if lanes is not None:
        made = [leaf.reshape(size, lanes, *leaf.shape[1:]) for leaf in made]
    return made, [0] * len(made)


def _shapes(*operands: Any, fixed: int, **_: Any) -> list:
    return [aval.update(weak_type=False) for aval in operands[fixed:]]


retry_p.def_impl(lambda *operands, **how: jax.jit(partial(_run, **how))(*operands))
retry_p.def_abstract_eval(_shapes)
batching.primitive_batchers[retry_p] = _batched
mlir.register_lowering(retry_p, mlir.lower_fun(_run, multiple_results=True))
