"""Writes set-cover.md: what private set cover may spend, by rule and rounds, and the exact law of one halfplane.

Run: python scripts/set_cover_figures.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from arrangement import Arrangement, arrangement, plot_arrangement
from cover_rules import RULES, coefficients, plot_set_cover
from pages import about, figure_path, options, table, write_page

from dpjax.concepts import ConvexPolygons, Hypothesis, UniformPlane
from dpjax.core import keys
from dpjax.core.types import Neighboring
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.score import Score

EPSILON, DELTA, K = 1.0, 1e-6, 4
ROUNDS, SHOWN = (4, 8, 14, 24, 48, 96), 24
D, ROWS, COEFFICIENT = 2**10, 12, 1.5
HEAD = f"""# Private set cover: what a round may spend

Private set cover spends privacy in rounds, and the accounting determines how strongly a round may prefer good sets. One
of the two forms of the stopping game, which charges a row only until it is covered, allows the largest coefficient at
every number of rounds. The last figure shows the exact law from which a round draws, beside a sampler's frequencies.

Written by `scripts/set_cover_figures.py`. A round draws h with density proportional to mu(h) exp(coefficient q(h)),
q(h) = min(T(h) - b / k, -O(h)): the accounting determines the coefficient, and the number of rows needed is inversely
proportional to it. epsilon = {EPSILON:g}, delta = {DELTA:g}, k = {K} where counts are exact, a fifth of epsilon for
noisy counts (half in "Claim 3.4, corrected").

"""
MIDDLE = """
![Coefficients and curves](figures/set-cover.png)

A row is exposed until it is covered, and is then removed. A rule that composes rounds does not use this, and its
coefficient falls like one over sqrt(m) or faster; a closed form for any number of rounds does not use that there are
few. The stopping game uses both. Noisy counts that are not published allow the larger number of its two rows. Under
replace-one exact counts are more expensive than noisy ones from 8 rounds on: a row that changes its class changes b / k
in all rounds until it is covered. On the right one coefficient for all: the game's bound on delta against round-by-
round accounting, and the exact law of two databases (`scripts/papers/cover_instance.py`), a lower bound for every
correct rule.

## The law of one halfplane

{rows} rows, coefficient {coefficient:g}, d = {d}: {cells} cells, of which the {few} most likely have {share:.0%} of the
probability and {area:.1%} of the kinematic measure. Probabilities are exact; {trials} draws of the rejection sampler
are beside them.

"""
TAIL = """
![Arrangement](figures/arrangement.png)
"""


def main(out: Path, seed: int, trials: int, rounds: Sequence[int] = ROUNDS, shown: int = SHOWN) -> None:
    """Tables and both figures."""
    config = {"script": "set_cover_figures", "epsilon": EPSILON, "delta": DELTA, "k": K, "rounds": list(rounds)}
    page, carried = HEAD, about(config, seed)
    for relation in (Neighboring.ADD_OR_REMOVE_ONE, Neighboring.REPLACE_ONE):
        found = {rule: coefficients(rule, rounds, K, EPSILON, DELTA, relation) for rule in RULES}
        lines = [[RULES[rule], *(f"{value:.4f}" for value in values)] for rule, values in found.items() if values]
        page += f"{relation.value}:\n\n" + table(("rule", *(f"m = {m}" for m in rounds)), lines) + "\n"
    title = "Private set cover: what a round may spend"
    plot_set_cover(figure_path(out, "set-cover"), carried, rounds, K, EPSILON, DELTA, shown, title)
    write_page(out / "set-cover.md", page.rstrip("\n") + "\n" + _one_halfplane(out, seed, trials, config) + TAIL)


def _one_halfplane(out: Path, seed: int, trials: int, config: dict) -> str:
    x, target = _rows(seed)
    budget = float(target.sum())
    law = arrangement(x, target, D, budget, K, COEFFICIENT)
    seen = _drawn(x, target, budget, law, seed, trials)
    best = np.argsort(-law.chance)[:6]
    lines = [
        (
            int(law.hit[cell, target].sum()),
            int(law.hit[cell, ~target].sum()),
            *(float(column[cell]) for column in (law.area, law.chance, seen)),
        )
        for cell in best
    ]
    given = config | {"d": D, "coefficient": COEFFICIENT}
    plot_arrangement(
        x,
        target,
        D,
        budget,
        K,
        COEFFICIENT,
        figure_path(out, "arrangement"),
        about(given, seed),
        "The exact law of one private halfplane",
        f"{ROWS} rows, coefficient {COEFFICIENT:g}; areas are the kinematic measure, shades probabilities",
    )
    text = MIDDLE.format(
        rows=ROWS,
        coefficient=COEFFICIENT,
        d=D,
        cells=len(law.chance),
        few=len(best),
        trials=trials,
        share=law.chance[best].sum(),
        area=law.area[best].sum(),
    )
    head = ("targets hit", "others hit", "share of the measure", "probability", "share of the draws")
    return text + table(head, lines)


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform rows of the square; targets are outside of a random polygon, as when one is learned."""
    concepts = ConvexPolygons(D, K)
    x = UniformPlane(D).draw(keys.stream(keys.root(seed), "sample"), ROWS)
    inside = jax.jit(concepts.predict)(Hypothesis.of(concepts.targets(1, seed)), x)
    return np.asarray(x).astype(np.int64), ~np.asarray(inside)[:, 0]


def _drawn(x: np.ndarray, target: np.ndarray, budget: float, law: Arrangement, seed: int, trials: int) -> np.ndarray:
    """The share of draws in each cell."""
    family, rows = HalfPlanes(D), jnp.asarray(x, jnp.int32)

    def draw(key: jax.Array) -> jax.Array:
        score = Score.of(jnp.float32(budget), K, jnp.float32(COEFFICIENT))
        cut = family.select(key, rows, jnp.asarray(target), jnp.asarray(~target), score)
        return family.hits(cut, rows)

    own = jax.random.split(keys.stream(keys.root(seed), "draws"), trials)
    hits = np.asarray(jax.jit(lambda every: jax.lax.map(draw, every))(own))
    codes = law.hit @ (1 << np.arange(len(x)))
    return np.bincount(np.searchsorted(codes, hits @ (1 << np.arange(len(x)))), minlength=len(codes)) / trials


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=20_000)
    main(given.out, given.seed, given.trials)
