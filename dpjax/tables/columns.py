"""User tables: rows on public grids, and learners on many keyed splits of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
from jax import Array

from dpjax.concepts import Hypothesis
from dpjax.concepts.cube import MOST_BITS
from dpjax.core import checks, keys, random, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import Learner
from dpjax.tables.grids import Grid, Placing
from dpjax.tables.reading import complete, header, indicators, labels, numbers, opened, spellings, texts_of
from dpjax.tables.sources import Form

_PLAIN = Form()
_BLOCK_CELLS = 1 << 18


@dataclass(frozen=True)
class Table:
    """x: ``uint32[n, limbs]``, or ``uint32[n, k, limbs]`` with a column for each concept. y: ``bool[n, k]``.

    names, grids: of the concepts; for a shape the grids of its coordinates. dropped: number of rows of the file that
    were left out. moved: number of remaining rows with a value outside the bounds or the categories. delimiter: of the
    file. notes: about the labels; like all counts they are not private.
    """

    x: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]
    grids: tuple[Grid, ...]
    dropped: int = 0
    moved: int = 0
    delimiter: str = ","
    notes: tuple[str, ...] = ()

    @property
    def own_points(self) -> bool:
        """Whether each concept has a separate column of points."""
        return self.x.ndim == 3

    def sample(self) -> Sample:
        """All rows."""
        return Sample(jnp.asarray(self.x), jnp.asarray(self.y), jnp.ones(len(self.y), bool))


def read(
    path: str | Path,
    placing: Placing,
    targets: Sequence[str],
    form: Form = _PLAIN,
    positive: str | None = None,
    *,
    clip: bool = False,
    drop_missing: bool = False,
) -> Table:
    """Reads a CSV file: one feature, or several of a cube, with k targets; k features, or a shape's two, with one.

    positive: the label that is 1. clip: values outside the bounds count as the nearest bound, as they always do for a
    shape, and other texts than the declared categories as none of them. drop_missing: leave out rows without a finite
    value in each column, which are otherwise refused.

    Privacy: each row is placed independently. If rows are left out, their number depends on the data: only a guarantee
      under ADD_OR_REMOVE_ONE for the remaining rows is also one for the file, under the same relation.
    """
    shape, several = placing.shape, len(placing.features) > 1 and not placing.cube
    fits = (len(placing.features), len(targets)) == (2, 1) if shape else placing.features and targets
    if not fits or (several and len(targets) > 1):
        name_them = f"name some of its columns by --features and --target: {', '.join(map(repr, header(path, form)))}"
        raise InputError(
            "columns",
            "two features and one target for a shape"
            if shape
            else "one feature and k targets, or k features and one target",
            f"{len(placing.features)} features and {len(targets)} targets",
            "learn the others in further runs" if fits else name_them,
        )
    texts = opened(path, (*placing.places, *targets), form)
    values, other = placed(texts, placing)
    y, there = labels(texts, targets, positive)
    if not (clip or shape):
        placing.require(values)
        require_declared(texts, placing, other)
    present = {name: ~np.isnan(values[place]) for name, place in placing.places.items()}
    present |= {name: there[:, j] for j, name in enumerate(targets)}
    whole = complete(present, drop_missing)
    outside = [grid.outside(feature) for grid, feature in zip(placing.grids, values, strict=True)]
    moved = np.any([*outside, *other.values()], axis=0)[whole]
    values, y = [column[whole] for column in values], y[whole]
    about: dict[str, Any] = {"dropped": int(np.sum(~whole)), "moved": int(np.sum(moved))}
    about["delimiter"] = texts.schema.metadata[b"delimiter"].decode()
    about["notes"] = () if positive is None else tuple(spellings(texts, targets, positive))
    x = placing.elements(values)
    if shape or placing.cube:
        return Table(x, y, tuple(targets), placing.grids, **about)
    if not several:
        return Table(x, y, tuple(targets), placing.grids * len(targets), **about)
    return Table(x, np.repeat(y, len(placing.features), axis=1), placing.features, placing.grids, **about)


def placed(texts: pa.Table, placing: Placing) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The values of the features, ``float64[n]`` each, NaN if missing; for columns of texts, the rows of others."""
    values, other = [], {}
    for name in placing.places:
        if name in placing.categories:
            bits, other[name] = indicators(texts, name, placing.categories[name])
            values += bits
        else:
            values.append(numbers(texts, name))
    return values, other


def require_declared(texts: pa.Table, placing: Placing, other: Mapping[str, np.ndarray]) -> None:
    """Raises InputError for a text that is none of its column's categories."""
    for name, mask in other.items():
        if mask.any():
            row = int(np.flatnonzero(mask)[0])
            text = texts[name][row].as_py()
            quoted = f""", in double quotes because of its comma: '{name}="{text}",...'""" * ("," in text)
            expected = f"one of the declared categories {', '.join(map(repr, placing.categories[name]))}"
            advice = f"declare it, too{quoted}; or use --clip: other texts then count as none of the categories"
            raise InputError(f"column {name!r}", expected, f"{text!r} in row {row + 1}", advice)


def categories_in(path: str | Path, name: str, form: Form = _PLAIN) -> tuple[str, ...]:
    """The texts of a column, which are private: no guarantee covers what is learned from columns that they name."""
    texts = texts_of(opened(path, [name], form), name)
    if not 0 < len(texts) <= MOST_BITS:
        advice = "choose another column, or declare a few categories and use --clip"
        raise InputError(f"column {name!r}", f"1 to {MOST_BITS} categories", f"{len(texts)} different texts", advice)
    return tuple(texts)


def plan_for(learner: Learner, privacy: Privacy, accuracy: Accuracy, rows: int) -> Any:
    """The learner's plan; it uses the number of rows only if that is public."""
    return learner.plan(privacy, accuracy, rows if learner.neighboring is Neighboring.REPLACE_ONE else None)


def learn_all(learner: Learner, table: Table, privacy: Privacy, accuracy: Accuracy, seed: int) -> Hypothesis:
    """One run of the learner on the whole table, from the stream "release" of the seed."""
    plan = plan_for(learner, privacy, accuracy, len(table.y))
    return jax.block_until_ready(jax.jit(learner.learn)(keys.stream(keys.root(seed), "release"), table.sample(), plan))


def held_out(
    learners: Mapping[str, Any],
    table: Table,
    privacy: Privacy,
    accuracy: Accuracy,
    seed: int,
    trials: int,
    test_rows: int,
    progress: Callable[[int], None] = lambda trials: None,
) -> dict[str, np.ndarray]:
    """Held-out errors ``int32[trials, k]`` of each learner, with the same splits for all learners.

    Trial t splits the rows at random by its key and learns from all but ``test_rows`` of them. progress: called with
    the number of trials just finished.
    """
    rows, k = table.y.shape
    checks.integer("test rows", test_rows, 1, rows - 1)
    checks.integer("trials", trials, 1)
    passes = max(learner.passes for learner in learners.values())
    block = max(1, min(trials, _BLOCK_CELLS // (rows * k * passes)))
    x, y = jnp.asarray(table.x), jnp.asarray(table.y)
    root = keys.stream(keys.root(seed), "split")
    plans = tuple(plan_for(learner, privacy, accuracy, rows - test_rows) for learner in learners.values())
    parts = []
    for first in range(0, trials, block):
        ids = jnp.arange(first, first + block, dtype=jnp.uint32)
        parts.append(jax.device_get(_errors(tuple(learners.values()), test_rows, root, x, y, plans, ids)))
        progress(min(block, trials - first))
    counts = (np.concatenate(errors)[:trials] for errors in zip(*parts, strict=True))
    return dict(zip(learners, counts, strict=True))


@partial(jax.jit, static_argnums=(0, 1))
def _errors(learners: tuple, test_rows: int, root: Array, x: Array, y: Array, plans: tuple, ids: Array) -> list[Array]:
    def trial(index: Array) -> list[Array]:
        key = keys.of_trial(root, index)
        with jax.enable_x64(True):
            order = jnp.argsort(wide.word(*random.words(keys.stream(key, "order"), (x.shape[0],)))).astype(jnp.int32)
        test, train = order[:test_rows], order[test_rows:]
        sample = Sample(x[train], y[train], jnp.ones(train.shape, bool))
        counts = []
        for learner, plan in zip(learners, plans, strict=True):
            hypothesis = learner.learn(keys.stream(key, "learn"), sample, plan)
            wrong = predicted(learner, hypothesis, x[test]) != y[test]
            counts.append(jnp.sum(wrong, axis=0, dtype=jnp.int32))
        return counts

    return jax.vmap(trial)(ids)


def predicted(learner: Any, hypothesis: Hypothesis, x: Array) -> Array:
    """``bool[n, k]``; ``x`` may have a column of elements for each concept, ``[n, k, limbs]``."""
    if x.ndim == 2:
        return learner.predict(hypothesis, x)
    single = jax.tree.map(lambda part: part[:, None], hypothesis)
    return jax.vmap(learner.predict, in_axes=(0, 1), out_axes=1)(single, x)[..., 0]


def require_own_points(learner: Learner) -> None:
    """Raises InputError for a learner that needs one common column of points if each concept has its own."""
    if not learner.own_points:
        expected = "one that learns each concept separately for several features, as Independent and ERM do"
        advice = "choose one of those, or give one feature with several targets"
        raise InputError("learner", expected, type(learner).__name__, advice)
