"""Other people's mechanisms as targets, and dpjax's mechanisms in other people's calling form."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.databases import show_numbers
from dpjax.audit.events import choose, contains, features
from dpjax.audit.report import Report
from dpjax.audit.statistical import tested
from dpjax.audit.target import Pair, Target
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

HostFunction = Callable[[np.ndarray, int], Any]


def from_function(
    function: HostFunction, claim: Guarantee, pairs: Sequence[tuple[ArrayLike, ArrayLike]], *,
    name: str = "host function", repeatable: bool = True,
) -> Target:  # fmt: skip
    """A Python function as a target of statistical audits.

    Args:
      function: (database, 64-bit seed) -> a number or an array of one shape; called once a trial. An opendp measurement
        is ``lambda data, _: measurement(data.tolist())``, a diffprivlib mechanism ``lambda data, _:
        mechanism.randomise(data.item())``.
      claim: what it promises, at every budget that an audit may name.
      pairs: neighbouring databases, each of the same shape and kind of numbers on both sides.
      repeatable: False for functions that draw from a generator of their own: their audits cannot be repeated.

    Raises InputError where the function fails on the first database, or returns no numbers.
    """
    found = [Pair(_array(one), _array(other), show_numbers) for one, other in pairs]
    if not found:
        raise InputError("pairs", "neighbouring databases", "none", "give at least one pair")
    like = _once(function, found[0].first)

    def host(words: np.ndarray, data: np.ndarray) -> np.ndarray:
        seed = int(words[0]) << 32 | int(words[1])
        return np.asarray(function(np.asarray(data), seed)).astype(like.dtype).reshape(like.shape)

    def run(key: Array, data: Any, plan: Any) -> Array:
        words = jax.random.key_data(key)
        return jax.pure_callback(host, like, words, jnp.asarray(data), vmap_method="sequential")

    return Target(name, lambda epsilon, delta: claim, run, list, lambda: found, repeatable=repeatable)


def of_outputs(
    first: ArrayLike, second: ArrayLike, claim: Guarantee, *, confidence: float = 0.95, training: float = 0.2,
    name: str = "outputs",
) -> Report:  # fmt: skip
    """Audits outputs that are there already, from independent runs on two neighbours.

    As `statistical`: some choose two events, the rest tests each once at half of 1 - confidence.

    Args:
      first, second: ``[n, ...]`` numbers, n >= 500, in no order that depends on them; whole numbers below 2**31.
      training: share that chooses; more pays where the event is a set of many outputs.
    """
    sides = [_array(part) for part in (first, second)]
    if sides[0].shape != sides[1].shape or len(sides[0]) < 500:
        shapes = f"{sides[0].shape} and {sides[1].shape}"
        raise InputError("outputs", "equally many of one shape, at least 500", shapes, "run both sides alike")
    level, begin = (1 - checks.probability("confidence", confidence)) / 2, time.perf_counter()
    cut_at = int(checks.probability("training", training) * len(sides[0]))
    if not 100 <= cut_at <= len(sides[0]) - 100:
        raise InputError("training", "at least 100 outputs a side to choose and to test", f"{cut_at}", "take 0.2")
    read = jax.jit(jax.vmap(features))
    seen = [jax.tree.map(np.asarray, read(side)) for side in sides]
    learn, test = ([jax.tree.map(lambda part, cut=cut: part[cut], side) for side in seen]
                   for cut in (slice(cut_at), slice(cut_at, None)))  # fmt: skip
    fresh = len(sides[0]) - cut_at
    found = []
    for chosen in choose(learn[0], learn[1], claim.epsilon, claim.delta, fresh, 1 - level):
        x, y = (int(np.sum(contains(chosen.event, side))) for side in (test[::-1] if chosen.swapped else test))
        found.append((tested(x, y, fresh, claim, level), chosen))
    result, chosen = min(found, key=lambda entry: entry[0].rank)
    words = ["the first outputs", "the second outputs"][:: -1 if chosen.swapped else 1]
    details = {"event": chosen.event.words(sides[0][0].size), "trials": fresh, "successes": list(result.counts),
               "outcomes": len(np.unique(np.concatenate([side.code for side in seen]))),
               "corrections": "two events, each tested once at half the level",
               "seconds": round(time.perf_counter() - begin, 2)}  # fmt: skip
    return Report(
        name, "corrected", claim, "statistical", f"{fresh} fresh outputs a side, events chosen on {cut_at} others",
        result.epsilon, result.delta, confidence, dict(zip(("database", "neighbour"), words, strict=True)),
        result.p_value <= level, [], details,
    )  # fmt: skip


def in_auditorium_form(target: Target, privacy: Privacy, seed: int = 0) -> Callable[[Any, int], np.ndarray]:
    """(database, number of samples) -> ``[samples, ...]`` outputs, the form in which dp_auditorium calls a mechanism.

    Outputs of several arrays are laid side by side as numbers. Every call goes on with fresh keys.
    """
    root, plan = keys.root(seed), target.plan(privacy)
    calls = 0

    @jax.jit
    def draw(of_trials: Array, data: Any) -> Array:
        def one(key: Array) -> Array:
            leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(target.run(key, data, plan))]
            return jnp.concatenate([leaf.reshape(-1).astype(jnp.float32) for leaf in leaves])

        return jax.vmap(one)(of_trials)

    def mechanism(database: Any, samples: int) -> np.ndarray:
        nonlocal calls
        calls += 1
        return np.asarray(draw(keys.per_index(keys.stream(root, f"call {calls}"), samples), database))

    return mechanism


def _array(database: ArrayLike) -> np.ndarray:
    """int32, uint32, bool or float32, whatever 64-bit types the caller has."""
    found = np.asarray(database)
    narrow = {"i": np.int32, "u": np.uint32, "f": np.float32, "b": np.bool_}.get(found.dtype.kind)
    if narrow is None or not np.array_equal(found, found.astype(narrow)):
        raise InputError(
            "database", "an array of numbers that 32 bits hold", repr(database), "encode it as whole numbers"
        )
    return found.astype(narrow)


def _once(function: HostFunction, data: np.ndarray) -> jax.ShapeDtypeStruct:
    try:
        answer = np.asarray(function(data, 0))
    except Exception as error:  # whatever a person's own code raises
        raise InputError(
            "function", "(database, seed) -> numbers", f"{type(error).__name__}: {error}", "call it once by hand"
        ) from error
    if answer.dtype.kind not in "iufb":
        raise InputError(
            "function", "a number or an array of numbers", f"{answer.dtype}", "encode the answer as numbers"
        )
    return jax.ShapeDtypeStruct(answer.shape, np.float32 if answer.dtype.kind == "f" else np.int32)
