"""The script of docs/gallery/multiclass.md: its crossings, and its page on few bits and trials."""

from math import ceil, factorial, log

import numpy as np
import pytest

from dpjax.concepts import Hypothesis
from dpjax.experiments.sweep.hard_tasks import hard_bits, hard_label
from dpjax.theory import kln


def test_crossings_are_where_the_direct_learner_needs_more_rows(scripts):
    module = scripts("multiclass")
    found = list(module._crossings())
    assert len(found) == 12
    for name, bits, rows, depth in found:
        accuracy = module.Accuracy(module.ALPHA / bits, module.BETA / bits)
        ones, of_bit = module.BINARY[name]
        assert rows == bits * of_bit(depth, accuracy)
        sizes = [bits * (ones * deep * log(2) - log(factorial(ones))) for deep in (depth - 1, depth)]
        direct = [ceil((size - log(module.BETA)) / module.RATE) for size in sizes]
        assert direct[0] <= bits * of_bit(depth - 1, accuracy) and rows <= direct[1]
    assert pytest.approx((64 * log(2) - log(0.1)) / kln.realizable(2**64, 1.0, 0.1, 0.1), rel=1e-3) == module.RATE


@pytest.mark.parametrize(("bits", "depth"), [(1, 2), (2, 3), (3, 2), (4, 3)])
def test_the_law_of_the_direct_learner_is_that_over_all_concepts(scripts, bits, depth):
    """Total weights by the number of right bits, on random counts, with bits at one element too."""
    law = scripts("multiclass").law
    task = law.far_points(bits, depth, 0.1)
    concepts, elements = task.concepts, task.distribution.start[:, -1:]
    everything = Hypothesis.of(concepts.numbered(range(concepts.size)))
    labels = np.asarray(concepts.predict(everything, elements)).reshape(bits + 1, -1, bits)
    truth = np.asarray(concepts.predict(Hypothesis.of(task.targets), elements))
    wrong = np.any(labels != truth[:, None], axis=-1)  # [element, concept]
    right = np.sum(~wrong[:bits], axis=0)
    counts = np.random.default_rng(bits).integers(0, 9, (20, bits + 1))
    expected = [
        [np.logaddexp.reduce(-0.35 * (one @ wrong)[right == k], initial=-np.inf) for k in range(bits + 1)]
        for one in counts
    ]
    found = law.log_weights(counts[:, :-1], counts[:, -1], bits, 2**depth, 0.7)
    assert np.allclose(found - found.max(1, keepdims=True), expected - np.max(expected, axis=1, keepdims=True))


@pytest.mark.slow
def test_the_page_of_many_labels(scripts, tmp_path):
    module = scripts("multiclass")
    works = [
        module.Workload("one label", "a free label", lambda bits: hard_label(bits, 0.1), (1, 2, 3)),
        module.Workload("separate bits", "own elements", lambda bits: hard_bits(bits, 0.1), (2,)),
    ]
    rows = module.main(tmp_path, 3, 400, works, far={2: 50})
    assert len(rows) == 8 and all(row["low"] < (row["high"] or row["theorem"]) <= row["theorem"] for row in rows)
    page = (tmp_path / "multiclass.md").read_text()
    assert "| one label | direct | 1 | 2 |" in page and "| separate bits | bit by bit | 2 | 4 |" in page
    assert module._verdict(rows) in " ".join(page.split())
    ahead = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| 2 | 31 |")]
    assert len(ahead) == 1 and 8 < int(ahead[0][2]) < 128
    fits = [line for line in page.splitlines() if line.startswith("| one label |") and "[" in line]
    assert len(fits) == sum(bool(module._fits(works[0], name, rows)) for name in module.LEARNERS)
    assert (tmp_path / "figures" / "multiclass.png").stat().st_size > 1000
    assert (tmp_path / "figures" / "multiclass-crossing.png").stat().st_size > 1000
