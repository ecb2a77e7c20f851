"""Writes planted-bugs.md: what a statistical audit needs to refute mechanisms with a known mistake.

Each claims epsilon = 1 and its delta, and none satisfies the claim. They show that an audit has power.

Run: python scripts/planted_bugs.py [--out FOLDER]
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pages import folder, write_page

from dpjax import audit
from dpjax import mechanisms as m
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit import Pair, Target
from dpjax.audit.target.databases import show_numbers
from dpjax.core import random
from dpjax.core.types import Neighboring, Privacy

Run = Callable[[Array, Any, Privacy], Any]


@dataclass(frozen=True)
class Bug:
    """A wrong mechanism: its bug, two neighbors that expose it, the claimed delta, and enough trials."""

    what: str
    run: Run
    pair: tuple[Any, Any]
    delta: float
    trials: int
    relation: Neighboring = Neighboring.REPLACE_ONE

    def target(self, epsilon: float = 1.0) -> Target:
        """The mechanism with its claim (epsilon, delta)."""
        first, second = (np.asarray(part, np.int32) for part in self.pair)
        claim = Guarantee(epsilon, self.delta, self.relation, self.what)
        return Target(self.what, lambda e, d: claim, self.run, list, lambda: [Pair(first, second, show_numbers)])


def scale_too_small(key: Array, data: Any, p: Privacy) -> Array:
    """Laplace noise of scale 0.8 / epsilon."""
    return data.astype(jnp.float32) + jnp.float32(0.8) / p.epsilon * random.laplace(key)


def without_the_half(key: Array, data: Any, p: Privacy) -> Array:
    """The exponential mechanism with exp(epsilon score)."""
    return m.exponential(jnp.stack([27 + data, 31 - data]), 2 * p.epsilon).sample(key)


def wrong_sensitivity(key: Array, data: Any, p: Privacy) -> Array:
    """An answer of sensitivity 2 under noise for 1."""
    return m.laplace_mechanism(2 * data, p.epsilon, sensitivity=1).sample(key)


def low_threshold(key: Array, data: Any, p: Privacy) -> Any:
    """The tight threshold, lowered by 1: a count of 1 is treated like a count of 2."""
    return m.stability_histogram((data + jnp.sign(data))[None], p.epsilon, 0.01).sample(key)[0]


def skips_its_noise(key: Array, data: Any, p: Privacy) -> Array:
    """Adds no noise with probability 1e-3."""
    skip, noise = jax.random.split(key)
    exact = random.uniform(skip) < jnp.float32(1e-3)
    return jnp.where(exact, data.astype(jnp.float32), m.laplace_mechanism(data, p.epsilon, sensitivity=1).sample(noise))


def row_order(key: Array, data: Any, p: Privacy) -> Array:
    """data: two rows. Ties are broken by their order."""
    return jnp.where(data[0] == data[1], m.randomized_response(data[0], p.epsilon).sample(key), data[0])


def leaks_size(key: Array, data: Any, p: Privacy) -> tuple[Array, Array]:
    """data: rows and mask. A private sum, returned with the exact number of rows."""
    rows, mask = data
    total = jnp.sum(jnp.where(mask > 0, rows, 0), dtype=jnp.int32)
    return m.laplace_mechanism(total, p.epsilon, sensitivity=1).sample(key), jnp.sum(mask, dtype=jnp.int32)


def svt(threshold_noise: float, query_noise: float, shows: str, stops: bool = True) -> Run:
    """AboveThreshold on queries 0, ..., with noise in scales of 1/epsilon; shows: "bits", or "values" with noise."""

    def run(key: Array, data: Any, p: Privacy) -> Array:
        of_threshold, of_queries = jax.random.split(key)
        values = data.astype(jnp.float32)
        noise = random.laplace(of_queries, values.shape) * (jnp.float32(query_noise) / p.epsilon)
        bar = random.laplace(of_threshold) * (jnp.float32(threshold_noise) / p.epsilon)
        above = values + noise >= bar
        active = jnp.cumsum(above, dtype=jnp.int32) - above.astype(jnp.int32) == 0 if stops else jnp.ones_like(above)
        answer = above & active
        return jnp.where(answer, values + noise, -jnp.float32(99)) if shows == "values" else answer

    return run


_RUNS = [0] * 8 + [1] * 8, [1] * 8 + [0] * 8
BUGS = (
    Bug("Laplace noise of scale 0.8 / epsilon", scale_too_small, (0, 1), 0.0, 10_000),
    Bug("exponential mechanism without the 1/2", without_the_half, (0, 1), 0.0, 5_000),
    Bug("sensitivity 1 where it is 2", wrong_sensitivity, (0, 1), 0.0, 5_000),
    Bug("stability histogram, tight threshold lowered by 1", low_threshold, (1, 0), 0.01, 40_000),
    Bug("skips its noise with probability 1e-3", skips_its_noise, (0, 1), 0.0, 200_000),
    Bug("breaks ties by the order of rows", row_order, ([0, 1], [1, 1]), 0.0, 5_000),
    Bug(
        "leaks n",
        leaks_size,
        ([[1, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]]),
        0.0,
        1_000,
        Neighboring.ADD_OR_REMOVE_ONE,
    ),
    Bug("sparse vector: no noise on the threshold", svt(0, 2, "bits"), ([0] * 12, [1] * 12), 0.0, 20_000),
    Bug(
        "sparse vector: shows its answers with the noise of the test",
        svt(2, 4, "values"),
        ([0] * 8 + [1], [1] * 8 + [0]),
        0.0,
        800_000,
    ),
    Bug("sparse vector: never stops", svt(2, 4, "bits", stops=False), _RUNS, 0.0, 20_000),
    Bug(
        "sparse vector: no noise on the queries, never stops",
        svt(2, 0, "bits", stops=False),
        ([0, 1], [1, 0]),
        0.0,
        20_000,
    ),
    Bug(
        "sparse vector: a quarter of the noise on the queries",
        svt(2, 1, "bits"),
        ([1, 1, 1, 0], [0, 0, 0, 1]),
        0.0,
        20_000,
    ),
    Bug("sparse vector: no noise on the queries", svt(2, 0, "bits"), ([1, 0], [0, 1]), 0.0, 20_000),
)

SEEDS = 2
HEAD = f"""# Do audits find planted bugs?

Mechanisms with one typical mistake each are audited without a hint. Every mistake is found in every audit, in seconds;
one that changes little, or changes something rarely, takes more trials.

Written by `scripts/planted_bugs.py`: mechanisms that claim epsilon = 1 and are wrong, audited at 95% confidence without
a given event. Trials: per database, training included. Refuted: of {SEEDS} audits with different seeds. Seconds
of one audit (compilation included) and certified epsilon: medians. That script holds them.

| mistake | delta | trials a side | refuted | seconds | certified epsilon |
|---|---|---|---|---|---|
"""


def main(path: Path) -> None:
    """Audits each one, and writes the table."""
    rows = []
    for bug in BUGS:
        found = [audit.statistical(bug.target(), Privacy(1.0, 1e-6), trials=bug.trials, seed=i) for i in range(SEEDS)]
        refuted = sum(report.violated for report in found)
        seconds = sorted(report.details["seconds"] for report in found)[SEEDS // 2]
        best = sorted(report.epsilon_found for report in found)[SEEDS // 2]
        rows.append(
            f"| {bug.what} | {bug.delta:g} | {bug.trials} | {refuted} of {SEEDS} | {seconds:.1f} | {best:.2f} |"
        )
        print(rows[-1], flush=True)
    write_page(path, HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(folder(__doc__) / "planted-bugs.md")
