"""The privacy of all rounds of private set cover together, far below the sum over the rounds.

A hit row is removed, so its loss comes from the round that removes it and from the probabilities of removal before.
"""

from dpjax.accounting.cover.effects import Effect, Minimum, effect_of
from dpjax.accounting.cover.game import game_delta
from dpjax.accounting.cover.states import largest_loss, score_range
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import MARGIN
from dpjax.accounting.numeric.ranges import non_negative
from dpjax.accounting.numeric.secant import crossing
from dpjax.accounting.zcdp import bounded_range_rho, pure_rho, zcdp_epsilon
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, require_relation

MOST_ROUNDS = 1 << 20
_SOURCE = "Kaplan, Mansour, Matias, Stemmer, Claim 3.4; game and constants our own"
_TOLERANCE = 1e-6


def set_cover_delta(
    epsilon: float,
    coefficient: float,
    rounds: int,
    k: int | Effect,
    neighboring: Neighboring,
    scale: float = 0.0,
    published: bool = True,
) -> float:
    """A delta for which m rounds of set cover are (epsilon, delta)-private: `game_delta`; proof at `game_deltas`.

    A round draws h with density proportional to mu(h) exp(coefficient q(h)), q(h) = min{T(h) - b / k, -O(h)}: among the
    rows that no earlier function hit, T counts the targets that h hits and O the others; mu and k are public. With
    ``scale`` > 0, b is the number n0 of remaining targets plus discrete Laplace noise, P(w) ~ exp(-|w| / scale), minus
    any public offset, and the noisy counts are published with the functions, or not. With ``scale`` = 0, b = n0 minus
    an offset and **the functions alone are published**: exact counts would reveal a row.

    Args:
      epsilon: >= 0.
      coefficient: > 0.
      rounds: m >= 1; time is linear in it.
      k: >= 1, of the quality function; the noisy version does not depend on it. An effect of `effects` stands for
        another score.
      neighboring: the relation.
      scale: >= 0.
      published: False if the functions alone are published: then the bound for exact counts holds too, for noise of
        any law that does not depend on the data, and the smaller one is returned: docs/proofs/set-cover-hidden.md.

    Returns:
      The larger of both directions; rounded up, by at most a few percent up to hundreds of rounds.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Claim 3.4, and
      Claim 4.4 for halfplanes.
    """
    non_negative("epsilon", epsilon)
    games = _games(coefficient, rounds, k, neighboring, scale, published)
    return min(game_delta(epsilon, *numbers) for numbers in games)


def set_cover_epsilon(
    delta: float,
    coefficient: float,
    rounds: int,
    k: int | Effect,
    neighboring: Neighboring,
    scale: float = 0.0,
    published: bool = True,
) -> float:
    """The smallest epsilon, up to a relative 1e-6, with ``set_cover_delta(epsilon, ...) <= delta``.

    Args:
      delta: in [0, 1); at 0 the answer is `largest_loss`.
      coefficient, rounds, k, neighboring, scale, published: see ``set_cover_delta``.
    """
    checks.delta(delta)
    return min(_epsilon(delta, *numbers) for numbers in _games(coefficient, rounds, k, neighboring, scale, published))


def _epsilon(
    delta: float, coefficient: float, rounds: int, rate: float, effect: Effect, neighboring: Neighboring
) -> float:
    worst = largest_loss(neighboring, effect, rounds, coefficient, rate) * (1 + MARGIN)

    def curve(epsilon: float) -> float:
        return game_delta(epsilon, coefficient, rounds, rate, effect, neighboring)

    if delta == 0:
        return worst
    if curve(0.0) <= delta:
        return 0.0
    start = min(worst, zcdp_epsilon(_rho(coefficient, rounds, rate, effect, neighboring), delta))
    return crossing(curve, delta, start if curve(start) <= delta else worst, 0.8, _TOLERANCE)


def set_cover_rho(
    coefficient: float,
    rounds: int,
    k: int | Effect,
    neighboring: Neighboring,
    scale: float = 0.0,
    published: bool = True,
) -> float:
    """The zCDP parameter of all rounds: a selection is bounded-range, the noise on a count is pure.

    Given a fixed or the exact count, q changes by D in an interval of length `score_range`, for q = min{T - b / k, -O}
    1 (added row) or 2 (replaced row).
    Reference: Rogers, Steinke, "A better privacy analysis of the exponential mechanism"; see `zcdp`.
    """
    return min(_rho(*numbers) for numbers in _games(coefficient, rounds, k, neighboring, scale, published))


def _rho(coefficient: float, rounds: int, rate: float, effect: Effect, neighboring: Neighboring) -> float:
    return rounds * (bounded_range_rho(score_range(neighboring, effect) * coefficient) + pure_rho(rate))


def set_cover_guarantee(
    coefficient: float,
    rounds: int,
    delta: float,
    k: int | Effect,
    neighboring: Neighboring,
    scale: float = 0.0,
    what: str = "private set cover",
    claim: float | None = None,
    cells: int | None = None,
    published: bool = True,
) -> Guarantee:
    """All rounds: the functions and, if they are noisy and published, the counts.

    Args:
      delta: in [0, 1).
      coefficient, rounds, k, neighboring, scale, published: see ``set_cover_delta``.
      what: the name of the whole.
      claim: an epsilon >= 0, returned if the game confirms it.
      cells: >= 1, the resolution of that check, see `game_deltas`: that of the claim's calibration.

    Privacy: (claim, delta), else (set_cover_epsilon(delta, ...), delta); and set_cover_rho-zCDP.
    """
    checks.delta(delta)
    arguments = coefficient, rounds, k, neighboring, scale, published
    games, hidden = _games(*arguments), scale > 0 and not published
    if claim is None or all(game_delta(non_negative("epsilon", claim), *numbers, cells) > delta for numbers in games):
        claim = set_cover_epsilon(delta, *arguments)
    span = score_range(neighboring, games[0][3]) * coefficient
    selection = "selection of a function" + ", by a count that is not published" * hidden
    ranged = None if hidden else span  # a mixture of bounded-range laws has their rho, but may have a larger range
    parts = [Guarantee(span, 0.0, neighboring, selection, rho=bounded_range_rho(span), bounded_range=ranged)]
    if scale > 0 and published:
        parts.append(Guarantee(1 / scale, 0.0, neighboring, "count of the targets left", rho=pure_rho(1 / scale)))
    return Guarantee(
        claim,
        delta,
        neighboring,
        what,
        f"covered rows are removed: the stopping game, {rounds} rounds at coefficient {coefficient:.6g}",
        tuple(parts),
        rounds,
        set_cover_rho(*arguments),
        source=_SOURCE,
    )


def checked_effect(k: int | Effect, published: bool) -> Effect:
    """That of min{T - b / k, -O} for whole numbers k >= 1, or the one given; with a noisy count that is published."""
    if not isinstance(k, Effect):
        checks.integer("k", k, 1)
    elif k == Minimum(None) and not published:
        raise InputError("k", "a whole number for counts that are not published", repr(k), "give that of the score")
    return effect_of(k).counted() if published else effect_of(k)


def _games(
    coefficient: float, rounds: int, k: int | Effect, neighboring: Neighboring, scale: float, published: bool
) -> list[tuple[float, int, float, Effect, Neighboring]]:
    """(coefficient, rounds, rate, effect, neighboring) of each game that bounds the rounds."""
    checks.epsilon(coefficient, "coefficient")
    checks.integer("rounds", rounds, 1, MOST_ROUNDS)
    non_negative("scale", scale)
    scales = [scale] if published or scale == 0 else [0.0, scale]
    effects = [checked_effect(k, noise_scale > 0) for noise_scale in scales]
    require_relation(neighboring)
    return [
        (coefficient, rounds, 1 / noise_scale if noise_scale else 0.0, effect, neighboring)
        for noise_scale, effect in zip(scales, effects, strict=True)
    ]
