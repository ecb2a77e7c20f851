"""Measured global stability of lists: how often their most frequent function occurs, and how long they are."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy
from dpjax.experiments.sweep.task import Task
from dpjax.lists import Lists
from dpjax.lists.base import Cells, require_lists
from dpjax.papers.simulated_counts import Counted


@dataclass(frozen=True)
class Stability:
    """Of lists from batches of ``rows`` rows.

    name: words of the function on most lists of the first half of the trials. hits of trials: lists of the second half
    that contain it. low, high: an interval for its probability, of the confidence that was asked for. error: its error.
    functions: different functions seen. mean_length, longest: of the lists. empty: lists without a function.
    """

    rows: int
    name: tuple[int, ...]
    hits: int
    trials: int
    low: float
    high: float
    error: float
    functions: int
    mean_length: float
    longest: int
    empty: int

    @property
    def frequency(self) -> float:
        """The estimate of the probability that the function is on a list."""
        return self.hits / self.trials


def stability(
    lists: Lists,
    task: Task,
    accuracy: Accuracy,
    rows: int | None = None,
    trials: int = 2000,
    seed: int = 0,
    confidence: float = 0.99,
) -> Stability:
    """Measures lists on one distribution and one target, noiseless.

    The function is chosen on the first half of the trials, and its probability is estimated on the second, so the
    Clopper-Pearson interval is valid. Trial t depends on seed and t alone.

    Args:
      lists: such as `lists.GloballyStable`. task: with one target, of this class. accuracy: of the plan.
      rows: of a batch; by default the theorem's. trials: >= 2.
    """
    require_lists(lists)
    if task.concepts.domain != lists.concepts.domain:
        expected, actual = f"one over {lists.concepts.domain}", f"{task.concepts.domain}"
        raise InputError("task", expected, actual, "give a task of this class: Task(lists.concepts, ...)")
    if len(task.targets) != 1:
        raise InputError("task", "one target", f"{len(task.targets)}", "stability is that of one target: targets=[...]")
    checks.integer("trials", trials, 2)
    plan = lists.plan(accuracy)
    n = lists.rows(accuracy) if rows is None else checks.integer("rows", rows, 0)
    drawn = Counted.of(task)
    counts = np.concatenate([drawn.batches(plan.ends, n, 1, seed, trial)[0] for trial in range(trials)])
    trial_keys = keys.per_index(keys.stream(keys.root(seed), "lists"), trials)
    sets = [set(names) for names in _lists(lists, trial_keys, np.asarray(drawn.elements), counts, plan)]
    half = trials // 2
    votes = Counter(name for listed in sets[:half] for name in sorted(listed))
    name = min(votes, key=lambda candidate: (-votes[candidate], candidate), default=(0,) * lists.words)
    hits, lengths = sum(name in listed for listed in sets[half:]), [len(listed) for listed in sets]
    low, high = (float(end) for end in clopper_pearson(hits, trials - half, confidence))
    head = n, name, hits, trials - half, low, high, _error(lists, drawn, name)
    return Stability(*head, len(set().union(*sets)), float(np.mean(lengths)), max(lengths), lengths.count(0))


def _lists(
    lists: Lists, trial_keys: Any, elements: np.ndarray, counts: np.ndarray, plan: Any
) -> Iterator[Iterable[tuple[int, ...]]]:
    """The names on the list of each batch."""
    if listing := lists.listing(plan):
        function, numbers = listing
        yield from (function.names(elements, one, *map(np.asarray, numbers)) for one in counts)
        return
    named, filled = _named(lists)(trial_keys, Cells(jnp.asarray(elements), jnp.asarray(counts)), plan)
    for row, keep in zip(np.asarray(named), np.asarray(filled), strict=True):
        yield map(tuple, row[keep].tolist())


@lru_cache(32)
def _named(lists: Any) -> Any:
    axes: Any = Cells(None, 0)  # type: ignore[arg-type]
    return jax.jit(jax.vmap(lists.names, (0, axes, None)))


def _error(lists: Lists, drawn: Counted, name: tuple[int, ...]) -> float:
    hypothesis = lists.hypothesis(jnp.asarray(name, jnp.uint32), jnp.int32(0))
    labels = lists.concepts.predict(hypothesis, jnp.asarray(drawn.elements))
    return float(drawn.mass @ (np.asarray(labels)[:, 0] != drawn.labels[0]))
