"""What the coalition attack finds over many codebooks, with exact intervals."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.attacks.coalition import CoalitionAttack, run_batch
from dpjax.attacks.rates import Rate
from dpjax.audit.watch import Watch, unwatched
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, host_numbers

_TILE = 128  # trials of a call; the last call's surplus is dropped


@dataclass(frozen=True)
class Report:
    """The findings about one learner and one code.

    user: the user (from 0) who was accused most often in ``pilot`` separate trials; all rates are of fresh trials.
    feasible: the word satisfies the marking assumption (everybody present). somebody: anybody is accused (everybody
      present). present, absent: ``user`` is accused while in the database, and while not: the latter has at most the
      probability ``security``, by the soundness of the code.
    epsilon: every epsilon for which the learner is (epsilon, delta)-private is at least this, with probability >=
      ``confidence``: ln((lower end of present - delta) / upper end of absent), at least 0.
    guarantee: of the plan; None for a learner that is not private.
    """

    users: int
    columns: int
    rows: int
    security: float
    user: int
    pilot: int
    feasible: Rate
    somebody: Rate
    present: Rate
    absent: Rate
    delta: float
    confidence: float
    guarantee: Guarantee | None

    @property
    def epsilon(self) -> float:
        """The implied lower bound."""
        above = self.present.low - self.delta
        return max(0.0, math.log(above / self.absent.high)) if above > 0 else 0.0

    @property
    def betrays(self) -> bool:
        """Whether the trials show that the accusation depends on the user's row."""
        return self.epsilon > 0

    @property
    def tells(self) -> bool:
        """Whether so many trials can show anything: an accusation always with the row and never without it would."""
        trials = np.arange(self.present.trials)
        always, never = Rate.of(trials >= 0, self.confidence), Rate.of(trials < 0, self.confidence)
        return always.low - self.delta > never.high

    @property
    def traces(self) -> bool:
        """Whether the code may be complete; False if the trials show that it accuses nobody for some words of the
        coalition, as one of too few columns does."""
        return self.somebody.high >= self.feasible.low

    @property
    def violated(self) -> bool:
        """Whether the trials refute the learner's guarantee."""
        return self.guarantee is not None and self.epsilon > self.guarantee.epsilon

    def words(self, name: str) -> str:
        """The verdict in plain words."""
        who = f"user {self.user + 1} of {self.users}"
        rates = (
            f"{who} is accused in {self.present.count} of {self.present.trials} runs on databases with this user's "
            f"row, and in {self.absent.count} of {self.absent.trials} without it"
        )
        if self.absent.low > self.security:
            rates += "; the code is not sound, it accuses innocent users more often than its security says"
        if not self.tells:
            return f"{self.present.trials} trials are too few to tell whether {name} betrays a participant: {rates}."
        if not self.betrays and not self.traces:
            return f"{self.columns} columns are too few to tell whether {name} betrays a participant: {rates}."
        if not self.betrays:
            return f"{name} does not betray a participant here: {rates}."
        bound = (
            f"{name} betrays a participant: {rates}. No learner that is (epsilon, {self.delta:g})-private with epsilon "
            f"below {self.epsilon:.3g} does so (confidence {self.confidence:g})"
        )
        if self.guarantee is None:
            return f"{bound}; this one claims no privacy."
        claim = f"its guarantee of epsilon = {self.guarantee.epsilon:.3g}"
        return f"{bound}: {claim} is {'refuted' if self.violated else 'not contradicted'}."

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        plain = {key: vars(value) if isinstance(value, Rate) else value for key, value in vars(self).items()}
        claim = None if self.guarantee is None else {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta}
        derived = {
            "epsilon": self.epsilon,
            "betrays": self.betrays,
            "violated": self.violated,
            "tells": self.tells,
            "traces": self.traces,
        }
        return plain | {"guarantee": claim} | derived


def demonstrate(
    attack: CoalitionAttack,
    privacy: Privacy,
    accuracy: Accuracy,
    trials: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    watch: Watch = unwatched,
) -> Report:
    """Attacks the learner on fresh codebooks: trials // 4 to choose a user, then trials with everybody present, then
    trials with the chosen user absent, all independent.

    Args:
      privacy, accuracy: of the learner's plan for N rows. The delta of the implied epsilon is that of the plan's
        guarantee, or ``privacy.delta`` for a learner without one.
      trials: >= 1, fixed in advance.
      confidence: of each interval, and of the implied epsilon.
    """
    checks.instance("attack", attack, CoalitionAttack, "make it with CoalitionAttack(learner, code)")
    checks.integer("trials", trials, 1)
    checks.probability("confidence", confidence)
    _, delta, _, _ = host_numbers(privacy, accuracy)
    plan = attack.k_learner.plan(privacy, accuracy, attack.size)
    guarantee = attack.k_learner.guarantee(plan)
    if guarantee is not None and guarantee.neighboring is not attack.learner.neighboring:
        actual = f"{guarantee.neighboring.value} against {attack.learner.neighboring.value}"
        raise InputError("learner", "a guarantee under its own relation", actual, "make the two equal")
    delta = delta if guarantee is None else guarantee.delta
    root, pilot = keys.root(checks.integer("seed", seed, 0, 2**32 - 1)), max(1, trials // 4)
    done, total = 0, pilot + 2 * trials

    def runs(purpose: str, count: int, absent: int) -> tuple[np.ndarray, np.ndarray]:
        nonlocal done
        parts = []
        for first in range(0, count, _TILE):
            watch(done, total, "runs")
            batch = run_batch(attack, plan, keys.stream(root, purpose), absent, first, min(_TILE, trials))
            parts.append((np.asarray(batch.accused), np.asarray(batch.feasible)))
            done += min(_TILE, count - first)
        accused, feasible = (np.concatenate(part)[:count] for part in zip(*parts, strict=True))
        return accused, feasible

    user = int(np.argmax(np.sum(runs("pilot", pilot, -1)[0], axis=0)))
    accused, feasible = runs("present", trials, -1)
    without, _ = runs("absent", trials, user)

    watch(total, total, "runs")
    events = {
        "feasible": feasible,
        "somebody": np.any(accused, axis=1),
        "present": accused[:, user],
        "absent": without[:, user],
    }
    rates = {name: Rate.of(event, confidence) for name, event in events.items()}
    return Report(
        users=attack.code.users,
        columns=attack.code.length,
        rows=attack.size,
        security=attack.code.security,
        user=user,
        pilot=pilot,
        delta=delta,
        confidence=confidence,
        guarantee=guarantee,
        **rates,
    )
