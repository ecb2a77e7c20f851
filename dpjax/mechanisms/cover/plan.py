"""The plan of a private set cover: its numbers, calibrated for a budget, and the guarantee that they imply."""

from dataclasses import field

from dpjax.accounting.cover.calibration import calibrate_set_cover
from dpjax.accounting.cover.game import enough_cells
from dpjax.accounting.cover.guarantee import set_cover_guarantee
from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Claim, Number, Positive, down, plan_type, require_leaves, up
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover.score import Saturating, Scoring


@plan_type
class CoverPlan:
    """The arguments of `set_cover`; changing epsilon or delta changes leaves only.

    coefficient: of the score in the exponent. scale: of the noise of the counts; 0 if ``noisy`` is False.
    offset: subtracted from every noisy count; privacy does not depend on it. claim: the budget of the calibration.
    rounds, k: >= 1; k is that of the score. noisy: whether counts are noisy. cells: the resolution of the
    stopping game at which the claim was verified. score: None for `Saturating` with this k; another one has its own
    numbers, and k does not matter.
    """

    coefficient: Positive
    scale: Number
    offset: Number
    claim: Claim
    rounds: int = field(metadata=STATIC)
    k: int = field(metadata=STATIC)
    noisy: bool = field(metadata=STATIC)
    cells: int = field(metadata=STATIC)
    score: Scoring | None = field(default=None, metadata=STATIC)

    @property
    def scoring(self) -> Scoring:
        """The score of the rounds."""
        return self.score or Saturating(self.k)

    def __post_init__(self) -> None:
        checks.integer("rounds", self.rounds, 1)
        checks.integer("k", self.k, 1)
        checks.integer("cells", self.cells, 1)


def cover_plan(
    privacy: Privacy,
    rounds: int,
    k: int,
    neighboring: Neighboring,
    variant: str = "noise_free",
    offset: float = 0.5,
    score: Scoring | None = None,
) -> CoverPlan:
    """The largest coefficient for a budget, on the host.

    Args:
      privacy: delta 0 gives a pure plan.
      rounds, k: >= 1. neighboring: the relation.
      variant: "noise_free", "noisy" (a fifth of epsilon for counts that are published), "hidden" (the same noise, for
        a user who publishes the functions alone), or another of `calibrate_set_cover`.
      offset: in scales of the noise.
      score: None for `Saturating` with this k. A score without counts has "noise_free" rounds only.
    """
    if score is not None and not score.counts and variant != "noise_free":
        raise InputError("variant", "'noise_free' for a score without counts", repr(variant), "use Saturating(k)")
    claim = Claim(down(checks.epsilon(float(privacy.epsilon))), down(checks.delta(float(privacy.delta))))
    effect = k if score is None or score == Saturating(k) else score.effect
    calibrated = calibrate_set_cover(float(claim.epsilon), float(claim.delta), rounds, effect, neighboring, variant)
    scale = up(calibrated.scale)
    return CoverPlan(
        down(calibrated.coefficient),
        scale,
        up(checks.number("offset", offset) * float(scale)),
        claim,
        rounds,
        k,
        calibrated.scale > 0,
        enough_cells(rounds),
        score,
    )


def cover_guarantee(
    plan: CoverPlan, neighboring: Neighboring, what: str = "private set cover", published: bool = True
) -> Guarantee:
    """The privacy of the numbers of a plan. published: whether noisy counts are published, beside the functions.

    Privacy: the plan's claim if the stopping game, evaluated at the coefficient and scale that run, confirms it;
      else the smallest epsilon that the game gives at the claim's delta. This holds for an edited plan too.
    """
    require_leaves(plan)
    coefficient, scale = float(plan.coefficient), float(plan.scale) if plan.noisy else 0.0
    if plan.noisy and not scale > 0:
        raise InputError("scale", "a positive number for noisy counts", repr(scale), "use the numbers of a plan")
    return set_cover_guarantee(
        coefficient,
        plan.rounds,
        float(plan.claim.delta),
        plan.scoring.effect,
        neighboring,
        scale,
        what,
        float(plan.claim.epsilon),
        plan.cells,
        published,
    )
