"""The page of errors beside an edge, on few rows; the law."""

import numpy as np
import pytest

from dpjax.mechanisms.cover import Pieces, SlabWedges


@pytest.fixture
def script(scripts, monkeypatch):
    """The script, on small sizes and by `Pieces`."""
    module = scripts("union_edges")
    for name, value in {"BITS": (6,), "SCALES": (0.01,), "ROWS": 64, "TEST": 32}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "FAMILIES", {"pieces": Pieces})
    monkeypatch.setattr(module, "PROVEN", {})
    return module


def test_the_page(script, tmp_path):
    script.main(["--out", str(tmp_path)])
    text = (tmp_path / "union-edges.md").read_text()
    assert "| pieces: mean, largest |" in text and "| 63 | 0.01 |" in text


@pytest.mark.parametrize("edge", range(3))
def test_rows_are_beside_an_edge(script, edge):
    corners = np.roll([(0.1, 0.1), (0.87, 0.2), (0.3, 0.83)], -edge, axis=0)
    along = corners[1] - corners[0]
    x, y, label = script.beside(edge, 0.01, 1023)(500, np.random.default_rng(0))
    away = (along[0] * (y - corners[0, 1]) - along[1] * (x - corners[0, 0])) / np.hypot(*along)
    side = np.sign(along[0] * (corners[2, 1] - corners[0, 1]) - along[1] * (corners[2, 0] - corners[0, 0]))
    assert ((away * side > 0) == label).all() and (np.abs(away) < 0.013).all()
    turned = script.beside(edge, 0.01, 1023, np.pi)(500, np.random.default_rng(0))
    middle = 0.5 - corners.mean(axis=0)
    np.testing.assert_allclose(turned[:2], [1 - (x + middle[0]), 1 - (y + middle[1])])
    assert min(x.min(), y.min()) >= 0 and max(x.max(), y.max()) < 1


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5, 4.0, 6.0])
def test_turned_rows_are_on_the_square(script, angle):
    for edge in range(3):
        x, y, _ = script.beside(edge, 0.03, 63, angle)(2000, np.random.default_rng(0))
        assert min(x.min(), y.min()) >= 0 and max(x.max(), y.max()) < 1


def test_trials_at_the_number_of_rows_of_the_theorem(script, monkeypatch):
    monkeypatch.setattr(script, "PROVEN", {(6, 16.0): 4})
    monkeypatch.setattr(script, "FAMILIES", {"wedges": SlabWedges})
    monkeypatch.setattr(script, "errors", lambda family, law, n, d, seed, trials, budget: [0.04 * trials[0]])
    assert "| 63 | 16 | 6056 | 3 of 4 | 0.060 | 0.120 |" in script.proven(0)
