"""What is audited: an algorithm, its claim, and databases worth looking at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.databases import Universe
from dpjax.core.plans import down
from dpjax.core.types import Privacy


@dataclass(frozen=True)
class Pair:
    """Two neighboring databases, both pytrees of arrays of the same shapes, and what to call them."""

    first: Any
    second: Any
    show: Callable[[Any], Any]

    def witness(self, swapped: bool = False) -> dict[str, Any]:
        """Both in words, the one with the larger probability of the event first."""
        one, other = (self.second, self.first) if swapped else (self.first, self.second)
        return {"database": self.show(one), "neighbour": self.show(other)}


def rounded(privacy: Privacy) -> Privacy:
    """The budget with float32 leaves, rounded down: what a program is given never exceeds the claim."""
    epsilon: Any = down(float(privacy.epsilon))
    delta: Any = down(float(privacy.delta))
    return Privacy(epsilon, delta)


@dataclass(frozen=True)
class Target:
    """An algorithm under audit.

    Args:
      name: how a person asks for it.
      claim: (epsilon, delta) -> what is promised at this budget.
      run: (key, database, plan) -> output, any pytree of arrays; pure, jittable and total.
      universes: what an exact audit goes through.
      table: (databases, plan) -> log-probabilities ``float64[databases, outcomes]``; None: no exact audit.
      plan: Privacy -> what ``run``, ``table`` and ``canaries`` are given, any pytree of numbers, made on the host: the
        budget itself unless a calibration on the host comes first.
      pairs: neighbors for a statistical audit.
      calibration: "corrected", or "printed" for a paper's constants.
      caveat: what the exact law does not tell apart, in words.
      unlisted: why there is no ``table``, in words, where that is known.
      repeatable: whether the same key gives the same output; False for code with randomness of its own.
      canaries: (key, inside ``bool[m]``, plan) -> ``float32[m]``, one run on a database that holds canary j where
        inside[j], and a score for each, larger where it seems to be there; None: no one-run audit.
      at_once: how many trials a statistical audit works on at once; decides how long it takes, and nothing else.
      host: (words ``uint32[t, 2]``, database, plan) -> outputs, a pytree of arrays that lead with t, for an algorithm
        that runs on the host: what statistical audits call in place of ``run``; words are the data of the trials' keys.
      claims: (epsilon, delta, databases) -> [(claim, for which ``bool[m]``)] where ``claim`` is the weakest of several.
      covers: public objects of dpjax whose ``Privacy:`` line this target audits.
    """

    name: str
    claim: Callable[[float, float], Guarantee]
    run: Callable[[Array, Any, Any], Any]
    universes: Callable[[], list[Universe]]
    pairs: Callable[[], list[Pair]]
    table: Callable[[Any, Any], np.ndarray] | None = None
    plan: Callable[[Privacy], Any] = rounded
    calibration: str = "corrected"
    caveat: str = ""
    covers: tuple[str, ...] = ()
    repeatable: bool = True
    canaries: Callable[[Array, Array, Any], Array] | None = None
    at_once: int = 1 << 10
    unlisted: str = ""
    host: Callable[[np.ndarray, Any, Any], Any] | None = None
    claims: Callable[[float, float, Any], list[tuple[Guarantee, np.ndarray]]] | None = None
