"""The runs of `scripts/dp_sgd.py`: workloads, configurations of DP-SGD, tuning, measuring, and a folder of results."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import dpjax
from dpjax.baselines.dp_sgd import DPSGD, Numbers, batch_for, noise_multiplier
from dpjax.concepts import ConvexPolygons, UniformPlane
from dpjax.concepts.plane import UniformSquare
from dpjax.core import keys, random
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.experiments.identity.describe import describe
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.store.store import versions
from dpjax.experiments.sweep.task import Task
from dpjax.learners import PolygonLearner

EPSILON, DELTA, ALPHA, BETA, TARGETS = 1.0, 1e-6, 0.1, 0.1, 64
BUDGET, ACCURACY = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)
CHUNK, BLOCK = 16, 8  # runs of one call, and those at once, whose gradients stay in a core's cache
ROOT = Path(dpjax.__file__).parent


@dataclass(frozen=True)
class Workload:
    """Random polygons of ``edges`` edges in a square of side ``side``, and uniform examples of the square.

    The grid is {0, ..., d}^2. With side < d each target has its own square at a random place; no learner is told it.
    spreads: of the first layer of DP-SGD, those that are tried. free: the same without noise.
    """

    name: str
    d: int
    edges: int
    side: int
    spreads: tuple[float, ...] = (4.0, 8.0, 16.0)
    free: tuple[float, ...] = (1.0,)

    @property
    def concepts(self) -> ConvexPolygons:
        """The class."""
        return ConvexPolygons(self.d, self.edges)

    def targets(self, seed: int) -> tuple[Array, Array]:
        """Encoded polygons, ``uint32[64, limbs]``, and the lower corners of their squares, ``uint32[64, 2]``."""
        if self.side == self.d:
            return self.concepts.targets(TARGETS, seed), jnp.zeros((TARGETS, 2), jnp.uint32)
        room = jnp.asarray([self.d - self.side + 1], jnp.uint32)
        corners = random.randint_below(keys.stream(keys.root(seed), "squares"), room, (TARGETS, 2))[..., 0]
        small, moved = ConvexPolygons(self.side, self.edges), []
        for words, corner in zip(small.targets(TARGETS, seed), np.asarray(corners, np.float64), strict=True):
            lines = small.halfplanes(words)[0]
            moved.append(self.concepts.of_lines(lines[:, :2].tolist(), (lines[:, 2] + lines[:, :2] @ corner).tolist()))
        return jnp.asarray(np.stack(moved)), corners

    def drawn(self, of: tuple[Array, Array], key: Array, n: Array, room: int) -> tuple[Sample, Array, Array]:
        """n examples of a random target in a buffer of ``room`` rows, the probes and their labels."""
        targets, corners = of
        if self.side == self.d:
            task = Task(self.concepts, UniformPlane(self.d), targets)
        else:
            which, key = keys.streams(key, "square", "data")
            index = random.randint_below(which, jnp.asarray([TARGETS], jnp.uint32))[0].astype(jnp.int32)
            task = Task(self.concepts, UniformSquare(self.d, side=self.side, low=corners[index]), targets[index][None])
        sample, target = task.draw(key, n, capacity=room)
        probes = jnp.asarray(task.distribution.points())
        return sample, probes, self.concepts.predict(target, probes)


WORKLOADS = (
    Workload("quadrilaterals", 2**10, 4, 2**10),
    Workload("small quadrilaterals", 2**16, 4, 2**10, (8.0, 32.0, 128.0), (1.0, 16.0, 64.0)),
    Workload("pentagons", 2**10, 5, 2**10),
)


@dataclass(frozen=True)
class Choice:
    """One configuration of DP-SGD: what makes a program, then what is traced."""

    optimizer: str
    widths: tuple[int, ...]
    steps: int
    expected: int
    learning_rate: float
    clip: float
    spread: float
    average: float

    def network(self, d: int) -> DPSGD:
        """The program."""
        room = batch_for(self.expected, self.steps, EPSILON, DELTA)
        return DPSGD(d, self.widths, self.steps, self.expected, room, self.optimizer)

    def rate(self, n: int) -> float:
        """Of a row to be in a batch."""
        return min(1.0, self.expected / n)

    def multiplier(self, n: int, private: bool) -> float:
        """Of the noise."""
        return noise_multiplier(EPSILON, DELTA, self.rate(n), self.steps) if private else 0.0


RATES = {"adam": (0.05, 0.1, 0.2, 0.4), "momentum": (1.0, 3.0, 10.0)}
CLIPS = {"adam": (0.1, 1.0), "momentum": (1.0,)}  # for momentum another clip is much like another learning rate
SHAPES = (
    ((16,), 100, 256),
    ((16, 16), 100, 256),
    ((16,), 300, 256),
    ((32,), 300, 256),
    ((16,), 300, 1024),
    ((16,), 600, 256),
)


def private_choices(workload: Workload) -> tuple[Choice, ...]:
    """The configurations of DP-SGD."""
    spreads = {"adam": workload.spreads, "momentum": (1.0, workload.spreads[0])}
    return tuple(
        Choice(optimizer, *shape, *numbers)
        for optimizer, shapes in (("adam", SHAPES), ("momentum", SHAPES[:3]))
        for shape in shapes
        for numbers in product(RATES[optimizer], CLIPS[optimizer], spreads[optimizer], (0.5,))
    )


def free_choices(workload: Workload) -> tuple[Choice, ...]:
    """Those without noise."""
    return tuple(
        Choice("adam", *shape, *numbers)
        for shape in SHAPES[:3]
        for numbers in product((0.03, 0.1, 0.3), (1.0,), workload.free, (0.0, 0.5))
    )


@dataclass(frozen=True)
class Measured:
    """What one method did at one n: ``errors`` of runs that nothing was chosen by, and the seconds of one."""

    choice: Choice | None
    tuning: float
    errors: np.ndarray
    seconds: float

    @property
    def good(self) -> int:
        """Runs of error at most alpha."""
        return int(np.sum(self.errors <= ALPHA))

    @property
    def median(self) -> float:
        """Of the errors."""
        return float(np.median(self.errors))


@dataclass(frozen=True)
class Case:
    """One method on one workload at one n, ``trials`` runs.

    method: "dp-sgd", "free" (without noise) or "cover". choices: tried. most: the largest n, for which all networks
    have a buffer. stages: runs of all choices, how many are kept, runs of these.
    """

    workload: Workload
    method: str
    n: int
    most: int
    seed: int
    trials: int
    choices: tuple[Choice, ...] = ()
    stages: tuple[int, int, int] = (3, 6, 24)

    def path(self, store: Path) -> Path:
        """The file of the result: its name has a digest of all that makes it."""
        ours = describe(learner(self.workload)) if self.method == "cover" else None
        own = [describe(self), _sources(self.method), versions(), ours]
        name = hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()[:24]
        return store / f"{self.workload.name.replace(' ', '-')}-{self.method}-{self.n}-{name}.json"

    def result(self, store: Path | None) -> Measured:
        """That of an earlier run with the same code, or measured now and stored."""
        if store is not None and (path := self.path(store)).exists():
            return _loaded(json.loads(path.read_text()))
        found = self.measure()
        if store is not None:
            store.mkdir(parents=True, exist_ok=True)
            entry = {field.name: getattr(found, field.name) for field in fields(found)}
            entry |= {"choice": found.choice and asdict(found.choice), "errors": found.errors.tolist()}
            part = path.with_suffix(f".{os.getpid()}.part")
            part.write_text(json.dumps(entry))
            os.replace(part, path)
        return found

    def measure(self) -> Measured:
        """Tunes on targets of another seed, if there are choices, then runs."""
        start = time.perf_counter()
        best = self._tuned() if self.choices else None
        tuning = time.perf_counter() - start
        own = keys.per_index(keys.stream(keys.root(self.seed), "reported"), self.trials)
        errors, seconds = self._errors(best and [best], self.workload.targets(self.seed), own)
        return Measured(best, tuning, errors, seconds)

    def _tuned(self) -> Choice:
        """The least mean error in the second stage; its runs are of other keys than the first one's."""
        first, kept, second = self.stages
        targets = self.workload.targets((self.seed + 1) % 2**32)
        left = list(self.choices)
        for stage, runs, most in (("first", first, kept), ("second", second, 1)):
            own = keys.per_index(keys.stream(keys.root(self.seed), stage), runs)
            found: dict[Choice, float] = {}
            for _, group in groupby(sorted(left, key=repr), lambda choice: choice.network(self.workload.d)):
                same = list(group)
                errors, _ = self._errors(same, targets, jnp.concatenate([own] * len(same)))
                found |= dict(zip(same, errors.reshape(len(same), runs).mean(axis=1), strict=True))
            left = sorted(found, key=found.__getitem__)[:most]
        return left[0]

    def _errors(
        self, choices: Sequence[Choice] | None, targets: tuple[Array, Array], own: Array
    ) -> tuple[np.ndarray, float]:
        """The error of each run, ``float64[t]``, and the seconds of one; drawing and compiling do not count.

        choices: of one network, each with as many consecutive runs; None for the set cover.
        """
        room = capacity(self.most if choices else self.n)
        draw = _drawing(self.workload, room)
        network = choices[0].network(self.workload.d) if choices else None
        program = _training(network, room) if network else _covering(self.workload, room)
        numbers = self._numbers(choices, len(own) // len(choices)) if choices else None
        wrong, seconds = [], 0.0
        for first in range(0, len(own), CHUNK):
            index = np.arange(first, first + CHUNK) % len(own)
            data = jax.block_until_ready(draw(targets, own[index], jnp.int32(self.n)))
            start = time.perf_counter()
            wrong.append(np.asarray(program(own[index], data, jax.tree.map(lambda part: part[index], numbers))))  # noqa: B023
            seconds += time.perf_counter() - start
        found = np.concatenate(wrong)
        return found[: len(own)] / UniformPlane(self.workload.d).total, seconds / len(found)

    def _numbers(self, choices: Sequence[Choice], runs: int) -> Numbers:
        """Those of all choices, each ``runs`` times."""
        private = self.method == "dp-sgd"
        rows = [
            (c.rate(self.n), c.multiplier(self.n, private), c.learning_rate, c.clip, c.spread, c.average)
            for c in choices
        ]
        return Numbers(*np.repeat(np.array(rows, np.float32), runs, axis=0).T)


def learner(workload: Workload) -> PolygonLearner:
    """The geometric learner as it is by default: the same numbers for all n."""
    return PolygonLearner(workload.concepts, neighboring=Neighboring.ADD_OR_REMOVE_ONE)


@lru_cache(maxsize=16)
def _drawing(workload: Workload, room: int) -> Callable:
    """(targets, keys, n) -> samples, probes and their labels, of CHUNK runs."""

    def one(of: tuple[Array, Array], key: Array, n: Array) -> Any:
        sample, probes, truth = workload.drawn(of, keys.stream(key, "data"), n, room)
        return sample, probes, truth

    return jax.jit(lambda of, own, n: jax.lax.map(lambda key: one(of, key, n), own))


@lru_cache(maxsize=32)
def _training(network: DPSGD, room: int) -> Callable:
    """(keys, data, numbers) -> probes in error, ``int32[CHUNK]``; compiled."""

    def one(key: Array, data: Any, numbers: Numbers) -> Array:
        sample, probes, truth = data
        layers = network.fit(keys.stream(key, "learner"), sample, numbers)
        return jnp.sum(network.predict(layers, probes) != truth, dtype=jnp.int32)

    like = Numbers(*[jax.ShapeDtypeStruct((CHUNK,), jnp.float32)] * 6)
    return _compiled(one, room, BLOCK, like)


@lru_cache(maxsize=16)
def _covering(workload: Workload, room: int) -> Callable:
    """The same for the set cover."""
    ours = learner(workload)
    plan = ours.plan(BUDGET, ACCURACY)

    def one(key: Array, data: Any, numbers: None) -> Array:
        sample, probes, truth = data
        found = ours.learn(keys.stream(key, "learner"), sample, plan)
        return jnp.sum(ours.predict(found, probes) != truth, dtype=jnp.int32)

    return _compiled(one, room, 1, None)


def _compiled(one: Callable, room: int, block: int, numbers: Any) -> Callable:
    def run(own: Array, data: Any, numbers: Any) -> Array:
        return jax.lax.map(lambda each: one(*each), (own, data, numbers), batch_size=block)

    def shaped(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((CHUNK, *shape), dtype)

    probes = UniformPlane(1).probes
    sample = Sample(shaped((room, 2), jnp.uint32), shaped((room, 1), jnp.bool_), shaped((room,), jnp.bool_))
    data = sample, shaped((probes, 2), jnp.uint32), shaped((probes, 1), jnp.bool_)
    return jax.jit(run).lower(keys.per_index(keys.root(0), CHUNK), data, numbers).compile()


_DRAWING = ("concepts/plane.py", "concepts/polygons.py", "core/random.py", "core/keys.py", "experiments/sweep/task.py")
_TRAINING = ("baselines/dp_sgd.py",)
_COVERING = (
    "learners/polygons.py",
    "learners/covering.py",
    "mechanisms/cover/*.py",
    "mechanisms/cover/lines/*.py",
    "accounting/cover/*.py",
    "core/integers.py",
)


@lru_cache(maxsize=4)
def _sources(method: str) -> str:
    """The hash of the source files that a result depends on."""
    found = hashlib.sha256(Path(__file__).read_bytes())
    for pattern in (*_DRAWING, *(_COVERING if method == "cover" else _TRAINING)):
        for path in sorted(ROOT.glob(pattern)):
            found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _loaded(entry: dict) -> Measured:
    if entry["choice"]:
        entry["choice"] = Choice(**entry["choice"] | {"widths": tuple(entry["choice"]["widths"])})
    return Measured(**entry | {"errors": np.array(entry["errors"])})
