"""The exact output law of a whole program, from the laws that it draws from.

Each draw continues with every outcome in the law's `support`, so that the program itself computes the output of each
path. The jaxpr is that of the program that runs.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

from dpjax.audit.enumeration.interpreter import Interpreter, in_lanes
from dpjax.audit.enumeration.pieces import NotListable, checked, filled, is_key, on_host, padded, refuse
from dpjax.audit.enumeration.population import Population, Value
from dpjax.audit.outputs.naming import Naming
from dpjax.audit.target.room import require_room, room, size, widest
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.lowered import lowered
from dpjax.laws.base import Law, Support

_MOST_ROWS, _MOST_OUTCOMES = 1 << 20, 1 << 13
MASS_TOLERANCE = 1e-9  # of the total of masses, also in `dpjax.testing.check_law`
_ROUNDED = 1e-5  # totals of float32 numbers are off by less

Run = Callable[[Any, Any, Any], Any]


class _TooMany(NotListable):
    """A population would have more paths than allowed."""


class Forking(Interpreter):
    """Continues a draw with every possible outcome. forks: number of rows that draws have created so far.

    width: bytes of the largest array of one row; the rows of all paths have to fit in memory.
    """

    def __init__(self, rows: int = _MOST_ROWS, outcomes: int = _MOST_OUTCOMES, steps: int = 1000, width: int = 8):
        super().__init__(steps)
        self.rows, self.outcomes, self.forks = max(1, min(rows, room() // width)), outcomes, 0
        self.width = width
        self._supports: dict[tuple, Callable] = {}

    def draw(self, equation: Any, args: list[Value], pop: Population) -> tuple[list[Value], Population]:
        """The product of rows and outcomes, without outcomes of mass 0. Lanes are independent."""
        how = equation.params
        sizes = tuple(size for size, _ in how["lanes"])
        pop, real = self.keys_of(equation, args[-1], pop)
        rows = len(pop) if any(arg.each for arg in args[:-1]) else 1
        leaves = [in_lanes(arg, rows, how["lanes"], operand) for operand, arg in enumerate(args[:-1])]
        row, log_p, picked = np.arange(len(pop)), pop.log_p, list[list[np.ndarray]]()
        for lane in range(math.prod(sizes)):
            outcomes, mass = self._listed(equation, [leaf[:, lane] for leaf in leaves], rows)
            of_row = row if rows > 1 else np.zeros(len(row), np.int64)
            table = mass[of_row]
            if real is not None:  # draws of ended lanes are discarded
                first = np.where(np.arange(table.shape[1]) == 0, 0.0, -np.inf)
                table = np.where(real[row, lane][:, None], table, first)
            at, place = np.nonzero(table > -np.inf)
            if len(at) > self.rows:
                refuse(
                    equation,
                    f"at most {self.rows} paths",
                    f"{len(at)}, {size(len(at) * self.width)}",
                    "a smaller world, or a statistical audit",
                    _TooMany,
                )
            picked = [[leaf[at] for leaf in lane_of] for lane_of in picked]
            picked.append([leaf[of_row[at], place] for leaf in outcomes])
            row, log_p = row[at], log_p[at] + table[at, place]
        self.forks += len(row)
        shapes = [var.aval for var in equation.outvars]
        made = [
            Value(np.stack(parts, axis=1).reshape(len(row), *aval.shape), True)
            for parts, aval in zip(zip(*picked, strict=True), shapes, strict=True)
        ]
        lanes = None if pop.lanes is None else pop.lanes[row]
        return made, Population(pop.at[row], log_p, pop.history[row], lanes)

    def _listed(self, equation: Any, leaves: list[np.ndarray], rows: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Outcomes ``[rows, o, ...]`` and log masses ``float64[rows, o]`` of the law in each row."""
        tree = equation.params["law"]
        spot = (tree, tuple((leaf.shape[1:], leaf.dtype) for leaf in leaves))
        if spot not in self._supports:
            # a law without leaves is the same for all rows
            support = lambda *operands: _support(tree.unflatten(operands), self.outcomes, equation)  # noqa: E731
            alone = lambda: jax.tree.map(lambda leaf: leaf[None], support())  # noqa: E731
            self._supports[spot] = jax.jit(jax.vmap(support) if leaves else alone)
        size = padded(rows)
        outcomes, mass = self._supports[spot](*(filled(Value(leaf, True), size) for leaf in leaves))
        mass = np.asarray(mass, np.float64)[:rows]
        total = logsumexp(mass, axis=1)
        if not np.all(np.abs(total) <= MASS_TOLERANCE):
            refuse(
                equation,
                "a law whose masses add up to 1",
                f"{type(tree.unflatten(leaves)).__name__} of log-mass {total.min():.3g} to {total.max():.3g}",
                mass_advice(
                    tree.unflatten(leaves),
                    float(np.abs(total).max()),
                    "check its support: it lists each possible outcome once, with its mass",
                ),
                InputError,
            )
        return [np.asarray(leaf)[:rows] for leaf in jax.tree.leaves(outcomes)], mass


def mass_advice(law: Any, off: float, otherwise: str) -> str:
    """What to do about masses whose total is off by ``off``: rounding to float32, or else ``otherwise``.

    A law that was normalized in float32 passes in a program that an audit traces in float64, where it is normalized
    again, and fails as it is.
    """
    if off < _ROUNDED and any(getattr(leaf, "dtype", None) == np.float32 for leaf in jax.tree.leaves(law)):
        return (
            "its numbers were normalized in float32, and are rounded: normalize in log_prob, in float64, for example "
            "by jax.nn.log_softmax(self.logits.astype(jnp.float64))"
        )
    return otherwise


def _support(law: Any, limit: int, equation: Any) -> tuple[Any, Any]:
    if not isinstance(law, Law):
        advice = "inherit from it, and implement support"
        refuse(equation, "draws from subclasses of dpjax.laws.Law", type(law).__name__, advice, InputError)
    if (atoms := law.support(limit)) is None:
        refuse(
            equation,
            f"draws from laws with a support of at most {limit} outcomes",
            type(law).__name__,
            "a smaller world, a law with few outcomes, or a statistical audit",
        )
    if not isinstance(atoms, Support):
        refuse(
            equation,
            f"a support of {type(law).__name__} that is a dpjax.laws.Support, or None",
            type(atoms).__name__,
            "return dpjax.laws.Support(outcomes, log_mass)",
            InputError,
        )
    sample = getattr(law, equation.params["method"])
    tree: Any = jax.tree.structure(jax.eval_shape(sample, jax.eval_shape(lambda: keys.root(0))))
    shapes = [(atoms.log_mass.shape + aval.shape, aval.dtype) for aval in equation.params["jaxpr"].out_avals]
    drawn, listed = tree.unflatten(shapes), jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), atoms.outcomes)
    if str(drawn) != str(listed):
        refuse(
            equation,
            f"a support of {type(law).__name__} whose outcomes are what its sampler returns, {drawn}",
            str(listed),
            "list them in the sampler's types, shapes and tree",
            InputError,
        )
    return atoms.outcomes, atoms.log_mass


def exact_table(run: Run, databases: Any, plan: Any) -> np.ndarray:
    """Log-probabilities ``float64[databases, outcomes]`` of all outputs of ``run(key, database, plan)``."""
    return exact_law(run, databases, plan)[0]


def exact_law(run: Run, databases: Any, plan: Any) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities ``float64[databases, outcomes]``, and the outcomes as their `output_bytes`, in sorted order.

    Outcomes are equal if every array of the output is bitwise equal.

    Args:
      run: (key, database, plan) -> output, any function that jax can trace, jitted or not. A second call with plans of
        the same structure and databases of the same shapes neither traces nor compiles.
      databases: pytree of arrays whose leading axis is the index of the database.
      plan: with float64 leaves (`core.plans.widened`) the program is traced in float64; otherwise as it runs.

    Raises NotListable, an InputError that names the equation, for laws without a support, random bits outside of draws,
    keys that are used twice, callbacks, and more than 2^20 paths of one database; InputError if masses do not add up.
    """
    code, interpreter, _ = _program(run, databases, plan)
    leaves = jax.tree.leaves(jax.tree.map(on_host, databases))
    key = Value(on_host(keys.root(0)), False)
    of_plan = [Value(np.asarray(leaf), False) for leaf in jax.tree.leaves(plan)]
    at, log_p, raw = _in_chunks(interpreter, code, key, leaves, of_plan, 0)
    distinct, slots = _distinct(raw)
    require_room("universe", len(leaves[0]) * len(distinct), _sized(len(leaves[0]), len(distinct)), NotListable)
    table = np.full((len(leaves[0]), len(distinct)), -np.inf)
    np.logaddexp.at(table, (at, slots), log_p)
    total = logsumexp(table, axis=1)
    if not np.all(np.abs(total) <= MASS_TOLERANCE):
        expected = "outcomes that add up to probability 1"
        advice = "values outside the universe have positive probability: audit it statistically"
        raise NotListable("target", expected, f"total log-mass {total.min():.3g} to {total.max():.3g}", advice)
    return table, distinct


def in_words(
    run: Run, databases: Any, plan: Any, outcomes: np.ndarray, show: Callable[[Any], Sequence[str]] | None = None
) -> list[str]:
    """Outcomes of `exact_law`, given as their bytes, in words. show: see `Target`."""
    shapes = _program(run, databases, plan)[2]
    leaves, columns, at = jax.tree.leaves(shapes), [], 0
    if any(is_key(leaf) for leaf in leaves):
        return [f"outcome {number}" for number in range(len(outcomes))]
    for leaf in leaves:
        end = at + int(np.prod(leaf.shape, dtype=np.int64)) * leaf.dtype.itemsize
        columns.append(np.ascontiguousarray(outcomes[:, at:end]).view(leaf.dtype))
        at = end
    naming = Naming.of(shapes)
    rows = np.concatenate([column.astype(np.float64) for column in columns], axis=1)[:, : len(naming.names)]
    numbers = [naming.output(-1, row) for row in rows.tolist()]
    if show is None or not len(outcomes):
        return numbers
    arrays = [column.reshape(-1, *leaf.shape) for column, leaf in zip(columns, leaves, strict=True)]
    try:
        said = show(jax.tree.unflatten(jax.tree.structure(shapes), arrays))
    except checks.RAISED:  # user code may raise anything, and numbers are evidence enough
        return numbers
    often = Counter(said)
    return [text if often[text] == 1 else f"{text} {number}" for text, number in zip(said, numbers, strict=True)]


def _program(run: Run, databases: Any, plan: Any) -> tuple[Any, Forking, Any]:
    """The jaxpr for databases and plans like these, its interpreter, and the shapes of the output; cached."""
    shape, tree = jax.tree.flatten(jax.tree.map(np.asarray, plan))
    wide = any(leaf.dtype == np.float64 for leaf in shape)
    leaves, of_databases = jax.tree.flatten(jax.tree.map(on_host, databases))
    like = tuple((leaf.shape[1:], leaf.dtype.name) for leaf in leaves)
    return _traced(run, of_databases, like, tree, tuple((leaf.shape, leaf.dtype.name) for leaf in shape), wide)


@functools.lru_cache(64)
def _traced(run: Run, databases: Any, like: tuple, plan: Any, of_plan: tuple, wide: bool) -> tuple[Any, Forking, Any]:
    try:
        with jax.enable_x64(wide):
            data = databases.unflatten([jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in like])
            numbers = plan.unflatten([jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in of_plan])
            made, shapes = jax.make_jaxpr(run, return_shape=True)(jax.eval_shape(lambda: keys.root(0)), data, numbers)
            code = lowered(made)
            return checked(code), Forking(width=widest(code)), shapes
    except InputError:
        raise
    except checks.RAISED as error:  # user code may raise anything
        if not (wide and isinstance(error, TypeError | ValueError)):
            message = f"{type(error).__name__}: {error}"
            raise InputError("target", "a jittable function (key, data, plan)", message, "run it by hand") from error
        narrow = tuple((shape, dtype.replace("float64", "float32")) for shape, dtype in of_plan)
        _traced(run, databases, like, plan, narrow, False)  # raises if the float64 plan is not the cause
        expected = "a program that computes in the types of its plan, which are float64 in an exact audit"
        advice = "do not cast to float32 (dtypes follow from the plan's leaves), or audit with as_it_runs=True"
        raise InputError("target", expected, str(error).partition("\n")[0], advice) from error


def _in_chunks(
    interpreter: Forking, code: Any, key: Value, leaves: list[np.ndarray], plan: list[Value], first: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(database, log-probability, output as bytes) of every path; splits the databases if there are too many."""
    count = len(leaves[0])
    try:
        out, pop = interpreter.enter(code, [key, *(Value(leaf, True) for leaf in leaves), *plan], count)
    except _TooMany:
        if count == 1:
            raise
        halves = [([leaf[: count // 2] for leaf in leaves], 0), ([leaf[count // 2 :] for leaf in leaves], count // 2)]
        parts = [_in_chunks(interpreter, code, key, half, plan, first + begin) for half, begin in halves]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]
    raw = output_bytes([value.rows(len(pop)) for value in out], (len(pop),))
    return pop.at + first, pop.log_p, raw


def _sized(databases: int, outcomes: int) -> str:
    return f"{outcomes} outcomes on each of {databases} databases"


def output_bytes(outputs: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Outputs whose arrays have leading axes ``shape``, as ``uint8[*shape, bytes]``, fields concatenated."""
    columns = [np.ascontiguousarray(np.asarray(leaf)).reshape(*shape, -1) for leaf in jax.tree.leaves(outputs)]
    return np.concatenate([column.view(np.uint8).reshape(*shape, -1) for column in columns], axis=-1)


def _distinct(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of bytes in sorted order, and the index of each row among them, ``int64[rows]``."""
    moving = raw[:, np.any(raw != raw[:1], axis=0)]
    words = np.ascontiguousarray(np.pad(moving, ((0, 0), (0, -moving.shape[1] % 8)))).view(">u8").astype(np.uint64)
    number, first = np.zeros(len(raw), np.int64), np.zeros(1, np.int64)
    for word in words.T:  # 64 bits at a time: sorting whole numbers is faster than sorting rows
        place = np.unique(word, return_inverse=True)[1]
        _, first, number = np.unique(number * (place.max() + 1) + place, return_index=True, return_inverse=True)
    return raw[first], number
