"""A JAX function of a database and a key as an audit target: statistical, and exact where its draws can be listed."""

from collections.abc import Callable
from typing import Any

import jax
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.enumeration.exact import table_of_run
from dpjax.audit.target.known import Known
from dpjax.audit.target.neighbors import narrow, require_kept
from dpjax.audit.target.target import Pair, Target, of_one_budget, universe_of
from dpjax.core import checks, keys
from dpjax.core.checks import InputError


def traced_target(
    function: Callable[[Any, Array], Any],
    claim: Guarantee,
    pairs: list[Pair],
    name: str,
    known: Known | None,
    distance: int,
) -> Target:
    """See `from_function`. Neighbors of one shape are the universe of exact audits.

    Raises InputError for a function that JAX cannot trace, that does not read its key, or that returns no arrays, and
    for numbers that do not fit 32 bits.
    """
    listed = []
    for number, neighbors in enumerate(pairs):
        require_kept(f"pairs, number {number}", neighbors.first, neighbors.second)
        first, second = (narrow(f"pairs, number {number}", side) for side in (neighbors.first, neighbors.second))
        listed.append(Pair(first, second, neighbors.show))

    def run(key: Array, data: Any, plan: Any) -> Any:
        del plan
        return function(data, key)

    try:
        traced = jax.make_jaxpr(lambda key, data: run(key, data, None))(keys.root(0), listed[0].first).jaxpr
    except InputError:
        raise
    except checks.RAISED as error:  # user code may raise anything
        raise InputError(
            "function",
            "(database, key) -> arrays, in this order, that JAX can trace",
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            "correct it, with jax.numpy in place of numpy, float() and if; or, if it is NumPy code, let it take a "
            "seed or a generator in place of the key (randomness, on the command line --kind)",
        ) from error
    if not traced.outvars:
        raise InputError("function", "one that returns arrays", "one that returns nothing", "return the answer")
    if not any(traced.invars[0] is var for var in [*traced.outvars, *(v for eqn in traced.eqns for v in eqn.invars)]):
        advice = (
            "draw from the key, for example by dpjax.laws; code that draws by NumPy would draw once, when it is "
            "traced: let it take a seed or a generator in place of the key (randomness, on the command line --kind)"
        )
        raise InputError("function", "one that draws from its key", "one that does not read it", advice)
    sides = [side for pair in listed for side in (pair.first, pair.second)]
    shapes = {str(jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype.str), side)) for side in sides}
    if len(shapes) > 1 or distance > 1:
        why = "its databases have several shapes" if len(shapes) > 1 else f"its pairs are up to {distance} steps apart"
        return Target(name, of_one_budget(claim), run, list, lambda: listed, known=known, unlisted=why)
    universe = universe_of(listed, claim.neighboring, f"the {len(listed)} pair(s) of {name}")
    return Target(name, of_one_budget(claim), run, lambda: [universe], lambda: listed, table_of_run(run), known=known)
