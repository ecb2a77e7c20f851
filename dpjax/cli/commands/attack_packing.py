"""`dpjax attack --packing`: success on the databases of all targets, and the privacy that it costs."""

from typing import Any

from dpjax.attacks.packing import Packed, pack
from dpjax.cli.arguments.privacy import AttackCommand
from dpjax.cli.output import Answer, console
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.theory import packing

USUAL_CONCEPTS, _ROWS = 3, 8
_HOW = ("trials", "confidence", "seed")


def packed(command: AttackCommand, learner: Any, k: int, privacy: Privacy, accuracy: Accuracy) -> Answer:
    """The successes of a learner of k concepts, the least epsilon, and what the theorem says for these numbers."""
    for option in ("users", "sample_size", "code", "security"):
        if (got := getattr(command, option)) != getattr(AttackCommand, option):
            raise InputError(option, "none beside --packing", str(got), "leave it out: there is no code")
    n, how = _ROWS if command.n is None else command.n, {name: getattr(command, name) for name in _HOW}
    attack = pack(learner, k, n, privacy, accuracy, **how)
    claim = None if attack.claim is None else {"epsilon": attack.claim.epsilon, "delta": attack.claim.delta}
    least = float(attack.successes.min())
    answer: dict[str, Any] = {"learner": command.learner, "concepts": command.concepts}
    answer |= {name: getattr(attack, name) for name in ("k", "rows", "different")}
    answer |= {"successes": attack.successes.tolist(), "least": least, "epsilon": attack.epsilon}
    answer |= {"delta": attack.delta, "guarantee": claim, "violated": attack.violated, "trials": attack.trials}
    answer |= {"confidence": attack.confidence, "no_learner_below": _below(attack, least)}
    return answer, lambda: _show(command, attack, answer)


def _below(found: Packed, least: float) -> int | None:
    """The theorem's n for this success and the claim; None without a claim, or if it never or always succeeds."""
    if found.claim is None or not 0 < least < 1 or found.claim.epsilon == 0:
        return None
    return packing.separated(packing.TWO, found.k, found.claim.epsilon, 1 - least, found.claim.delta)


def _show(command: AttackCommand, found: Packed, answer: dict[str, Any]) -> None:
    out = console()
    how = "exactly" if not found.trials else f"by {found.trials} runs each, lower bounds at {found.confidence:g}"
    lines = [
        f"{2**found.k} targets of {found.k} concepts, {found.rows} rows, {found.different} of which differ",
        f"right with probability {answer['least']:.6g} to {found.successes.max():.6g}, {how}",
        f"no learner with these successes is (epsilon, {found.delta:g})-private with epsilon below {found.epsilon:.6g}",
    ]
    if found.claim is None:
        lines.append(f"{command.learner} claims no privacy")
    else:
        refuted = "refuted" if found.violated else "not contradicted"
        lines.append(f"the guarantee ({found.claim.epsilon:.6g}, {found.claim.delta:.6g}) is {refuted}")
    if (answer["no_learner_below"] or 0) > 1:
        lines.append(f"no such private learner is right so often with fewer than {answer['no_learner_below']} rows")
    for line in lines:
        out.print(line)
