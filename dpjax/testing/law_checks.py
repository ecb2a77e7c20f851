"""Checks of a law: its samples follow its support and its log_prob."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpjax import audit
from dpjax.audit.enumeration.outcomes import MASS_TOLERANCE, mass_advice
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.laws.base import Law
from dpjax.testing.findings import Skipped, require, short
from dpjax.testing.success import FALSE_ALARM

_LIMIT = 1 << 13
_TRIALS = 1 << 16
_EXACT = MASS_TOLERANCE  # one rule with exact audits


class LawUnderTest:
    """A law; quick: fewer draws."""

    def __init__(self, law: Any, quick: bool = False):
        if isinstance(law, type):
            raise InputError("law", "an instance", f"the class {law.__name__}", f"call it: {law.__name__}(...)")
        self.law, self.quick = law, quick
        self.trials = _TRIALS >> (2 if quick else 0)

    def support(self) -> Any:
        """Its support with NumPy leaves; `Skipped` if it has none."""
        with jax.enable_x64(True):
            support = self.law.support(_LIMIT)
        if support is None:
            raise Skipped(f"no support of at most {_LIMIT} outcomes")
        return jax.tree.map(np.asarray, support)


def it_has_the_members_of_a_law(subject: LawUnderTest) -> None:
    """It is a pytree that inherits from `dpjax.laws.Law`."""
    require(isinstance(subject.law, Law), "a Law", short(subject.law), "inherit from dpjax.laws.Law")
    leaves = jax.tree.leaves(subject.law)
    known = not any(leaf is subject.law for leaf in leaves)
    advice = "decorate it by jax.tree_util.register_dataclass"
    require(known, "a pytree", f"{type(subject.law).__name__}, a leaf", advice)


def draws_are_marked(subject: LawUnderTest) -> None:
    """``sample`` is one marked draw, for which audits supply the outcome: no random bits outside of it."""
    outside = audit.random_bits_outside(subject.law.sample, jax.random.key(0))
    advice = "decorate sample by dpjax.core.draws.drawn"
    require(not outside, "all random bits inside of a marked draw", short(outside), advice)


def masses_add_up_to_one(subject: LawUnderTest) -> str:
    """The masses of the support, which lists each outcome once; a support larger than the limit is None."""
    support = subject.support()
    mass = np.asarray(support.log_mass)
    require(mass.dtype == np.float64, "log masses float64", mass.dtype, "compute them with 64-bit types enabled")
    total = float(np.exp(logsumexp(mass)))
    advice = mass_advice(subject.law, abs(total - 1), "normalize them")
    require(abs(total - 1) <= _EXACT, "masses that add up to 1", f"{total:.12g}", advice)
    alive = np.flatnonzero(mass > -np.inf)
    rows = [np.ascontiguousarray(leaf).reshape(len(mass), -1) for leaf in jax.tree.leaves(support.outcomes)]
    codes = {b"".join(row[i].tobytes() for row in rows) for i in alive}
    require(len(codes) == len(alive), f"{len(alive)} different outcomes", len(codes), "list each outcome once")
    shapes = jax.eval_shape(subject.law.sample, jax.random.key(0))
    pairs = zip(jax.tree.leaves(support.outcomes), jax.tree.leaves(shapes), strict=True)
    ok = all(outcome.shape[1:] == like.shape and outcome.dtype == like.dtype for outcome, like in pairs)
    require(ok, f"outcomes like {short(shapes)}", short(support.outcomes), "list what sample returns")
    few = subject.law.support(1)
    require(few is None or len(mass) <= 1, "None for support(1)", "a support", "return None above the limit")
    return f"{len(alive)} outcomes"


def log_prob_is_the_mass(subject: LawUnderTest) -> None:
    """``log_prob`` and ``support`` give the same masses."""
    support = subject.support()
    with jax.enable_x64(True):
        told = np.asarray(jax.vmap(subject.law.log_prob)(support.outcomes), np.float64)
    off = np.abs(np.exp(told) - np.exp(support.log_mass))
    at = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
    masses = f"{np.exp(told[at]):.9g} and {np.exp(support.log_mass[at]):.9g} for outcome {at}"
    advice = "compute both from one formula: dpjax.laws.base.listed(outcomes, self.log_prob)"
    require(np.all(off <= _EXACT), "log_prob and support of the same masses", masses, advice)


def samples_follow_the_law(subject: LawUnderTest) -> str:
    """Exact binomial tests of draws against masses, or tails; a correct law fails with probability at most 1e-6."""
    law = subject.law
    if implements(law, Law.log_survival) or law.support(_LIMIT) is not None:
        report = audit.sampler(law, trials=subject.trials, false_alarm=FALSE_ALARM)
        advice = "correct the sampler or log_prob"
        require(report.agrees, "draws that follow the law", f"{report.worst} of {report.trials} draws", advice)
        return f"{report.trials} draws, p-value {report.p_value:.2g}"
    like = jax.eval_shape(law.sample, jax.random.key(0))
    if not (hasattr(like, "dtype") and like.shape == () and jnp.issubdtype(like.dtype, jnp.integer)):
        raise Skipped("a continuous law without log_survival: compare it manually")
    return _whole_numbers(law, subject.trials)


def _whole_numbers(law: Any, trials: int) -> str:
    """For a law on the integers: tests each drawn value against its mass, and all others together."""
    keys = jax.random.split(jax.random.key(7), trials)
    drawn = np.asarray(jax.jit(jax.vmap(law.sample))(keys))
    values = np.arange(drawn.min(), min(drawn.max(), drawn.min() + _LIMIT) + 1).astype(drawn.dtype)
    with jax.enable_x64(True):
        chances = np.exp(np.asarray(jax.vmap(law.log_prob)(jnp.asarray(values)), np.float64))
    total = float(chances.sum())
    require(total <= 1 + _EXACT, "masses that add up to at most 1", f"{total:.9g}", "normalize log_prob")
    counts = np.array([int(np.sum(drawn == value)) for value in values])
    chances, counts = np.append(chances, max(0.0, 1 - total)), np.append(counts, trials - counts.sum())
    each = np.minimum(binom.cdf(counts, trials, chances), binom.sf(counts - 1, trials, chances))
    at = int(np.argmin(each))
    p_value = min(1.0, 2 * len(each) * each[at])
    name = values[at] if at < len(values) else "any other number"
    tally = f"{name}: {counts[at]} times, expected {trials * chances[at]:.6g}"
    require(p_value >= FALSE_ALARM, "draws that follow log_prob", tally, "correct the sampler or log_prob")
    return f"{trials} draws, p-value {p_value:.2g}"
