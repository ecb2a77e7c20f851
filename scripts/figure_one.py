"""Draws vc1-figure-one: the example of seven points, its layers, and what the improper learner finds.

Run: python scripts/figure_one.py [--out FOLDER] [--seed SEED] [--trials EXAMPLES]
"""

from pathlib import Path

import jax
import numpy as np
from pages import about, figure_path, options
from tree_picture import plot_tree

from dpjax.concepts import distributions, tree_generators
from dpjax.core import keys
from dpjax.experiments.run.reproduce import replayed
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import ImproperVC1

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.2, 0.1
TARGET = 6  # the point x7, below x5 and x1


def main(out: Path, seed: int, n: int) -> tuple[int, int]:
    """Learns once from n examples of the uniform distribution; 4200 are planned.

    Returns (target's node, the node found).
    """
    tree = tree_generators.figure_one()
    learner, target = ImproperVC1(tree, "exponential", "fewest"), int(tree.place[TARGET])
    task = Task(tree, distributions.uniform(tree.domain), [target])
    setting = Setting(learner, task, 1, n, EPSILON, DELTA, ALPHA, BETA)
    plan = setting.plan()
    t = int(plan.subsamples)
    sample, _, found, *_ = replayed(setting, seed, 0)[0]
    of_learn = keys.streams(setting.key_of(seed, 0), "data", "learner")[1]
    nodes = jax.jit(learner.deterministic)(keys.stream(of_learn, "order"), sample, plan)[0][:t]
    node = int(found.concept[0, 1])
    counts = np.bincount(np.asarray(nodes[:, 1]), minlength=tree.size).tolist()
    marks = {target: "target"}
    marks[node] = "node found, the target" if node == target else "node found"
    config = {
        "script": "figure_one",
        "epsilon": EPSILON,
        "delta": DELTA,
        "alpha": ALPHA,
        "beta": BETA,
        "n": n,
        "subsamples": t,
        "target": target,
    }
    title = "Seven points, eight concepts"
    caption = f"{n} examples; beside a node: how many of {t} subsamples determine it"
    names = [f"x{number + 1}" for number in range(tree.domain.size)]
    carried = about(config, seed, {"trial 0": setting})
    plot_tree(
        tree, figure_path(out, "vc1-figure-one"), carried, title, caption, marks=marks, counts=counts, names=names
    )
    print(f"target node {target}, found node {node} at depth {int(tree.depth[node])}, outcome {int(found.outcome[0])}")
    return target, node


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=4200)
    main(given.out, given.seed, given.trials)
