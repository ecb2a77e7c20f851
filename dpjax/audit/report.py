"""The result of an audit: a claim, a verdict and the evidence."""

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

import dpjax
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.further import further_of
from dpjax.core.plain import plain

CONSISTENT, VIOLATED = "consistent with the claim", "VIOLATED"
VACUOUS = "vacuous: one outcome on every database, nothing was tested"
CONSTANT = "vacuous: on each pair both databases have one law, nothing that depends on the data was tested"
_UNSEEN = "; no dependence on the data was seen: a function that ignores its data gives the same result"


@dataclass(frozen=True)
class Report:
    """One claim and the evidence for or against it.

    Args:
      target, calibration: the audited algorithm; "corrected", "printed", or "as run" if only scores were given.
      claim: epsilon, delta and the neighboring relation of the claim.
      method: "exact", "statistical" (with ", sequential" or ", bitwise"), "replay", "one-run" or "tracing".
      evidence: a description of the databases or the number of trials.
      epsilon_found: the smallest epsilon at the claimed delta that the evidence allows; "statistical": a lower bound.
      delta_found: the smallest delta at the claimed epsilon that it allows; "statistical": a lower bound.
      confidence: confidence of the statement; 1 for an exact audit.
      witness: the two databases with the largest delta, in words; the event is more likely on the first.
      violated: whether the claim is refuted.
      curve: [(epsilon, delta)] of the witness.
      details: further results of the method: trials per database, event, direction, corrections, number of outcomes,
        key, seconds.
    """

    target: str
    calibration: str
    claim: Guarantee
    method: str
    evidence: str
    epsilon_found: float
    delta_found: float
    confidence: float
    witness: dict[str, Any]
    violated: bool
    curve: list[tuple[float, float]]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """`VIOLATED` with a witness, `VACUOUS`, `CONSTANT`, or consistent on this evidence, which proves no privacy."""
        if self.violated:
            return VIOLATED
        if self.details.get("outcomes") == 1:
            return VACUOUS
        return CONSTANT if self.details.get("constant") else CONSISTENT

    @property
    def vacuous(self) -> bool:
        """Whether nothing was tested."""
        return self.verdict in (VACUOUS, CONSTANT)

    @property
    def grounds(self) -> str:
        """The evidence, and what the claim says that the method does not check."""
        left = [name.replace("_", " ") for name in further_of(self.claim)] if self.method != "exact" else []
        bounds = self.method in ("statistical", "statistical, bitwise")  # others have no bound without a refutation
        unseen = bounds and not self.violated and self.epsilon_found == 0 and not self.vacuous
        return self.evidence + _UNSEEN * unseen + f"; not checked: {', '.join(left)}" * bool(left)

    def to_dict(self) -> Any:
        """JSON-ready dictionary: NaN and infinities of databases and outputs are text, see `plain`."""
        claim = {
            "epsilon": self.claim.epsilon,
            "delta": self.claim.delta,
            "relation": self.claim.neighboring.value,
            **further_of(self.claim),
        }
        finite = lambda x: x if np.isfinite(x) else None  # noqa: E731
        return plain(
            {
                "target": self.target,
                "calibration": self.calibration,
                "claim": claim,
                "method": self.method,
                "evidence": self.grounds,
                "epsilon_found": finite(self.epsilon_found),
                "delta_found": self.delta_found,
                "confidence": self.confidence,
                "witness": self.witness,
                "verdict": self.verdict,
                "curve": [[epsilon, delta] for epsilon, delta in self.curve],
                **self.details,
                "versions": versions(),
            }
        )

    def __str__(self) -> str:
        claim, relation = self.claim, self.claim.neighboring.value
        constants = " (printed)" if self.calibration == "printed" else ""
        further = "".join(f", {name.replace('_', ' ')} {value:.6g}" for name, value in further_of(claim).items())
        lines = [
            f"{self.target}{constants}: {self.verdict}",
            f"  claimed   epsilon {claim.epsilon:.6g}, delta {claim.delta:.6g}, {relation}{further}",
            f"  found     epsilon {self.epsilon_found:.6g} at that delta, delta {self.delta_found:.6g} at that epsilon",
            f"  method    {self.method}, confidence {self.confidence:g}: {self.grounds}",
        ]
        lines += [f"  {name:<9} {value}" for name, value in self.witness.items()]
        for name, value in self.details.items():
            if not isinstance(value, dict | list):
                lines.append(f"  {name:<9} {f'{value:.3g}' if name == 'p_value' else value}")
        return "\n".join(lines)


def versions() -> dict[str, str]:
    """Versions of software that may affect the numbers, besides the target's code."""
    packages = {name: version(name) for name in ("jax", "numpy", "scipy")}
    return {"dpjax": dpjax.__version__, **packages, "python": platform.python_version()}
