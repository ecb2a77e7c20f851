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
from typing import Any

import jax

from benchmarks.accelerator.jobs import Job, jobs


def work(folder: Path, until: float, chosen: Iterable[Job] | None = None) -> None:
    """Appends a line of JSON for each job to FOLDER/gpu.jsonl or cpu.jsonl, as soon as it is known.

    until: of `time.time`; no job is begun after it. chosen: by default `jobs` of the platform. A job of which there is
    a line, or which another process has taken, is left out, so that a folder can be continued. A job that fails is a
    line with its error; one that found too little memory, which other processes may have had, is not left out later.
    """
    platform = jax.default_backend()
    results, claims = folder / f"{platform}.jsonl", folder / "claims"
    claims.mkdir(parents=True, exist_ok=True)
    for job in jobs(platform) if chosen is None else chosen:
        if time.time() > until:
            return
        name = json.dumps(job.record())
        if not _done(job, results) and _taken(claims / hashlib.sha256(f"{platform} {name}".encode()).hexdigest()):
            try:
                found = job.measured(lambda: _alone(folder, platform))
            except Exception as error:  # the next job is measured all the same
                found = {"error": f"{type(error).__name__}: {error}"[:400]}
            _append(results, {**job.record(), **found})


def _done(job: Job, results: Path) -> bool:
    lines = results.read_text().splitlines() if results.is_file() else []
    known = job.record().items()
    kept = [line for line in map(json.loads, lines) if "RESOURCE_EXHAUSTED" not in line.get("error", "")]
    return any(all(line.get(name, line) == value for name, value in known) for line in kept)


def _taken(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
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


def _append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]))
