"""Reruns one trial of a study from its key."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.concepts.outside import describe
from dpjax.core import keys
from dpjax.experiments.identity.program import digest
from dpjax.experiments.run.tiles import tile_shape
from dpjax.experiments.run.trial import Outcome, Point, Trial, point
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task

_SHOWN = 10  # rows, labels and concepts that a printed trial shows


@dataclass(frozen=True)
class Reproduced:
    """A trial as host data.

    key: key of the trial. x, y: the n rows, decoded by the domain, and ``bool[n, k]``. targets, hypotheses: sentences.
    errors: per concept, in excess of the target's. outcome: the byte in the store. note: see `Study.beyond`.
    """

    key: jax.Array
    x: list[Any]
    y: np.ndarray
    targets: list[str]
    hypotheses: list[str]
    errors: list[float]
    outcome: int
    success: bool
    silent: bool
    note: str = ""

    def __str__(self) -> str:
        """The first rows and concepts, the key, and how the trial ended."""
        lines = [f"key         {np.asarray(jax.random.key_data(self.key)).tolist()}"]
        dots = " ..." * (self.y.shape[1] > _SHOWN)
        labels = [" ".join(map(str, row[:_SHOWN].astype(int))) + dots for row in self.y[:_SHOWN]]
        lines += [f"row {i:<7} {self.x[i]}: {text}" for i, text in enumerate(labels)]
        concepts = [
            f"concept {j:<3} target {target}; found {self.hypotheses[j]}; error {self.errors[j]:.6g}"
            for j, target in enumerate(self.targets)
        ]
        more = [
            f"            and {len(part) - _SHOWN} more {what}"
            for part, what in ((self.x, "rows"), (concepts, "concepts"))
        ]
        lines += more[:1] * (len(self.x) > _SHOWN) + concepts[:_SHOWN] + more[1:] * (len(concepts) > _SHOWN)
        lines += ["success" if self.success else "no success", *([f"note: {self.note}"] if self.note else [])]
        return "\n".join(lines)


def reproduce(setting: Setting, seed: int, trial: int) -> Reproduced:
    """Trial ``trial`` of the setting's point and purpose: its data, hypotheses, errors, and the byte of its outcome.

    Programs that compute the same may still round floats differently: then a trial on the edge of a decision can end
    otherwise than the stored one.
    """
    learner, n = setting.learner, setting.n
    outcome, byte, error = replayed(setting, seed, trial)
    x = learner.concepts.domain.decode(np.asarray(outcome.sample.x)[:n])
    return Reproduced(
        setting.key_of(seed, trial),
        np.asarray(x).tolist(),
        np.asarray(outcome.sample.y)[:n],
        describe(learner.concepts, outcome.target),
        describe(learner.concepts, outcome.found),
        error.tolist(),
        int(byte),
        bool(error_bins.successes(byte, setting.alpha)),
        bool(error_bins.silent(byte)),
    )


def replayed(setting: Setting, seed: int, trial: int) -> tuple[Outcome, np.ndarray, np.ndarray]:
    """The arrays of a trial, its byte, and its errors, as NumPy arrays.

    It runs in a batch with the trials beside it, as it does in a tile.
    """
    run = Trial(setting.learner, setting.k, capacity(setting.n))
    where = point(setting.identity, setting.n, setting.plan(), setting.alpha, setting.task)
    block = tile_shape(run)[1]
    root, first = np.asarray(jax.random.key_data(keys.root(seed))), trial - trial % block
    with jax.enable_x64(False):
        arguments = (root, setting.task, where, np.uint32(first), np.int32(trial - first))
        return jax.tree.map(np.asarray, _compiled(run, block, arguments)(*arguments))


_KEPT: OrderedDict[str, Any] = OrderedDict()
_MOST_KEPT = 16


def _compiled(trial: Trial, block: int, arguments: tuple) -> Any:
    """The program of `_lane`, traced anew; compiled ones are found again by what was traced."""
    traced = _lane(trial, block).trace(*arguments)
    name = digest(traced.jaxpr, trial.learner.cache_token)
    if name not in _KEPT:
        _KEPT[name] = traced.lower().compile()
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return _KEPT[name]


def _lane(trial: Trial, block: int) -> Any:
    """Jitted: (root, task, point, first trial of a block, place in it) -> outcome, byte, and errors of that trial."""

    def run(root: Any, task: Task, where: Point, first: Any, place: Any) -> tuple[Outcome, jax.Array, jax.Array]:
        of_point = keys.of_point(jax.random.wrap_key_data(root, impl="threefry2x32"), where.identity)
        trial_keys = jax.vmap(keys.of_trial, (None, 0))(of_point, first + jnp.arange(block, dtype=jnp.uint32))

        def one(key: jax.Array) -> tuple[Outcome, jax.Array, jax.Array]:
            outcome = trial.run(key, task, where)
            return outcome, trial.byte(outcome, where), task.error(outcome.found, outcome.target)

        return jax.tree.map(lambda part: part[place], jax.lax.map(one, trial_keys, batch_size=block))

    return jax.jit(run)
