"""Runs a study: n*, the success curve and the theorem's number for every learner, k and epsilon."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.documents import sealed
from dpjax.core.files import failure, read_file, replace_file
from dpjax.experiments.config.to_spec import study_spec
from dpjax.experiments.identity.code_digest import code_digest
from dpjax.experiments.results.result import Result
from dpjax.experiments.run.cells import Cells, TileEngine
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.items import Item, Record, first_items, first_of, following, listing
from dpjax.experiments.run.n_star import end_of
from dpjax.experiments.run.progress import Progress
from dpjax.experiments.run.rows import TABLES, Rows, fits, joined, place, rows_of, theory
from dpjax.experiments.run.work import DONE, FAILED, Ended, Rules, Take, Worker, threads_for, work
from dpjax.experiments.store.canonical import made_by, versions
from dpjax.experiments.store.records import LISTING, Records
from dpjax.experiments.store.store import PATIENCE, Store
from dpjax.experiments.sweep.sweep import Curve, Sweep

EARLIER = "result.earlier.json"


def run(
    study: Sweep,
    out: str | Path,
    *,
    progress: Any = None,
    quiet: bool = False,
    executor: Executor | None = None,
    take: Take | None = None,
    watch: Callable[[Worker], AbstractContextManager[Any]] = lambda worker: nullcontext(),
    **how: Any,
) -> Result:
    """Measures everything that is not yet stored in ``out``.

    Several curves are measured at the same time: one is compiled while another runs. Other processes may compute cells
    of the same study in the same folder, see `run_shard`.

    Writes result.json with what is known of the same study, then study.json, and result.json again after every curve. A
    result of another study, or of code that has changed since, is kept as result.earlier.json.

    engine: what computes trials, by default all local devices. progress: with ``step`` and ``trials``, see `Progress`;
    quiet: none. rules: see `work.Rules`, by default with `work.threads_for` threads. executor, take: compute the items
    in other processes before this one looks at them, see `work.work`. watch: entered with the worker while it works.
    repair: moves broken files of the store aside, see `Store.repair`.

    A point that raises is recorded with its traceback among the result's failures, and the others go on; it is tried
    again if the code has changed. Trials whose errors are no numbers are stored as they are, and their point fails
    again. Raises InputError where the folder cannot be used.
    """
    with _opened(study, out, progress=progress, quiet=quiet, **how) as (worker, seen):
        out = worker.cells.store.root
        config, cells = study_spec(study), worker.cells
        previous = _known(out)
        known = _valid(previous or {}, config, study, cells)
        if previous is None or _curves(previous) - _curves(known):
            _set_aside(out)
            if progress is None and not quiet:
                other = "curves of another study, or of other code, versions or devices"
                seen.say(f"{out} held {other if previous else 'no result that can be read'}: now in {EARLIER}")
        keep = lambda part: save(_joined(part, known, study.fit_from), out)  # noqa: E731
        keep(_about(study, cells) | fits([]) | joined([]) | {"left": len(study.curves)})
        prepare(study, out, worker.rules.code)
        with watch(worker):
            if executor is not None and take is not None:
                work(worker, first_items(study), executor, take, _counted(study, seen), elsewhere=True)
            result = Result(_Curves(study, worker, seen.step, keep).measured(), out)
        save(result.data, out)
    return result


def run_shard(
    study: Sweep,
    out: str | Path,
    mine: Callable[[str], bool],
    *,
    watch: Callable[[Worker], AbstractContextManager[Any]] = lambda worker: nullcontext(),
    **how: Any,
) -> dict[str, Any]:
    """Computes the items of a study whose names are ``mine``, see `records.shard_of`, and returns how many are done,
    how many failed, and whether all of them were looked at. Results are made by `run` in the same folder.

    how: engine, progress, quiet, rules and repair as of `run`.
    """
    counts = {DONE: 0, FAILED: 0}
    with _opened(study, out, patience=PATIENCE, **how) as (worker, seen), watch(worker):
        prepare(study, worker.cells.store.root, worker.rules.code)
        tell = _counted(study, seen)

        def ended(item: Item, state: str, record: Record | None) -> None:
            counts[state] += 1
            tell(item, state, record)

        items = (item for item in first_items(study) if mine(item.name))
        with ThreadPoolExecutor(worker.rules.threads) as threads:
            whole = work(worker, items, threads, lambda item: (worker.take, (item,)), ended)
    return counts | {"complete": whole}


@contextmanager
def _opened(
    study: Sweep,
    out: str | Path,
    engine: TileEngine | None = None,
    progress: Any = None,
    quiet: bool = False,
    rules: Rules | None = None,
    repair: bool = False,
    patience: float = 0.0,
) -> Iterator[tuple[Worker, Any]]:
    """A worker of the study, and its progress. The arguments of `run`; patience: of `Store`."""
    checks.instance("out", out, (str, Path), "give the folder of the results", "a path")
    with ExitStack() as stack:
        store = stack.enter_context(Store(Path(out), patience=patience))
        machine = stack.enter_context(Engine()) if engine is None else engine
        seen = stack.enter_context(Progress(False if quiet else None)) if progress is None else progress
        records = Records(Path(out))
        if repair:
            records.repair(store)
        rules = rules or Rules(threads=threads_for(len(machine.devices) or 1))
        yield Worker(store, machine, records, study.seed, rules, seen.trials), seen


def _counted(study: Sweep, seen: Any) -> Ended:
    """Tells the progress of items by their number; those that a search names are counted as they become known."""
    known, done = sum(1 for _ in first_items(study)), 0

    def ended(item: Item, state: str, record: Record | None) -> None:
        nonlocal known, done
        known += len(list(following(item, record))) if state == DONE and record is not None else 0
        done += 1
        seen.step(str(item), done, known)

    return ended


def prepare(study: Sweep, out: Path, code: str | None = None) -> None:
    """Writes study.json, which other processes read, and the list of its items. code: by default `code_digest`."""
    records = Records(out)
    records.begin(code or code_digest())
    files = {records.root / LISTING: listing(study), out / "study.json": sealed(study_spec(study))}
    for path, data in files.items():
        with suppress(OSError):
            if read_file(path) == data:  # of many shards only the first writes
                continue
        replace_file(path, data)


class _Curves:
    """The curves of a study, each measured as soon as its items are done; the result grows in the order of curves."""

    def __init__(
        self,
        study: Sweep,
        worker: Worker,
        step: Callable[[str, int, int], None],
        keep: Callable[[dict[str, Any]], None],
    ):
        self.study, self.worker, self.step, self.keep = study, worker, step, keep
        self._lock = threading.Lock()
        self._open = {id(curve): 0 for curve in study.curves}
        self._about = _about(study, worker.cells)
        self._kept = self._cost = 0.0
        self._parts: dict[int, Rows] = {}

    def measured(self) -> dict[str, Any]:
        """The result as JSON-ready data: the rows of all curves, see `rows.rows_of`, with their fitted exponents."""
        curves = self.study.curves
        for curve in curves:
            self._open[id(curve)] = len(list(first_of(self.study, curve)))
        self.step("starting", 0, len(curves))
        with ThreadPoolExecutor(self.worker.rules.threads) as threads:
            if work(self.worker, first_items(self.study), threads, lambda item: (self._measured, (item,))):
                self.step("done", len(curves), len(curves))
        return self._data()

    def _measured(self, item: Item) -> tuple[str, Record | None]:
        state, record = self.worker.take(item)
        self._ended(item, state, record)
        return state, record

    def _ended(self, item: Item, state: str, found: Record | None) -> None:
        curve = item.curve
        more = len(list(following(item, found))) if state != FAILED and found is not None else 0
        with self._lock:
            self._open[id(curve)] += more - 1
            if self._open[id(curve)]:
                return
        part = rows_of(curve, self.study, self.worker.cells, self._failure)
        with self._lock:
            self._parts[id(curve)] = part
            self._save_sometimes()
            self.step(str(curve), len(self._parts), len(self.study.curves))

    def _save_sometimes(self) -> None:
        """Saves the result after each curve, but spends at most a twentieth of the time on it."""
        begin = time.monotonic()
        if begin - self._kept > 20 * self._cost:
            self.keep(self._data())
            self._kept = time.monotonic()
            self._cost = self._kept - begin

    def _failure(self, item: Item) -> Record | None:
        state, record = self.worker.state(item)
        return record if state == FAILED else None

    def _data(self) -> dict[str, Any]:
        parts = [self._parts[id(curve)] for curve in self.study.curves if id(curve) in self._parts]
        rows = joined(parts)
        left = len(self.study.curves) - len(parts)
        return self._about | rows | fits(rows["n_star"], self.study.fit_from) | {"left": left}


def _known(out: Path) -> dict[str, Any] | None:
    """What an earlier run wrote; empty if there is nothing, None if it cannot be read."""
    try:
        return Result.load(out).data if os.path.lexists(out / "result.json") else {}
    except InputError:
        return None


def _set_aside(out: Path) -> None:
    try:
        (out / "result.json").replace(out / EARLIER)
    except OSError as error:
        raise failure(error, out / EARLIER) from error


def _valid(found: dict[str, Any], config: dict[str, Any], study: Sweep, cells: Cells) -> Rows:
    """The rows of the same study's curves that have no failure and that the present code would measure the same."""
    kept = joined([])
    if found.get("config") != json.loads(json.dumps(config)):
        return kept
    for curve in study.curves:
        with suppress(Exception):  # a row that is not complete, or code that raises
            tables = {name: [row for row in found[name] if place(row) == place(curve.labels())] for name in TABLES}
            if not tables["failures"] and all(
                _is_present(name, row, curve, cells) for name in tables for row in tables[name]
            ):
                for name in TABLES:
                    kept[name] += tables[name]
    return kept


def _curves(data: dict[str, Any]) -> set[tuple[Any, ...]]:
    """The curves of which a result has rows and no failure."""
    failed = {place(row) for row in data.get("failures", ())}
    return {place(row) for name in ("points", "n_star") for row in data.get(name, ())} - failed


def _is_present(name: str, row: dict[str, Any], curve: Curve, cells: Cells) -> bool:
    """Whether all trials of a row are those of the present code, and so are the theorem's numbers."""
    if name == "points":
        return row["cell"] == cells.cell(replace(curve.setting, n=row["n"]))
    same = row | theory(curve) == row
    return same and all(cell == cells.cell(end_of(curve.setting, int(n))) for n, cell in row["cells"].items())


def _joined(part: dict[str, Any], known: Rows, fit_from: int) -> dict[str, Any]:
    """The rows of this run so far, and for curves that it has not come to those of an earlier run."""
    places = {place(row) for name in TABLES for row in part[name]}
    earlier = {name: [row for row in known[name] if place(row) not in places] for name in TABLES}
    rows = {name: part[name] + earlier[name] for name in TABLES}
    seen = {place(row) for name in TABLES for row in earlier[name]}
    return part | rows | fits(rows["n_star"], fit_from) | {"left": max(0, part["left"] - len(seen))}


def save(data: dict[str, Any], out: Path) -> None:
    """Writes result.json."""
    replace_file(out / "result.json", sealed(data))


def _about(study: Sweep, cells: Cells) -> dict[str, Any]:
    return {
        "title": study.title,
        "config": study_spec(study),
        "seed": study.seed,
        "versions": versions(),
        "made_by": made_by(),
        "device": cells.engine.device_kind,
    }
