"""Check of success at the learner's sample size, with an exact test."""

import time
from typing import Any

import jax
import numpy as np
from scipy.stats import binom

from dpjax.core import keys
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.capacity import capacity
from dpjax.testing.findings import Skipped, require
from dpjax.testing.under_test import LearnerUnderTest

FALSE_ALARM = 1e-6
"""The false-alarm probability of each statistical check."""
ALPHA, BETA, DELTA = 0.1, 0.1, 1e-6
_EPSILONS = (1.0, 4.0, 16.0, 64.0)
_MOST_ROWS = 1 << 13
_BLOCK, _LEAST = 16, 4


def it_succeeds_at_its_sample_size(subject: LearnerUnderTest) -> str:
    """At the first epsilon of 1, 4, 16, 64 with a small sample size, alpha = beta = 0.1, delta = 1e-6.

    Fails if so few successes have probability below 1e-6 when each trial succeeds with probability 0.9. A learner of
    pure privacy gets delta 0 if it accepts it.
    """
    accuracy = Accuracy(ALPHA, BETA)
    sizes = [(subject.sized.sample_size(Privacy(epsilon, DELTA), accuracy), epsilon) for epsilon in _EPSILONS]
    n, epsilon = next(((n, e) for n, e in sizes if n <= _MOST_ROWS), (0, 0.0))
    if not n:
        fewest = f"{sizes[-1][0]} rows at epsilon {_EPSILONS[-1]:g}"
        raise Skipped(f"its sample size is too large to run: {fewest}, at most {_MOST_ROWS} here")
    plan = subject.sized.plan(Privacy(epsilon, DELTA), accuracy, n)
    trials = 128 if subject.quick else 512
    trials, good = successes(subject, n, plan, trials)
    low, high = clopper_pearson(good, trials, 1 - FALSE_ALARM)
    what = f"{good} of {trials} trials at n = {n}, epsilon = {epsilon:g}"
    within = f"success in [{low:.3f}, {high:.3f}] with confidence 1 - {FALSE_ALARM:g}"
    chance = binom.cdf(good, trials, 1 - BETA)
    advice = "correct sample_size or the learner; measure by dpjax curve"
    require(chance >= FALSE_ALARM, f"success with probability {1 - BETA:g} or more", f"{what}: {within}", advice)
    return f"{what}: {within}"


def successes(subject: LearnerUnderTest, n: int, plan: Any, trials: int) -> tuple[int, int]:
    """(trials, number of trials with all errors at most alpha) of the subject's task.

    At most ``trials``, and as many as fit into the subject's time, determined by timing a block that is not counted;
    at least 64.
    """
    trial = Trial(subject.sized, subject.k, capacity(n))
    at = point(b"counted by a check", n, plan, ALPHA, subject.task)
    run = jax.jit(lambda all_keys, task, at: jax.lax.map(lambda key: trial(key, task, at), all_keys, batch_size=_BLOCK))
    all_keys = keys.per_index(keys.stream(keys.root(0), "success"), trials)
    block = lambda i: np.asarray(run(all_keys[i : i + _BLOCK], subject.task, at))  # noqa: E731
    block(0)  # compiles
    begin = time.perf_counter()
    block(0)
    blocks = max(_LEAST, int(subject.seconds / max(time.perf_counter() - begin, 1e-6)))
    outcomes = np.concatenate([block(i) for i in range(0, trials, _BLOCK)[:blocks]])
    numbers = not (error_bins.bins(outcomes) == error_bins.INVALID).any()
    require(numbers, "errors in [0, 1]", "others", "check concepts.error and the hypotheses")
    return len(outcomes), int(error_bins.successes(outcomes, ALPHA).sum())
