"""Foreign mechanisms as audit targets, and dpjax's mechanisms in the calling form of other libraries."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.allotment import MAIN, allotted, corrections
from dpjax.audit.choices import choose
from dpjax.audit.events import Features, features, marks
from dpjax.audit.generators import Generators
from dpjax.audit.known import Known, KnownEvent
from dpjax.audit.neighbors import as_database, require_neighbors
from dpjax.audit.questions import asked, tally
from dpjax.audit.report import Report
from dpjax.audit.target import Pair, Target, of_one_budget
from dpjax.audit.thresholds import Aim
from dpjax.audit.traced import traced_target
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

Function = Callable[[Any, Any], Any]
RANDOMNESS = ("seed", "generator", "key")
_WIDE = 64  # largest database that a report shows in full, in numbers


def from_function(
    function: Function, claim: Guarantee, pairs: Sequence[tuple[Any, Any]], *,
    name: str = "host function", repeatable: bool = True, randomness: str = "seed", known: Known | None = None,
    data: str = "rows", distance: int = 1,
) -> Target:  # fmt: skip
    """A Python function as a target of audits.

    Args:
      function: (database, 64-bit seed) -> a number or an array of fixed shape; called once per trial. An opendp
        measurement is ``lambda data, _: measurement(data.tolist())``, a diffprivlib mechanism ``lambda data, _:
        mechanism.randomise(data.item())``. A JAX function takes a key, see ``randomness``.
      claim: the function's guarantee. Audits take its epsilon and delta as the budget, and refuse another one.
      pairs: neighboring databases: numbers, arrays, or pytrees of arrays, which reach the function as NumPy arrays.
        Arrays of rows are checked to be neighbors; numbers and other pytrees are the caller's responsibility.
      repeatable: False for functions with their own source of randomness, whose audits cannot be repeated.
      randomness: "seed"; "generator" for a function of (database, `numpy.random.Generator`): one generator object,
        whose state is set anew for each trial; or "key" for a JAX function of (database, key) -> a pytree of arrays,
        which is traced and runs in batches. The databases reach it as arrays of at most 32 bits: floats are rounded,
        whole numbers must fit. If its draws are of dpjax's laws with finite supports and all databases have one shape,
        `exact` audits it on the pairs.
      known: an event, `KnownEvent`, or a law, `KnownLaw`, that is known before any run.
      data: what the arrays are: "rows", "counts" for histograms, or "other" for data that are not checked.
      distance: databases of the pairs are up to this many steps of the claim's relation apart; give `statistical` the
        same.

    Raises InputError if the function fails on a database or does not return numbers, in any trial, if a function of a
    key cannot be traced or does not read its key, and for a pair that is not one of neighbors.
    """
    checks.choice("randomness", randomness, RANDOMNESS)
    checks.integer("distance", distance, 1)
    if not callable(function):
        raise InputError("function", "a function of (database, seed)", repr(function), "give the function itself")
    checks.instance("claim", claim, Guarantee, "give a dpjax.accounting.Guarantee(epsilon, delta, neighboring, what)")
    checks.instance("name", name, str, "give a word")
    checks.choice("data", data, ("rows", "counts", "other"))
    if not isinstance(pairs, Iterable):
        raise InputError("pairs", "pairs of neighboring databases", repr(pairs), "give a list: [(one, other)]")
    found = []
    for number, both in enumerate(pairs):
        try:
            one, other = both
        except (TypeError, ValueError) as error:
            given = f"{type(both).__name__} of {len(both)}" if hasattr(both, "__len__") else repr(both)
            advice = "give a list: [(one, other)]"
            raise InputError(f"pairs, number {number}", "two databases", given, advice) from error
        found.append(Pair(as_database(one), as_database(other), shown))
    for number, pair in enumerate(found):
        apart = distance * claim.distance
        require_neighbors(f"pairs, number {number}", pair.first, pair.second, claim.neighboring, data, apart)
    if not found:
        raise InputError("pairs", "neighboring databases", "none", "give at least one pair")
    if randomness == "key":
        return replace(traced_target(function, claim, found, name, known, distance), repeatable=repeatable)
    make = Generators() if randomness == "generator" else int
    _outputs(function, np.zeros((1, 2), np.uint32), found[0].first, make)

    def run(key: Array, data: Any, plan: Any) -> Array:
        del key, data, plan
        raise InputError(
            "method", f"statistical, sequential or bitwise for {name}", "another one",
            "it runs on the host and cannot be traced",
        )  # fmt: skip

    def host(words: np.ndarray, data: Any, plan: Any) -> np.ndarray:
        del plan
        return _outputs(function, words, data, make)

    return Target(
        name, of_one_budget(claim), run, list, lambda: found, repeatable=repeatable, host=host,
        unlisted="it runs on the host", known=known,
    )  # fmt: skip


def _outputs(
    function: Function, words: np.ndarray, data: Any, make: Callable[[int], Any]
) -> np.ndarray:  # fmt: skip
    """The function's outputs in trials with these words, ``float32`` or ``int32[t, ...]``."""
    high, low = words.T.astype(np.uint64)
    seeds = (high << np.uint64(32) | low).tolist()
    answers, at = [], 0
    try:
        for at, seed in enumerate(seeds):  # noqa: B007
            answers.append(function(data, make(seed)))
    except InputError:
        raise
    except Exception as error:  # user code may raise anything
        given = f"{type(error).__name__}: {error}, with the seed {seeds[at]}"
        advice = 'call it once by hand; a function (database, key) of JAX needs randomness="key"'
        raise InputError("function", "(database, seed) -> numbers", given, advice) from error
    try:
        found = np.asarray(answers)
    except ValueError as error:
        advice = "pad the output: its shape would distinguish the databases"
        raise InputError("function", "outputs of one shape", f"{error}", advice) from None
    if found.dtype.kind not in "iufb":
        raise InputError(
            "function", "a number or an array of numbers", f"{found.dtype}", "encode the output as numbers"
        )
    if found.dtype.kind == "f":
        with np.errstate(over="ignore"):  # values beyond float32's range become infinite
            return found.astype(np.float32)
    narrow = found.astype(np.int32)
    if not np.array_equal(narrow, found):
        raise InputError(
            "function", "whole numbers that 32 bits hold, or floats", f"{found.flat[np.argmax(narrow != found)]}",
            "return the number as a float, or as an array of smaller ones",
        )  # fmt: skip
    return narrow


def shown(database: Any) -> Any:
    """A database of any kind in readable and JSON-ready form: all numbers if few, else shape and first entries."""
    leaves = jax.tree.leaves(database)
    if len(leaves) != 1:
        return [shown(leaf) for leaf in leaves]
    array = np.asarray(leaves[0])
    if array.size <= _WIDE:
        return array.tolist()
    return f"{array.dtype}[{', '.join(map(str, array.shape))}], begins with {array.reshape(-1)[:8].tolist()}"


def of_outputs(
    first: ArrayLike, second: ArrayLike, claim: Guarantee, *, confidence: float = 0.95, training: float = 0.2,
    name: str = "outputs", event: Callable[[Any], Array] | None = None,
) -> Report:  # fmt: skip
    """Audits existing outputs of independent runs on two neighbors.

    As `statistical`: a part of them chooses at most two events, the rest tests these. The number of outputs is the same
    on both sides, so no rule that guesses is considered.

    Args:
      first, second: ``[n, ...]`` numbers, n >= 500, in an order independent of the values: whole numbers of 32 bits, or
        floats, which are rounded to float32. Rounding is a function of the output, so it cannot create a violation.
      training: fraction that chooses the events; more helps if the event is a set of many outputs.
      event: output -> ``bool[]``, a set of outputs that was named before they were seen, more likely on the first side;
        all outputs test it, see `KnownEvent`. Jittable.
    """
    sides = [_array(*part) for part in (("first", first), ("second", second))]
    if sides[0].shape != sides[1].shape or len(sides[0]) < 500:
        shapes = f"{sides[0].shape} and {sides[1].shape}"
        raise InputError("outputs", "equally many of one shape, at least 500", shapes, "run both sides alike")
    level, begin = 1 - checks.probability("confidence", confidence), time.perf_counter()
    cut_at = int(checks.probability("training", training) * len(sides[0]))
    if not 100 <= cut_at <= len(sides[0]) - 100:
        raise InputError("training", "at least 100 outputs a side to choose and to test", f"{cut_at}", "take 0.2")
    known = None if event is None else KnownEvent(event)

    def read(output: Array) -> Features:
        score = None if known is None else known.score(output, None, None, None)
        return replace(features(output), stated=score)

    of_all = jax.jit(jax.vmap(read))
    try:
        seen = [jax.tree.map(np.asarray, of_all(side)) for side in sides]
    except InputError:
        raise
    except Exception as error:  # user code may raise anything
        given = f"{type(error).__name__}: {error}"
        raise InputError("event", "output -> bool[], jittable", given, "call it by hand on one output") from error
    learn, test = ([jax.tree.map(lambda part, cut=cut: part[cut], side) for side in seen]
                   for cut in (slice(cut_at), slice(cut_at, None)))  # fmt: skip
    fresh = len(sides[0]) - cut_at
    aim = Aim.of(claim.epsilon, claim.delta, fresh, 1 - level * float(1 if known is None else 1 - MAIN))
    picked = choose(learn[0], learn[1], aim, guesses=False)
    stated = None if known is None else (known.of_event(), 0)
    tests = allotted(stated, [(question, 0) for question in asked(*picked, fresh)])
    found = []
    for one in tests:
        counts = [tally(np.asarray(marks(one.question.events, side))) for side in (seen if one.stated else test)]
        found.append(
            (one.question.tested(counts[0], counts[1], claim, level * float(one.share)), one, int(counts[0].sum()))
        )
    result, best, count = min(found, key=lambda entry: entry[0].rank)
    words = ["the first outputs", "the second outputs"][:: -1 if best.question.swapped else 1]
    details = {"event": best.question.words(sides[0][0].size), "trials": count, "successes": list(result.counts),
               "direction": best.question.direction,
               "outcomes": len(np.unique(np.concatenate([side.code for side in seen]))),
               "p_value": min(1.0, *(one.p_value / float(other.share) for one, other, _ in found)),
               "corrections": corrections(tests), "seconds": round(time.perf_counter() - begin, 2)}  # fmt: skip
    evidence = f"{fresh} fresh outputs a side, events chosen on {cut_at} others"
    evidence += f", and one stated in advance on all {len(sides[0])}" * (known is not None)
    return Report(
        name, "corrected", claim, "statistical", evidence,
        result.epsilon, result.delta, confidence, dict(zip(("database", "neighbor"), words, strict=True)),
        result.refutes, [], details,
    )  # fmt: skip


def in_auditorium_form(target: Target, privacy: Privacy, seed: int = 0) -> Callable[[Any, int], np.ndarray]:
    """(database, number of samples) -> ``[samples, ...]`` outputs, the calling form of dp_auditorium.

    Outputs of several arrays are flattened and concatenated as numbers. Every call continues with new keys.
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


def _array(name: str, outputs: ArrayLike) -> np.ndarray:
    """Converts to int32, uint32, bool or float32, also from 64-bit types; floats are rounded."""
    try:
        found = np.asarray(outputs)
    except ValueError as error:
        raise InputError(name, "outputs of one shape", f"{error}", "pad the outputs") from None
    narrow = {"i": np.int32, "u": np.uint32, "f": np.float32, "b": np.bool_}.get(found.dtype.kind)
    if narrow is None or not found.ndim:
        given = f"{found.dtype}" if found.ndim else "one value"
        raise InputError(name, "an array of numbers, one output a row", given, "encode each output as numbers")
    if found.dtype.kind == "f" and np.any(np.isnan(found)):
        at = int(np.argmax(np.isnan(found).reshape(len(found), -1).any(axis=1)))
        raise InputError(name, "outputs without NaN", f"NaN in output {at}", "encode it as a number, such as -1")
    with np.errstate(over="ignore"):  # values beyond float32's range become infinite
        made: np.ndarray = found.astype(narrow)
    if found.dtype.kind != "f" and not np.array_equal(found, made):
        raise InputError(
            name, "whole numbers that 32 bits hold, or floats", f"{found.flat[np.argmax((found != made).ravel())]}",
            "give the numbers as floats, or as arrays of smaller ones",
        )  # fmt: skip
    return made
