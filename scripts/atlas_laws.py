"""What brackets of n* say about laws: rank correlations, pairs of classes that refute, and conjectures that survive."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from atlas_data import DIMENSIONS, ends, shown
from scipy.stats import spearmanr

PARAMETERS = ("log2 size", *DIMENSIONS)
DRAWS, SEED = 400, 20261128
LAWS: dict[str, tuple[str, ...]] = {
    "the VC dimension": ("VC",),
    "VC and Littlestone dimension": ("VC", "LD"),
    "the number of concepts": ("log2 size",),
    "all dimensions in the table together": PARAMETERS,
}
Pair = tuple[dict[str, Any], float | None]


def informative(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without classes that one row tells all of, two concepts that differ on every point, and without those that are a
    class on fewer points with a point repeated."""
    return [one for one in records if ends(one, None)[1] != 1 and not one["repeated"]]


def choices(records: Sequence[dict[str, Any]], epsilon: float) -> list[np.ndarray]:
    """What n* of each class may be: the lower ends of the brackets, the upper ones, the middles, uniform draws."""
    low, high = np.array([ends(one, epsilon) for one in records]).T
    return [low, high, (low + high) / 2, *np.random.default_rng(SEED).integers(low, high + 1, (DRAWS, len(low)))]


def correlations(records: Sequence[dict[str, Any]], epsilon: float) -> list[list[str]]:
    """Spearman's rho of n* with each parameter: [parameter, range over draws of n* from the brackets].

    The classes are all that there are, so there is no sampling error. What is uncertain is where in its bracket each n*
    is: the range is that over `choices`.
    """
    some = [one for one in informative(records) if ends(one, epsilon)[1] is not None]
    wanted, rows = choices(some, epsilon), list[list[str]]()
    for name in PARAMETERS:
        values = np.array([one[name] for one in some])
        if not np.ptp(values):
            rows.append([name, "one value"])
            continue
        found = [spearmanr(values, choice).statistic for choice in wanted if np.ptp(choice)] or [0.0]
        least, most = (f"{end:.2f}" for end in (min(found), max(found)))
        rows.append([name, least if least == most else f"{least} to {most}"])
    return rows


def refuted(records: Sequence[dict[str, Any]], epsilons: Sequence[float]) -> str:
    """For each law the pair of classes that is the farthest apart, equal in what the law looks at."""
    lines = []
    for law, names in LAWS.items():
        pairs = []
        groups: dict[Any, list[dict[str, Any]]] = {}
        for one in informative(records):
            groups.setdefault(tuple(one[name] for name in names), []).append(one)
        for some, epsilon in product(groups.values(), epsilons):
            known = [(*ends(one, epsilon), one) for one in some]
            least = min(((high, i) for i, (_, high, _) in enumerate(known) if high is not None), default=None)
            most = max((low, -i) for i, (low, _, _) in enumerate(known))
            if least and most[0] > least[0]:
                pairs.append((most[0] - least[0], -epsilon, known[least[1]][2], known[-most[1]][2], epsilon))
        if pairs:
            _, _, first, second, epsilon = max(pairs, key=lambda pair: pair[:2])
            lines.append(
                f"- Not a function of {law}: at epsilon {epsilon:g} {first['class']} needs {shown(first, epsilon)} "
                f"rows, {second['class']} {shown(second, epsilon)}."
            )
        else:
            lines.append(f"- No two classes refute that n* is a function of {law}.")
    return "\n".join(lines)


def _at_most(factor: int, epsilon: float | None, more: int, other: float | None) -> Callable[[Any], bool | None]:
    """n*(epsilon) <= factor n*(other) + more, as the brackets say: True, False, or None if they leave it open."""

    def holds(one: dict[str, Any]) -> bool | None:
        (low, high), (least, most) = ends(one, epsilon), ends(one, other)
        if high is not None and high <= factor * least + more:
            return True
        return False if most is not None and low > factor * most + more else None

    return holds


CONJECTURES: dict[str, Callable[[dict[str, Any]], bool | None]] = {
    "n* at epsilon 1/2 is at most twice n* at epsilon 1, and one more": _at_most(2, 0.5, 1, 1.0),
    "n* at epsilon 1 is at most twice n* at epsilon 2": _at_most(2, 1.0, 0, 2.0),
    "n* at epsilon 1 is at most three times n* without privacy": _at_most(3, 1.0, 0, None),
    "n* at epsilon 1 is at least twice n* without privacy": lambda one: _twice(one),
    "n* at epsilon 2 is at most twice n* without privacy": _at_most(2, 2.0, 0, None),
}


def _twice(one: dict[str, Any]) -> bool | None:
    (low, high), (least, most) = ends(one, 1.0), ends(one, None)
    if most is not None and 2 * most <= low:
        return True
    return False if high is not None and 2 * least > high else None


def survivors(records: Sequence[dict[str, Any]]) -> str:
    """The conjectures that no class refutes, and in how many classes the brackets decide them."""
    lines = []
    for text, holds in CONJECTURES.items():
        answers = [holds(one) for one in records]
        if False not in answers:
            count = f"holds in {answers.count(True)} of {len(answers)} classes"
            lines.append(f"- {text}: {count}, open in the others.")
    return "\n".join(lines)
