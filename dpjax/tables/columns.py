"""A person's own table: columns onto a declared grid, and learners over many keyed splits of the rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.csv
from jax import Array

from dpjax.concepts import Domain, Hypothesis, Points, Thresholds
from dpjax.concepts.hashing import Buckets
from dpjax.core import checks, keys, random, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import Learner

_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class Grid:
    """Public numbers that place a column on {0, ..., 2**bits - 1}: never read from the data.

    low, high: the declared bounds; cell c holds low + [c, c + 1) (high - low) / 2**bits, the last one also ``high``.
    flip: counts cells from the top, so that large values come first.
    """

    low: float
    high: float
    bits: int
    flip: bool = False

    def place(self, name: str, values: np.ndarray, clip: bool) -> np.ndarray:
        """``uint64[n]`` cells. InputError for a value outside the bounds, unless ``clip`` moves it to the nearest."""
        if clip:
            values = np.clip(values, self.low, self.high)
        outside = ~((values >= self.low) & (values <= self.high))
        if outside.any():
            raise InputError(
                f"column {name!r}", f"values within the declared bounds {self.low:g}:{self.high:g}",
                f"{values[outside][0]:g} in row {int(np.flatnonzero(outside)[0]) + 1}",
                "declare wider bounds from what you know of the quantity, or say --clip",
            )  # fmt: skip
        share = (values - self.low) / (self.high - self.low)
        cell = np.minimum(np.floor(share * 2.0**self.bits), 2.0**self.bits - 1).astype(np.uint64)
        return np.uint64(2**self.bits - 1) - cell if self.flip else cell

    def value(self, threshold: int) -> float:
        """The edge, in the column's units, of the cells that threshold number ``threshold`` labels 1."""
        cells = threshold + 1
        share = math.ldexp(cells, -self.bits)
        return self.high - share * (self.high - self.low) if self.flip else self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class Table:
    """x: ``uint32[n, limbs]``, or ``uint32[n, k, limbs]`` with a column for each concept. y: ``bool[n, k]``."""

    x: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]
    grids: tuple[Grid, ...]

    @property
    def own_points(self) -> bool:
        """Whether each concept has its own column of points."""
        return self.x.ndim == 3

    def sample(self) -> Sample:
        """All rows."""
        return Sample(jnp.asarray(self.x), jnp.asarray(self.y), jnp.ones(len(self.y), bool))


def grids(features: Sequence[str], bounds: Sequence[str], bits: int, flip: Sequence[str]) -> dict[str, Grid]:
    """Parses ``name=low:high`` for every feature. InputError where bounds are missing or make no sense."""
    checks.integer("bits", bits, 1, 52)
    parsed = {}
    for text in bounds:
        name, _, span = text.rpartition("=")
        low, _, high = span.partition(":")
        try:
            pair = float(low), float(high)
        except ValueError:
            pair = math.nan, math.nan
        if not (math.isfinite(pair[0]) and math.isfinite(pair[1]) and pair[0] < pair[1]):
            raise InputError("bounds", "name=low:high with low < high", repr(text), "for example 'mean radius=0:40'")
        parsed[name] = pair
    for name in (*parsed, *flip):
        checks.choice("bounds or flip", name, features)
    missing = [name for name in features if name not in parsed]
    if missing:
        raise InputError(
            "bounds", f"bounds for every feature ({len(features)})", f"none for {', '.join(map(repr, missing))}",
            "give --bounds 'name=low:high' from what is known of the quantity; bounds and grid are public and never "
            "read from the data, because that would leak it",
        )  # fmt: skip
    return {name: Grid(*parsed[name], bits, name in flip) for name in features}


def read(
    path: str | Path, features: Sequence[str], targets: Sequence[str], placed: dict[str, Grid], clip: bool = False
) -> Table:
    """Reads a CSV file: one feature with k targets, or k features with one target. Raises InputError for all else."""
    if not features or not targets or (len(features) > 1 and len(targets) > 1):
        raise InputError(
            "columns", "one feature and k targets, or k features and one target",
            f"{len(features)} features and {len(targets)} targets", "learn the others in further runs",
        )  # fmt: skip
    table = opened(path, (*features, *targets))
    domain = Domain(2 ** next(iter(placed.values())).bits)
    columns = [wide.encode(placed[name].place(name, numbers(table, name), clip), domain.limbs) for name in features]
    y = np.stack([labels(table, name) for name in targets], axis=1)
    if len(features) == 1:
        return Table(columns[0], y, tuple(targets), (placed[features[0]],) * len(targets))
    return Table(
        np.stack(columns, axis=1), np.repeat(y, len(features), axis=1), tuple(features),
        tuple(placed[name] for name in features),
    )  # fmt: skip


def opened(path: str | Path, names: Sequence[str]) -> pa.Table:
    """A CSV file with at least one row in which these columns are. InputError for all else."""
    try:
        table = pa.csv.read_csv(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError("table", "a CSV file with a header", f"{path}: {error}", "check path and file") from error
    for name in names:
        checks.choice("column", name, table.column_names)
    if table.num_rows == 0:
        raise InputError("table", "at least one row", f"{path} has none", "check the file")
    return table


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers, ``float64[n]``; InputError where one is missing."""
    try:
        values = table[name].cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise InputError(f"column {name!r}", "numbers", str(error).splitlines()[0], "clean the column") from error
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0]) + 1
        raise InputError(f"column {name!r}", "a number in every row", f"none in row {row}", "fill in or drop the row")
    return values


def labels(table: pa.Table, name: str) -> np.ndarray:
    """A column of 0 and 1, ``bool[n]``."""
    values = numbers(table, name)
    wrong = ~np.isin(values, (0.0, 1.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        given = f"{values[row]:g} in row {row + 1}"
        raise InputError(f"target {name!r}", "labels 0 or 1", given, "encode the two classes as 0 and 1")
    return values.astype(bool)


def learn_all(learner: Learner, table: Table, privacy: Privacy, accuracy: Accuracy, seed: int) -> Hypothesis:
    """One run of the learner on the whole table, from the stream "release" of the seed."""
    plan = learner.plan(privacy, accuracy, len(table.y))
    return jax.jit(learner.learn)(keys.stream(keys.root(seed), "release"), table.sample(), plan)


def held_out(
    learners: dict[str, Learner], table: Table, privacy: Privacy, accuracy: Accuracy, seed: int, trials: int,
    test_rows: int,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Held-out errors ``int32[trials, k]`` of each learner; all learners see the same splits.

    Trial t splits the rows at random by its key and learns from all but ``test_rows`` of them.
    """
    rows, k = table.y.shape
    checks.integer("test rows", test_rows, 1, rows - 1)
    checks.integer("trials", trials, 1)
    passes = max(getattr(learner, "passes", 1) for learner in learners.values())
    block = max(1, min(trials, _BLOCK_CELLS // (rows * k * passes)))
    x, y = jnp.asarray(table.x), jnp.asarray(table.y)
    padded = -(-trials // block) * block
    ids = jnp.arange(padded, dtype=jnp.uint32)
    root = keys.stream(keys.root(seed), "split")
    plans = tuple(learner.plan(privacy, accuracy, rows - test_rows) for learner in learners.values())
    counts = _errors(tuple(learners.values()), test_rows, block, root, x, y, plans, ids)
    return {name: np.asarray(counts[i])[:trials] for i, name in enumerate(learners)}


@partial(jax.jit, static_argnums=(0, 1, 2))
def _errors(
    learners: tuple, test_rows: int, block: int, root: Array, x: Array, y: Array, plans: tuple, ids: Array
) -> list[Array]:
    def trial(index: Array) -> list[Array]:
        key = keys.of_trial(root, index)
        with jax.enable_x64(True):
            order = jnp.argsort(wide.word(*random.words(keys.stream(key, "order"), (x.shape[0],)))).astype(jnp.int32)
        test, train = order[:test_rows], order[test_rows:]
        sample = Sample(x[train], y[train], jnp.ones(train.shape, bool))
        found = []
        for learner, plan in zip(learners, plans, strict=True):
            hypothesis = learner.learn(keys.stream(key, "learn"), sample, plan)
            wrong = _predict(learner, hypothesis, x[test]) != y[test]
            found.append(jnp.sum(wrong, axis=0, dtype=jnp.int32))
        return found

    return jax.lax.map(trial, ids, batch_size=block)


def _predict(learner: Learner, hypothesis: Hypothesis, x: Array) -> Array:
    if x.ndim == 2:
        return learner.predict(hypothesis, x)
    single = jax.tree.map(lambda part: part[:, None], hypothesis)
    return jax.vmap(learner.predict, in_axes=(0, 1), out_axes=1)(single, x)[..., 0]


def summary(learner: Learner, hypothesis: Hypothesis, table: Table) -> list[dict[str, Any]]:
    """What was learned, concept by concept, in the columns' own units."""
    rows = []
    for j, (name, grid) in enumerate(zip(table.names, table.grids, strict=True)):
        number = int(wide.decode(hypothesis.concept)[j])
        row: dict[str, Any] = {"concept": name, "number": number, "outcome": int(hypothesis.outcome[j])}
        if bool(hypothesis.zero[j]):
            row["rule"] = "0 everywhere" if row["outcome"] == 0 else "no answer (0 everywhere)"
        elif isinstance(hypothesis, Buckets):
            function, bucket = (int(part) for part in hypothesis.concept[j])
            row["rule"] = f"1 iff hash function {function} gives {bucket}"
        elif isinstance(learner.concepts, Thresholds):
            row["value"] = grid.value(number)
            row["rule"] = f"1 iff value {'>=' if grid.flip else '<'} {row['value']:.6g}"
        elif isinstance(learner.concepts, Points):
            row["value"] = grid.value(number - 1)
            row["rule"] = f"1 iff in the cell of {row['value']:.6g}"
        rows.append(row)
    return rows


def require_own_points(learner: Learner) -> None:
    """Refuses a learner that needs one common column of points where each concept has its own."""
    if not getattr(learner, "own_points", False):
        raise InputError(
            "learner", "one that learns concept by concept for several features, as Independent and ERM do",
            type(learner).__name__, "choose one of those, or give one feature with several targets",
        )  # fmt: skip
