"""A process that takes jobs until the time is up: compilation is slow and on the host, so several run at once."""

import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax

from benchmarks.accelerator import records
from benchmarks.accelerator.jobs import Job, jobs

_MOST_HELD = 1 << 31


def work(folder: Path, until: float, chosen: Iterable[Job] | None = None) -> None:
    """Appends a line of JSON for each job to FOLDER/gpu.jsonl or cpu.jsonl, as soon as it is known.

    until: of `time.time`; no job is begun after it. chosen: by default `jobs` of the platform. A job of which there is
    a line, or which another process has taken, is left out, so that a folder can be continued. A job that fails is a
    line with its error; one that found too little memory, which other processes may have had, is not left out later,
    nor is one that was killed, which comes last.
    """
    platform = jax.default_backend()
    results, claims = folder / f"{platform}.jsonl", folder / "claims"
    claims.mkdir(parents=True, exist_ok=True)
    before = records.read(results)
    killed = lambda job: any(one.get("error") == records.KILLED for one in records.of(job.record(), before))  # noqa: E731
    for job in sorted(jobs(platform) if chosen is None else chosen, key=killed):
        if time.time() > until:
            return
        begun = json.dumps([platform, job.record()])
        claim = claims / f"{hashlib.sha256(begun.encode()).hexdigest()}.json"
        if not _done(job, results) and _taken(claim, begun):
            try:
                measured = job.measured(lambda: _alone(folder, platform))
            except Exception as error:  # the next job is measured all the same
                measured = {"error": f"{type(error).__name__}: {error}"[:400]}
            records.append(results, {**job.record(), **measured})
            claim.write_text("")
            if chosen is None and _held() > _MOST_HELD:  # a new process has none of it
                os.execv(sys.executable, [sys.executable, "-m", __spec__.name, str(folder), repr(until)])


def _held() -> int:
    """Bytes of the device's memory that this process has had: it keeps them, and others may need them."""
    return (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)


def _done(job: Job, results: Path) -> bool:
    errors = [one.get("error", "") for one in records.of(job.record(), records.read(results))]
    return any("RESOURCE_EXHAUSTED" not in error and error != records.KILLED for error in errors)


def _taken(claim: Path, begun: str) -> bool:
    try:
        with claim.open("x") as file:
            file.write(begun)
    except FileExistsError:
        return False
    return True


@contextmanager
def _alone(folder: Path, platform: str) -> Iterator[None]:
    if platform == "cpu":  # each on a core of its own
        yield
        return
    with (folder / "claims" / "timing").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]))
