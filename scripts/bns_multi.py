"""Writes docs/bns-multi.md from the table.json of `dpjax table bns-multi`: exponents, every bracket, the figure.

Run: python scripts/bns_multi.py [--table results/table/table.json] [--out FOLDER]
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpjax.cli.table import markdown
from dpjax.experiments.reports import figure_path, options, write_page
from dpjax.papers import bns_table as multi_table
from dpjax.plots.table import plot_table

WRITTEN = Path("results/table/table.json")
FREE = 0.1  # how far from the claim an exponent may be
HEAD = """# The tables of Bun, Nissim and Stemmer, measured

Section 1.3 of "Simultaneous Private Learning of Multiple Concepts" states, in O(.), how the number of rows that k
concepts need together grows with k. Each claim is measured as an exponent: of k, and for some rows of log |X| and of
the dimension.

    dpjax table bns-multi --out results/table      # an hour on 2 cores; resumable
    python scripts/bns_multi.py                    # this page

alpha = {alpha:g}, beta = {beta:g}, replace-one; pure rows at epsilon = {pure:g} and the others at ({epsilon:g},
{delta:g}), but those in log2 |X| at epsilon = 1; agnostic rows flip {noise:.0%} of the labels, and their errors are
in excess of the best concept's. Points and thresholds have 32 bits, parities {dimension} (uniform examples), the class
of 256 holds all functions on eight elements. The distributions are hard: a single wrong value, or a threshold a few
values away, has error above alpha.

Each n* is bracketed: all k hypotheses are good with probability below {target:g} at the lower end and above {least:g}
at the upper one, and a bracket is wrong with probability at most {error:g}. The fit is of a constant and slope *
logarithm * x^exponent, their sum or their maximum, with the proof's logarithm (of the number of
hypotheses times k over beta) as a factor; if the claim has only one term there is no constant. An interval contains
every exponent that fits all brackets; if there is none, "widened" is the factor by which upper ends were increased,
and the interval has no stated confidence. "Planner" is the theorem's sample size with its constants: the
agnostic theorem if labels are flipped, otherwise the realizable one; a dash if the learner has no such theorem,
or if its static numbers are below those of the proof. "No learner below" is the largest of the lower bounds of
`dpjax.experiments.lower_bounds`, with constants: with fewer rows no private learner succeeds on every distribution.

"""
TAIL = """
![n* along each axis](figures/bns-multi.png)
"""


def main(written: Path, out: Path) -> None:
    """Page and figures."""
    answer = json.loads(written.read_text())
    config, pure, approximate = answer["config"], multi_table.PURE, multi_table.APPROXIMATE
    page = HEAD.format(
        alpha=multi_table.ALPHA, beta=multi_table.BETA, pure=float(pure.epsilon),
        epsilon=float(approximate.epsilon), delta=float(approximate.delta), noise=multi_table.NOISE,
        dimension=multi_table.DIMENSION, target=1 - multi_table.BETA, least=1 - multi_table.BETA - config["gamma"],
        error=1 - config["confidence"],
    )  # fmt: skip
    write_page(out / "bns-multi.md", page + _verdict(answer) + "\n" + markdown(answer) + TAIL)
    plot_table(answer, figure_path(out, "bns-multi"))


def _verdict(answer: Mapping[str, Any]) -> str:
    fitted = [(row, abs(row["fit"]["exponent"] - row["claimed"])) for row in answer["rows"] if row["fit"] is not None]
    near = sum(distance <= FREE for _, distance in fitted)
    outside = [row for row, _ in fitted if not row["fit"]["low"] <= row["claimed"] <= row["fit"]["high"]]
    widened = sum(row["fit"]["widened"] > 1 for row in outside)
    row, farthest = max(fitted, key=lambda one: one[1])
    excluding = f"{len(outside)} of the {len(fitted)} intervals exclude the claimed exponent"
    return (
        f"**{near} of {len(answer['rows'])} measured exponents are within {FREE:g} of the claim, and {excluding} "
        f"({widened} of these {len(outside)} had to be widened). The farthest exponent, {farthest:.3f} away, is that "
        f'of "{row["title"]}".**\n'
    )


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=1, files=["table"])
    main(given.table or WRITTEN, given.out)
