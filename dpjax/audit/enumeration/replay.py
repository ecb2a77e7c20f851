"""Gray-box replay: runs two neighbors under one key and compares mechanism queries with their sensitivities.

The program runs on the first database; on the second every draw returns the same outcome again. While the draws agree,
only the data differ, so the query to a mechanism may change by at most its declared sensitivity, and every loop and
branch must take the same path. One pair of databases is enough to detect a declared sensitivity that is too small.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from dpjax.audit.enumeration.interpreter import Interpreter
from dpjax.audit.enumeration.pieces import ASKED, DRAW, checked, given, on_host, refuse
from dpjax.audit.enumeration.population import Population, Value
from dpjax.audit.report import Report
from dpjax.audit.target.target import Pair, Target, require_target
from dpjax.audit.watch import Watch, Work, unwatched
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.draws import draw_p
from dpjax.core.lowered import lowered
from dpjax.core.types import Privacy

_SLACK = 1e-5  # relative tolerance of sensitivities in float32


@dataclass
class Trace:
    """The events of one run in order: queries (mechanism, sensitivity, norm, values), draws, and turns taken."""

    questions: list[tuple[str, float, str, np.ndarray]] = field(default_factory=list)
    draws: list[list[np.ndarray]] = field(default_factory=list)
    turns: list[tuple[str, bytes]] = field(default_factory=list)


class Replaying(Interpreter):
    """Evaluates a program on one database; draws are sampled, or repeat given outcomes."""

    stops = frozenset({DRAW, ASKED, "cond", "while"})

    def __init__(self) -> None:
        super().__init__(steps=1 << 20)
        self.found, self.answers = Trace(), list[list[np.ndarray]]()
        self._samplers: dict[int, tuple[Any, Callable]] = {}

    def trace(self, code: Any, arguments: list[Value], answers: list[list[np.ndarray]] | None = None) -> Trace:
        """The events of the program; ``answers``: outcomes of its draws, instead of sampled ones."""
        self.found, self.answers = Trace(), answers or []
        self.enter(code, arguments, 1)
        return self.found

    def draw(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        """One outcome for the only row."""
        pop, _ = self.keys_of(equation, args[-1], pop)
        number = len(self.found.draws)
        drawn = self.answers[number] if number < len(self.answers) else self._sampled(equation, args)
        shapes = [var.aval for var in equation.outvars]
        if [array.shape for array in drawn] != [array.shape for array in shapes]:
            refuse(equation, "the draws of the first run", "another one", "audit it statistically", InputError)
        self.found.draws.append(drawn)
        return [Value(array, False) for array in drawn], pop

    def _sampled(self, equation: Any, args: list[Value]) -> list[np.ndarray]:
        if id(equation) not in self._samplers:
            like = [var.aval for var in equation.invars]

            def call(*words: Any) -> list:
                operands = [given(value, aval) for value, aval in zip(words, like, strict=True)]
                return draw_p.bind(*operands, **equation.params)

            self._samplers[id(equation)] = equation, jax.jit(call)
        return [np.asarray(value) for value in self._samplers[id(equation)][1](*(_only(value) for value in args))]

    def asked(self, equation: Any, value: Value) -> None:
        """Records one query per lane."""
        how, x = equation.params, _only(value)
        for query in x.reshape(-1, *x.shape[how["lanes"] :]):
            self.found.questions.append((how["mechanism"], how["sensitivity"], how["norm"], query))

    def turned(self, equation: Any, way: np.ndarray) -> None:
        """Records branches and turns of loops."""
        self.found.turns.append((equation.primitive.name, way.tobytes()))


def _only(value: Value) -> np.ndarray:
    return value.x[0] if value.each else value.x


def replay(target: Target, privacy: Privacy, *, seed: int = 0, watch: Watch = unwatched) -> Report:
    """Compares two runs of ``target`` on each of its pairs, under one key.

    ``epsilon_found`` is the claimed epsilon times the largest ratio of a query's change to its sensitivity.

    Violated if a query changed by more than its sensitivity, or if loops or branches outside the samplers took
    different paths. "Consistent" means that neither occurred on these pairs; the noise is not tested. Only mechanisms
    whose queries can be compared entrywise are included, so not the choosing mechanism and the stability histogram,
    whose slots depend on the data. InputError if there are no other queries. ``watch`` receives the number of finished
    pairs.
    """
    require_target(target)
    begin = time.perf_counter()
    claim = target.claimed(privacy)
    pairs = target.pairs()
    if not pairs:
        raise InputError("target", "neighboring databases to compare", "none", "give the target some pairs")
    plan = target.plan(privacy)
    changes, work = [], Work(watch, len(pairs), "pairs")
    for pair in pairs:
        changes.append((difference(target, pair, plan, seed), pair))
        work.did(1)
    (ratio, what, questions), pair = max(changes, key=lambda entry: entry[0][0])
    evidence = f"{questions} questions to mechanisms on each of {len(pairs)} pair(s), not their noise; at most, {what}"
    head = target.name, target.calibration, claim, "replay", evidence, claim.epsilon * ratio, claim.delta, 1.0
    return Report(
        *head,
        pair.witness(),
        ratio > 1 + _SLACK,
        [],
        {"ratio": ratio, "seed": seed, "seconds": round(time.perf_counter() - begin, 2)},
    )


def difference(target: Target, pair: Pair, plan: Any, seed: int) -> tuple[float, str, int]:
    """(largest change relative to the sensitivity, where, number of queries); inf if the control flow differs."""
    first, second = traces(target.run, keys.root(seed), pair.first, pair.second, plan)
    if not first.questions:
        raise InputError(
            "target", "an algorithm that asks mechanisms of dpjax", "no question", "audit it statistically"
        )
    if first.turns != second.turns or len(first.questions) != len(second.questions):
        return float("inf"), "loops or branches went other ways", len(first.questions)
    worst, where = 0.0, "nothing moved"
    for (name, sensitivity, norm, left), (*_, right) in zip(first.questions, second.questions, strict=True):
        total = _MOVED[norm](left, right)
        if total / sensitivity > worst:
            worst, where = total / sensitivity, f"{name} moved by {total:g} of {sensitivity:g}"
    return worst, where, len(first.questions)


def _largest(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(one.astype(np.float64) - other.astype(np.float64)), initial=0.0))


def _sum(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sum(np.abs(one.astype(np.float64) - other.astype(np.float64))))


def _pieces(one: np.ndarray, other: np.ndarray) -> float:
    """The largest change of an element's score; both scores are constant between the ends of their level sets."""
    worst = 0.0
    width = (one.shape[-1] - 2) // 2  # limbs per element
    for left, right in zip(one.reshape(-1, *one.shape[-2:]), other.reshape(-1, *other.shape[-2:]), strict=True):
        sides = [
            [(_element(row[:width]), _element(row[width:-2]), int(row[-2])) for row in side if row[-1]]
            for side in (left, right)
        ]
        ends = {end for side in sides for first, last, _ in side for end in (first, last)}
        scores = [{end: _score(side, end) for end in ends} for side in sides]
        changed = [end for end in ends if scores[0][end] != scores[1][end]]
        worst = max([worst, *(abs(scores[0][end] - scores[1][end]) for end in changed)])
    return float(worst)


def _element(limbs: np.ndarray) -> int:
    return int.from_bytes(np.ascontiguousarray(limbs).astype(">u4").tobytes(), "big")


def _score(pieces: list[tuple[int, int, int]], element: int) -> float:
    """The score of the first piece that contains the element: the last one may have holes, which are other pieces."""
    return next((score for first, last, score in pieces if first <= element <= last), float("inf"))


def _after_sorting(norm: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[np.ndarray, np.ndarray], float]:
    """Sorting minimizes the distance over all matchings of slots, so the result is a lower bound on the change."""
    return lambda first, second: norm(np.sort(first), np.sort(second))


_MOVED = {
    "largest": _largest,
    "sum": _sum,
    "sorted": _after_sorting(_largest),
    "sorted sum": _after_sorting(_sum),
    "euclidean": lambda first, second: float(np.linalg.norm(first.astype(np.float64) - second.astype(np.float64))),
    "pieces": _pieces,
}


def traces(run: Callable, key: Any, first: Any, second: Any, plan: Any) -> tuple[Trace, Trace]:
    """The traces of ``run(key, database, plan)`` on two databases; draws on the second repeat those on the first."""
    code = checked(lowered(jax.make_jaxpr(run)(key, first, plan)))
    interpreter = Replaying()
    values = lambda database: [Value(on_host(leaf), False) for leaf in jax.tree.leaves((key, database, plan))]  # noqa: E731
    trace = interpreter.trace(code, values(first))
    return trace, interpreter.trace(code, values(second), trace.draws)
