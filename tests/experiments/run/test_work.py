"""Studies as queues: threads and processes share the work, failures are recorded, and the bytes are always the same."""

import hashlib
import json
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from dpjax.core.checks import InputError
from dpjax.experiments.results.result import Result
from dpjax.experiments.run import work as module
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.items import Item, first_items, following
from dpjax.experiments.run.run import prepare, run
from dpjax.experiments.run.work import DONE, FAILED, LEFT, Rules, Worker, work
from dpjax.experiments.store.records import Records, shard_of
from dpjax.experiments.store.standing import standing
from dpjax.experiments.store.store import Store
from tests.experiments import fast


def contents(root):
    """The digest of all cells of a store."""
    digest = hashlib.sha256()
    for path in sorted(Path(root).glob("cells/*/*.parquet")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def machine():
    with Engine(in_flight=2) as one:
        yield one


@pytest.fixture
def faults(tmp_path, monkeypatch):
    """A folder whose files switch faults on, see `fast`."""
    folder = tmp_path / "faults"
    folder.mkdir()
    monkeypatch.setenv("DPJAX_TEST_FAULTS", str(folder))
    return folder


def opened(root, machine, study, **rules):
    """A worker with a store of its own."""
    return Worker(Store(root), machine, Records(root), study.seed, Rules(**rules))


def done_by(worker, items):
    """Whether all is done, by threads of this process."""
    with ThreadPoolExecutor(worker.rules.threads) as threads:
        return work(worker, items, threads, lambda item: (worker.take, (item,)))


def test_threads_and_order_change_nothing(tmp_path, machine):
    study = fast.study(12)
    found = []
    for name, threads in (("one", 1), ("four", 4)):
        study.run(tmp_path / name, engine=machine, quiet=True, rules=Rules(threads=threads))
        found.append((contents(tmp_path / name), Result.load(tmp_path / name).data["points"]))
    worker = opened(tmp_path / "backwards", machine, study)
    assert done_by(worker, reversed(list(first_items(study))))
    assert found[0] == found[1] and contents(tmp_path / "backwards") == found[0][0]


class Dies:
    """An executor of processes, one of which dies on the item of two rows."""

    def __init__(self, broken):
        self.broken = broken

    def submit(self, function, *arguments):
        future = Future()
        if arguments[0].n == 2:
            future.set_exception(self.broken)
        else:
            future.set_result(function(*arguments))
        return future


def test_an_item_on_which_a_process_dies_has_failed(tmp_path, machine):
    study, root = fast.study(3), tmp_path / "out"
    worker, ended = opened(root, machine, study, code="c"), {}
    arguments = worker, first_items(study), Dies(RuntimeError("KilledWorker"))
    assert work(
        *arguments,
        lambda item: (worker.take, (item,)),
        lambda item, state, _: ended.update({item.n: state}),
        elsewhere=True,
    )
    assert ended == {1: DONE, 2: FAILED, 3: DONE}
    (failure,) = Records(root).failures()
    assert "KilledWorker" in failure["error"]
    _, item, _ = first_items(study)
    for code in ("c", None):  # also code that is typed in
        assert opened(root, machine, study, code=code).state(item)[0] == FAILED
    assert opened(root, machine, study, code="c", retry=True).take(item)[0] == DONE


def test_an_executor_that_breaks_ends_the_run(tmp_path, machine):
    study = fast.study(3)
    worker = opened(tmp_path / "out", machine, study)
    arguments = worker, first_items(study), Dies(BrokenExecutor("gone")), lambda item: (worker.take, (item,))
    with pytest.raises(InputError, match="run the same command again"):
        work(*arguments, elsewhere=True)
    assert Records(tmp_path / "out").failures() == []


def test_errors_of_our_own_threads_are_raised(tmp_path, machine):
    study = fast.study(3)
    worker = opened(tmp_path / "out", machine, study)
    with pytest.raises(AssertionError):
        work(worker, first_items(study), Dies(AssertionError()), lambda item: (worker.take, (item,)))


def test_two_drivers_share_a_study(tmp_path, machine):
    study = fast.study(1, search=True)
    study.run(tmp_path / "alone", engine=machine, quiet=True)
    drivers = [
        threading.Thread(target=study.run, args=(tmp_path / "both",), kwargs={"engine": machine, "quiet": True})
        for _ in range(2)
    ]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    assert contents(tmp_path / "alone") == contents(tmp_path / "both")
    results = [Result.load(tmp_path / name).data for name in ("alone", "both")]
    assert results[0] == results[1] and results[0]["left"] == 0


def test_an_item_is_named_by_what_it_is(tmp_path):
    study, again = fast.study(4), fast.study(4)
    names = [item.name for item in first_items(study)]
    assert names == [item.name for item in first_items(again)] and len(set(names)) == 4
    assert not set(names) & {item.name for item in first_items(replace(study, seed=1))}
    assert not set(names) & {item.name for item in first_items(replace(study, trials=201))}
    searching = fast.study(2, search=True)
    for item in first_items(searching):
        points = list(following(item, {"n_low": 30, "n_high": 33}))
        assert [point.n for point in points] == list(searching.sizes(33))
        assert {point.name[:20] for point in points} == {item.name[:20]}
        assert all(list(following(point, {})) == [] for point in points)


def test_shards_are_a_partition():
    study = fast.study(50)
    parts = [[item.n for item in first_items(study) if shard_of(f"{i}/8")(item.name)] for i in range(8)]
    assert sorted(n for part in parts for n in part) == list(range(1, 51))
    for wrong in ("", "3", "8/8", "-1/8", "a/b", "1/0", "1.5/2"):
        with pytest.raises(InputError, match="shard: expected i/N"):
            shard_of(wrong)


def test_what_raises_is_recorded_and_not_tried_again(tmp_path, machine, faults):
    study = fast.study(5)
    (faults / "raise-3").touch()
    out = tmp_path / "out"
    rules = Rules(code="the code")
    failed = study.run(out, engine=machine, quiet=True, rules=rules).data
    assert [row["n"] for row in failed["points"]] == [1, 2, 4, 5]
    (row,) = failed["failures"]
    assert row["n"] == 3 and "a fault at n = 3" in row["error"] and "ArithmeticError" in row["traceback"]
    (faults / "raise-3").unlink()
    assert study.run(out, engine=machine, quiet=True, rules=rules).data == failed, "the same code: not tried again"
    told = standing(out)
    assert (told.total, told.done, told.failed, told.left) == (5, 4, 1, 0)
    mended = study.run(out, engine=machine, quiet=True, rules=Rules(code="edited code")).data
    assert [row["n"] for row in mended["points"]] == [1, 2, 3, 4, 5] and not mended["failures"]
    assert standing(out).failed == 0


def test_retry_failed(tmp_path, machine, faults):
    study, out = fast.study(3), tmp_path / "out"
    (faults / "raise-2").touch()
    for retry in (False, True):
        found = study.run(out, engine=machine, quiet=True, rules=Rules(code="c", retry=retry)).data
        assert len(found["failures"]) == 1
    (faults / "raise-2").unlink()
    for retry, expected in ((False, 1), (True, 0)):
        found = study.run(out, engine=machine, quiet=True, rules=Rules(code="c", retry=retry)).data
        assert len(found["failures"]) == expected


def test_code_that_cannot_be_told_is_always_tried_again(tmp_path, machine, faults):
    """Functions that were typed into a notebook may have changed."""
    study, out = fast.study(3), tmp_path / "out"
    (faults / "raise-2").touch()
    assert study.run(out, engine=machine, quiet=True, rules=Rules(code=None)).data["failures"]
    (faults / "raise-2").unlink()
    assert not study.run(out, engine=machine, quiet=True, rules=Rules(code=None)).data["failures"]


class Elsewhere:
    """The machine, as if it were another kind of device."""

    def __init__(self, machine):
        self.tiles, self.device, self.device_kind = machine.tiles, machine.device, "gpu:H100"


def test_what_another_kind_of_device_did_is_not_done_here(tmp_path, machine, faults):
    """Neither its results nor its failures."""
    study = fast.study(3)
    (faults / "raise-2").touch()
    there = opened(tmp_path, Elsewhere(machine), study, code="c")
    assert done_by(there, first_items(study))
    assert sorted(there.state(item)[0] for item in first_items(study)) == [DONE, DONE, FAILED]
    (faults / "raise-2").unlink()
    here = opened(tmp_path, machine, study, code="c")
    assert {here.state(item)[0] for item in first_items(study)} == {LEFT}
    assert done_by(here, first_items(study)) and Store(tmp_path).counts()[0] == 5
    assert {here.state(item)[0] for item in first_items(study)} == {DONE}


def test_errors_of_a_host_do_not_count_on_another(tmp_path, machine, monkeypatch):
    """A lost device, or too little memory: the next host tries again, this one does not."""
    study, root = fast.study(1), tmp_path / "out"
    (item,) = first_items(study)
    for error in (MemoryError("none"), InputError("memory", "less", "more", "buy some"), OSError("no such device")):
        with monkeypatch.context() as patch:
            patch.setattr(module, "compute", lambda *_, error=error: (_ for _ in ()).throw(error))
            assert opened(root, machine, study, code="c").take(item)[0] == FAILED
        assert opened(root, machine, study, code="c").state(item)[0] == FAILED
        with monkeypatch.context() as patch:
            patch.setattr(module.socket, "gethostname", lambda: "another host")
            assert opened(root, machine, study, code="c").state(item)[0] == LEFT


def test_what_raises_while_work_is_stopped_has_not_failed(tmp_path, machine, monkeypatch):
    study, root = fast.study(1), tmp_path / "out"
    worker = opened(root, machine, study)

    def shut(*_):
        worker.stop()
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(module, "compute", shut)
    assert not done_by(worker, first_items(study))
    assert worker.records.names() == (set(), set())


def test_time_limit_between_tiles(tmp_path, machine):
    study, root = fast.study(2, trials=2**16), tmp_path / "out"
    first, second = first_items(study)
    slow = opened(root, machine, study, time_limit=1e-3, code="c")
    state, found = slow.take(first)
    assert state == FAILED and "the time limit of a cell" in found["error"]
    assert Store(root, read_only=True).counts()[1] > 0, "what was computed is stored"
    assert opened(root, machine, study, time_limit=600, code="other").take(first)[0] == DONE
    assert opened(root, machine, study, time_limit=600, code="c").take(second)[0] == DONE


def test_stop_stores_what_was_computed_and_the_next_run_goes_on(tmp_path, machine):
    study, whole = fast.study(2, trials=2**17), tmp_path / "whole"
    study.run(whole, engine=machine, quiet=True)
    root = tmp_path / "stopped"
    worker = opened(root, machine, study, threads=1)
    seen = []

    def some(count):
        seen.append(count)
        if len(seen) == 5:
            worker.stop()

    worker._trials = some
    assert not done_by(worker, first_items(study))
    cells, trials = Store(root, read_only=True).counts()
    assert cells == 1 and sum(seen[:4]) <= trials < 2**17
    before = machine.trials
    study.run(root, engine=machine, quiet=True)
    assert machine.trials - before == 2 * 2**17 - trials
    assert contents(root) == contents(whole)


def test_a_broken_cell_is_a_failure_of_its_point(tmp_path, machine):
    study, root = fast.study(3), tmp_path / "out"
    good = study.run(root, engine=machine, quiet=True)
    broken = next(Path(root).glob(f"cells/*/{good.data['points'][1]['cell']}-*.parquet"))
    whole = broken.read_bytes()
    broken.write_bytes(whole[:50])
    found = study.run(root, engine=machine, quiet=True).data
    assert [row["n"] for row in found["points"]] == [1, 3]
    assert "run again with --repair" in found["failures"][0]["error"]
    again = run(study, root, engine=machine, quiet=True, repair=True)
    assert again.data["points"] == good.data["points"] and broken.read_bytes() == whole
    assert [path.read_bytes() for path in (root / "broken").iterdir()] == [whole[:50]]


def test_workers_compute_again_what_was_repaired(tmp_path, machine):
    """Also after a worker has met the broken file."""
    study, root = fast.study(3), tmp_path / "out"
    study.run(root, engine=machine, quiet=True)
    whole = contents(root)
    broken = sorted(Path(root).glob("cells/*/*.parquet"))[0]
    broken.write_bytes(broken.read_bytes()[:50])
    (item,) = [one for one in first_items(study) if Records(root).done(one.name)["cells"][str(one.n)] in broken.name]
    (root / "queue" / "done" / item.name).unlink()
    assert opened(root, machine, study).take(item)[0] == FAILED
    assert [one["item"] for one in Records(root).failures()] == [str(item)]
    worker = opened(root, machine, study)
    worker.records.repair(worker.cells.store)
    assert standing(root).left == 1 and worker.records.failures() == []
    assert done_by(worker, first_items(study)) and contents(root) == whole


def test_repairs_at_the_same_time(tmp_path, machine):
    study, root = fast.study(8), tmp_path / "out"
    study.run(root, engine=machine, quiet=True)
    for path in Path(root).glob("cells/*/*.parquet"):
        path.write_bytes(b"cut")
    with ThreadPoolExecutor(4) as pool:
        moved = list(pool.map(lambda _: Store(root).repair(), range(4)))
    assert sum(map(len, moved)) == 8 == len(list((root / "broken").iterdir()))


def test_errors_of_the_store_end_the_run(tmp_path, machine, monkeypatch):
    study, root = fast.study(2), tmp_path / "out"

    def full(*_):
        raise module.StoreError("store", "room", "none", "free some space")

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(InputError, match="free some space"):
        study.run(root, engine=machine, quiet=True)
    assert not list((root / "queue").glob("failed/*")), "a full disk is no fault of a cell"


def test_standing_of_a_search(tmp_path, machine):
    study, root = fast.study(2, search=True), tmp_path / "out"
    with Store(root):
        prepare(study, root)
    told = standing(root)
    assert (told.total, told.left, told.per_hour) == (8, 8, None) and told.waiting == tuple(
        map(str, first_items(study))
    )
    worker = opened(root, machine, study)
    search = next(first_items(study))
    _, record = worker.take(search)
    assert standing(root).done == 1
    for point in following(search, record):
        worker.take(point)
    told = standing(root)
    assert (told.total, told.done, told.left) == (8, 4, 4) and told.seconds_left > 0
    assert done_by(worker, first_items(study))
    assert standing(root).left == 0


def test_standing_of_a_study_that_was_changed(tmp_path, machine):
    """More trials: the points around a search are to be computed again, the search is not."""
    study, root = fast.study(2, search=True), tmp_path / "out"
    study.run(root, engine=machine, quiet=True)
    more = replace(study, trials=5000)
    prepare(more, root)
    assert (standing(root).done, standing(root).left) == (2, 6)
    assert done_by(opened(root, machine, more), first_items(more))
    assert (standing(root).total, standing(root).left) == (8, 0)
    prepare(study, root)
    assert done_by(opened(root, machine, study), first_items(study))
    assert (standing(root).done, standing(root).left) == (8, 0), "and back"


def test_nothing_is_done_by_other_code(tmp_path, machine, faults):
    study, root = fast.study(3), tmp_path / "out"
    (faults / "raise-2").touch()
    study.run(root, engine=machine, quiet=True)
    assert (standing(root).done, standing(root).failed, standing(root).left) == (2, 1, 0)
    prepare(study, root, "other code")
    assert (standing(root).done, standing(root).failed, standing(root).left) == (0, 0, 3)


def test_a_study_with_points_below_one_row_is_done_all_the_same(tmp_path, machine):
    """Around a very small n* there are fewer sample sizes than asked for."""
    study, root = fast.study(1, search=True), tmp_path / "out"
    study = replace(study, search=replace(study.search, n_min=1, n_max=4), epsilon=(80.0,), points=7)
    with Store(root):
        prepare(study, root)
    assert done_by(opened(root, machine, study), first_items(study))
    told = standing(root)
    assert told.left == 0 and told.total < 8


def test_records_of_other_code_are_looked_at_again(tmp_path, machine):
    """A record says where work is left, never what a result is."""
    study, root = fast.study(1), tmp_path / "out"
    (item,) = first_items(study)
    assert opened(root, machine, study, code="c").take(item)[0] == DONE
    for path in root.glob("cells/*/*.parquet"):
        path.unlink()
    assert opened(root, machine, study, code="c").state(item)[0] == LEFT, "its cell is gone"
    assert opened(root, machine, study, code="c").take(item)[0] == DONE
    assert opened(root, machine, study, code="c").state(item)[0] == DONE
    assert opened(root, machine, study, code="d").state(item)[0] == LEFT
    assert opened(root, machine, study, code="c").state(item)[0] == LEFT, "the other code has removed the record"
    assert study.run(root, engine=machine, quiet=True, rules=Rules(code="c")).data["points"]
    record = json.loads((root / "queue" / "done" / item.name).read_text())
    assert record["item"] == str(item) and isinstance(item, Item) and time.time() - record["at"] < 600


def test_a_signal_may_stop_a_worker_that_is_being_stopped(fresh):
    """A handler runs between any two instructions of `stop`, where a lock would be held by its own thread."""
    program = (
        "import json, signal, time\n"
        "from dpjax.experiments.run.work import Worker\n"
        "worker = Worker.__new__(Worker)\n"
        "signal.signal(signal.SIGALRM, lambda *_: worker.stop())\n"
        "signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)\n"
        "end = time.monotonic() + 0.5\n"
        "while time.monotonic() < end:\n"
        "    worker.stop()\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print(json.dumps(worker.stopped))"
    )
    assert fresh(program) is True
