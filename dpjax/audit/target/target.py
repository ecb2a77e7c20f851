"""The subject of an audit: an algorithm, its claim, and databases to test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.target.databases import Universe
from dpjax.audit.target.known import Known
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import down
from dpjax.core.types import Neighboring, Privacy


@dataclass(frozen=True)
class Pair:
    """Two neighboring databases, both pytrees of arrays of the same shapes, and their descriptions.

    show: database -> its description in a report, for example ``int`` for a single number.
    """

    first: Any
    second: Any
    show: Callable[[Any], Any]

    def witness(self, swapped: bool = False) -> dict[str, Any]:
        """Both descriptions, first the database on which the event is more likely."""
        database, neighbor = (self.second, self.first) if swapped else (self.first, self.second)
        return {"database": self.show(database), "neighbor": self.show(neighbor)}


def universe_of(pairs: list[Pair], relation: Neighboring, what: str) -> Universe:
    """The databases of pairs of one shape, each pair in both orders."""
    ends = np.arange(2 * len(pairs)).reshape(-1, 2)
    databases = jax.tree.map(
        lambda *leaves: np.stack(leaves), *(x for pair in pairs for x in (pair.first, pair.second))
    )
    return Universe(databases, np.concatenate([ends, ends[:, ::-1]]), relation, what, pairs[0].show)


def rounded(privacy: Privacy) -> Privacy:
    """The budget with float32 leaves, rounded down, so that the program's budget never exceeds the claim."""
    epsilon: Any = down(float(privacy.epsilon))
    delta: Any = down(float(privacy.delta))
    return Privacy(epsilon, delta)


def of_one_budget(claim: Guarantee) -> Callable[[float, float], Guarantee]:
    """A `Target.claim` that does not depend on the budget, and refuses any other than its own."""

    def claimed(epsilon: float, delta: float) -> Guarantee:
        if not np.allclose((epsilon, delta), (claim.epsilon, claim.delta), rtol=1e-6, atol=0):
            budget = f"Privacy({claim.epsilon:.6g}, {claim.delta:.6g})"
            advice = "give that budget; for another claim make another target"
            raise InputError("privacy", f"that of the claim, {budget}", f"Privacy({epsilon:.6g}, {delta:.6g})", advice)
        return claim

    return claimed


@dataclass(frozen=True)
class Target:
    """An algorithm under audit.

    Args:
      name: the name on the command line.
      claim: (epsilon, delta) -> the guarantee at this budget.
      run: (key, database, plan) -> output, any pytree of arrays; pure, jittable and total.
      universes: () -> the databases of an exact audit; the bare ``list`` gives none, for statistical audits only.
      table: (databases, plan) -> log-probabilities ``float64[databases, outcomes]``; None: no exact audit.
      plan: Privacy -> the argument ``plan`` of ``run``, ``table`` and ``canaries``, any pytree of numbers, made on the
        host; by default the budget itself.
      pairs: () -> neighbors for a statistical audit; the bare ``list`` gives none.
      calibration: "corrected", or "printed" for a paper's constants.
      caveat: distinctions that the exact law does not make, in words.
      unlisted: why there is no ``table``, if known.
      repeatable: whether the same key gives the same output; False for code with randomness of its own.
      canaries: (key, inside ``bool[m]``, plan) -> ``float32[m]``: scores of one run on a database that contains canary
        j if inside[j], larger if the canary seems included; None: no one-run audit.
      at_once: number of trials that a statistical audit runs at once on a CPU; affects time only.
      host: (words ``uint32[t, 2]``, database, plan) -> a list of t outputs, see `from_function`, for an algorithm that
        runs on the host; statistical audits call it instead of ``run``, on a copy of the database. words: key data of
        the trials' keys.
      claims: (epsilon, delta, databases) -> [(claim, mask ``bool[m]``)] if ``claim`` is the weakest of several claims.
      known: a score of outputs that is fixed before any run, `KnownLaw` or `KnownEvent`: statistical audits test it on
        all trials, besides what they choose in training. None: nothing is known.
      show: outputs on the host, with a leading axis -> a sentence for each, for exact audits; None: its numbers.
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
    known: Known | None = None
    show: Callable[[Any], Sequence[str]] | None = None

    def __post_init__(self) -> None:
        if self.known is not None:
            checks.instance("known", self.known, Known, "inherit from dpjax.audit.Known")

    def claimed(self, privacy: Privacy) -> Guarantee:
        """The claim at a budget. InputError if it is no budget."""
        checks.instance("privacy", privacy, Privacy, "give dpjax.Privacy(epsilon, delta)", "a budget")
        return self.claim(float(privacy.epsilon), float(privacy.delta))


def require_target(target: Any) -> None:
    """InputError for anything but a `Target`, which says how to make one."""
    advice = (
        "make one: dpjax.evidence.learner_target(learner, name), evidence.mechanism_target(name) for a name of the "
        "command line, or audit.from_function(function, claim, pairs)"
    )
    checks.instance("target", target, Target, advice, "a dpjax.audit.Target")
