"""A certificate that is short enough to be checked by hand, with its numbers beside the one that is stored."""

import math
from collections.abc import Sequence

from dpjax.advice.collection import Program

_TEXT = r"""Two concepts on one point, epsilon = 1, 2 rows: no private learner has a success of 0.9. There are three
databases, by the number of rows with label 1: S0, S1, S2. If the target is 0 the database is S0, and the answer 0 is
good; if it is 1 the database is S2, and 1 is good. Let p(h | S) be the probabilities of any private learner.

| step | why | in numbers |
|---|---|---|
| p(1 given S0) is at least p(1 given S1) / e | privacy: S0 and S1 differ in one row | p(1 given S1) x 0.367879 |
| p(0 given S2) is at least p(0 given S1) / e | privacy: S1 and S2 differ in one row | p(0 given S1) x 0.367879 |
| the two failures add up to at least 1 / e | p(0 given S1) + p(1 given S1) = 1 | 0.367879 |
| one failure is at least 1 / (2e) | the larger is at least the mean | 0.183939 |
| the worst success is at most 1 - 1 / (2e) | | {bound:.6f} |

In the form of [weak duality](../proofs/best-learner.md#weak-duality): both cases have the weight 1/2, and the flows
y(S1, S0, 1) = y(S1, S2, 0) = 1 / (2e) = 0.183939 are all that are not 0. Then c(S0, 0) = 1/2 and
c(S0, 1) = e / (2e) = 1/2, likewise for S2, and c(S1, 0) = c(S1, 1) = -1 / (2e): the sum of the three maxima is
1 - 1 / (2e) = {bound:.6f}, less than 0.9. The stored certificate ({digest}) proves {stored:.6f}, rounded upwards.

With 3 rows there is a learner: let the probabilities of the answer 1 be a, b, 1 - b, 1 - a for 0, 1, 2, 3 rows with
label 1, with b = 1 / (1 + e) = {b:.6f} and a = b / e = {a:.6f}. Neighbors differ by the factor e at most, and the
success is 1 - a = {success:.6f}. So n* = 3."""


def by_hand(programs: Sequence[Program]) -> str:
    """The text, with the stored bound. AssertionError if the numbers differ."""
    one = next(one for one in programs if one.key[:3] == ("0 1", 2, 1.0) and one.certificate and not one.delta)
    bound, b = 1 - 1 / (2 * math.e), 1 / (1 + math.e)
    assert bound <= one.upper <= bound + 1e-4
    values = {"bound": bound, "stored": one.upper, "b": b, "a": b / math.e, "success": 1 - b / math.e}
    return _TEXT.format(**values, digest=one.certificate[:12])
