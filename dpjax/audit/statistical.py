"""Statistical audits: run the algorithm many times on two neighbors and test its claim at a stated confidence."""

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np

from dpjax.accounting.distance import group
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.events import choose
from dpjax.audit.machine import Machine
from dpjax.audit.ratio_test import delta_lower, epsilon_lower, p_value
from dpjax.audit.report import Report
from dpjax.audit.target import Pair, Target
from dpjax.audit.watch import Watch, Work, unwatched
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

_TRAINING = 0.2  # fraction of the trials that select pair, event and direction
_SCREENING, _KEPT = 0.1, 8  # fraction of the trials that screens random pairs, and the number of pairs kept
_MOST_TRAINING = 1 << 20  # outputs held in memory per database


def statistical(
    target: Target, privacy: Privacy, *, trials: int = 1_000_000, confidence: float = 0.95, seed: int = 0,
    distance: int = 1, sequential: bool = False, bitwise: bool = False, search: int = 0,
    watch: Watch = unwatched,
) -> Report:  # fmt: skip
    """Tests the claim of ``target`` at this budget on its ``pairs``.

    A fifth of the trials selects a pair and two events with their directions: the event with the largest expected
    bound, and the event with the strongest evidence against the claim. The remaining trials, with independent keys for
    the two databases, test each event once at half of 1 - confidence, so a correct claim is refuted with probability at
    most 1 - confidence. If all trials have one outcome the audit tests nothing and the verdict is "vacuous".

    Args:
      trials: per database, 1000 to 2**32 in all.
      distance: databases of the pairs are this many neighboring steps apart; the claim is amplified.
      sequential: test after each tile of at most 65536 trials by betting, which is valid at any stopping time, and stop
        at the first refutation. The bound found is then the claim itself or nothing, and there is no curve: other
        bounds need a fixed number of trials.
      bitwise: include the low bits of floats. Every mechanism of contract "ideal" fails this test, since the low bits
        of floating-point noise reveal the value it was added to.

      search: this many neighbors drawn from the target's universes compete with its own pairs: a screening with a tenth
        of the trials and separate keys keeps the eight most promising pairs.
      watch: receives the number of finished runs and the total.

    Raises InputError for a target that is not a pure function of (key, database, plan) into arrays of fixed shapes,
    or that returns NaN.
    """
    checks.integer("trials", trials, 1000, 2**32)
    checks.probability("confidence", confidence)
    checks.integer("seed", seed, 0, 2**32 - 1)
    claim = target.claim(float(privacy.epsilon), float(privacy.delta))
    claim = claim if distance == 1 else group(claim, distance)
    begin, level = time.perf_counter(), 1 - confidence
    checks.integer("search", search, 0, 1 << 16)
    pairs = [*target.pairs(), *drawn_pairs(target, search, seed)]
    if not pairs:
        raise InputError("target", "neighboring databases to compare", "none", "give the target some pairs")
    compared = len(pairs)
    rows = max(100, int(_SCREENING * trials) // compared) if search else 0
    kept = min(compared, _KEPT) if search else compared
    training = max(100, min(int(_TRAINING * trials), _MOST_TRAINING * kept) // kept)
    fresh = max(trials - training * kept - rows * compared, 100)
    work = Work(watch, 2 * (rows * compared + training * kept + fresh))
    if search:
        screen = Machine(target, privacy, seed, rows, rows, bitwise, "screening", work)
        pairs = _screened(screen, pairs, rows, claim)
    machine = Machine(target, privacy, seed, fresh, training, bitwise, "training", work)
    options, outcomes = [], np.zeros(0, np.uint32)
    for number, pair in enumerate(pairs):
        sides = machine.outputs(pair, number)
        outcomes = np.unique(np.concatenate([outcomes, *(side.code for side in sides)]))
        options.append((choose(*sides, claim.epsilon, claim.delta, fresh, 1 - level / 2), number))
    picked = []
    for which in range(2):  # for the bound, for the claim
        both, number = max(options, key=lambda option: option[0][which].merit)
        picked.append((both[which], number))
    together = picked[0][1] == picked[1][1]  # one pair: both events use the same fresh runs
    groups = [picked] if together else [picked[:1], picked[1:]]
    work.more(2 * fresh * (len(groups) - 1))
    results = []
    for group_ in groups:
        pair = pairs[group_[0][1]]
        tiles = itertools.tee(machine.count([chosen for chosen, _ in group_], pair, fresh), len(group_))
        for place, (chosen, _) in enumerate(group_):
            counts = (tile[place] for tile in tiles[place])
            whole = _bet(counts, claim, level / 2) if sequential else tested(*_counts_of(*counts), claim, level / 2)
            results.append((whole, chosen, pair))
    work.end()
    result, chosen, pair = min(results, key=lambda entry: entry[0].rank)
    evidence = f"{result.trials} fresh trials a side, events chosen on {training} others from {compared} pair(s)"
    evidence += f"; {target.caveat}" * bool(target.caveat)
    x, y = result.counts
    silent = len(outcomes) == 1 and all(whole.counts == (0, 0) for whole, _, _ in results)  # includes fresh trials
    details = {
        "event": chosen.event.words(machine.numbers), "trials": result.trials, "successes": [x, y],
        "outcomes": 1 if silent else max(2, len(outcomes)),
        "p_value": min(1.0, 2 * result.p_value),
        "direction": "second over first" if chosen.swapped else "first over second",
        "corrections": "two events, each tested once at half the level" + (" by a bet, valid at any time" * sequential),
        "seed": seed if target.repeatable else None, "distance": distance,
        "seconds": round(time.perf_counter() - begin, 2),
    }  # fmt: skip
    method = "statistical" + ", sequential" * sequential + ", bitwise" * bitwise
    return Report(
        target.name, target.calibration, claim, method, evidence,
        result.epsilon, result.delta, confidence, pair.witness(chosen.swapped), result.p_value <= level / 2,
        [] if sequential else result.curve(claim), details,
    )  # fmt: skip


def drawn_pairs(target: Target, count: int, seed: int) -> list[Pair]:
    """This many pairs of neighbors, drawn equally often from each of the target's universes."""
    universes = target.universes() if count else []
    if count and not universes:
        raise InputError(
            "search", "0, or a target with universes", str(count), "give the target universes to draw from"
        )
    found = []
    bits = np.asarray(jax.random.bits(keys.stream(keys.root(seed), "search"), (count,), "uint32"))
    for turn, word in enumerate(bits):
        universe = universes[turn % len(universes)]
        first, second = (
            jax.tree.map(lambda part, at=at: np.asarray(part)[at], universe.databases)
            for at in universe.pairs[int(word) % len(universe.pairs)]
        )
        found.append(Pair(first, second, universe.show))
    return found


def _screened(machine: Machine, pairs: list[Pair], rows: int, claim: Guarantee) -> list[Pair]:
    """The pairs with the strongest evidence against the claim in a small number of trials."""
    merits = [
        choose(*machine.outputs(pair, number), claim.epsilon, claim.delta, rows, 0.5)[1].merit
        for number, pair in enumerate(pairs)
    ]
    return [pairs[i] for i in np.argsort(-np.array(merits), kind="stable")[:_KEPT]]


@dataclass(frozen=True)
class Result:
    """The test of one event: successes on both databases in this many trials, and results at significance ``level``."""

    counts: tuple[int, int]
    trials: int
    p_value: float
    epsilon: float
    delta: float
    level: float

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key for selecting one of several tests: one that refutes its claim, else the largest bound."""
        return self.p_value > self.level, -self.epsilon

    def curve(self, claim: Guarantee) -> list[tuple[float, float]]:
        """Lower bounds on delta over a grid of epsilons, each at the confidence of the report."""
        grid = np.linspace(0, 2 * claim.epsilon, 9)
        (x, y), n = self.counts, self.trials
        found = delta_lower(x, n, y, n, grid, significance=self.level)
        return [(float(e), float(d)) for e, d in zip(grid, found, strict=True)]


def tested(x: int, y: int, n: int, claim: Guarantee, level: float) -> Result:
    """The test of a claim by an event that occurred in x and in y of n trials, with n fixed in advance."""
    value = p_value(x, n, y, n, claim.epsilon, claim.delta, significance=level)
    epsilon = epsilon_lower(x, n, y, n, claim.delta, significance=level)
    delta = delta_lower(x, n, y, n, claim.epsilon, significance=level)
    return Result((x, y), n, float(value), float(epsilon), float(delta), level)


def _counts_of(*tiles: np.ndarray) -> tuple[int, int, int]:
    joint = np.sum(tiles, axis=0)
    return int(joint[2] + joint[3]), int(joint[1] + joint[3]), int(joint.sum())


def _bet(counts: Iterator[np.ndarray], claim: Guarantee, level: float) -> Result:
    """Tests by the bet prod(1 + lambda (X - e^epsilon Y - delta)), which grows only if the claim is wrong.

    lambda is computed from past tiles.
    """
    joint, log_wealth, highest = np.zeros(4, np.int64), 0.0, 0.0
    scale = math.exp(min(claim.epsilon, 700.0))  # no number of trials refutes a larger epsilon
    gains = np.array([-claim.delta, -scale - claim.delta, 1 - claim.delta, 1 - scale - claim.delta])
    for tile in counts:
        share = _kelly(joint, gains, 0.99 / (scale + claim.delta))
        log_wealth += float(np.sum(tile * np.log1p(share * gains)))
        highest = max(highest, log_wealth)
        joint = joint + tile
        if log_wealth >= -math.log(level):
            break
    x, y, n = _counts_of(joint)
    refuted = highest >= -math.log(level)
    # at a data-dependent stopping time only the verdict of the bet is valid
    epsilon, delta = (claim.epsilon, claim.delta) if refuted else (0.0, 0.0)
    return Result((x, y), n, min(1.0, math.exp(-highest)), epsilon, delta, level)


def _kelly(joint: np.ndarray, gains: np.ndarray, most: float) -> float:
    """The stake with the largest growth on the past plus one pseudo-trial of each kind; 0 without past trials."""
    if not joint.sum():
        return 0.05 * most
    shares = most * np.linspace(0, 1, 101)[1:]
    growth = np.sum((joint + 0.25) * np.log1p(shares[:, None] * gains), axis=1)
    return float(shares[np.argmax(growth)]) if growth.max() > 0 else 0.05 * most
