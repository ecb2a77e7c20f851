"""The page of many concepts of one tree, at tiny size, and the rows that every private learner needs."""

import re
from pathlib import Path

import numpy as np
import pytest

from dpjax.attacks import BonehShaw
from dpjax.concepts import tree_generators
from dpjax.plots import read_metadata


def test_rows_by_tracing(scripts):
    script = scripts("one_tree")
    assert script.traced(16) is None
    for k in (64, 1000, 10**6):
        users = round(script.traced(k) * 2 * script.ALPHA)
        assert BonehShaw(users, 0.45 / 2.718281828).length <= k < BonehShaw(users + 1, 0.45 / 2.718281828).length
    assert 8 < script.traced(10**6) / script.traced(10**3) < 12


def test_the_tasks_have_one_good_concept_for_each_target(scripts):
    script = scripts("one_tree")
    for task in (script.of_line(64), script.of_tree(tree_generators.recursive(63, seed=1))):
        law, labels = task.distribution, task.concepts.matrix() if hasattr(task.concepts, "matrix") else None
        if labels is None:
            labels = [[x <= t for x in range(64)] for t in range(64)]
        mass = dict(
            zip(law.start[:, 1].tolist(), [int(h) << 32 | int(lo) for h, lo in law.weight.tolist()], strict=True)
        )
        for target in task.targets[:, 1].tolist():
            wrong = [
                sum(m for x, m in mass.items() if bool(row[x]) != bool(labels[target][x])) / sum(mass.values())
                for row in labels
            ]
            assert [i for i, error in enumerate(wrong) if error <= script.ALPHA] == [target]


def test_the_deepest_heavy_node_errs_on_light_ones_only(scripts):
    """docs/proofs/one-tree.md: at most alpha if each node of a mass above alpha / height is released."""
    generator, alpha, most = np.random.default_rng(0), 0.2, 0.0
    for tree in (tree_generators.recursive(40, 2), tree_generators.path(12), tree_generators.complete(2, 4)):
        labels = tree.matrix()  # all nodes are proper, and each but the root has one point
        for spread in (0.1, 1.0, 10.0):
            mass = np.append(0.0, generator.dirichlet(np.full(tree.size - 1, spread)))
            heavy = np.append(True, mass[1:] > alpha / tree.height)
            for node in range(tree.size):
                path = [v for v in range(tree.size) if v <= node < tree.tout[v]]
                found = max(v for v in path if heavy[v])
                most = max(most, float((labels[node] ^ labels[found]) @ mass[tree.place]))
    assert alpha / 4 < most <= alpha


def test_the_page_of_the_repository_says_what_the_script_says(scripts):
    script = scripts("one_tree")
    page = (Path(__file__).parents[2] / "docs" / "gallery" / "one-tree.md").read_text()
    assert " ".join(script.HEAD.split()) in " ".join(page.split())
    assert (script.stable(1), script.stable(23)) == (197, 5782)  # in docs/proofs/one-tree.md


@pytest.mark.slow
def test_the_page(scripts, tmp_path):
    script = scripts("one_tree")
    small = {script.ONE: 4, script.SUM: 1}
    works = [script.Work("line", script.of_line(64), 6, (1, 4), small)]
    script.main(tmp_path, 3, works, trials=500)
    page = (tmp_path / "one-tree.md").read_text()
    assert not re.search(r"\bnan\b|[{}]", page) and "k^(1/3)" in page and "proofs/one-tree.md" in page
    (one, *_), (choices, *_) = (
        [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| line | {name}")]
        for name in (script.ONE, script.SUM)
    )
    assert re.fullmatch(r"\(\d+, \d+\]", one[3]) and re.fullmatch(r"\*\d+\*", choices[3])
    found = read_metadata(tmp_path / "figures" / "one-tree.png")
    assert found["config"]["script"] == "one_tree" and found["seed"] == 3
