"""Writes vc1-proper.md: the proper learner against the improper one, on trees with improper nodes.

Run: python scripts/vc1_proper.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pages import about, figure_path, options, table, write_page
from papers.hypothesis_counts import judged

from dpjax.concepts import Tree, tree_generators
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, end_of, guess
from dpjax.experiments.statistics.bands import Exponent, fit_exponent
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.sweep.hard_tasks import hard_chain, hard_tree, wrong_children
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import ImproperVC1, ProperVC1
from dpjax.plots.lines import Line, Panel, plot_lines

EPSILON, DELTA, ALPHA, BETA = 4.0, 1e-6, 0.3, 0.1
ALPHAS = (0.3, 0.2, 0.15, 0.1, 0.05)
RATIO, TRIED = 2 ** (1 / 12), 0.9  # of the brackets; the rate at which they start
LEARNERS: dict[str, Any] = {"improper": ImproperVC1, "proper": ProperVC1}
TREES = {
    "prefixes(4, 3)": tree_generators.prefixes(4, 3),
    "recursive(200), half improper": tree_generators.recursive(200, seed=3, improper=0.5),
    "caterpillar(6, 2), improper": tree_generators.caterpillar(6, 2, improper=1.0),
}
HEAD = f"""# What a proper hypothesis costs

An improper learner may return a hypothesis that is no concept of the class, a proper one may not. Being proper costs
more rows: by a moderate factor on wide trees, and by more on long ones, where many choices follow one another. The
proper learner's planned numbers are several times what it needs on these trees.

Written by `scripts/vc1_proper.py`: epsilon = {EPSILON:g}, delta = {DELTA:g},
beta = {BETA:g}, exponential median. The improper learner (`ImproperVC1`) returns a node of the class's tree, which need
not be a concept of the class; the proper one (`ProperVC1`) spends a part of its rows on that node and the others on the
way down to a concept. Distribution (`hard_tasks.hard_tree`): an improper node has to be found, and
all of its children but one (as many as the mass allows) have error above alpha.

At the planned n, alpha = {ALPHA:g}. Success with its exact interval at confidence 0.95; claimed {1 - BETA:g}. In the
class: number of hypotheses that are concepts of the class, in as many new trials.

"""
MIDDLE = f"""
Measured n*, over alpha. Wide: `prefixes(2, c)`, with the largest number of wrong children and one more, one choice.
Long: `caterpillar(c, 1)` of improper nodes, `hard_tasks.hard_chain`, c - 1 choices one after the other, each of
them between two children of which one is wrong. Brackets, each right with probability 0.95: success is below
{1 - BETA:g} at the lower end and at least {1 - BETA:g} at the upper one.

"first part": the fraction of the proper learner's rows that find the improper node. "No private learner below":
with fewer rows no private learner of the class succeeds on every distribution.

"""
TAIL = """
![n against 1/alpha](figures/vc1-proper.png)

Exponent of 1/alpha (least squares, with the range that the brackets allow), beside 2.5 of the printed theorem, which is
for 2/alpha rounds: {exponents}.

Whether the improper learner's node is a concept depends on the tree and on n; the proper learner's hypothesis always
is one. On wide trees its additional cost in practice is one choice among children that differ by more than alpha; on
long ones each of the choices has a part of the budget, and all have to be right. If chains of improper nodes are short,
the planner uses only as many rounds as the longest chain has nodes, and no tests. Planned numbers of the proper learner
are for distributions on which both parts err by a part of alpha, which these are not: its second part has an error of 0
or more than alpha. Measured numbers change in steps, as does the mass of the node to be found, which is the rest after
the wrong children.
"""
SHAPES = {
    "wide": lambda alpha: (tree_generators.prefixes(2, wrong_children(alpha) + 1), hard_tree),
    "long": lambda alpha: (tree_generators.caterpillar(wrong_children(alpha) + 1, 1, improper=1.0), hard_chain),
}


def main(
    out: Path,
    seed: int,
    trials: int,
    alphas: Sequence[float] = ALPHAS,
    trees: Sequence[str] = tuple(TREES),
    store: Path | None = None,
) -> None:
    """Success at the planned n, n* over alpha, page and figure."""
    planned = [row for name in trees for row in _planned(name, TREES[name], seed, trials)]
    with cells_in(store, seed) as cells:
        stars = [row for shape in SHAPES for alpha in alphas for row in _measured(shape, alpha, trials, cells)]
    whole = [row for row in stars if row["star"].n_low and row["star"].n_high]
    shown = [
        (
            row["tree"],
            row["alpha"],
            row["learner"],
            row["first"],
            f"({row['star'].n_low}, {row['star'].n_high}]",
            row["planned"],
            row["below"],
            row["members"],
        )
        for row in stars
    ]
    page = HEAD + table(("tree", "nodes", "learner", "planned n", "success", "in the class"), planned)
    header = (
        "tree",
        "alpha",
        "learner",
        "first part",
        "n* measured",
        "planned n",
        "no private learner below",
        "in the class at n*",
    )
    page += MIDDLE + table(header, shown) + TAIL.format(exponents=_exponents(whole))
    write_page(out / "vc1-proper.md", page)
    lines = [line for shape in SHAPES for name in LEARNERS for line in _lines(shape, name, whole)]
    panel = Panel("", r"$1 / \alpha$", "examples $n$", lines, ticks=[round(1 / alpha, 2) for alpha in alphas])
    config = {
        "script": "vc1_proper",
        "alphas": list(alphas),
        "epsilon": EPSILON,
        "delta": DELTA,
        "beta": BETA,
        "trials": trials,
    }
    title = rf"Examples over $1/\alpha$, $\varepsilon = {EPSILON:g}$"
    points = {f"{row['learner']}, {row['shape']}, alpha = {row['alpha']:g}": row["point"] for row in whole}
    if lines:
        plot_lines([panel], figure_path(out, "vc1-proper"), about(config, seed, points), title)


def _planned(name: str, tree: Tree, seed: int, trials: int) -> Iterator[tuple]:
    privacy, accuracy, work = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA), hard_tree(tree, ALPHA)
    for what, kind in LEARNERS.items():
        learner = kind(tree, "exponential")
        n = learner.sample_size(privacy, accuracy)
        found = judged(Setting(learner, work, 1, n, EPSILON, DELTA, ALPHA, BETA), seed, trials)
        low, high = clopper_pearson(found.successes, trials)
        success = f"{found.successes / trials:.4f} [{low:.4f}, {high:.4f}]"
        yield name, tree.size, what, n, success, f"{found.members} of {trials}"
        print(name, what, n, *found, flush=True)


def _measured(shape: str, alpha: float, trials: int, cells: Cells) -> Iterator[dict[str, Any]]:
    """n* of the improper learner, then of the proper one, as they are planned."""
    tree, make = SHAPES[shape](alpha)
    task: Task = make(tree, alpha)
    privacy, accuracy = Privacy(EPSILON, DELTA), Accuracy(alpha, BETA)
    for name, kind in LEARNERS.items():
        learner = kind(tree, "exponential")
        planned = learner.sample_size(privacy, accuracy)
        grid = geometric_grid(round(8 / alpha), max(round(120 / alpha), planned), RATIO)
        at = Setting(learner, task, 1, 1, EPSILON, DELTA, alpha, BETA)
        best = replace(at, n=guess(at, cells, grid, max(1, trials // 4), TRIED) or grid[-1])
        star = bracket(best, cells, grid, start=best.n, trials=5 * trials)
        in_class = judged(replace(best, n=star.n_high or best.n), cells.seed, trials).members
        below = best.below(best.learner.guarantee(best.plan()))
        yield {
            "shape": shape,
            "tree": _tree(shape, alpha),
            "alpha": alpha,
            "learner": name,
            "star": star,
            "below": below and below.n,
            "members": f"{in_class} of {trials}",
            "first": f"{first:.2f}" if (first := getattr(best.plan(), "first", None)) is not None else None,
            "planned": planned,
            "point": end_of(best, star.n_high or best.n),
        }
        print(alpha, name, best.n, star.n_low, star.n_high, in_class, flush=True)


def _tree(shape: str, alpha: float) -> str:
    count = wrong_children(alpha) + 1
    return f"prefixes(2, {count})" if shape == "wide" else f"caterpillar({count}, 1)"


def _exponents(rows: Sequence[dict[str, Any]]) -> str:
    words = []
    for shape in SHAPES:
        for name in LEARNERS:
            own = [row for row in rows if (row["shape"], row["learner"]) == (shape, name)]
            if len({row["alpha"] for row in own}) > 1:
                fit, plan = _fit(own, [row["star"] for row in own]), _fit(own, [row["planned"] for row in own])
                words.append(
                    f"{name}, {shape} trees, {fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}], its planned numbers "
                    f"{plan.slope:.2f}"
                )
    return "; ".join(words) or "not measured"


def _fit(rows: Sequence[dict[str, Any]], values: Sequence[Bracket | int]) -> Exponent:
    ends = [(v.n_low, v.n_high) if isinstance(v, Bracket) else (v, v) for v in values]
    low, high = zip(*ends, strict=True)
    return fit_exponent([1 / row["alpha"] for row in rows], low, high)


def _lines(shape: str, name: str, rows: Sequence[dict[str, Any]]) -> list[Line]:
    own = [row for row in rows if (row["shape"], row["learner"]) == (shape, name)]
    own = sorted(own, key=lambda row: 1 / row["alpha"])
    if not own:
        return []
    x = [1 / row["alpha"] for row in own]
    low, high = [row["star"].n_low for row in own], [row["star"].n_high for row in own]
    middle = [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)]
    what = f"{name}, {shape}"
    return [
        Line(f"{what}, n* measured", what, x, middle, low, high),
        Line(f"{what}, planned", what, x, [row["planned"] for row in own], kind="theorem"),
    ]


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
