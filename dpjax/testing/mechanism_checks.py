"""Checks of a mechanism with its claim: purity, draws, queries, and privacy."""

from typing import Any

import jax

from dpjax import audit
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit import Target
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.testing.findings import Skipped, require, short
from dpjax.testing.privacy import BUDGETS, audited


class MechanismUnderTest:
    """A `dpjax.audit.Target`; quick, seconds: see `LearnerUnderTest`."""

    def __init__(self, target: Target, quick: bool = False, seconds: float = 20.0):
        if not isinstance(target, Target):
            kind = f"the class {target.__name__}" if isinstance(target, type) else type(target).__name__
            raise InputError("mechanism", "a dpjax.audit.Target", kind, "see `dpjax new mechanism` for an example")
        self.target, self.quick, self.seconds = target, quick, seconds

    def first(self) -> Any:
        """A database of its universes, or of its pairs."""
        for universe in self.target.universes():
            return jax.tree.map(lambda part: part[0], universe.databases)
        for pair in self.target.pairs():
            return pair.first
        raise InputError("target", "databases to compare", "none", "give the target universes or pairs")


def it_claims_a_guarantee(subject: MechanismUnderTest) -> str:
    """A `Guarantee` that names its relation, and is at most the budget."""
    for budget in BUDGETS:
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        claim = subject.target.claim(epsilon, delta)
        require(isinstance(claim, Guarantee), "a dpjax.accounting.Guarantee", short(claim), "return one")
        actual = f"({claim.epsilon:.9g}, {claim.delta:.9g}) at the budget ({epsilon:g}, {delta:g})"
        ok = claim.epsilon <= epsilon * (1 + 1e-9) and claim.delta <= delta * (1 + 1e-9)
        require(ok, "a claim of at most the budget", actual, "claim the cost of the numbers that run")
    return f"{claim.neighboring.value}: {claim.what}"


def it_is_traced(subject: MechanismUnderTest) -> None:
    """``run(key, database, plan)`` can be compiled, and returns arrays."""
    plan = subject.target.plan(BUDGETS[0])
    output = jax.eval_shape(subject.target.run, jax.random.key(0), subject.first(), plan)
    advice = "return the outcome of law.sample(key)"
    require(jax.tree.leaves(output), "arrays", short(output), advice)


def all_randomness_comes_from_laws(subject: MechanismUnderTest) -> None:
    """Random bits appear only inside draws from laws."""
    if not subject.target.repeatable:
        raise Skipped("it has randomness of its own")
    plan = subject.target.plan(BUDGETS[0])
    outside = audit.random_bits_outside(subject.target.run, jax.random.key(0), subject.first(), plan)
    advice = "return a law and sample it, or decorate the sampler by dpjax.core.draws.drawn"
    require(not outside, "draws from laws", short(outside), advice)


def it_asks_within_its_sensitivity(subject: MechanismUnderTest) -> str:
    """Queries to dpjax's mechanisms inside it change on neighbors by at most their stated sensitivity."""
    plan, first = subject.target.plan(BUDGETS[0]), subject.first()
    jaxpr = jax.make_jaxpr(subject.target.run)(jax.random.key(0), first, plan)
    if "dpjax_asked" not in str(jaxpr):
        raise Skipped("it states no sensitivity by dpjax.core.draws.asked")
    if not subject.target.pairs():
        raise Skipped("the target has no pairs")
    report = audit.replay(subject.target, Privacy(1.0, 1e-6))
    witness = f"{report.witness}"
    require(not report.violated, "changes within the sensitivity", witness, "state the sensitivity that neighbors have")
    return report.evidence


def no_guarantee_is_exceeded(subject: MechanismUnderTest) -> str:
    """Exactly over the target's universes if its law is finite, else by a test on its pairs."""
    return audited(subject.target, subject)
