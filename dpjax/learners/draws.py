"""Budgets and numbers of draws that are tried for a learner that runs on draws with replacement."""

from contextlib import suppress

from dpjax.accounting.distance import scaled_delta
from dpjax.accounting.subsampling import with_replacement_base
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners.base import Learner

_USUAL = (1.0, 2.0, 4.0)  # budgets tried for every epsilon: the rows for a budget b grow as e^b - 1
_MOST = 16  # powers of two


def numbers_tried(
    learner: Learner,
    multiples: tuple[float, ...],
    privacy: Privacy,
    whole: Privacy,
    goal: Accuracy,
    agnostic: bool = False,
) -> list[int]:
    """Sample sizes of ``learner`` at multiples of the epsilon of ``privacy`` and at budgets that do not depend on it.

    whole: the budget of one run on draws.
    """
    spent = [*(multiple * float(privacy.epsilon) for multiple in multiples), *_USUAL]
    size = learner.agnostic_sample_size if agnostic else learner.sample_size
    sizes = [size(Privacy(each, float(privacy.delta)), goal) for each in spent]
    if learner.spends == "approximate":
        epsilon, delta = float(whole.epsilon), float(whole.delta)
        for each in spent:
            with suppress(InputError):  # a delta that is 0 in float32
                left = min(0.5, scaled_delta(delta, each, epsilon, 1.0))  # by `with_replacement_base`
                sizes.append(size(Privacy(each, left), goal))
    return [*dict.fromkeys(sizes)]


def budgets_of_draws(
    learner: Learner, whole: Privacy, draws: int, rows: int | None = None, mass: float | None = None
) -> list[Privacy]:
    """Budgets of ``learner`` on draws that stay within ``whole``, that of all of its epsilon first.

    The more of epsilon is spent, the smaller is the delta of `with_replacement_base`, so a learner that spends delta
    may need fewer rows at a smaller epsilon: the powers of two from 2 on are tried too.
    """
    epsilon, delta = float(whole.epsilon), float(whole.delta)
    less = [2.0**i for i in range(1, _MOST) if 2.0**i < epsilon] if learner.spends == "approximate" else []
    return [Privacy(*with_replacement_base(spent, delta, draws, rows, mass)) for spent in (epsilon, *less)]


def are_enough(learner: Learner, budgets: list[Privacy], goal: Accuracy, draws: int, agnostic: bool = False) -> bool:
    """Whether ``draws`` are the learner's sample size (or agnostic one) or more at one of the budgets."""
    size = learner.agnostic_sample_size if agnostic else learner.sample_size
    return any(size(budget, goal) <= draws for budget in budgets)


def budget_for(learner: Learner, budgets: list[Privacy], goal: Accuracy, draws: int, agnostic: bool = False) -> Privacy:
    """The first budget for which ``draws`` `are_enough`; the first of all if there is none."""
    for budget in budgets[1:] and budgets:
        with suppress(InputError):
            if are_enough(learner, [budget], goal, draws, agnostic):
                return budget
    return budgets[0]
