"""Computes the items of a study on a Dask cluster: local processes, Slurm, Kubernetes, or any scheduler.

A task is one item. The worker that runs it writes cells itself and returns a small record; what a worker computed
survives its death, and that of the driver. Tasks are handed out one a worker at a time, and a task that was on a worker
that died is handed out again: whether an item is to blame is decided by its claims, not by Dask.
"""

import ast
import importlib
import json
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.cores import cores
from dpjax.experiments.config.builder import imported
from dpjax.experiments.run.engine import Engine, device_kind, host_devices
from dpjax.experiments.run.items import Item, Record, first_items, following
from dpjax.experiments.run.work import BUSY, DONE, Rules, Worker
from dpjax.experiments.store.queue import LEASE, Queue
from dpjax.experiments.store.store import Store
from dpjax.experiments.study.study import Study
from dpjax.experiments.study.toml import study_of

PATIENCE = 60.0
"""Seconds for which a worker waits for a file of another host to become complete."""
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 10**6,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.daemon": True,
}
_PAUSES = (0.1, 5.0)
_REFILL, _CLOSING = 10.0, 30.0  # seconds
_ADDRESS = re.compile(r"([a-z]+://)?[^\s/:]+(:\d+)|([a-z]+://)?\[[0-9a-f:]+\]:\d+")


@dataclass(frozen=True)
class Dask:
    """Call it with a study and the folder of its results; see `run.run`.

    Args:
      kind: one of `KINDS`; None with an address.
      address: of a scheduler that runs.
      workers: of a cluster that is started here, by default one per core of this host.
      options: further arguments of the cluster's constructor.
      imports: user modules that the study needs.
      rules: of the workers.
      progress: called with the number of items that are done, and the number known so far.
    """

    kind: str | None = None
    address: str | None = None
    workers: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)
    progress: Callable[[int, int], None] = lambda done, known: None

    def __post_init__(self):
        if (self.kind is None) == (self.address is None):
            given = "both" if self.kind else "neither"
            raise InputError("cluster", "a kind or a scheduler's address", given, "give --cluster or --scheduler")
        if self.kind is not None:
            checks.choice("cluster", self.kind, KINDS)
        if self.address is not None and not _ADDRESS.fullmatch(self.address):
            raise InputError("scheduler", "host:port or tcp://host:port", repr(self.address), "give Dask's address")
        if self.workers is not None:
            checks.integer("workers", self.workers, 1, 2**16)
        if "n_workers" in self.options:
            given = f"n_workers={self.options['n_workers']!r}"
            raise InputError("cluster-option", "none for the number of workers", given, "give --workers")
        _needed("distributed")

    def __call__(self, study: Study, out: Path) -> None:
        """Returns once every item is done or has failed, as recorded in the store's queue."""
        distributed = _needed("distributed")
        text = json.dumps(study.to_dict())
        task = _Task(str(Path(out).resolve()), text, self.imports, self.rules, device_kind())
        patience = KINDS[self.kind].patience if self.kind is not None else None
        done = False
        while not done:  # what is done is recorded in the store, also for another cluster in place of a lost one
            with _configured(), self._cluster() as (place, refill), self._client(distributed, place) as client:
                done = _Driver(client, task, study, self.progress, refill, patience).run()

    def _client(self, distributed: Any, place: Any) -> Any:
        try:
            return distributed.Client(place)
        except (OSError, ValueError) as error:
            raise InputError(
                "scheduler", "a Dask scheduler that answers", f"{self.address or self.kind}: {error}",
                "check the address, and that the scheduler runs",
            ) from error  # fmt: skip

    @contextmanager
    def _cluster(self) -> Iterator[tuple[Any, Callable[[], None]]]:
        """(what a client connects to, what is called now and then so that workers that ended are replaced)"""
        if self.address is not None:
            yield self.address, lambda: None
            return
        assert self.kind is not None
        kind, workers = KINDS[self.kind], self.workers or cores()
        cluster = kind.make(workers, dict(self.options))
        try:
            yield cluster, lambda: kind.refill(cluster, workers)
        finally:
            with suppress(TimeoutError):
                cluster.close(timeout=_CLOSING)


def _local(workers: int, options: dict[str, Any]) -> Any:
    environment = {"DPJAX_DEVICES": str(max(1, cores() // workers))}
    given = {"threads_per_worker": 1, "processes": True, "dashboard_address": "localhost:0", "memory_limit": None,
             "env": environment}  # fmt: skip
    cluster = _needed("distributed").LocalCluster(**(given | options | {"n_workers": 0}))
    _start(cluster, workers)
    return cluster


def _start(cluster: Any, workers: int) -> None:
    """Starts workers until there are so many, and others in place of those that died while they started."""
    if failed := {name for name, one in list(cluster.workers.items()) if one.status.name == "failed"}:
        cluster.scale_down(failed)
    cluster.scale(workers)


def _slurm(workers: int, options: dict[str, Any]) -> Any:
    cluster = slurm_cluster(options)
    _submit(cluster, workers)
    return cluster


def _submit(cluster: Any, workers: int) -> None:
    """Submits jobs until there are so many, those that wait in the queue included."""
    cluster.scale(jobs=workers)


def slurm_cluster(options: Mapping[str, Any]) -> Any:
    """A `dask_jobqueue.SLURMCluster` without workers yet: of a job one process with one thread.

    Workers end before the job's walltime, so that they are not killed in a tile: they stop taking cells after 11
    twelfths of it, or up to a fifteenth of it earlier so that they do not end all at once.
    """
    given: dict[str, Any] = {"cores": 1, "processes": 1, "memory": "4GB", "walltime": "01:00:00", **options}
    seconds = _seconds(str(given["walltime"]))
    lifetime = [f"--lifetime={11 * seconds // 12}s", f"--lifetime-stagger={seconds // 15}s"]
    return _needed("dask_jobqueue").SLURMCluster(**({"worker_extra_args": lifetime} | given))


def _seconds(walltime: str) -> int:
    """Of Slurm's MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS."""
    days, dash, rest = walltime.rpartition("-")
    parts = rest.split(":")
    if not (days.isdecimal() or not dash) or not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        given = "one of Slurm's forms, such as 02:00:00 or 1-12:00:00"
        raise InputError("walltime", given, repr(walltime), "write hours:minutes:seconds")
    numbers = [int(part) for part in parts]
    hours, minutes, seconds = (*numbers, 0, 0)[:3] if dash else numbers if len(numbers) == 3 else (0, *numbers, 0)[:3]
    total = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 60:
        raise InputError("walltime", "a minute or more", repr(walltime), "write hours:minutes:seconds")
    return total


def _kubernetes(workers: int, options: dict[str, Any]) -> Any:
    _needed("dask_kubernetes")
    made = importlib.import_module("dask_kubernetes.operator").KubeCluster
    return made(**({"name": "dpjax", "n_workers": workers} | options))


class Kind(NamedTuple):
    """make: a cluster with this many workers. refill: replaces workers that ended, if nothing else does. patience:
    seconds without any worker after which another cluster is made; None where workers may wait in a queue."""

    make: Callable[[int, dict[str, Any]], Any]
    refill: Callable[[Any, int], None] = lambda cluster, workers: None
    patience: float | None = None


KINDS = {"local": Kind(_local, _start, 60.0), "slurm": Kind(_slurm, _submit), "kubernetes": Kind(_kubernetes)}
"""By name."""


def options_of(words: Sequence[str]) -> dict[str, Any]:
    """Arguments from "name=value"; values are Python's literals, and text otherwise."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("cluster-option", "name=value", repr(word), "write for example walltime=01:00:00")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def _needed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = {"distributed": "dask[distributed]"}.get(module, module.replace("_", "-"))
        advice = "pip install 'dpjax[cluster]'" + ("" if module == "distributed" else f", or pip install {name}")
        raise InputError("cluster", f"{name}, to compute on a cluster", "not installed", advice) from error


@contextmanager
def _configured() -> Iterator[None]:
    dask = _needed("dask")
    with dask.config.set(_SETTINGS):
        yield


@dataclass(frozen=True)
class _Task:
    """What a worker needs to know, besides the item."""

    store: str
    study: str
    imports: tuple[str, ...]
    rules: Rules
    device: str


def compute_item(task: _Task, line: int, n: int | None) -> tuple[str, Record | None]:
    """Runs in a worker process: `Worker.take` for one item."""
    study, worker = _session(task)
    return worker.take(Item(study, study.lines[line], n))


_STARTING = threading.Lock()


def _session(task: _Task) -> tuple[Study, Worker]:
    with _STARTING:  # of two tasks that a worker begins at the same time
        return _opened(task)


@lru_cache(maxsize=4)
def _opened(task: _Task) -> tuple[Study, Worker]:
    """The study and a worker that stays open, so that programs are traced and compiled once in a process."""
    from dpjax.experiments.run.compile_cache import use_compile_cache

    host_devices(int(os.environ.get("DPJAX_DEVICES", "1")))
    use_compile_cache()
    for module in task.imports:
        imported(module)
    study = study_of(json.loads(task.study), task.imports)
    engine = Engine()
    if engine.device_kind != task.device:
        raise InputError(
            "cluster", f"workers on {task.device}, as the process that hands out the work", engine.device_kind,
            "run the command on a host of the workers' kind, or `dpjax work` there: results of two kinds are different "
            "cells",
        )  # fmt: skip
    store, queue = Store(task.store, patience=PATIENCE), Queue(Path(task.store), LEASE)
    queue.__enter__()
    return study, Worker(store, engine, queue, study.seed, replace(task.rules, threads=1))


class _Driver:
    """Hands items out, one for each worker at a time."""

    def __init__(
        self, client: Any, task: _Task, study: Study, progress: Callable[[int, int], None], refill: Callable[[], None],
        patience: float | None,
    ):  # fmt: skip
        self.client, self.task, self.study, self.progress, self.refill = client, task, study, progress, refill
        self.patience = patience
        self._lines = {id(line): index for index, line in enumerate(study.lines)}
        self._waiting: deque[tuple[Item, float, float]] = deque()
        self._running: dict[Any, tuple[Item, float]] = {}
        self._known = self._done = 0

    def run(self) -> bool:
        """Whether all is done; False if there was no worker for too long."""
        for item in first_items(self.study):
            self._add(item)
        distributed, filled = _needed("distributed"), time.monotonic()
        seen = filled
        while self._waiting or self._running:
            seen = time.monotonic() if self.client.nthreads() else seen
            if self.patience is not None and time.monotonic() - seen > self.patience:
                return False
            if time.monotonic() - filled > _REFILL:
                self.refill()
                filled = time.monotonic()
            self._hand_out()
            if not self._running:
                time.sleep(_PAUSES[0])
                continue
            try:
                ended = distributed.wait(list(self._running), timeout=1.0, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                continue
            for future in ended:
                self._end(future, *self._running.pop(future))
        return True

    def _add(self, item: Item) -> None:
        self._waiting.append((item, 0.0, _PAUSES[0]))
        self._known += 1

    def _hand_out(self) -> None:
        room = max(1, len(self.client.nthreads())) - len(self._running)
        for _ in range(len(self._waiting)):
            if room <= 0:
                return
            item, after, pause = self._waiting.popleft()
            if after > time.monotonic():
                self._waiting.append((item, after, pause))
                continue
            line = self._lines[id(item.line)]
            future = self.client.submit(compute_item, self.task, line, item.n, pure=False, retries=0)
            self._running[future] = (item, pause)
            room -= 1

    def _end(self, future: Any, item: Item, pause: float) -> None:
        error = future.exception() if future.status == "error" else None
        if error is not None and type(error).__name__ != "KilledWorker":
            raise error
        state, found = (BUSY, None) if error is not None or future.status != "finished" else future.result()
        if state == BUSY:  # another process is at it, or the worker died
            self._waiting.append((item, time.monotonic() + pause, min(2 * pause, _PAUSES[1])))
            return
        if state == DONE and found is not None:
            for one in following(item, found):
                self._add(one)
        self._done += 1
        self.progress(self._done, self._known)
