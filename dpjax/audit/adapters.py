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
from dpjax.audit.outputs.encoding import Encoding, Raised, as_outputs
from dpjax.audit.outputs.events import Features, marks
from dpjax.audit.report import Report
from dpjax.audit.sampling.allotment import MAIN, allotted, corrections
from dpjax.audit.sampling.choices import choose
from dpjax.audit.sampling.known import KnownEvent
from dpjax.audit.sampling.questions import asked, tally
from dpjax.audit.sampling.thresholds import Aim
from dpjax.audit.target.generators import Generators
from dpjax.audit.target.known import Known
from dpjax.audit.target.neighbors import as_database, of_32_bits, require_neighbors
from dpjax.audit.target.target import Pair, Target, of_one_budget
from dpjax.audit.traced import traced_target
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.core.user_code import calling

Function = Callable[[Any, Any], Any]
RANDOMNESS = ("seed", "generator", "key")
_EXAMPLES = 4  # outputs of each side that decide how they are read
_WIDE = 64  # largest database that a report shows in full, in numbers


def from_function(
    function: Function,
    claim: Guarantee,
    pairs: Sequence[tuple[Any, Any]],
    *,
    name: str = "host function",
    repeatable: bool = True,
    randomness: str = "seed",
    known: Known | None = None,
    data: str = "rows",
    distance: int = 1,
) -> Target:
    """A Python function as a target of audits.

    Args:
      function: (database, 64-bit seed) -> output; called once per trial, on a copy of the database. An output is a
        number, a word, None, or an array, list, dictionary or table of these, of any size: equal outputs are one
        outcome, and so are NaN and each type of exception. Numbers are compared in float64. An opendp
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

    Raises InputError if the function raises on both databases in every trial, or returns other objects, if a function
    of a key cannot be traced or does not read its key, and for a pair that is not one of neighbors.
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
    neighbors = []
    for number, both in enumerate(pairs):
        try:
            first, second = both
        except (TypeError, ValueError) as error:
            actual = f"{type(both).__name__} of {len(both)}" if hasattr(both, "__len__") else repr(both)
            advice = "give a list: [(one, other)]"
            raise InputError(f"pairs, number {number}", "two databases", actual, advice) from error
        neighbors.append(Pair(as_database(first), as_database(second), shown))
    for number, pair in enumerate(neighbors):
        apart = distance * claim.distance
        require_neighbors(f"pairs, number {number}", pair.first, pair.second, claim.neighboring, data, apart)
    if not neighbors:
        raise InputError("pairs", "neighboring databases", "none", "give at least one pair")
    if randomness == "key":
        return replace(traced_target(function, claim, neighbors, name, known, distance), repeatable=repeatable)
    make = Generators() if randomness == "generator" else int
    no_words = np.zeros((1, 2), np.uint32)
    tried = [_outputs(function, no_words, side, make)[0] for side in (neighbors[0].first, neighbors[0].second)]
    if all(isinstance(output, Raised) for output in tried):
        raise tried[0].fault()
    Encoding(tried)

    def run(key: Array, data: Any, plan: Any) -> Array:
        del key, data, plan
        advice = "it runs on the host and cannot be traced"
        raise InputError("method", f"statistical, sequential or bitwise for {name}", "another one", advice)

    def host(words: np.ndarray, data: Any, plan: Any) -> list[Any]:
        del plan
        return _outputs(function, words, data, make)

    return Target(
        name,
        of_one_budget(claim),
        run,
        list,
        lambda: neighbors,
        repeatable=repeatable,
        host=host,
        unlisted="it runs on the host",
        known=known,
    )


def _outputs(function: Function, words: np.ndarray, data: Any, make: Callable[[int], Any]) -> list[Any]:
    """The function's outputs in trials with these words, each on a copy of the data; `Raised` where it raises."""
    high, low = words.T.astype(np.uint64)
    answers: list[Any] = []
    for seed in (high << np.uint64(32) | low).tolist():
        copy = data.copy() if isinstance(data, np.ndarray) else jax.tree.map(np.array, data)
        try:
            answers.append(function(copy, make(seed)))
        except checks.RAISED as error:  # an exception tells as much as an output
            answers.append(Raised(error, seed))
    return answers


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
    first: ArrayLike,
    second: ArrayLike,
    claim: Guarantee,
    *,
    confidence: float = 0.95,
    training: float = 0.2,
    name: str = "outputs",
    event: Callable[[Any], Array] | None = None,
) -> Report:
    """Audits existing outputs of independent runs on two neighbors.

    As `statistical`: a part of them chooses at most two events, the rest tests these. The number of outputs is the same
    on both sides, so no rule that guesses is considered.

    Args:
      first, second: n >= 500 outputs, ``[n, ...]`` numbers or a list of what `from_function` takes, in an order
        independent of the values.
      training: fraction that chooses the events; more helps if the event is a set of many outputs.
      event: output -> ``bool[]``, a set of outputs that was named before they were seen, more likely on the first side;
        all outputs test it, see `KnownEvent`.
    """
    sides = [as_outputs(name, side) for name, side in (("first", first), ("second", second))]
    total = len(sides[0])
    if len(sides[1]) != total or total < 500:
        sizes = f"{total} and {len(sides[1])}"
        raise InputError("outputs", "equally many, at least 500", sizes, "run both sides alike")
    level, begin = 1 - checks.probability("confidence", confidence), time.perf_counter()
    cut_at = int(checks.probability("training", training) * total)
    if not 100 <= cut_at <= total - 100:
        raise InputError("training", "at least 100 outputs a side to choose and to test", f"{cut_at}", "take 0.2")
    known = None if event is None else KnownEvent(event)
    encoding = Encoding([output for side in sides for output in side[:_EXAMPLES]])
    seen: list[Any] = [Features(*encoding.read(side), _stated(known, encoding, side)) for side in sides]  # type: ignore
    learn, test = (
        [jax.tree.map(lambda part, cut=cut: part[cut], side) for side in seen]
        for cut in (slice(cut_at), slice(cut_at, None))
    )
    fresh = total - cut_at
    aim = Aim.of(claim.epsilon, claim.delta, fresh, 1 - level * float(1 if known is None else 1 - MAIN))
    picked = choose(learn[0], learn[1], aim, guesses=False)
    stated = None if known is None else (known.of_event(), 0)
    tests = allotted(stated, [(question, 0) for question in asked(*picked, fresh)])
    results = []
    for item in tests:
        counts = [tally(np.asarray(marks(item.question.events, side))) for side in (seen if item.stated else test)]
        results.append(
            (item.question.tested(counts[0], counts[1], claim, level * float(item.share)), item, int(counts[0].sum()))
        )
    result, best, count = min(results, key=lambda entry: entry[0].rank)
    words = ["the first outputs", "the second outputs"][:: -1 if best.question.swapped else 1]
    codes, numbers = (np.concatenate([getattr(side, part)[:cut_at] for side in seen]) for part in ("code", "numbers"))
    naming = replace(encoding.naming, partial=bool(np.isinf(numbers).any()))
    remarks = {"read": encoding.remark, "rounding": encoding.merged(codes, numbers)}
    details = {
        "event": best.question.words(naming),
        **{name: remark for name, remark in remarks.items() if remark},
        "event_outputs": naming.outputs(best.question.events),
        "trials": count,
        "successes": list(result.counts),
        "direction": best.question.direction,
        "outcomes": len(np.unique(np.concatenate([side.code for side in seen]))),
        "p_value": min(1.0, *(answer.p_value / float(posed.share) for answer, posed, _ in results)),
        "corrections": corrections(tests),
        "seconds": round(time.perf_counter() - begin, 2),
    }
    evidence = f"{fresh} fresh outputs a side, events chosen on {cut_at} others"
    evidence += f", and one stated in advance on all {total}" * (known is not None)
    head = name, "corrected", claim, "statistical", evidence, result.epsilon, result.delta, confidence
    return Report(*head, dict(zip(("database", "neighbor"), words, strict=True)), result.refutes, [], details)


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


def _stated(known: KnownEvent | None, encoding: Encoding, side: Sequence[Any]) -> np.ndarray | None:
    """Which outputs the event contains, ``float32[t]``; None without an event."""
    if known is None:
        return None
    if not encoding.in_arrays:
        return known.of_objects(side)
    rows, arrays = encoding.usual(side)
    flags = np.zeros(len(side), np.float32)
    score = jax.jit(jax.vmap(lambda output: known.score(output, None, None, None)))
    with calling("event", "output -> bool[], jittable", "call it by hand on one output"):
        flags[rows] = np.asarray(score(of_32_bits("outputs", arrays)))
    return flags
