"""`dpjax work`: computes what is left of a study, as one of many processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dpjax.cli import Answer
from dpjax.cli.arguments import WorkCommand
from dpjax.cli.printing import console as screen
from dpjax.cli.statuses import Status
from dpjax.cli.supervising import supervised
from dpjax.cli.watching import stopped_by_signals, watched
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.commands import command as pasteable
from dpjax.core.cores import cores
from dpjax.core.files import StoreError
from dpjax.experiments.store.file_schemas import read_study
from dpjax.experiments.store.queue import Queue, shard_of

_PAUSE = 0.2


def run(command: WorkCommand) -> Answer:
    """Works until nothing is left; with --alone in this process, else in worker processes that it starts again."""
    checks.integer("processes", command.processes, 1, 1024)
    if command.devices is not None:
        checks.integer("devices", command.devices, 1, 1024)
    for name in ("time_limit", "max_seconds", "lease", "patience"):
        if (value := getattr(command, name)) is not None and checks.number(name, value) <= 0:
            raise InputError(name, "a number of seconds > 0", repr(value), "leave it out for the default")
    shard = (lambda name: True) if command.shard is None else shard_of(command.shard)
    config = _study_in(command.store, command.patience)
    return _alone(command, config, shard) if command.alone else _started(command)


def _study_in(store: Path, patience: float) -> Mapping[str, Any]:
    """The study of a store; over a network the file may not be whole at first."""
    end = time.monotonic() + patience
    advice = f"prepare it: {pasteable('curve', 'STUDY.toml', '--out', store, '--prepare')}"
    if store.exists() and not store.is_dir():
        raise StoreError("store", "a folder with a study", f"{store}, which is a file", advice)
    while True:
        try:
            found = read_study(store)
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
            continue
        if found is None:
            raise StoreError("store", "a folder with a study", f"{store} without study.json", advice)
        return found


def _alone(command: WorkCommand, config: Mapping[str, Any], shard: Callable[[str], bool]) -> Answer:
    import jax

    from dpjax.experiments.config.builder import imported
    from dpjax.experiments.run import engine
    from dpjax.experiments.run.items import first_items
    from dpjax.experiments.run.work import FAILED, Rules, Worker, threads_for, work
    from dpjax.experiments.store.repair import repair
    from dpjax.experiments.store.store import Store
    from dpjax.experiments.study.toml import study_of

    parent = int(os.environ.pop(STARTED, 0)) or None
    engine.host_devices(command.devices)
    for module in command.imports:
        imported(module)
    study = study_of(config, command.imports)
    done = {"done": 0, "failed": 0}

    def ended(item: Any, state: str, found: Any) -> None:
        done["failed" if state == FAILED else "done"] += 1

    with (
        Store(command.store, patience=command.patience) as store,
        engine.Engine() as machine,
        Queue(command.store, command.lease) as queue,
    ):
        if command.repair:
            repair(store, queue)
        rules = Rules(command.time_limit, command.retry_failed, threads_for(len(jax.local_devices())))
        worker = Worker(store, machine, queue, study.seed, rules)
        with stopped_by_signals(worker), watched(worker, command.max_seconds, parent):
            complete = work(worker, first_items(study), ended, lambda item: shard(item.name))
        trials = machine.trials
    status = Status.LEFT if not complete else Status.FAILED if done["failed"] else Status.DONE
    answer = done | {"trials": trials, "complete": complete, "status": status}

    def show() -> None:
        left = "" if complete else "; work is left"
        screen().print(f"{done['done']} cells done, {done['failed']} failed, {trials} trials computed here{left}")

    return answer, show


STARTED = "DPJAX_WORKER"
"""The supervisor's process, in the environment of the workers that it started: they end with it."""


def _started(command: WorkCommand) -> Answer:
    begin, devices = time.monotonic(), command.devices or max(1, cores() // command.processes)
    words = [
        sys.executable,
        "-m",
        "dpjax.cli",
        "work",
        str(command.store),
        "--alone",
        "--json",
        "--devices",
        str(devices),
    ]
    for flag in ("shard", "time_limit", "lease", "patience", "compile_cache"):
        if (value := getattr(command, flag)) is not None:
            words += [f"--{flag.replace('_', '-')}", str(value)]
    words += ["--retry-failed"] * command.retry_failed
    if command.imports:
        words += ["--import", *command.imports]

    def start(again: bool) -> subprocess.Popen:
        own = [word for word in words if not (again and word == "--retry-failed")]
        if command.max_seconds is not None:
            own += ["--max-seconds", str(max(1.0, command.max_seconds - (time.monotonic() - begin)))]
        environment = os.environ | {STARTED: str(os.getpid())}
        return subprocess.Popen(own, stdout=subprocess.PIPE, text=True, env=environment)

    from dpjax.experiments.store.repair import repair
    from dpjax.experiments.store.store import Store

    queue = Queue(command.store)
    with Store(command.store, patience=command.patience) as store:
        if command.repair:
            repair(store, queue)

    def stored() -> Any:
        return [len(names) for names in queue.names()], Store(command.store, read_only=True).counts()

    answer = supervised(start, command.processes, command.max_seconds, stored)

    def show() -> None:
        left = "; work is left" if answer["status"] == Status.LEFT else ""
        again = f", {answer['restarts']} times a process was started again" if answer["restarts"] else ""
        by = "1 process" if command.processes == 1 else f"{command.processes} processes"
        text = f"{answer['trials']} trials computed here by {by}{again}{left}"
        seen = pasteable("status", command.store)
        failed = f"; {answer['failed']} cells failed, see {seen}" if answer["failed"] else ""
        screen().print(text + failed)

    return answer, show
