"""Identity of a result: the description of a learner, its plan and its program, equal in every process."""

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.identity.describe import digest
from dpjax.experiments.run import tiles
from dpjax.experiments.run.cells import digest_of
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.sweep.task import Task
from dpjax.testing.findings import Failed, Skipped, require
from dpjax.testing.objects import Written
from dpjax.testing.samples import task_for
from dpjax.testing.under_test import LearnerUnderTest

SEEDS = ("0", "1")
"""PYTHONHASHSEED of the fresh processes: it changes the iteration order of sets of strings."""
PARTS = ("fields", "plan", "program")
_ROWS = 40
_SECONDS = 300.0


def digests(learner: Any, k: int, task: Task) -> dict[str, str]:
    """The digests that identify a learner's results: of its fields, its plan and the traced program of a tile."""
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), _ROWS)
    at = point(b"named by a check", _ROWS, plan, 0.1, task)
    program = tiles.program_digest(Trial(learner, k, capacity(_ROWS)), task, at)
    return dict(zip(PARTS, (digest(learner, "learner"), digest_of(plan), program), strict=True))


def it_has_a_name(subject: LearnerUnderTest) -> str:
    """Its fields have a canonical description, and its program calls no host function without a ``cache_token``."""
    try:
        parts = digests(subject.learner, subject.k, subject.task)
    except InputError as error:
        expected = f"results that can be found again: {error.expected}"
        raise Failed(expected, f"{error.name}: {error.given}", error.advice) from error
    return f"program {parts['program'][:12]}"


def hash_seeds_do_not_matter(subject: LearnerUnderTest) -> str:
    """Two fresh processes with different PYTHONHASHSEED find the same fields, plan and program.

    A learner that iterates a set of strings has another program in each process, so stored results are never found.
    """
    source = subject.source
    sent = [packed(source if source is not None else subject.learner, subject.k, subject.given_task)]
    first, second = (reply[0] for reply in in_fresh_processes(sent))
    differs = [part for part in PARTS if first[part] != second[part]]
    advice = "iterate sorted(...) instead of a set, or store a tuple"
    actual = f"other {' and '.join(differs)}"
    require(not differs, "one name under two hash seeds", actual, advice)
    return f"program {first['program'][:12]} under both"


def in_fresh_processes(packed: Sequence[str]) -> list[list[dict[str, str]]]:
    """For each hash seed the digests of packed learners, from concurrent processes.

    `Skipped` if the code cannot be imported there.
    """
    text = json.dumps({"path": sys.path, "packed": list(packed)})
    started = [_process(seed) for seed in SEEDS]
    try:
        for process in started:
            assert process.stdin is not None
            process.stdin.write(text)
            process.stdin.close()
            process.stdin = None
        ended = [process.communicate(timeout=_SECONDS) for process in started]
    except subprocess.TimeoutExpired:
        raise Skipped(f"a fresh process took more than {_SECONDS:.0f} s") from None
    finally:
        for process in started:
            process.kill()
    for process, (_, errors) in zip(started, ended, strict=True):
        if process.returncode:
            last = (errors.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
            raise Skipped(f"a fresh process could not build the learner: {last}")
    return [json.loads(out.strip().splitlines()[-1]) for out, _ in ended]


def _process(seed: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", "from dpjax.testing.identity import answer; answer()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def packed(learner: Any, k: int, task: Task | None) -> str:
    """A learner, or its `Written` form, packed for a fresh process."""
    on_host = None if task is None else (task.concepts, [jax.tree.map(np.asarray, part) for part in _parts(task)])
    try:
        text = pickle.dumps((learner, k, on_host))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Skipped(f"a fresh process cannot be given the learner: {error}") from error
    if b"__main__" in text:
        raise Skipped("a fresh process cannot import what a notebook or a script defines: move it into a module")
    return base64.b64encode(text).decode()


def _parts(task: Task) -> list[Any]:
    return [task.distribution, task.targets, task.flips]


def answer() -> None:
    """In a fresh process: reads packed learners from standard input and prints their digests."""
    request = json.loads(sys.stdin.read())
    sys.path[:] = request["path"]
    results = []
    for text in request["packed"]:
        learner, k, parts = pickle.loads(base64.b64decode(text))
        learner = learner.build() if isinstance(learner, Written) else learner
        task = task_for(learner.concepts) if parts is None else Task.tree_unflatten(parts[0], parts[1])
        results.append(digests(learner, k, task))
    print(json.dumps(results))
