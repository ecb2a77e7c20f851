"""Accounting rules as targets: the claim of a rule against the exact law of the worst algorithm known for it."""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr
from scipy.stats import binom

from dpjax import accounting as rules
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.target.databases import Universe, show_numbers
from dpjax.audit.target.target import Target
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE
_ROUNDS = 6
_DRAWS, _ROWS = 4, 12
_START = 1e-4  # the smallest probability of an event whose probability a row increases
_UNLIKELY = 20.0  # minus the log-odds of an event whose probability grows by nearly epsilon
_LIKELY = 0.88  # base measure of the functions that cover a row

Claim = Callable[[float, float], Guarantee]
Probabilities = Callable[[float, float], np.ndarray]  # of (epsilon, delta): float64[databases, outcomes]


def accounting_targets() -> list[Target]:
    """One target per rule; a database is a number of special rows, or which of two rows is present."""
    single = lambda relation: lambda e, d: Guarantee(e, d, relation, "one run")  # noqa: E731
    part = lambda e, d: Guarantee(e / _ROUNDS, d / (2 * _ROUNDS), REPLACE, "revealing randomized response")  # noqa: E731
    pure = lambda e, d: Guarantee(e / 2, 0.0, REPLACE, "randomized response")  # noqa: E731
    many = lambda e, d: _responses(e / _ROUNDS, d / (2 * _ROUNDS), _ROUNDS)  # noqa: E731
    sampled = lambda e, d: _chain(e, d, _DRAWS)  # noqa: E731
    replaced, added = single(REPLACE), single(ADD)
    respond: Callable[[float], Any] = lambda e: rules.RandomizedResponse(e / 2)  # noqa: E731
    gaussian = lambda e, d: rules.gaussian_guarantee([2 / e, 3 / e], 1.0, d)  # noqa: E731
    few = lambda e, d: _responses(e / 2, 0.0, _ROUNDS)  # noqa: E731
    return [
        _target("basic", lambda e, d: rules.basic([part(e, d)], "all", _ROUNDS), many),
        _target("advanced", lambda e, d: rules.advanced(part(e, d), _ROUNDS, d / 2), many),
        _target("advanced, tight", lambda e, d: rules.advanced(part(e, d), _ROUNDS, d / 2, "tight"), many),
        _target("optimal", lambda e, d: rules.optimal(part(e, d), _ROUNDS, d / 2), many),
        _target("zcdp", lambda e, d: rules.zcdp([pure(e, d)], d, _ROUNDS), few),
        _target("by_rdp", lambda e, d: rules.by_rdp([(respond(e), _ROUNDS)], d), few),
        _target("by_pld", lambda e, d: rules.by_pld([(respond(e), _ROUNDS)], d), few, "RandomizedResponse"),
        _target(
            "parallel, by index",
            lambda e, d: rules.parallel([replaced(e, d)] * 2, "index", "both"),
            lambda e, d: np.kron(_responses(e, d, 1), _responses(e, d, 1)[:1]),
        ),
        _target(
            "parallel, by value",
            lambda e, d: rules.parallel([replaced(e, d)] * 2, "value", "both"),
            lambda e, d: _joint(_responses(e, d, 1), _responses(e, d, 1)[::-1]),
        ),
        _target("group", lambda e, d: rules.group(replaced(e, d), 3), lambda e, d: _chain(e, d, 3)[[0, 3]]),
        _target("as_replace_one", lambda e, d: rules.as_replace_one(added(e, d)), lambda e, d: _chain(e, d, 2)[[0, 2]]),
        _target(
            "with_replacement",
            lambda e, d: rules.with_replacement(replaced(e, d), _DRAWS, _ROWS),
            lambda e, d: _mixed(sampled(e, d), binom.pmf(range(_DRAWS + 1), _DRAWS, 1 / _ROWS)),
        ),
        _target(
            "secrecy_of_the_sample",
            lambda e, d: rules.secrecy_of_the_sample(replaced(min(e, 1.0), d), _DRAWS, _ROWS),
            lambda e, d: _mixed(sampled(min(e, 1.0), d), binom.pmf(range(_DRAWS + 1), _DRAWS, 1 / _ROWS)),
        ),
        _target(
            "without_replacement",
            lambda e, d: rules.without_replacement(replaced(e, d), _DRAWS, _ROWS),
            lambda e, d: _mixed(_chain(e, d, 1), [1 - _DRAWS / _ROWS, _DRAWS / _ROWS]),
        ),
        _target(
            "poisson",
            lambda e, d: rules.poisson(added(e, d), 0.25),
            lambda e, d: _mixed(_chain(e, d, 1), [0.75, 0.25]),
            relation=ADD,
        ),
        _target(
            "slices",
            lambda e, d: rules.slices(added(e / 6, 0.0), e / 6, d, 2),
            lambda e, d: _two_slices(e / 6),
            relation=ADD,
        ),
        _target(
            "gaussian_guarantee", gaussian, lambda e, d: _normals(math.hypot(e / 2, e / 3), gaussian(e, d).epsilon)
        ),
        _target(
            "GaussianNoise",
            lambda e, d: rules.GaussianNoise(4 / e).guarantee(d),
            lambda e, d: _normals(e / 4, rules.GaussianNoise(4 / e).guarantee(d).epsilon),
        ),
        _target("LaplaceNoise", lambda e, d: rules.LaplaceNoise(1 / e).guarantee(d), _two_sided),
        _target("DiscreteLaplaceNoise", lambda e, d: rules.DiscreteLaplaceNoise(1 / e).guarantee(d), _two_sided),
        _target(
            "ExponentialSelection",
            lambda e, d: rules.ExponentialSelection(e).guarantee(d),
            lambda e, d: _selected(e),
            "exponential_guarantee",
        ),
        _target(
            "set_cover_guarantee",
            lambda e, d: rules.set_cover_guarantee(e / 3, _ROUNDS, d, 2, ADD),
            lambda e, d: _covering(e / 3, _ROUNDS),
            relation=ADD,
        ),
    ]


def _target(rule: str, claim: Claim, law: Probabilities, covers: str = "", relation: Neighboring = REPLACE) -> Target:
    def table(databases: Any, privacy: Any) -> np.ndarray:
        probabilities = law(float(privacy.epsilon), float(privacy.delta))
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    def universe() -> Universe:
        pairs = np.array([[0, 1], [1, 0]])
        return Universe(np.arange(2, dtype=np.int32), pairs, relation, "the worst two databases known", show_numbers)

    def run(key: Any, data: Any, privacy: Any) -> Any:
        raise InputError("method", "exact for a rule of accounting", "a run", "leave --method out")

    name = rule.split(",")[0]
    covered = tuple(f"dpjax.accounting.{what}" for what in (name, *covers.split()))
    as_given = lambda privacy: privacy  # noqa: E731 (a law in NumPy)
    return Target(f"accounting: {rule}", claim, run, lambda: [universe()], list, table, covers=covered, plan=as_given)


def _responses(epsilon: float, delta: float, rounds: int) -> np.ndarray:
    """``rounds`` runs of the worst (epsilon, delta)-private algorithm on a bit, ``float64[2, 4^rounds]``."""
    truth, lie = (1 - delta) * expit(epsilon), (1 - delta) * expit(-epsilon)
    law = np.array([[delta, truth, lie, 0], [0, lie, truth, delta]])
    return reduce(_joint, [law] * rounds)


def _joint(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Independent outputs of two algorithms on the same database."""
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def _chain(epsilon: float, delta: float, steps: int) -> np.ndarray:
    """The probability of an event, increased at each of ``steps`` steps as much as (epsilon, delta) allows."""
    start = min(_START, math.exp(-epsilon * steps) / 4)
    likely = [start]
    for _ in range(steps):
        likely.append(min(math.exp(epsilon) * likely[-1] + delta, 1 - math.exp(-epsilon) * (1 - likely[-1] - delta)))
    column = np.array(likely)
    return np.stack([column, 1 - column], axis=1)


def _selected(epsilon: float) -> np.ndarray:
    """An unlikely candidate of the exponential mechanism, and the same with its log-odds increased by epsilon."""
    column = expit(np.array([0.0, epsilon]) - _UNLIKELY)
    return np.stack([column, expit(_UNLIKELY - np.array([0.0, epsilon]))], axis=1)


def _mixed(laws: np.ndarray, weights: Any) -> np.ndarray:
    """Laws for subsamples without a special row, and with a random number of them, distributed as ``weights``."""
    return np.stack([laws[0], np.asarray(weights) @ laws])


def _two_slices(rate: float) -> np.ndarray:
    """Two slices of 1 + Geom rows from a row of alternating bits, and from the same with another 1 in front.

    Each slice reports whether its first row is a 1, by randomized response.
    """
    most = math.ceil(40 / rate)
    chance = np.exp(-rate * np.arange(most)) * -math.expm1(-rate)
    chance[-1] += math.exp(-rate * most)
    noisy = np.array([[expit(rate), expit(-rate)], [expit(-rate), expit(rate)]])
    laws = []
    for bits in (np.arange(most + 1) % 2, np.append(1, np.arange(most) % 2)):
        second = np.bincount(bits[1:], chance, 2)  # the second slice starts after the first one
        laws.append(np.outer(noisy[bits[0]], second @ noisy).reshape(-1))
    return np.array(laws)


def _covering(coefficient: float, rounds: int) -> np.ndarray:
    """The round in which set cover first selects the one of two functions that covers a wrong row, or none.

    The first database is empty. Rounds after that event reveal nothing.
    """
    hit = np.array([_LIKELY, expit(logit(_LIKELY) - coefficient)])[:, None]
    return np.concatenate([hit * (1 - hit) ** np.arange(rounds), (1 - hit) ** rounds], axis=1)


def _normals(shift: float, epsilon: float) -> np.ndarray:
    """N(0, 1) and N(shift, 1) on the three cells between the points of likelihood ratio e^epsilon and e^-epsilon."""
    cuts = np.array([shift / 2 - epsilon / shift, shift / 2 + epsilon / shift])
    cells = [[ndtr(low), ndtr(high) - ndtr(low), ndtr(-high)] for low, high in (cuts, cuts - shift)]
    return np.array(cells)


def _two_sided(epsilon: float, delta: float) -> np.ndarray:
    """Laplace noise at 0 and at 1, continuous or discrete, on the two cells with the two extreme ratios."""
    return _responses(epsilon, 0.0, 1)[:, 1:3]
