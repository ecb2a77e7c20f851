"""Private set cover: each round draws a function that hits many targets and few other rows; hit rows are removed."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import keys
from dpjax.mechanisms.cover.counts import NoisyCount
from dpjax.mechanisms.cover.family import Family, Following
from dpjax.mechanisms.cover.plan import CoverPlan
from dpjax.mechanisms.cover.score import Score


def set_cover(
    key: Array, family: Family, x: Array, target: Array, other: Array, plan: CoverPlan, score: type[Score] | None = None
) -> tuple[Any, Array | None]:
    """Members of a family, one per round, that together hit (nearly) all targets and (nearly) none of the other rows.

    Each round counts the remaining targets, with noise if the plan says so; draws h with density proportional to
    mu(h) exp(coefficient q(h)), q(h) = min{targets hit - (count - offset) / k, -others hit}, or the plan's other score;
    and removes the rows that h hits. If k members of the family hit all targets and nothing else, some h has this
    q(h) >= 0 without noise.

    Args:
      key: consumed.
      family: static.
      x: the rows, with leading axis n >= 0, as the family takes them.
      target, other: ``bool[n]``, disjoint; rows in neither (padding) are ignored.
      plan: from `cover_plan`. Its coefficient is half of the epsilon of an exponential mechanism under REPLACE_ONE.
      score: static; None for the plan's. **A class given here has no guarantee**: the plan's is for its own score.

    Returns: (the functions in the order of the rounds, each leaf with a leading axis of rounds; the noisy counts
      ``int32[rounds]``, or None without noise: exact counts must not be published).

    Privacy: `cover_guarantee` of the plan, for every database, for the functions together with the noisy counts, or
      with ``published=False`` for the functions alone; also for a family that is `Following`.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts",
      Section 3 (SetCoverLearner).
    """
    keys.require_typed(key)
    with jax.enable_x64(True):
        numbers = plan.coefficient, plan.scale, plan.offset
        coefficient, scale, offset = (jnp.asarray(number).astype(jnp.float64) for number in numbers)
        rows = family.prepare(x)

        start = family.start(plan.rounds) if isinstance(family, Following) else None

        def one(carry: tuple[Array, Any], own: Array) -> tuple[tuple[Array, Any], tuple[Any, Array | None]]:
            alive, state = carry
            of_count, of_choice = keys.streams(own, "count", "choice")
            left = jnp.sum(alive & target, dtype=jnp.int32)
            count = NoisyCount(left, scale).sample(of_count) if plan.noisy else left
            budget = count.astype(jnp.float64) - offset
            by = plan.scoring.of(budget, coefficient) if score is None else score.of(budget, plan.k, coefficient)
            left_rows = of_choice, rows, alive & target, alive & other, by
            if isinstance(family, Following) and state is not None:
                h = family.select(*left_rows, state)
                state = family.followed(state, h)
            else:
                h = family.select(*left_rows)
            return (alive & ~family.hits(h, rows), state), (h, count if plan.noisy else None)

        return jax.lax.scan(one, (target | other, start), keys.per_index(key, plan.rounds))[1]
