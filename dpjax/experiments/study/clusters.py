"""Dask clusters: local processes, Slurm, Kubernetes, or any scheduler, as executors that compute a study's items.

Dask hands items to workers, replaces workers that die and hands their items out again; an item on which workers die
again and again ends with KilledWorker, and is recorded as failed. What a worker computed survives its death, and that
of the process that hands items out.
"""

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.cores import cores
from dpjax.experiments.study.remote import DEVICES

_SETTINGS = {
    "distributed.scheduler.allowed-failures": 8,  # deaths by other items of a worker count, too
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.daemon": True,
}
_REFILL = 5.0  # seconds
_ADDRESS = re.compile(r"([a-z]+://)?[^\s/:]+(:\d+)|([a-z]+://)?\[[0-9a-f:]+\]:\d+")


@contextmanager
def cluster(
    kind: str | None = None,
    address: str | None = None,
    workers: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Iterator[Executor]:
    """An executor for `Study.run`: a Dask cluster of a kind, or the one of a scheduler's address.

    Args:
      kind: one of `KINDS`; None with an address.
      address: of a scheduler that runs.
      workers: of a cluster that is started here, by default one per core of this host.
      options: further arguments of the cluster's constructor.
    """
    check_cluster(kind, address, workers, options or {})
    distributed, dask = _needed("distributed"), _needed("dask")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        place: Any = address
        if kind is not None:
            place = stack.enter_context(KINDS[kind](workers or cores(), dict(options or {})))
        try:
            client = stack.enter_context(distributed.Client(place))
        except (OSError, ValueError) as error:
            expected = "a Dask scheduler that answers"
            advice = "check the address, and that the scheduler runs"
            raise InputError("scheduler", expected, f"{address or kind}: {error}", advice) from error
        yield client.get_executor(pure=False)


def check_cluster(kind: str | None, address: str | None, workers: int | None, options: Mapping[str, Any]) -> None:
    """InputError for arguments of `cluster` that name none, or if Dask is not installed."""
    if (kind is None) == (address is None):
        actual = "both" if kind else "neither"
        raise InputError("cluster", "a kind or a scheduler's address", actual, "give --cluster or --scheduler")
    if kind is not None:
        checks.choice("cluster", kind, KINDS)
    if address is not None and not _ADDRESS.fullmatch(address):
        raise InputError("scheduler", "host:port or tcp://host:port", repr(address), "give Dask's address")
    if workers is not None:
        checks.integer("workers", workers, 1, 2**16)
    if "n_workers" in options:
        actual = f"n_workers={options['n_workers']!r}"
        raise InputError("cluster-option", "none for the number of workers", actual, "give --workers")
    _needed("distributed")


def _local(workers: int, options: dict[str, Any]) -> Any:
    defaults = {
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": "localhost:0",
        "memory_limit": None,
        "env": {DEVICES: str(max(1, cores() // workers))},
    }
    made = _needed("distributed").LocalCluster(**(defaults | options | {"n_workers": 0}))

    def refill() -> None:
        """Nannies replace workers that die, but not those that die while they start."""
        if failed := {name for name, worker in list(made.workers.items()) if worker.status.name == "failed"}:
            made.scale_down(failed)
        made.scale(workers)

    refill()
    made.loop.add_callback(_needed("tornado.ioloop").PeriodicCallback(refill, 1000 * _REFILL).start)
    return made


def _slurm(workers: int, options: dict[str, Any]) -> Any:
    cluster = slurm_cluster(options)
    cluster.adapt(minimum_jobs=workers, maximum_jobs=workers)  # jobs that end are replaced
    return cluster


def slurm_cluster(options: Mapping[str, Any]) -> Any:
    """A `dask_jobqueue.SLURMCluster` without workers yet: of a job one process with one thread.

    Workers end before the job's walltime, so that they are not killed in a tile: they stop taking cells after 11
    twelfths of it, or up to a fifteenth of it earlier so that they do not end all at once.
    """
    settings: dict[str, Any] = {"cores": 1, "processes": 1, "memory": "4GB", "walltime": "01:00:00", **options}
    seconds = _seconds(str(settings["walltime"]))
    lifetime = [f"--lifetime={11 * seconds // 12}s", f"--lifetime-stagger={seconds // 15}s"]
    return _needed("dask_jobqueue").SLURMCluster(**({"worker_extra_args": lifetime} | settings))


def _seconds(walltime: str) -> int:
    """Of Slurm's MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS."""
    days, dash, rest = walltime.rpartition("-")
    parts = rest.split(":")
    if not (days.isdecimal() or not dash) or not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        expected = "one of Slurm's forms, such as 02:00:00 or 1-12:00:00"
        raise InputError("walltime", expected, repr(walltime), "write hours:minutes:seconds")
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


KINDS: Mapping[str, Callable[[int, dict[str, Any]], Any]] = {
    "local": _local,
    "slurm": _slurm,
    "kubernetes": _kubernetes,
}
"""What starts a cluster of so many workers with these options, by name."""


def options_of(words: Sequence[str]) -> dict[str, Any]:
    """Arguments from "name=value"; values are Python's literals, and text otherwise."""
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("cluster-option", "name=value", repr(word), "write for example walltime=01:00:00")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[name] = value
    return options


def _needed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = module.replace("_", "-") if module.startswith("dask_") else ""
        name = extra or "dask[distributed]"
        advice = "pip install 'dpjax[cluster]'" + (f", or pip install {extra}" if extra else "")
        raise InputError("cluster", f"{name}, to compute on a cluster", "not installed", advice) from error
