"""Claims: one holder at a time, dead holders are noticed, and what cannot be read decides nothing."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dpjax.experiments.store import queue as module
from dpjax.experiments.store.queue import Claim, Queue, start_of, this_host

REPOSITORY = Path(__file__).parents[2]

HOLDER = """
import sys
from pathlib import Path
from dpjax.experiments.store.queue import Queue
queue = Queue(Path(sys.argv[1]), float(sys.argv[2]))
queue.__enter__()
print(queue.claim("item", "what it is") is not None, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(request):
    """Starts processes that hold a claim; all are gone after the test."""

    def start(root, lease=60.0):
        process = hold(root, lease)
        request.addfinalizer(lambda: (process.kill(), process.communicate()))
        return process

    return start


def hold(root, lease):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(root), str(lease)], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment)  # fmt: skip
    assert process.stdout.readline() == "True\n"
    return process


def test_one_holder_at_a_time(tmp_path):
    with Queue(tmp_path) as one, Queue(tmp_path) as other:
        assert one.claim("item") is not None
        assert one.claim("item") is None and other.claim("item") is None
        assert other.claim("another") is not None
        one.release("item")
        assert other.claim("item") is not None
        one.release("item")
        assert one.claim("item") is None, "what is not held is not given back"
    with Queue(tmp_path) as again:
        assert again.claim("item") is not None, "a queue that is left gives all back"


def test_many_threads_and_queues_race_for_one_item(tmp_path):
    with Queue(tmp_path) as one, Queue(tmp_path) as other:
        for turn in range(30):
            won, start = [], threading.Barrier(6)

            def race(queue, name=f"item {turn}", start=start, won=won):
                start.wait()
                if queue.claim(name) is not None:
                    won.append(queue)

            threads = [threading.Thread(target=race, args=(queue,)) for queue in [one, other] * 3]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(won) == 1


def test_the_claim_of_a_killed_process_is_taken_over_at_once(tmp_path, holder):
    process = holder(tmp_path)
    with Queue(tmp_path) as queue:
        assert queue.claim("item") is None
        ((name, claim, age),) = queue.running()
        assert (name, claim.pid, claim.text) == ("item", process.pid, "what it is") and age < 30
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert queue.running() == []
        taken = queue.claim("item")
        assert taken is not None and taken.deaths == 1
        queue.progressed("item")
        assert Claim.read(tmp_path / "queue" / "claims" / "item").deaths == 0


def test_deaths_on_one_item_are_counted(tmp_path, holder):
    for _ in range(2):
        process = holder(tmp_path)
        process.kill()
        process.wait()
    with Queue(tmp_path) as queue:
        assert queue.claim("item").deaths == 2


def elsewhere(root, age, host="another host"):
    """A claim of a process on another host, whose last sign of life was ``age`` seconds ago."""
    path = root / "queue" / "claims" / "item"
    path.parent.mkdir(parents=True, exist_ok=True)
    claim = Claim(host, 1, "7", time.time() - 1000, "its token", 0, "text")
    path.write_bytes(claim.encoded())
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_another_host_is_dead_after_the_lease(tmp_path):
    elsewhere(tmp_path, 50)
    with Queue(tmp_path, lease=60) as queue:
        assert queue.claim("item") is None and len(queue.running()) == 1
        elsewhere(tmp_path, 70)
        assert queue.running() == []
        assert queue.claim("item").deaths == 1


def test_clocks_of_hosts_do_not_matter(tmp_path, monkeypatch):
    """Ages are differences of times of the file system."""
    elsewhere(tmp_path, 5)
    monkeypatch.setattr(time, "time", lambda: 10**10)
    with Queue(tmp_path, lease=60) as queue:
        assert queue.claim("item") is None and len(queue.running()) == 1


def test_a_holder_shows_life(tmp_path, holder):
    holder(tmp_path, lease=0.6)
    with Queue(tmp_path, lease=0.6) as queue:
        path = tmp_path / "queue" / "claims" / "item"
        first = path.stat().st_mtime
        time.sleep(1.2)
        assert path.stat().st_mtime > first
        assert queue.claim("item") is None


def test_a_pid_that_is_used_again_is_another_process(tmp_path):
    path = elsewhere(tmp_path, 0, this_host())
    claim = Claim.read(path)
    path.write_bytes(Claim(**(vars(claim) | {"pid": os.getpid()})).encoded())
    assert start_of(os.getpid()) not in ("", "7")
    with Queue(tmp_path) as queue:
        assert queue.claim("item") is not None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 3}'])
def test_an_unreadable_claim_holds_until_it_is_old(tmp_path, content):
    path = elsewhere(tmp_path, 0)
    path.write_bytes(content)
    with Queue(tmp_path, lease=60) as queue:
        assert queue.claim("item") is None
        os.utime(path, (time.time() - 61,) * 2)
        assert queue.claim("item").deaths == 1


def test_a_fresh_claim_is_put_back_if_it_was_moved_by_mistake(tmp_path):
    """Another process took the stale claim over between the look and the move."""
    with Queue(tmp_path) as queue:
        path = elsewhere(tmp_path, 0)
        fresh = Claim.read(path)
        stale = Claim(**(vars(fresh) | {"token": "an older one"}))
        assert not queue._taken(path, stale)
        assert Claim.read(path) == fresh


def test_a_claim_that_was_taken_over_is_not_removed_by_its_first_holder(tmp_path):
    with Queue(tmp_path) as queue:
        queue.claim("item")
        path = elsewhere(tmp_path, 0)
        queue.release("item")
        assert path.exists()


def test_records(tmp_path):
    with Queue(tmp_path) as queue:
        assert queue.done("item") is None and queue.failed("item") is None
        queue.record_failed("item", failure := {"error": "e", "traceback": "t"})
        assert queue.failed("item") == failure and queue.names() == (set(), {"item"})
        queue.record_done("item", {"trials": 3})
        assert queue.names() == ({"item"}, set())
        for broken in (b"", b"[1]", b"{"):
            (tmp_path / "queue" / "done" / "item").write_bytes(broken)
            assert queue.done("item") is None
        assert json.dumps(queue.failed("item")) == "null"


def test_a_queue_that_is_only_entered_writes_nothing(tmp_path):
    with Queue(tmp_path) as queue:
        assert queue.running() == [] and queue.names() == (set(), set())
    assert list(tmp_path.iterdir()) == []
    assert module.LEASE > 6
