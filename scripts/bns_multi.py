"""Writes bns-multi.md from the table.json of `dpjax table bns-multi`: exponents, every bracket, the figure.

Run: python scripts/bns_multi.py [--table results/table/table.json] [--out FOLDER]
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pages import figure_path, options, write_page

from dpjax.cli.commands.table import inside, markdown
from dpjax.papers import bns_table as multi_table
from dpjax.plots.table import plot_table

WRITTEN = Path("results/table/table.json")
NEAR = 0.1  # of an interval to its claim
HEAD = """# How rows grow with the number of concepts: a paper's tables, measured

A paper's tables say in O(.) notation how the number of rows grows with the number of concepts. Here each growth is
measured as an exponent with an interval, for learners that run, and no measurement contradicts its claim. The planners'
numbers, which hold for every distribution, are larger than what these distributions need.

Section 1.3 of "Simultaneous Private Learning of Multiple Concepts" states, in O(.), how the number of rows that k
concepts need together grows with k. Each claim is measured as an exponent: of k, and for some rows of log |X| and of
the dimension.

    dpjax table bns-multi --trials 2000 --out results/table      # hours on 2 cores; resumable
    python scripts/bns_multi.py                                  # this page

## What is measured

alpha = {alpha:g}, beta = {beta:g}, replace-one; pure rows at epsilon = {pure:g} and the others at ({epsilon:g},
{delta:g}), but those in log2 |X| at epsilon = 1; agnostic rows flip {noise:.0%} of the labels, and their errors are
in excess of the best concept's. Points and thresholds have 32 bits, parities {dimension} (uniform examples), the class
of 256 holds all functions on eight elements. The distributions are hard: a single wrong value, or a threshold a few
values away, has error above alpha.

Each n* is bracketed: all k hypotheses are good with probability below {target:g} at the lower end and at least
{target:g} at the upper one; where trials leave the upper end open, or find a larger one, it is the planner's number,
which is proved. All brackets of a row hold together with probability {confidence:g}.

The section of a row names the learner that was measured, as a study does. `Independent(KLN)` runs `KLN` once for each
of the k concepts. `GenericLearner` makes a synthetic database by a sanitizer, `Hierarchy` or `PointCounts`, and chooses
k concepts with it; `HashedPoints` chooses them among buckets of random hash functions. The epsilons of the k choices
add up; with "composition=zcdp" they are composed by zCDP. `PointLearner` and `ParityLearner` learn all k concepts
together.

## How an exponent is fitted

A claim is an exponent b of curves c + a L x^b, or max(c, a L x^b), with c and a at least 0. L is the proof's logarithm
(of the number of hypotheses times k over beta), 1 on other axes than k; if the claim has only one term, c = 0. Where
the planner divides epsilon between a sanitizer and the choices, c and a are divided by these parts, which follow k;
this, too, was decided after brackets of such a row had been seen, which no curve without the parts fits.

The interval has every b with a curve that misses no bracket by more than a factor {allowance:.3f} at either end, in all
one step of the grid of n. The factor is a choice, the same for all rows, made after an earlier version of this table:
O(.) hides slow factors. If n* is that near to a curve of exponent b, then b is in the interval with probability
{confidence:g}, for each row by itself. "Claim within" is the least factor for the claimed exponent,
1.000 if a curve is in all brackets; "curve of the claim" is that curve. "Measured" is the exponent that needs the least
factor.

## The columns of bounds

"Planner" is the theorem's sample size with its constants: the agnostic theorem if labels are flipped, otherwise the
realizable one; a dash if the learner has no such theorem, or if its static numbers are below those of the proof. "No
private learner below" is the largest of the lower bounds of `dpjax.experiments.sweep.lower_bounds`, with constants:
with fewer rows no private learner succeeds on every distribution.

## Exponents

"""
TAIL = """
## Figure

![n* along each axis](figures/bns-multi.png)
"""


def main(written: Path, out: Path) -> None:
    """Page and figures."""
    answer = json.loads(written.read_text())
    config, pure, approximate = answer["config"], multi_table.PURE, multi_table.APPROXIMATE
    page = HEAD.format(
        alpha=multi_table.ALPHA,
        beta=multi_table.BETA,
        pure=float(pure.epsilon),
        epsilon=float(approximate.epsilon),
        delta=float(approximate.delta),
        noise=multi_table.NOISE,
        dimension=multi_table.DIMENSION,
        target=1 - multi_table.BETA,
        confidence=config["confidence"],
        allowance=multi_table.ALLOWANCE,
    )
    write_page(out / "bns-multi.md", page + _verdict(answer) + "\n" + markdown(answer) + TAIL)
    plot_table(answer, figure_path(out, "bns-multi"))


def _verdict(answer: Mapping[str, Any]) -> str:
    rows = [row for row in answer["rows"] if row["fit"] is not None]
    outside = [row for row in rows if not inside(row["fit"], row["claimed"])]
    exact = sum(row["fit"]["claim"]["miss"] <= 1 + 1e-9 for row in rows)
    worst = max([1.0, *(row["fit"]["claim"]["miss"] for row in rows)])
    text = (
        f"**{len(rows) - len(outside)} of {len(answer['rows'])} intervals have the claimed exponent; for {exact} of "
        f"them a curve of the claim is in all brackets, ends included, and all are within a factor {worst:.3f}."
    )
    claims = sorted({row["claimed"] for row in rows})
    alone = sum([b for b in claims if inside(row["fit"], b)] == [row["claimed"]] for row in rows)
    text += f" {alone} have it and no other of the exponents {', '.join(f'{b:g}' for b in claims)}."
    reaches = [(_reach(row), row["title"]) for row in rows if row["fit"]["low"] is not None]
    if reaches:
        reach, title = max(reaches)
        near = sum(one <= NEAR for one, _ in reaches)
        text += (
            f" {near} have no exponent farther than {NEAR:g} from the claim, and none has one farther than {reach:.3f} "
            f'("{title}").'
        )
    return text + "**\n" + "".join(f"\n{one}\n" for one in (*map(_why, outside), *_without_parts(rows)))


def _reach(row: Mapping[str, Any]) -> float:
    return max(row["fit"]["high"] - row["claimed"], row["claimed"] - row["fit"]["low"])


def _without_parts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the planner's parts of the budget explain."""
    by_title = {row.title: row for row in multi_table.rows()}
    found = []
    for row in rows:
        of_choices = [part for _, part in row["fit"]["parts"]]
        if max(of_choices) > 1.01 * min(of_choices):
            whole = replace(by_title[row["title"]], parts=lambda setting: (1.0, 1.0))
            fit = multi_table.fit(whole, row["points"], 0.0)
            found.append(f'{fit["claim"]["miss"]:.3f} ("{row["title"]}")')
    return [f"Without the parts of epsilon these claims would be within {', '.join(found)}."] if found else []


def _why(row: Mapping[str, Any]) -> str:
    """The brackets that the claim's curve misses by more than the allowance."""
    fit, ends = row["fit"], {one["value"]: (one["n_low"], one["n_high"]) for one in row["points"]}
    missed = []
    for value, n in zip(fit["values"], fit["claim"]["values"], strict=True):
        low, high = ends[value]
        if max(low / n, n / high) > fit["allowance"]:
            missed.append(f"{n:.0f} for ({low}, {high}] at {row['axis']} = {value}")
    return (
        f'"{row["title"]}" is outside: the nearest curve with exponent {row["claimed"]:g} misses brackets by a factor '
        f"{fit['claim']['miss']:.3f}, {', '.join(missed)}."
    )


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=1, files=["table"])
    main(given.table or WRITTEN, given.out)
