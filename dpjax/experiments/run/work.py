"""Computes the items of a study that nobody has computed, beside any number of other processes that do the same."""

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import jax

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import StoreError
from dpjax.experiments.identity.code_digest import code_digest
from dpjax.experiments.run.cells import Cells, Executor
from dpjax.experiments.run.items import Item, Record, asked_of, following, points_of
from dpjax.experiments.run.measuring import compute
from dpjax.experiments.store.canonical import versions
from dpjax.experiments.store.queue import MOST_DEATHS, Queue, this_host
from dpjax.experiments.store.store import BrokenCell, Store

DONE, FAILED, BUSY = "done", "failed", "busy"
SUSPECT = 2
"""Deaths after which an item is computed without others beside it in the process, which may have been to blame."""
_OF_THE_HOST = (jax.errors.JaxRuntimeError, MemoryError, OSError)
"""Errors that another host need not have: of a device, of memory, of files."""
_PAUSES = (0.05, 2.0)  # between looks at items that others work on: first and longest


class Stopped(BaseException):
    """Work ends before its end, at the next tile; what was computed is stored. No error of the item."""


class TimeLimit(Exception):
    """An item took longer than it may."""


@dataclass(frozen=True)
class Rules:
    """How items are computed; nothing of it affects results.

    time_limit: seconds that one item may take; retry: try items again that failed before; threads: items at a time.
    code: of this process, see `sources.code_digest`.
    """

    time_limit: float | None = None
    retry: bool = False
    threads: int = 2
    code: str | None = field(default_factory=code_digest)


def threads_for(devices: int) -> int:
    """Items at a time in a process: two for each device, so that one compiles while another runs, and at most eight,
    since each may be compiling."""
    return min(2 * devices, 8)


class Worker:
    """Takes items one at a time, in several threads, and records what became of them.

    Args:
      store, engine, queue: see there.
      seed: of the study.
      rules: see `Rules`.
      trials: called with the number of trials just computed.
    """

    def __init__(
        self, store: Store, engine: Executor, queue: Queue, seed: int, rules: Rules,
        trials: Callable[[int], None] = lambda count: None,
    ):  # fmt: skip
        self.queue, self.rules, self._trials = queue, rules, trials
        self.cells = Cells(store, engine, seed, self._tick, self._saved)
        self._own = threading.local()
        self._stop = False  # not an Event: signal handlers set it, and the lock of an Event would stop them forever
        self._door = Door()
        self._retried: set[str] = set()
        self._stored: set[str] | None = None
        self._listing = threading.Lock()
        queue.begin(rules.code)
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
        BUSY."""
        name = item.name
        found = self.queue.done(name)
        if found is not None and self._same(found) and self.rules.code is not None and self._is_stored(found):
            if item.n is None and found.get("asked") != asked_of(item.study):  # of a study that was changed since
                self.queue.record_done(name, found := found | points_of(item, found))
            return DONE, found
        if (found := self.queue.failed(name)) is not None and self._counts(name, found):
            return FAILED, found
        return BUSY, None

    def take(self, item: Item) -> tuple[str, Record | None]:
        """Computes the item unless another process does: (DONE or FAILED, its record), or (BUSY, None)."""
        state, found = self.state(item)
        if state != BUSY:
            return state, found
        # through the door first: a claim that only waits there would be blamed if the process ended
        with self._door.entered(alone=self.queue.deaths(item.name) >= SUSPECT):
            if self.stopped:
                raise Stopped
            claim = self.queue.claim(item.name, str(item))
            if claim is None:
                return BUSY, None
            try:
                state, found = self.state(item)  # another process may have finished it since
                if state != BUSY:
                    return state, found
                if claim.deaths >= MOST_DEATHS:
                    return FAILED, self._fail(item, _death(claim.deaths))
                return self._computed(item)
            finally:
                self.queue.release(item.name)

    def _computed(self, item: Item) -> tuple[str, Record | None]:
        name, begin = item.name, time.monotonic()
        self._own.item, self._own.begin = name, begin
        self.running[name] = (item, begin)
        try:
            found = compute(item, self.cells)
        except Stopped:
            raise
        except BrokenCell as error:
            return FAILED, self._fail(item, _error(error) | {"broken": True})
        except StoreError:
            raise
        except checks.RAISED as error:
            if self.stopped:  # an interruption that ends the process may make anything raise
                raise Stopped from error
            here = isinstance(error, _OF_THE_HOST) or (isinstance(error, InputError) and error.name == "memory")
            return FAILED, self._fail(item, _error(error) | ({"host_only": this_host()} if here else {}))
        finally:
            self._own.item = None
            self.running.pop(name, None)
        points = points_of(item, found) if item.n is None else {}
        record = found | points | {"seconds": time.monotonic() - begin} | self._about(item)
        self.queue.record_done(name, record)
        return DONE, record

    def give_up(self, item: Item, error: str) -> None:
        """Records that an item, which a thread is still at, has failed, and gives back all claims."""
        self._fail(item, {"error": error, "traceback": error, "died": True})
        self.queue.release_all()

    def _fail(self, item: Item, what: Record) -> Record:
        record = what | self._about(item)
        self.queue.record_failed(item.name, record)
        self._retried.add(item.name)
        return record

    def _is_stored(self, found: Record) -> bool:
        """Whether the cells of a record are in the store, as it was when it was first looked through, or is now."""
        store = self.cells.store
        with self._listing:
            if self._stored is None:
                self._stored = store.names()
        return all(name in self._stored or name in store for name in found.get("cells", {}).values())

    def _same(self, found: Record) -> bool:
        return (found.get("code"), found.get("device")) == (self.rules.code, self.cells.engine.device_kind)

    def _about(self, item: Item) -> Record:
        return {
            "code": self.rules.code, "device": self.cells.engine.device_kind, "item": str(item), "versions": versions(),
            "host": this_host().partition(" ")[0], "at": time.time(),
        }  # fmt: skip

    def _counts(self, name: str, failure: Record) -> bool:
        """Whether a recorded failure is one of this code and kind of device, so that trying again is of no use."""
        if name in self._retried:
            return True
        if self.rules.retry or failure.get("device") != self.cells.engine.device_kind or failure.get("broken"):
            return False
        if failure.get("host_only") not in (None, this_host()):
            return False
        return bool(failure.get("died")) or (self._same(failure) and self.rules.code is not None)

    def _tick(self, count: int) -> None:
        self._trials(count)
        if self._stop:
            raise Stopped
        limit, begin = self.rules.time_limit, getattr(self._own, "begin", 0.0)
        if getattr(self._own, "item", None) and limit is not None and time.monotonic() - begin > limit:
            raise TimeLimit(f"more than {limit:g} seconds, the time limit of a cell; raise it, or lower n, k or trials")

    def _saved(self) -> None:
        if name := getattr(self._own, "item", None):
            self.queue.progressed(name)


def work(
    worker: Worker, items: Iterable[Item], ended: Callable[[Item, str, Record | None], None] = lambda *_: None,
    mine: Callable[[Item], bool] = lambda item: True,
) -> bool:  # fmt: skip
    """Computes items, and those that follow from them, until all are done or have failed.

    Items that other processes compute are waited for, and taken over should these end. Returns False if
    `Worker.stop` ended it. Raises what a thread raised: StoreError, or an error of dpjax.

    ended: called in one of the threads with each item, its state and its record. mine: the items that are computed
    here; others are left to others and not waited for.
    """
    line = _Line(worker, ended, mine)
    line.add(items)
    threads = [threading.Thread(target=line.run, daemon=True) for _ in range(max(1, worker.rules.threads))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():  # an interruption reaches only a thread that wakes up
                thread.join(0.2)
    except BaseException:
        worker.stop()
        for thread in threads:
            thread.join()
        raise
    if line.error is not None:
        raise line.error
    return not worker.stopped


class Door:
    """Lets several threads work at the same time, or one alone: then it is known on what a process dies."""

    def __init__(self) -> None:
        self._inside, self._alone = 0, 0
        self._changed = threading.Condition()

    @contextmanager
    def entered(self, alone: bool) -> Iterator[None]:
        """Waits until nobody else is inside, if ``alone``, and else until nobody is, or waits to be, alone there."""
        with self._changed:
            self._alone += alone
            while self._inside if alone else self._alone:
                self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._alone -= alone
                self._changed.notify_all()


class _Line:
    """Items that wait, shared by the threads."""

    def __init__(self, worker: Worker, ended: Callable, mine: Callable[[Item], bool]):
        self.worker, self.ended, self.mine = worker, ended, mine
        self.error: BaseException | None = None
        self._waiting: deque[tuple[Item, float, float]] = deque()  # item, not before, pause
        self._left = 0
        self._changed = threading.Condition()

    def add(self, items: Iterable[Item]) -> None:
        with self._changed:
            for item in items:
                if self.mine(item):
                    self._waiting.append((item, 0.0, _PAUSES[0]))
                    self._left += 1
            self._changed.notify_all()

    def run(self) -> None:
        try:
            while (taken := self._next()) is not None:
                self._one(*taken)
        except Stopped:
            self._end(None)
        except BaseException as error:
            self._end(error)

    def _one(self, item: Item, pause: float) -> None:
        state, found = self.worker.take(item)
        if state == BUSY:
            with self._changed:
                self._waiting.append((item, time.monotonic() + pause, min(2 * pause, _PAUSES[1])))
            return
        if state == DONE and found is not None:
            self.add(following(item, found))
        self.ended(item, state, found)
        with self._changed:
            self._left -= 1
            self._changed.notify_all()

    def _next(self) -> tuple[Item, float] | None:
        """An item whose time has come; None when nothing is left."""
        with self._changed:
            while self._left and self.error is None and not self.worker.stopped:
                now = time.monotonic()
                for _ in range(len(self._waiting)):
                    item, after, pause = self._waiting.popleft()
                    if after <= now:
                        return item, pause
                    self._waiting.append((item, after, pause))
                soonest = min((after for _, after, _ in self._waiting), default=now + _PAUSES[1])
                self._changed.wait(min(max(soonest - now, 0.01), 0.5))
        return None

    def _end(self, error: BaseException | None) -> None:
        with self._changed:
            self.error = self.error or error
            self.worker.stop()
            self._changed.notify_all()


def _error(error: BaseException) -> Record:
    return {"error": f"{type(error).__name__}: {error}", "traceback": "".join(traceback.format_exception(error))}


def _death(count: int) -> Record:
    text = (
        f"{count} processes, one after the other, ended while they computed it and before they stored a trial: by a "
        "crash or a lack of memory, or killed from outside, which says nothing about this cell; --retry-failed tries "
        "it again"
    )
    return {"error": text, "traceback": text, "died": True}
