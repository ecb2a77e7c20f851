"""Writes audit-power.md: the bounds on epsilon that statistical audits find, beside those of an oracle.

Run: python scripts/audit_power.py [--out FOLDER]
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from pages import folder, write_page
from scipy.stats import binom, norm

from dpjax import audit, laws
from dpjax import mechanisms as m
from dpjax.accounting import Guarantee
from dpjax.audit.target.databases import show_numbers
from dpjax.core.types import Neighboring, Privacy

SIZES = ((1000, 60), (10_000, 20), (100_000, 6))  # trials on each database, and audits
DELTA = 1e-5
E = float(np.e)
HEAD = """# How much of epsilon a statistical audit finds

A statistical audit certifies a lower bound on epsilon from samples alone. The table compares its bounds with those of
an oracle that knows the best event beforehand. With many trials an audit that knows nothing of the mechanism loses
little against the oracle; knowing the law helps most where trials are few. How much of the claim can be certified
depends on the mechanism, and is least for the Gaussian one, whose evidence lies in rare events.

Written by `scripts/audit_power.py`: mean lower bounds on epsilon at 95% confidence of mechanisms that claim epsilon = 1
(the Gaussian one with delta 1e-5), by trials on each database. **oracle**: one event, the best one, known
beforehand and tested on all trials at the whole level. **nothing known**: `audit.statistical` as it is; a fifth of the
trials is for training. **law known**: with `KnownLaw`. Guesses count events in both directions, so audits of symmetric
mechanisms may find more than this oracle. In brackets: audits that refuted the claim, of all audits; it is true, and
the level is 5%. Standard errors of the means: about .01 at 1000 trials, .006 at 10000, .004 at 100000.

| mechanism | trials | oracle | nothing known | law known |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """A mechanism on the databases 0 and 1, and the probabilities of the events that may be best."""

    name: str
    law: Callable[[Any, Any], Any]
    events: tuple[tuple[float, float], ...]
    delta: float = 0.0
    plan: Callable[[Privacy], Any] | None = None

    def target(self, known: bool) -> audit.Target:
        """For an audit that knows the law, or not."""
        claim = Guarantee(1.0, self.delta, Neighboring.REPLACE_ONE, self.name)
        pair = audit.Pair(np.int32(0), np.int32(1), show_numbers)
        how: dict[str, Any] = {"known": audit.KnownLaw(self.law)} if known else {}
        how |= {"plan": self.plan} if self.plan else {}
        run = lambda key, data, plan: self.law(data, plan).sample(key)  # noqa: E731
        return audit.Target(self.name, lambda epsilon, delta: claim, run, list, lambda: [pair], **how)

    def oracle(self, n: int) -> float:
        """The largest mean bound of one of the events."""
        best = max(self.events, key=lambda event: self._mean(event, n, cells=16) if len(self.events) > 1 else 0.0)
        return self._mean(best, n)

    def _mean(self, event: tuple[float, float], n: int, **how: int) -> float:
        """Over 11 quantiles of each of its counts."""
        steps = (np.arange(11) + 0.5) / 11
        x, y = np.meshgrid(*(binom.ppf(steps, n, chance) for chance in event))
        return float(audit.epsilon_lower(x, n, y, n, self.delta, **how).mean())


def _laplace(data: Array, p: Privacy) -> Any:
    return m.laplace_mechanism(data, p.epsilon, sensitivity=1)


def _discrete(data: Array, plan: m.DiscreteLaplacePlan) -> Any:
    return m.discrete_laplace_mechanism(data, plan, sensitivity=1)


def _response(data: Array, p: Privacy) -> Any:
    return m.randomized_response(data, p.epsilon, categories=5)


def _one_sided(data: Array, p: Privacy) -> Any:
    rare = 0.5 * jnp.exp(-p.epsilon * data.astype(jnp.float32))
    return laws.Categorical(jnp.log(jnp.stack([rare, 1 - rare])))


def _gaussian(data: Array, plan: m.GaussianPlan) -> Any:
    return m.gaussian_mechanism(data, plan, sensitivity=1)


def _exponential(data: Array, p: Privacy) -> Any:
    return m.exponential(jnp.stack([4 - data, 0 * data, 3 + data, 2 + 0 * data]), p.epsilon)


def _of_scores() -> tuple[tuple[float, float], ...]:
    """All sets of outcomes of the exponential mechanism."""
    first, second = (np.exp(np.array(scores) / 2) for scores in ([4, 0, 3, 2], [3, 0, 4, 2]))
    sets = (np.arange(1, 15)[:, None] >> np.arange(4)) & 1
    return tuple(zip(sets @ first / first.sum(), sets @ second / second.sum(), strict=True))


def _cases() -> list[Case]:
    sigma = float(m.gaussian_plan(Privacy(1.0, DELTA), sensitivity=1).sigma)
    tails = tuple((norm.cdf(t / sigma), norm.cdf((t - 1) / sigma)) for t in np.linspace(-3 * sigma, 3 * sigma, 25))
    tight = ((0.5, 0.5 / E),)
    return [
        Case("Laplace", _laplace, tight),
        Case(
            "discrete Laplace",
            _discrete,
            ((E / (1 + E), 1 / (1 + E)),),
            plan=lambda privacy: m.discrete_laplace_plan(float(privacy.epsilon), sensitivity=1),
        ),
        Case("randomized response, 5 categories", _response, ((E / (4 + E), 1 / (4 + E)),)),
        Case("one event in one direction", _one_sided, tight),
        Case("exponential, 4 scores, true epsilon .5", _exponential, _of_scores()),
        Case("Gaussian", _gaussian, tails, DELTA, lambda privacy: m.gaussian_plan(privacy, sensitivity=1)),
    ]


def row(case: Case, n: int, audits: int) -> str:
    """A row of the table."""
    cells = [f"{case.oracle(n):.3f}"]
    for known in (False, True):
        target, privacy = case.target(known), Privacy(1.0, case.delta)
        found = [audit.statistical(target, privacy, trials=n, seed=seed) for seed in range(audits)]
        refuted = sum(report.violated for report in found)
        cells.append(f"{np.mean([report.epsilon_found for report in found]):.3f} ({refuted} of {audits})")
    return f"| {case.name} | {n} | {' | '.join(cells)} |"


def main(path: Path, sizes: tuple[tuple[int, int], ...] = SIZES) -> None:
    """Audits each mechanism, and writes the table."""
    rows = []
    for n, audits in sizes:
        for case in _cases():
            rows.append(row(case, n, audits))
            print(rows[-1], flush=True)
    write_page(path, HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(folder(__doc__) / "audit-power.md")
