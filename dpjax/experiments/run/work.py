"""Computes the items of a study: one loop over anything that has the interface of `concurrent.futures.Executor`."""

import queue
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field

import jax

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import StoreError
from dpjax.experiments.identity.code_digest import code_digest
from dpjax.experiments.run.cells import Cells, TileEngine
from dpjax.experiments.run.items import Item, Record, asked_of, following, points_of
from dpjax.experiments.run.measuring import compute
from dpjax.experiments.store.canonical import versions
from dpjax.experiments.store.cell_file import BrokenCell
from dpjax.experiments.store.records import Records
from dpjax.experiments.store.store import Store

DONE, FAILED, LEFT = "done", "failed", "left"
Take = Callable[[Item], tuple[Callable[..., tuple[str, Record | None]], tuple]]
"""The function, and its arguments, that computes an item and returns its state and record."""
Ended = Callable[[Item, str, Record | None], None]
_OF_THE_HOST = (jax.errors.JaxRuntimeError, MemoryError, OSError)
"""Errors that another host need not have: of a device, of memory, of files."""
_LOOK = 0.2
"""Seconds after which the loop wakes up, so that signals are handled."""
_MOST_SUBMITTED = 1 << 12


class Stopped(BaseException):
    """Work ends before its end, at the next tile; what was computed is stored. No error of the item."""


class TimeLimit(Exception):
    """An item took longer than it may."""


@dataclass(frozen=True)
class Rules:
    """How items are computed; nothing of it affects results.

    time_limit: seconds that one item may take; retry: try items again that failed before; threads: items at a time.
    code: of this process, see `code_digest.code_digest`.
    """

    time_limit: float | None = None
    retry: bool = False
    threads: int = 2
    code: str | None = field(default_factory=code_digest)


def threads_for(devices: int) -> int:
    """Items at a time in a process: two for each device, so that one compiles while another runs, and at most eight,
    since each may be compiling."""
    return min(2 * devices, 8)


class _Own(threading.local):
    """The item that a thread computes, and when it began."""

    item: str | None = None
    begin: float = 0.0


class Worker:
    """Computes items in this process, in several threads if asked to, and records what became of them.

    Args:
      store, engine, records: see there.
      seed: of the study.
      rules: see `Rules`.
      trials: called with the number of trials just computed.
    """

    def __init__(
        self,
        store: Store,
        engine: TileEngine,
        records: Records,
        seed: int,
        rules: Rules,
        trials: Callable[[int], None] = lambda count: None,
    ):
        self.records, self.rules, self._trials = records, rules, trials
        self.cells = Cells(store, engine, seed, self._tick)
        self._own = _Own()
        self._stop = False  # not an Event: signal handlers set it, and the lock of an Event would stop them forever
        self._retried: set[str] = set()
        self._stored: set[str] | None = None
        self._listing = threading.Lock()
        records.begin(rules.code)
        self.running: dict[str, tuple[Item, float]] = {}
        """The items that are computed now, and when they were begun, by name."""

    def stop(self) -> None:
        """Ends all work at the next tile; `Stopped` is raised in the threads that compute."""
        self._stop = True

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stop

    def state(self, item: Item) -> tuple[str, Record | None]:
        """DONE or FAILED with the record if this code, on this kind of device, need not look at the item again, else
        LEFT."""
        name = item.name
        record = self.records.done(name)
        if record is not None and self._same(record) and self.rules.code is not None and self._is_stored(record):
            if item.n is None and record.get("asked") != asked_of(item.study):  # of a study that was changed since
                self.records.record_done(name, record := record | points_of(item, record))
            return DONE, record
        if (record := self.records.failed(name)) is not None and self._counts(name, record):
            return FAILED, record
        return LEFT, None

    def take(self, item: Item) -> tuple[str, Record | None]:
        """Computes the item unless a record says that it need not: (DONE or FAILED, its record)."""
        if self.stopped:
            raise Stopped
        state, record = self.state(item)
        return (state, record) if state != LEFT else self._computed(item)

    def _computed(self, item: Item) -> tuple[str, Record | None]:
        name, begin = item.name, time.monotonic()
        self._own.item, self._own.begin = name, begin
        self.running[name] = (item, begin)
        try:
            result = compute(item, self.cells)
        except Stopped:
            raise
        except BrokenCell as error:
            return FAILED, self.fail(item, error, broken=True)
        except StoreError:
            raise
        except checks.RAISED as error:
            if self.stopped:  # an interruption that ends the process may make anything raise
                raise Stopped from error
            here = isinstance(error, _OF_THE_HOST) or (isinstance(error, InputError) and error.name == "memory")
            return FAILED, self.fail(item, error, **({"host_only": socket.gethostname()} if here else {}))
        finally:
            self._own.item = None
            self.running.pop(name, None)
        points = points_of(item, result) if item.n is None else {}
        record = result | points | {"seconds": time.monotonic() - begin} | self._about(item)
        self.records.record_done(name, record)
        return DONE, record

    def fail(self, item: Item, error: BaseException, **more: object) -> Record:
        """Records that an item has failed. more: ``died`` if its process ended, which other code need not mend."""
        text = "".join(traceback.format_exception(error))
        record = {"error": f"{type(error).__name__}: {error}", "traceback": text, **more} | self._about(item)
        self.records.record_failed(item.name, record)
        self._retried.add(item.name)
        return record

    def _is_stored(self, record: Record) -> bool:
        """Whether the cells of a record are in the store, by a list that was read before or by a look for each."""
        store = self.cells.store
        with self._listing:
            if self._stored is None:
                self._stored = store.names()
        return all(name in self._stored or name in store for name in record.get("cells", {}).values())

    def _same(self, record: Record) -> bool:
        return (record.get("code"), record.get("device")) == (self.rules.code, self.cells.engine.device_kind)

    def _about(self, item: Item) -> Record:
        return {
            "code": self.rules.code,
            "device": self.cells.engine.device_kind,
            "item": str(item),
            "versions": versions(),
            "host": socket.gethostname(),
            "at": time.time(),
        }

    def _counts(self, name: str, failure: Record) -> bool:
        """Whether a recorded failure is one of this code and kind of device, so that trying again is of no use."""
        if name in self._retried:
            return True
        if self.rules.retry or failure.get("device") != self.cells.engine.device_kind or failure.get("broken"):
            return False
        if failure.get("host_only") not in (None, socket.gethostname()):
            return False
        return bool(failure.get("died")) or (self._same(failure) and self.rules.code is not None)

    def _tick(self, count: int) -> None:
        self._trials(count)
        if self._stop:
            raise Stopped
        limit, begin = self.rules.time_limit, self._own.begin
        if self._own.item and limit is not None and time.monotonic() - begin > limit:
            raise TimeLimit(f"more than {limit:g} seconds, the time limit of a cell; raise it, or lower n, k or trials")


def work(
    worker: Worker,
    items: Iterable[Item],
    executor: Executor,
    take: Take,
    ended: Ended = lambda *_: None,
    elsewhere: bool = False,
) -> bool:
    """Submits items, and those that follow from them, until all are done or have failed; False if it was stopped
    before.

    Raises StoreError and InputError, since what they say holds for every item: nothing can be written, or the study
    cannot be used.

    executor: threads of this process, `distributed.Client.get_executor()`, or any other. take: what computes an
    item there. ended: called with each item afterwards.
    elsewhere: in other processes, which may die: an item whose future raises is then recorded as failed.
    """
    waiting, finished = deque(items), queue.SimpleQueue[Future]()
    running: dict[Future, Item] = {}
    try:
        while (waiting or running) and not worker.stopped:
            while waiting and len(running) < _MOST_SUBMITTED:
                item = waiting.popleft()
                function, arguments = take(item)
                future = executor.submit(function, *arguments)
                running[future] = item
                future.add_done_callback(finished.put)
            with suppress(queue.Empty):
                future = finished.get(timeout=_LOOK)
                item = running.pop(future)
                state, record = _outcome(worker, item, future, elsewhere)
                if state == DONE and record is not None:
                    waiting.extend(following(item, record))
                ended(item, state, record)
    except Stopped:
        worker.stop()
    except BaseException:
        worker.stop()
        raise
    finally:
        for future in running:
            future.cancel()
    return not worker.stopped


def _outcome(worker: Worker, item: Item, future: Future, elsewhere: bool) -> tuple[str, Record | None]:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        message, advice = f"{type(error).__name__}: {error}", "run the same command again: what is done is stored"
        raise InputError("executor", "one that lives until all is done", message, advice) from error
    except (StoreError, InputError):
        raise
    except Exception as error:  # the executor's own, such as KilledWorker
        if not elsewhere:
            raise
        return FAILED, worker.fail(item, error, died=True)
