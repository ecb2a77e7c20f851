"""Items of a study computed in other processes, by any executor of `concurrent.futures`."""

import hashlib
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpjax.core.checks import InputError
from dpjax.core.files import StoreError
from dpjax.experiments.config.builder import imported
from dpjax.experiments.config.to_spec import study_spec
from dpjax.experiments.run.engine import Engine, device_kind, host_devices
from dpjax.experiments.run.items import Item, Record
from dpjax.experiments.run.work import Rules, Take, Worker
from dpjax.experiments.store.file_schemas import read_study
from dpjax.experiments.store.records import Records
from dpjax.experiments.store.store import PATIENCE, Store
from dpjax.experiments.study.toml import sweep_of
from dpjax.experiments.sweep.sweep import Sweep

DEVICES = "DPJAX_DEVICES"
"""Variable of the environment: devices of the CPU in a process that computes items; by default 1."""


@dataclass(frozen=True)
class _Session:
    """What a process needs to know, besides the item."""

    store: str
    study: str  # digest of the study that is written there
    imports: tuple[str, ...]
    rules: Rules
    device: str


def taking(study: Sweep, out: Path, imports: tuple[str, ...], rules: Rules) -> Take:
    """What computes items of the study, as it is written in ``out``, in processes that see this folder under the same
    name.

    imports: user modules that the study needs.
    """
    digest = hashlib.sha256(json.dumps(study_spec(study)).encode()).hexdigest()
    session = _Session(str(Path(out).resolve()), digest, imports, replace(rules, threads=1), device_kind())
    places = {id(curve): place for place, curve in enumerate(study.curves)}

    def take(item: Item) -> tuple[Callable[..., Any], tuple]:
        return compute_item, (session, places[id(item.curve)], item.n)

    return take


def compute_item(session: _Session, curve: int, n: int | None) -> tuple[str, Record | None]:
    """`Worker.take` for one item, in another process."""
    with _OPENING:  # of two items that a process begins at the same time
        study, worker = _opened(session)
    return worker.take(Item(study, study.curves[curve], n))


_OPENING = threading.Lock()


@lru_cache(maxsize=4)
def _opened(session: _Session) -> tuple[Sweep, Worker]:
    """The study and a worker that stays open, so that programs are traced and compiled once in a process."""
    from dpjax.experiments.run.compile_cache import use_compile_cache

    host_devices(int(os.environ.get(DEVICES, "1")))
    use_compile_cache()
    for module in session.imports:
        imported(module)
    folder = Path(session.store)
    if (written := read_study(folder, PATIENCE)) is None:
        actual, advice = f"{folder}, in which none is seen", "use a folder that all hosts share"
        raise StoreError("store", "a folder with a study", actual, advice)
    study = sweep_of(written, session.imports)
    engine = Engine()
    if engine.device_kind != session.device:
        raise InputError(
            "executor",
            f"processes on {session.device}, as the one that hands out the work",
            engine.device_kind,
            "run the command on a host of their kind, or shards of it there: results of two kinds are different cells",
        )
    store = Store(folder, patience=PATIENCE)
    return study, Worker(store, engine, Records(folder), study.seed, session.rules)
