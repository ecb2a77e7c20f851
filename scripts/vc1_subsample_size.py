"""Writes vc1-subsample-size.md: the subsamples of the improper learner, by a dimension-free bound.

Run: python scripts/vc1_subsample_size.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Sequence
from pathlib import Path

from pages import about, figure_path, options, table, write_page

from dpjax.concepts import Domain, Thresholds
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.n_star import cells_in, rate
from dpjax.experiments.sweep.hard_tasks import hard_thresholds
from dpjax.experiments.sweep.setting import Setting
from dpjax.learners import ImproperVC1
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.theory.vc1 import printed_subsample_size, subsample_size

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.05
ALPHAS, MANY, T = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01), (60, 120, 240, 480, 960, 1920, 3840), 453
HEIGHTS = (64, 1024, 65536, 2**40)
BOUNDS = {
    "printed": ("printed, by the dimension", printed_subsample_size),
    "improper": ("without dimension", lambda t, alpha, beta: subsample_size(t, alpha, beta / 3)),
}
HEAD = f"""# How large a subsample has to be

The improper learner of a class of VC dimension 1 makes a hypothesis of each of many subsamples. The printed proof wants
each subsample to be good for all concepts of the class; it is enough that most of them hit one segment of the target's
path, which takes far fewer examples. With so few the learner still succeeds in every trial.

Written by `scripts/vc1_subsample_size.py`. The improper learner of a class of VC dimension 1 takes the private
median of the deepest points that t subsamples of m examples determine. In the printed proof every subsample has to be
good, by a uniform bound over the class; here at most t/6 of them may miss the bottom segment of mass alpha on the
target's
path, which one of m examples hits with probability 1 - (1 - alpha)^m (`theory.vc1.subsample_size`). beta = {BETA:g}.

"""
MIDDLE = f"""
![m against alpha and against t](figures/vc1-subsample-size.png)

At epsilon = {EPSILON:g}, delta = {DELTA:g}, alpha = {ALPHA:g}, beta = {BETA:g} and t = {T}: m = {{ours}} instead of
{{printed}}, {{ratio:.0f}} times less. With n = {T} x {{ours}} = {{rows}} examples, thresholds of these heights, the
exponential median, and the distribution on which a single threshold is good (two adjacent atoms of probability
1.01 alpha, the rest at both ends):

"""
TAIL = f"""
Interval: exact, confidence 0.95, both sides. Claimed: at least {1 - BETA:g}. The last column is the plan
of `ImproperVC1(subsamples="fewest")`, in which a pure median leaves all of delta to the choice of the node.
"""


def main(out: Path, seed: int, trials: int, heights: Sequence[int] = HEIGHTS, store: Path | None = None) -> None:
    """Computes both bounds, measures success, writes page and figure."""
    rows = [(alpha, *(bound(T, alpha, BETA) for _, bound in BOUNDS.values())) for alpha in ALPHAS]
    ours, printed = subsample_size(T, ALPHA, BETA / 3), printed_subsample_size(T, ALPHA, BETA)
    measured = []
    with cells_in(store, seed) as cells:
        for height in heights:
            concepts = Thresholds(Domain(height + 1))
            privacy, accuracy = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)
            planned = int(ImproperVC1(concepts, "exponential", "fewest").plan(privacy, accuracy).subsamples)
            subsamples = max(T, planned)
            learner = ImproperVC1(concepts, "exponential", subsamples)
            work = hard_thresholds(concepts, ALPHA)
            found = rate(Setting(learner, work, 1, subsamples * ours, EPSILON, DELTA, ALPHA, BETA), cells, trials)
            measured.append(
                (f"2^{height.bit_length() - 1}", found.trials, found.successes, str(found), f"{planned} x {ours}")
            )
            print(*measured[-1], flush=True)
    page = HEAD + table(
        ("alpha", f"m printed, t = {T}", f"m, t = {T}", "ratio"), [(*row, row[1] / row[2]) for row in rows]
    )
    page += MIDDLE.format(ours=ours, printed=printed, ratio=printed / ours, rows=T * ours)
    page += table(("height", "trials", "successes", "success", "planned t x m"), measured) + TAIL
    write_page(out / "vc1-subsample-size.md", page)
    panels = [
        Panel(
            f"$t = {T}$",
            r"error $\alpha$",
            "examples of a subsample $m$",
            [
                Line(label, name, ALPHAS[::-1], [bound(T, alpha, BETA) for alpha in ALPHAS[::-1]], kind="theorem")
                for name, (label, bound) in BOUNDS.items()
            ],
        ),
        Panel(
            rf"$\alpha = {ALPHA:g}$",
            "subsamples $t$",
            "examples of a subsample $m$",
            [
                Line(label, name, MANY, [bound(t, ALPHA, BETA) for t in MANY], kind="theorem")
                for name, (label, bound) in BOUNDS.items()
            ],
        ),
    ]
    config = {"script": "vc1_subsample_size", "alphas": ALPHAS, "beta": BETA, "t": MANY, "trials": trials}
    plot_lines(panels, figure_path(out, "vc1-subsample-size"), about(config, seed), rf"Subsamples, $\beta = {BETA:g}$")


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=5000)
    main(given.out, given.seed, given.trials, store=given.store)
