"""The interior points of blocks, by the median mechanisms."""

from dataclasses import dataclass, field

from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.plans import STATIC, Number, down
from dpjax.core.types import Privacy
from dpjax.mechanisms.median import MedianPlan, median_guarantee, plan_exponential, plan_recprefix, private_median
from dpjax.mechanisms.median.answer import MedianAnswer

METHODS = ("exponential", "recprefix")


@register_dataclass
@dataclass(frozen=True)
class Interior:
    """One interior point. epsilon, delta: ``float32[]``, what it spends. method: structure."""

    epsilon: Number
    delta: Number
    method: MedianPlan = field(metadata=STATIC)


def plan_interior(
    method: str, bits: int, size: int | None, epsilon: float, delta: float, failure: float
) -> tuple[Interior, int]:
    """The plan of an interior point at this budget, and the rows that RecPrefix needs (0 for exponential medians)."""
    epsilon, delta = float(down(epsilon)), float(down(delta))
    if method == "exponential":
        return Interior(down(epsilon), down(0.0), plan_exponential(bits, 1.0, 0.1, size=size)), 0
    plan = plan_recprefix(bits, epsilon, delta, failure)
    return Interior(down(epsilon), down(delta), plan), plan.interior


def interior_point(key: Array, x: Array, mask: Array, plan: Interior) -> MedianAnswer:
    """An interior point of the rows under the mask."""
    return private_median(key, x, mask, Privacy(plan.epsilon, plan.delta), plan.method)


def interior_guarantee(plan: Interior) -> Guarantee:
    """What one spends."""
    return median_guarantee(Privacy(float(plan.epsilon), float(plan.delta)), plan.method, "interior point")
