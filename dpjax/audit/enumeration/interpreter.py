"""A breadth-first interpreter of jaxprs for audits: it evaluates the program that runs and supplies its draws.

Straight-line code is compiled; scans and loops are run turn by turn, branches split the rows. A subclass defines the
result of a draw and the use of queries: `outcomes.Forking` continues with every possible outcome, `replay.Replaying`
with one outcome. Code that cannot be interpreted raises an InputError that names the equation.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from dpjax.audit.enumeration.histories import Histories, codes
from dpjax.audit.enumeration.pieces import (
    ASKED,
    DRAW,
    Pieces,
    Straight,
    atoms,
    draws_in,
    filled,
    on_host,
    padded,
    refuse,
)
from dpjax.audit.enumeration.population import Population, Value, joined, merged, taken
from dpjax.core.jax_extensions import ClosedJaxpr

_MERGED_FROM = 1024  # rows; for fewer rows merging takes longer than it saves


class Interpreter(ABC):
    """Caches the compiled pieces of the programs it is given; ``steps``: maximum number of turns of a loop."""

    stops = frozenset({DRAW})

    def __init__(self, steps: int = 1000):
        self.steps, self.histories = steps, Histories()
        self._pieces: dict[int, tuple[Any, Pieces]] = {}
        self._compiled: dict[tuple, tuple[Callable, list[bool]]] = {}

    # ---- defined by a subclass

    @abstractmethod
    def draw(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        """Supplies the outcomes of a draw."""

    def asked(self, equation: Any, value: Value) -> None:  # noqa: B027 (optional)
        """Receives a query to a mechanism."""

    def turned(self, equation: Any, way: np.ndarray) -> None:  # noqa: B027
        """Receives the branch that each row takes, or which rows continue in a loop."""

    # ---- the program

    def enter(self, code: ClosedJaxpr, args: Sequence[Value], rows: int) -> tuple[list[Value], Population]:
        """The outputs of a whole program on its arguments, and the rows that they belong to."""
        with jax.enable_x64(True):  # the jaxpr determines its types
            return self.run(code, list(args), Population.of(np.zeros(rows, np.int64)))

    def run(self, code: ClosedJaxpr, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        """The outputs of a jaxpr for the rows of a population."""
        if id(code) not in self._pieces:
            self._pieces[id(code)] = code, Pieces(code, self.stops)
        pieces = self._pieces[id(code)][1]
        values = dict(zip(pieces.inputs, args, strict=True))
        values.update((var, Value(on_host(const), False)) for var, const in pieces.constants.items())
        for number, part in enumerate(pieces.parts):
            if isinstance(part, Straight):
                made, pop = self._straight(part, values, pop)
                values.update(made)
                values = {var: value for var, value in values.items() if pieces.last.get(var, -1) > number}
                continue
            out, fresh = self._step(part, atoms(part.invars, values), pop.entering())
            values = {var: value for var, value in values.items() if pieces.last.get(var, -1) > number}
            if len(fresh) != len(pop) or np.any(fresh.at != np.arange(len(pop))):
                values = {var: value.take(fresh.at) for var, value in values.items()}
            pop = pop.behind(fresh)
            values.update((var, value) for var, value in zip(part.outvars, out, strict=True) if var in pieces.last)
            if len(pop) >= _MERGED_FROM:
                keep, pop = merged(list(values.values()), pop)
                if keep is not None:
                    values = {var: value.take(keep) for var, value in values.items()}
        return atoms(pieces.outputs, values), pop

    def _straight(self, part: Straight, values: dict, pop: Population) -> tuple[dict, Population]:
        args = [values[var] for var in part.inputs]
        spot = (id(part), tuple(value.each for value in args))
        if spot not in self._compiled:
            self._compiled[spot] = part.compiled(spot[1])
        call, each = self._compiled[spot]
        size = padded(len(pop))
        made = [np.asarray(value) for value in call(*(filled(value, size) for value in args))]
        results = [
            Value(value[: len(pop)] if per_row else value, per_row) for value, per_row in zip(made, each, strict=True)
        ]
        for derived in results[len(part.outputs) :]:
            keys = codes(derived.x)
            keys = keys.reshape(len(pop), -1) if derived.each else keys.reshape(1, -1)
            pop = self._used(part.first, pop, self.histories.derived(pop.history, keys))
        return dict(zip(part.outputs, results, strict=False)), pop

    def _used(self, equation: Any, pop: Population, found: tuple[np.ndarray, str]) -> Population:
        history, wrong = found
        if wrong:
            refuse(
                equation,
                "a separate key for every draw",
                wrong,
                "split the key, before a cond: draws with one key are not independent",
            )
        return Population(pop.at, pop.log_p, history, pop.lanes)

    def _step(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        name = equation.primitive.name
        if name == ASKED:
            self.asked(equation, args[0])
            return args, pop
        if name == DRAW:
            return self.draw(equation, args, pop)
        return {"cond": self._cond, "scan": self._scan, "while": self._while}[name](equation, args, pop)

    def keys_of(self, equation: Any, key: Value, pop: Population) -> tuple[Population, np.ndarray | None]:
        """Records the keys of a draw in all lanes. Also returns the active lanes, ``bool[n, lanes]`` (None: all)."""
        lanes = equation.params["lanes"]
        words = in_lanes(key, len(pop) if key.each else 1, lanes, -1)
        keys = codes(words)
        real, sizes = None, tuple(size for size, _ in lanes)
        if pop.lanes is not None:
            real = pop.lanes
            if real.shape[1:] != sizes[: real.ndim - 1]:
                return pop, None  # it is unknown which lanes continue
            wide = real.reshape(*real.shape, *[1] * (len(sizes) - real.ndim + 1))
            real = np.broadcast_to(wide, (len(pop), *sizes)).reshape(len(pop), -1)
        return self._used(equation, pop, self.histories.drawn(pop.history, keys, real)), real

    # ---- control flow

    def _cond(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        branches = equation.params["branches"]
        way = np.clip(args[0].rows(len(pop)), 0, len(branches) - 1).astype(np.int64)
        self.turned(equation, way)
        parts = []
        for branch in np.unique(way):
            rows = np.flatnonzero(way == branch)
            out, fresh = self.run(branches[branch], taken(args[1:], rows), pop.take(rows).entering())
            parts.append((out, pop.take(rows).behind(fresh)))
        return joined(parts)

    def _scan(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        how = equation.params
        fixed, carried = _fixed_and_carried(how)
        constants, state, rows = args[:fixed], args[fixed : fixed + carried], args[fixed + carried :]
        made: list[list[Value]] = []
        order = range(how["length"])
        for i in reversed(order) if how["reverse"] else order:
            turn = [Value(row.x[:, i] if row.each else row.x[i], row.each) for row in rows]
            out, fresh = self.run(how["jaxpr"], [*constants, *state, *turn], pop.entering())
            pop = pop.behind(fresh)
            state, new = out[:carried], out[carried:]
            made = [*(taken(values, fresh.at) for values in made), new]
            constants, rows = taken(constants, fresh.at), taken(rows, fresh.at)
            keep, pop = merged([*state, *(value for values in made for value in values)], pop)
            if keep is not None:
                constants, rows, state = (taken(values, keep) for values in (constants, rows, state))
                made = [taken(values, keep) for values in made]
        if not made:
            shapes = [var.aval for var in equation.outvars[carried:]]
            return [*state, *(Value(np.zeros(aval.shape, aval.dtype), False) for aval in shapes)], pop
        made = made[::-1] if how["reverse"] else made
        return [*state, *(_stacked(column, len(pop)) for column in zip(*made, strict=True))], pop

    def _while(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        how = equation.params
        tests, bodies = how["cond_nconsts"], how["body_nconsts"]
        test, body, state = args[:tests], args[tests : tests + bodies], args[tests + bodies :]
        draws, ended = draws_in(how["cond_jaxpr"].jaxpr), []
        going: np.ndarray | None = None  # lanes that are still active
        for turn in range(self.steps + 1):
            entering = Population.of(pop.history, _inside(going, pop.lanes))
            (condition,), fresh = self.run(how["cond_jaxpr"], [*test, *state], entering)
            test, body, state, pop = *(taken(part, fresh.at) for part in (test, body, state)), pop.behind(fresh)
            # under vmap the condition has one value per lane; ended lanes are unchanged
            lanes = condition.rows(len(pop)).reshape(len(pop), *condition.x.shape[1 if condition.each else 0 :])
            lanes = lanes if going is None else lanes & going[fresh.at]
            self.turned(equation, lanes)
            alive = lanes.reshape(len(pop), -1).any(axis=1)
            out = np.flatnonzero(~alive)
            if len(out):
                ended.append((taken([Value(value.rows(len(pop)), True) for value in state], out), pop.take(out)))
            rows = np.flatnonzero(alive)
            if not len(rows):
                break
            if turn == self.steps:
                mass = np.logaddexp.reduce(pop.log_p[rows])
                refuse(
                    equation,
                    f"a loop that ends within {self.steps} turns on every path",
                    f"{len(rows)} unfinished paths of log-mass {mass:.3g}",
                    "bound the loop, or declare the law that it realizes as one draw",
                )
            test, body, state, pop = taken(test, rows), taken(body, rows), taken(state, rows), pop.take(rows)
            lanes = lanes[rows]
            entering = Population.of(pop.history, _inside(lanes if lanes.ndim > 1 else None, pop.lanes))
            new, fresh = self.run(how["body_jaxpr"], [*body, *state], entering)
            if lanes.ndim > 1:
                chosen = lanes[fresh.at]
                pairs = zip(new, taken(state, fresh.at), strict=True)
                new = [_picked(chosen, after.rows(len(fresh)), before.rows(len(fresh))) for after, before in pairs]
            test, body, state, pop = taken(test, fresh.at), taken(body, fresh.at), new, pop.behind(fresh)
            going = lanes[fresh.at] if draws and lanes.ndim > 1 else None
            keep, pop = merged(state if going is None else [*state, Value(going, True)], pop)
            if keep is not None:
                test, body, state = taken(test, keep), taken(body, keep), taken(state, keep)
                going = going if going is None else going[keep]
        return joined(ended)


def _fixed_and_carried(how: dict[str, Any]) -> tuple[int, int]:
    """How many operands of a scan are constants, and how many are its state; the others are scanned."""
    if "ft_in" in how:  # from JAX 0.11 on, a tree of the three groups
        fixed, carried, _ = map(len, how["ft_in"].unpack())
        return fixed, carried
    return how["num_consts"], how["num_carry"]


def _inside(own: np.ndarray | None, outer: np.ndarray | None) -> np.ndarray | None:
    """The active lanes of a loop, among the active lanes of the enclosing loop."""
    if own is None or outer is None or own.shape[: outer.ndim] != outer.shape:
        return outer if own is None else own
    return own & outer.reshape(*outer.shape, *[1] * (own.ndim - outer.ndim))


def _picked(lanes: np.ndarray, new: np.ndarray, old: np.ndarray) -> Value:
    return Value(np.where(lanes.reshape(*lanes.shape, *[1] * (new.ndim - lanes.ndim)), new, old), True)


def _stacked(column: Sequence[Value], rows: int) -> Value:
    if not any(value.each for value in column):
        return Value(np.stack([value.x for value in column]), False)
    return Value(np.stack([value.rows(rows) for value in column], axis=1), True)


def in_lanes(value: Value, rows: int, lanes: Sequence[tuple[int, tuple[bool, ...]]], operand: int) -> np.ndarray:
    """An operand of a draw with all its lanes flattened: ``[rows, lanes, ...]``."""
    x = value.x if value.each else value.x[None]
    for axis, (size, batched) in enumerate(lanes):
        if not batched[operand]:
            at = axis + 1
            x = np.broadcast_to(np.expand_dims(x, at), (*x.shape[:at], size, *x.shape[at:]))
    x = x.reshape(len(x), math.prod(size for size, _ in lanes), *x.shape[1 + len(lanes) :])
    return x if len(x) == rows else np.broadcast_to(x, (rows, *x.shape[1:]))
