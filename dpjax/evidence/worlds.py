"""Helpers for the small universes of mechanisms."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.enumeration.exact import table_of
from dpjax.audit.sampling.known import KnownLaw
from dpjax.audit.target.databases import Universe, show_numbers, vectors
from dpjax.audit.target.target import Pair, Target
from dpjax.core import bit_strings as B
from dpjax.core.types import Neighboring, Sample


def target_of(
    name: str,
    law: Callable[[Any, Any], Any] | None,
    claim: Callable[[float, float], Guarantee],
    universes: Callable[[], list[Universe]],
    hard: Sequence[tuple[Any, Any]],
    covers: Sequence[str] = (),
    **how: Any,
) -> Target:
    """A mechanism whose output is one draw from ``law(database, plan)``; without a law, give ``run`` and ``table``.

    With ``run``, the law is one on the columns of the table, and `Target.known` has to be given beside it.
    """
    if law is not None:
        how = {"table": table_of(law), **how}
        if "run" not in how:
            how = {"run": lambda key, data, plan: law(data, plan).sample(key), "known": KnownLaw(law), **how}
    pairs = [Pair(np.asarray(first, np.int32), np.asarray(second, np.int32), show_numbers) for first, second in hard]
    covered = tuple(f"dpjax.mechanisms.{x}" for x in (name, *covers))
    return Target(name, claim, universes=universes, pairs=lambda: pairs, covers=covered, **how)


def chosen(pairs: Sequence[tuple[Any, Any]], relation: Neighboring, what: str) -> Universe:
    """An explicit list of pairs of neighboring vectors."""
    databases = np.array(pairs, np.int32).reshape(2 * len(pairs), -1)
    firsts = 2 * np.arange(len(pairs))
    places = np.concatenate([np.stack([firsts, firsts + 1], 1), np.stack([firsts + 1, firsts], 1)])
    return Universe(databases, places, relation, what, show_numbers)


def scalars(values: Sequence[int], moves: Sequence[int], relation: Neighboring) -> Universe:
    """Single numbers, and the neighbors among them."""
    whole = vectors(values, 1, [(move,) for move in moves], relation)
    keep = np.isin(whole.databases[:, 0], values)
    place = np.cumsum(keep) - 1
    pairs = place[whole.pairs[np.all(keep[whole.pairs], axis=1)]]
    words = f"all values in {list(values)}"
    return Universe(whole.databases[keep, 0], pairs, relation, words, show_numbers)


def rows_of(values: list[int], bits: int) -> Sample:
    """Rows of these numbers below 2**bits, without labels."""
    rows = len(values)
    return Sample(jnp.asarray(B.encode(values, bits)), jnp.zeros((rows, 0), bool), jnp.ones(rows, bool))
