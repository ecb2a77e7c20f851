"""Gray-box replay: the same key on two neighbours, what each mechanism was asked compared with its sensitivity.

The algorithm runs on the first database; on the second every draw is answered as before. As long as the draws agree,
all that differs is the data: so what a mechanism is asked may move by its declared sensitivity and no more, and no
loop or branch may go another way. One pair of databases is enough to see a sensitivity that is declared too small.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from dpjax.audit.report import Report
from dpjax.audit.target import Pair, Target
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.draws import asking, listening
from dpjax.core.types import Privacy

_DRAW = "dpjax_draw"
_SLACK = 1e-5  # relative, of sensitivities in float32


@dataclass
class Trace:
    """What one run met, in order: questions (mechanism, sensitivity, norm, values), draws, and turns taken."""

    questions: list[tuple[str, float, str, np.ndarray]]
    draws: list[list[Any]]
    turns: list[tuple[str, int]]


def replay(target: Target, privacy: Privacy, *, seed: int = 0) -> Report:
    """Compares two runs of ``target`` on each of its pairs, under one key.

    Found is the claimed epsilon times the largest part of a sensitivity that was used.

    Violated if a mechanism is asked something that moved by more than its sensitivity, or if loops or branches outside
    the samplers went other ways. Consistent says that these pairs showed neither: it says nothing about the noise.
    Only mechanisms whose question can be compared entry by entry are listened to, so not the choosing mechanism and the
    stability histogram, whose slots depend on the data. InputError where nothing else is asked.
    """
    begin = time.perf_counter()
    claim = target.claim(float(privacy.epsilon), float(privacy.delta))
    pairs = target.pairs()
    if not pairs:
        raise InputError("target", "neighbouring databases to compare", "none", "give the target some pairs")
    budget = Privacy(jnp.float32(privacy.epsilon), jnp.float32(privacy.delta))
    found = [(difference(target, pair, budget, seed), pair) for pair in pairs]
    (ratio, what, questions), pair = max(found, key=lambda entry: entry[0][0])
    evidence = f"{questions} questions to mechanisms on each of {len(pairs)} pair(s); at most, {what}"
    return Report(
        target.name, target.calibration, claim, "replay", evidence, claim.epsilon * ratio, claim.delta, 1.0,
        pair.witness(), ratio > 1 + _SLACK, [],
        {"ratio": ratio, "seed": seed, "seconds": round(time.perf_counter() - begin, 2)},
    )  # fmt: skip


def difference(target: Target, pair: Pair, privacy: Privacy, seed: int) -> tuple[float, str, int]:
    """(largest movement in units of the sensitivity, where, questions); inf for another control flow."""
    key = keys.root(seed)
    first = trace(lambda k, d: target.run(k, d, privacy), (key, pair.first))
    second = trace(lambda k, d: target.run(k, d, privacy), (key, pair.second), first.draws)
    if not first.questions:
        raise InputError(
            "target", "an algorithm that asks mechanisms of dpjax", "no question", "audit it statistically"
        )
    if first.turns != second.turns or len(first.questions) != len(second.questions):
        return float("inf"), "loops or branches went other ways", len(first.questions)
    worst, where = 0.0, "nothing moved"
    for (name, sensitivity, norm, one), (*_, other) in zip(first.questions, second.questions, strict=True):
        total = _MOVED[norm](one, other)
        if total / sensitivity > worst:
            worst, where = total / sensitivity, f"{name} moved by {total:g} of {sensitivity:g}"
    return worst, where, len(first.questions)


def _largest(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(one.astype(np.float64) - other.astype(np.float64)), initial=0.0))


def _sum(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sum(np.abs(one.astype(np.float64) - other.astype(np.float64))))


def _pieces(one: np.ndarray, other: np.ndarray) -> float:
    """The most that the score of an element moves; both are constant between the ends of the pieces of either."""
    worst = 0.0
    width = (one.shape[-1] - 2) // 2  # limbs of an element
    for left, right in zip(one.reshape(-1, *one.shape[-2:]), other.reshape(-1, *other.shape[-2:]), strict=True):
        sides = [[(_element(row[:width]), _element(row[width:-2]), int(row[-2])) for row in side if row[-1]]
                 for side in (left, right)]  # fmt: skip
        ends = {end for side in sides for first, last, _ in side for end in (first, last)}
        scores = [{end: _score(side, end) for end in ends} for side in sides]
        changed = [end for end in ends if scores[0][end] != scores[1][end]]
        worst = max([worst, *(abs(scores[0][end] - scores[1][end]) for end in changed)])
    return float(worst)


def _element(limbs: np.ndarray) -> int:
    return int.from_bytes(np.ascontiguousarray(limbs).astype(">u4").tobytes(), "big")


def _score(pieces: list[tuple[int, int, int]], element: int) -> float:
    """Of the first piece that holds it: the last one may have holes, which are pieces of their own."""
    return next((score for first, last, score in pieces if first <= element <= last), float("inf"))


def _after_sorting(norm: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[np.ndarray, np.ndarray], float]:
    """Of all ways to match the slots of the two, sorting moves least: what is found moved at least so much."""
    return lambda one, other: norm(np.sort(one), np.sort(other))


_MOVED = {
    "largest": _largest, "sum": _sum, "sorted": _after_sorting(_largest), "sorted sum": _after_sorting(_sum),
    "euclidean": lambda one, other: float(np.linalg.norm(one.astype(np.float64) - other.astype(np.float64))),
    "pieces": _pieces,
}  # fmt: skip


def trace(run: Callable, arguments: tuple, draws: list[list[Any]] | None = None) -> Trace:
    """Runs a function operation by operation; ``draws``: the answers to give instead of drawing."""

    def listener(law: Any, key: Array, sample: Any) -> Any:
        def dpjax_draw(law: Any, key: Array) -> Any:
            return sample(law, key)

        return jax.jit(dpjax_draw)(law, key)

    def asked(value: Array, name: str, sensitivity: float, norm: str) -> Array:
        return checkpoint_name(value, f"dpjax|{sensitivity!r}|{norm}|{name}")

    with listening(listener), asking(asked):
        closed = jax.make_jaxpr(run)(*arguments)
    found = Trace([], [], [])
    _evaluate(closed, jax.tree.leaves(arguments), found, draws)
    return found


def _evaluate(closed: ClosedJaxpr, values: list, found: Trace, draws: list[list[Any]] | None) -> list:
    jaxpr: Jaxpr = closed.jaxpr
    memory: dict = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    memory.update(zip(jaxpr.invars, values, strict=True))
    read = lambda var: var.val if isinstance(var, Literal) else memory[var]  # noqa: E731
    for equation in jaxpr.eqns:
        inputs = [read(var) for var in equation.invars]
        outputs = _step(equation, inputs, found, draws)
        memory.update(zip(equation.outvars, outputs, strict=True))
    return [read(var) for var in jaxpr.outvars]


def _step(equation: Any, inputs: list, found: Trace, draws: list[list[Any]] | None) -> list:
    name, how = equation.primitive.name, equation.params
    if name == "name" and how["name"].startswith("dpjax|"):
        _, sensitivity, norm, mechanism = how["name"].split("|", 3)
        found.questions.append((mechanism, float(sensitivity), norm, np.asarray(inputs[0])))
        return inputs
    if name in ("pjit", "jit") and how["name"] == _DRAW:
        outputs = _bind(equation, inputs) if draws is None else draws[len(found.draws)]
        found.draws.append(outputs)
        return outputs
    if name in ("pjit", "jit", "closed_call", "core_call", "remat", "custom_jvp_call", "custom_vjp_call"):
        inner = how.get("jaxpr") or how.get("call_jaxpr") or how.get("fun_jaxpr")
        return _evaluate(inner if hasattr(inner, "jaxpr") else ClosedJaxpr(inner, ()), inputs, found, draws)
    if name == "cond":
        branch = int(np.clip(inputs[0], 0, len(how["branches"]) - 1))
        found.turns.append(("branch", branch))
        return _evaluate(how["branches"][branch], inputs[1:], found, draws)
    if name == "while":
        return _while(how, inputs, found, draws)
    if name == "scan":
        return _scan(how, inputs, found, draws)
    return _bind(equation, inputs)


def _while(how: dict, inputs: list, found: Trace, draws: list[list[Any]] | None) -> list:
    of_test, of_body = how["cond_nconsts"], how["body_nconsts"]
    test, body, state = inputs[:of_test], inputs[of_test : of_test + of_body], inputs[of_test + of_body :]
    rounds = 0
    while bool(_evaluate(how["cond_jaxpr"], [*test, *state], found, draws)[0]):
        state = _evaluate(how["body_jaxpr"], [*body, *state], found, draws)
        rounds += 1
    found.turns.append(("loop", rounds))
    return state


def _scan(how: dict, inputs: list, found: Trace, draws: list[list[Any]] | None) -> list:
    fixed, carried = how["num_consts"], how["num_carry"]
    constants, state, rows = inputs[:fixed], inputs[fixed : fixed + carried], inputs[fixed + carried :]
    order = range(how["length"])
    made: list = []
    for i in reversed(order) if how["reverse"] else order:
        outputs = _evaluate(how["jaxpr"], [*constants, *state, *(row[i] for row in rows)], found, draws)
        state = outputs[:carried]
        made.append(outputs[carried:])
    made = made[::-1] if how["reverse"] else made
    return [*state, *(jnp.stack(parts) for parts in zip(*made, strict=True))]


def _bind(equation: Any, inputs: list) -> list:
    with jax.enable_x64(True):  # the program says its own types
        outputs = equation.primitive.bind(*inputs, **equation.params)
    return list(outputs) if equation.primitive.multiple_results else [outputs]
