"""Basic, advanced and parallel composition: the total privacy of several mechanisms on one database."""

import math
from collections.abc import Iterable, Sequence

from dpjax.accounting.guarantee import Guarantee, composition, same_contract, same_relation
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring


def basic(parts: Sequence[Guarantee], what: str, rounds: int = 1) -> Guarantee:
    """All parts on the same database, each run ``rounds`` times, chosen adaptively.

    Privacy: (rounds * sum of epsilons, rounds * sum of deltas), and the same sum of rhos if every part has one.
    Reference: Bun, Nissim, Stemmer, "Simultaneous private learning of multiple concepts", Theorem 2.16(1); Yan 2025,
      Theorem 6.
    """
    parts = tuple(parts)
    checks.integer("rounds", rounds, 1)
    epsilon = rounds * math.fsum(part.epsilon for part in parts)
    delta = rounds * math.fsum(part.delta for part in parts)
    why = "basic composition: epsilons and deltas add"
    return composition(parts, rounds, epsilon, delta, what, why, "Bun, Nissim, Stemmer, Theorem 2.16(1)")


def advanced(
    part: Guarantee, rounds: int, slack: float, form: str = "printed", what: str = "advanced composition"
) -> Guarantee:
    """``rounds`` adaptive runs of one part by Azuma's inequality; ``optimal`` is never worse.

    Args:
      part: with epsilon > 0; form "printed" also needs epsilon < 1.
      rounds: m >= 1.
      slack: delta' in (0, 1).
      form: "printed" or "tight".
      what: the name of the whole.

    Privacy, printed: epsilon' = sqrt(2 m ln(1/delta')) epsilon + 2 m epsilon^2 and delta' + m delta.
    Privacy, tight: the last term is m epsilon tanh(epsilon / 2), the exact mean loss of the worst part, for any
      epsilon, and the total delta is 1 - (1 - delta)^m (1 - delta').
    Reference: printed: Bun, Nissim, Stemmer 2016, Theorem 2.16(2); Kaplan, Mansour, Matias, Stemmer 2019, Theorem 2.10;
      tight: Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", Theorem 3.4 (its second
      bound); Yan 2025, Theorem 7, which has the first term only.
    """
    checks.integer("rounds", rounds, 1)
    checks.delta(slack, "slack", positive_for="advanced composition")
    checks.epsilon(part.epsilon, "part.epsilon")
    printed = checks.choice("form", form, ("printed", "tight")) == "printed"
    if printed and part.epsilon >= 1:
        expected = "a number < 1, a hypothesis of the printed theorem"
        raise InputError("part.epsilon", expected, repr(part.epsilon), "use form='tight' or optimal()")
    deviation = math.sqrt(2 * rounds * math.log(1 / slack)) * part.epsilon
    if printed:
        drift = 2 * rounds * part.epsilon**2
        delta = rounds * part.delta + slack
        formula, source = "2 m epsilon^2", "Bun, Nissim, Stemmer, Theorem 2.16(2)"
    else:
        drift = rounds * part.epsilon * math.tanh(part.epsilon / 2)
        delta = joint_delta(part.delta, rounds, slack)
        formula, source = "m epsilon tanh(epsilon/2)", "Kairouz, Oh, Viswanath, Theorem 3.4"
    why = f"advanced composition, m = {rounds}, slack {slack:.6g}: sqrt(2 m ln(1/slack)) epsilon + {formula}"
    return composition((part,), rounds, deviation + drift, delta, what, why, source)


def parallel(parts: Sequence[Guarantee], split: str, what: str) -> Guarantee:
    """Parts that each read a disjoint subset of the rows.

    Each part is a function of the whole database, private under the stated relation. **A part whose guarantee needs
    its number of rows to stay fixed is not private on a subset defined by value, whose size changes.**

    Args:
      parts: one guarantee per subset.
      split: "index" (subsets are fixed positions, REPLACE_ONE only) or "value" (a row's content decides its subset).
      what: the name of the whole.

    Privacy: the maximum if a row affects only one subset: subsets by index, and by value under
      ADD_OR_REMOVE_ONE. Under REPLACE_ONE a row leaves one subset by value and enters another: the two largest add.
    Reference: Bun, Gaboardi, Sivakumar 2021, Claim 3.2.
    """
    parts = tuple(parts)
    relation, distance = same_relation(parts)
    by_value = checks.choice("split", split, ("index", "value")) == "value"
    if not by_value and relation is Neighboring.ADD_OR_REMOVE_ONE:
        advice = "removing a row moves later rows to other subsets: state the parts under REPLACE_ONE"
        raise InputError("split", "'value' under ADD_OR_REMOVE_ONE", "'index'", advice)
    if distance > 1:
        raise InputError("parts", "guarantees at distance 1", f"distance {distance}", "apply group after parallel")
    touched = 2 if by_value and relation is Neighboring.REPLACE_ONE else 1
    rhos = [part.rho for part in parts if part.rho is not None]
    reason = {
        (False, 1): "a row sits at one position, so the largest part counts",
        (True, 1): "a row has one value, so the largest part counts",
        (True, 2): "a replaced row leaves one cell and enters another, so the two largest add",
    }[by_value, touched]
    return Guarantee(
        _largest((part.epsilon for part in parts), touched),
        _largest((part.delta for part in parts), touched),
        relation,
        what,
        f"parallel composition: {reason}",
        parts,
        contract=same_contract(parts),
        rho=_largest(rhos, touched) if len(rhos) == len(parts) else None,
    )


def joint_delta(delta: float, rounds: int, slack: float) -> float:
    """1 - (1 - delta)^rounds (1 - slack), without cancellation."""
    return -math.expm1(rounds * math.log1p(-delta) + math.log1p(-slack))


def _largest(values: Iterable[float], count: int) -> float:
    return math.fsum(sorted(values)[-count:])
